/* Starts threads that take no signals, and runs loops in parallel whose results come in order. */
#ifndef GPUTRACE_COMMON_THREADS_H
#define GPUTRACE_COMMON_THREADS_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Starts up to COUNT threads that call RUN(CONTEXT). Returns how many; if they are fewer, errno tells why. The threads
 * handle no signal that is sent to the process, only those of their own faults. */
unsigned threads_start(pthread_t *threads, unsigned count, void *(*run)(void *context), void *context);

/* Returns whether the calling thread is the only one of the process; false if /proc does not tell. */
bool thread_is_alone(void);

/* Initialises a condition whose waits end by CLOCK_MONOTONIC. glibc has pthread_cond_clockwait() only since 2.30. */
void monotonic_cond_init(pthread_cond_t *cond);

/* Waits as pthread_cond_timedwait(3) does, until TIME in nanoseconds of CLOCK_MONOTONIC. */
int monotonic_cond_wait(pthread_cond_t *cond, pthread_mutex_t *lock, uint64_t time);

/* Returns whether this library may use keys of threads. It may not in a namespace of the dynamic linker (dlmopen()):
 * the C library there numbers keys from 0 as the program's does, and both write into the same threads, so that each
 * would get values of the other. The first call takes the dynamic linker's lock. */
bool thread_keys_work(void);

/* A key of threads, which is made at its first use. Initialise with zeros. */
struct thread_key {
    uint32_t place; /* 0: not made yet; UINT32_MAX: it cannot be made; otherwise the key + 1 */
};

/* Makes this thread call ENDED when it ends; all calls for a key must pass the same function. ENDED must not use its
 * argument, which a library in a namespace may have overwritten. Returns false if ENDED will not be called: a process
 * has 1024 keys, and the program may use them all. */
bool thread_key_set(struct thread_key *key, void (*ended)(void *unused));

/*
 * An ordered parallel loop: several threads make numbered pieces, and one thread takes them in their order.
 *
 * Pieces are begun in their order. A piece has a slot of its own from its beginning until the next piece is taken.
 * There are few slots, so memory does not grow with the number of pieces. With size() it does not grow with the number
 * of threads either. The slot that was freed last is used next, so that only few of the slots that keep their memory
 * become large.
 */

#define ORDERED_LOOP_UNKNOWN SIZE_MAX

struct ordered_loop {
    size_t count;     /* ORDERED_LOOP_UNKNOWN: make() returns 1 at the end */
    unsigned workers; /* threads that make pieces; 0 or 1: the calling thread makes them itself */
    /* Makes a piece in its slot; called by thread WORKER, from 0. Returns 0, -1 after error(), or 1 if this piece and
     * all later ones do not exist. */
    int (*make)(void *context, size_t piece, unsigned slot, unsigned worker);
    /* Takes a piece; called by ordered_loop_run(), in the order of pieces. Returns 0, or -1 after error(). */
    int (*take)(void *context, size_t piece, unsigned slot);
    /* Returns about how many bytes a piece takes in its slot; called by any of the threads. A piece waits if all pieces
     * in slots would be larger than MOST together, unless it is the only one. NULL: there is no limit. */
    size_t (*size)(void *context, size_t piece);
    size_t most;
    void *context;
};

/* Returns WANTED, or if it is 0 the number of threads that can run at once here; at most MOST. */
unsigned ordered_loop_workers(unsigned wanted, unsigned most);

/* Returns the number of slots of a loop with this many workers. */
static inline unsigned ordered_loop_slots(unsigned workers)
{
    return workers > 1 ? workers + workers / 2 + 1 : 1;
}

/* Makes and takes all pieces. Returns 0, or -1 if a piece failed; then no later piece was taken. Works with fewer
 * threads, or none, if the system does not start more. */
int ordered_loop_run(const struct ordered_loop *loop);

/* A task of several that do not depend on each other. */
struct task {
    int (*run)(void *context); /* returns 0, or -1 */
    void *context;
};

/* Runs all TASKS in at most WORKERS threads. Returns 0, or -1 if a task failed; other tasks may then not have run. */
int tasks_run(const struct task *tasks, size_t count, unsigned workers);

#endif
