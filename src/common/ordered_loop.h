/*
 * Work that is cut into pieces, which several threads make at once, and one takes in their order.
 *
 * Pieces are begun in their order. What a piece becomes lies in a slot that is its own from its beginning until it was
 * taken; there are few of them, so that what is held in memory does not grow with the number of pieces. Nor need it
 * grow with the number of threads: no piece is begun that would make those in slots larger than MOST together, but one
 * alone may be. The slot that was left last is used next, so that of slots that keep their room few are large.
 */
#ifndef GPUTRACE_COMMON_ORDERED_LOOP_H
#define GPUTRACE_COMMON_ORDERED_LOOP_H

#include <stddef.h>
#include <stdint.h>

#define ORDERED_LOOP_UNKNOWN SIZE_MAX

struct ordered_loop {
    size_t count;     /* ORDERED_LOOP_UNKNOWN: make() tells */
    unsigned workers; /* threads that make pieces; up to 1: there are none, and the caller makes what it takes */
    /* Makes a piece in its slot; called by the thread of this number, from 0. Gives 0, -1 after error(), or 1: there is
     * no such piece, nor any after it. */
    int (*make)(void *context, size_t piece, unsigned slot, unsigned worker);
    /* Takes it; called by the thread that runs all, in the order of pieces. Gives 0, or -1 after error(). */
    int (*take)(void *context, size_t piece, unsigned slot);
    /* What a piece takes in its slot, about; called by any of the threads. NULL: any number may be in slots. */
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

/*
 * Makes and takes all pieces. Gives 0, or -1 when one failed: then no later one was taken. Threads that cannot be had
 * are done without. No signal that is sent to the process is handled by them.
 */
int ordered_loop_run(const struct ordered_loop *pieces);

#endif
