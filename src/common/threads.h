/* Starts threads that take no signals, and runs loops in parallel whose results come in order. */
#ifndef GPUTRACE_COMMON_THREADS_H
#define GPUTRACE_COMMON_THREADS_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Starts up to COUNT threads that call RUN(CONTEXT) and returns how many; errno says why it is not COUNT. The threads
 * handle no signal that is sent to the process, only those of their own faults. */
unsigned threads_start(pthread_t *threads, unsigned count, void *(*run)(void *context), void *context);

/* Whether the process has no thread but the one that calls; false where /proc does not say. */
bool thread_is_alone(void);

/* A condition whose waits end by CLOCK_MONOTONIC. glibc has pthread_cond_clockwait() since 2.30 alone. */
void monotonic_cond_init(pthread_cond_t *cond);

/* Waits as pthread_cond_timedwait(3) does, until TIME in nanoseconds of CLOCK_MONOTONIC. */
int monotonic_cond_wait(pthread_cond_t *cond, pthread_mutex_t *lock, uint64_t time);

/* Not in a namespace of the dynamic linker (dlmopen()): its C library numbers keys from 0 as the program's does, and
 * both write into the same threads, so each would get what was set with keys of the other. The first call takes the
 * dynamic linker's lock. */
bool thread_keys_work(void);

/* A key of threads, which is made at its first use; all zero at first. */
struct thread_key {
    uint32_t place; /* 0: not made yet; UINT32_MAX: it cannot be made; else 1 + the key */
};

/* Has this thread call ENDED when it ends, always the same for a key. What that gets is not to be used: a library in a
 * namespace may have written there. False: it will not be called. A process has 1024 keys, and the program may use them
 * all. */
bool thread_key_set(struct thread_key *key, void (*ended)(void *unused));

/*
 * An ordered parallel loop: several threads make numbered pieces, and one thread takes them in their order.
 *
 * Pieces are begun in their order. A piece has a slot of its own from its beginning until the next one is asked for.
 * There are few slots, so memory does not grow with the number of pieces. With size() it does not grow with the number
 * of threads either. The slot that was freed last is used next: of slots that keep their memory few are large.
 */

#define ORDERED_LOOP_UNKNOWN SIZE_MAX

struct ordered_loop {
    size_t count;     /* ORDERED_LOOP_UNKNOWN: make() returns 1 at the end */
    unsigned workers; /* threads that make pieces; up to 1: the caller makes what it takes */
    /* Makes a piece in its slot; called by thread WORKER, from 0. Returns 0, -1 after error(), or 1: the piece does not
     * exist and none after it. */
    int (*make)(void *context, size_t piece, unsigned slot, unsigned worker);
    /* Takes it; called by the thread that runs the loop, in the order of pieces. Returns 0, or -1 after error(). */
    int (*take)(void *context, size_t piece, unsigned slot);
    /* About how many bytes a piece takes in its slot; called by any of the threads. No piece is begun that would make
     * those in slots larger than MOST together, unless it is alone. NULL: there is no limit. */
    size_t (*size)(void *context, size_t piece);
    size_t most;
    void *context;
};

/* WANTED threads or, where that is 0, as many as may run at once here; at most MOST. */
unsigned ordered_loop_workers(unsigned wanted, unsigned most);

/* How many slots there are. */
static inline unsigned ordered_loop_slots(unsigned workers)
{
    return workers > 1 ? workers + workers / 2 + 1 : 1;
}

/* Makes and takes all pieces. Returns 0, or -1 when one failed: then no later one was taken. Works with fewer threads,
 * or none, where the system gives no more. */
int ordered_loop_run(const struct ordered_loop *loop);

#endif
