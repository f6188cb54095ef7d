/*
 * A key for data of threads that may not be had: a process has 1024 of them, and the program may use them all. A key
 * that was not made must not be set: its number is somebody else's.
 */
#ifndef GPUTRACE_COMMON_THREAD_KEY_H
#define GPUTRACE_COMMON_THREAD_KEY_H

#include <pthread.h>
#include <stdbool.h>

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
