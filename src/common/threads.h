/*
 * Threads that work beside others for a while.
 */
#ifndef GPUTRACE_COMMON_THREADS_H
#define GPUTRACE_COMMON_THREADS_H

#include <pthread.h>
#include <stdbool.h>

/* Starts up to COUNT threads that call RUN(CONTEXT), as many as can be had, and gives their number; errno says why it
 * is not COUNT. What is sent to the process is for the other threads: these handle no signal but those of their own
 * faults. */
unsigned threads_start(pthread_t *threads, unsigned count, void *(*run)(void *context), void *context);

/*
 * A key for data of threads that may not be had: a process has 1024 of them, and the program may use them all. A key
 * that was not made must not be set: its number is somebody else's.
 */

struct thread_key {
    pthread_key_t key;
    bool made;
};

/* ENDED is called with what a thread set, when it ends. */
static inline void thread_key_make(struct thread_key *key, void (*ended)(void *value))
{
    key->made = pthread_key_create(&key->key, ended) == 0;
}

/* Without the key nothing happens, also at the thread's end. */
static inline void thread_key_set(const struct thread_key *key, const void *value)
{
    if (key->made)
        pthread_setspecific(key->key, value);
}

#endif
