/*
 * Epochs (RCU): a callback list that was replaced is freed when no thread can be walking it any more.
 *
 * Entering and leaving a dispatch is one store each, without a fence. The rare thread that frees makes the stores of
 * all threads visible first (membarrier). Where the kernel does not offer that, nothing is ever freed.
 */
#ifndef GPUTRACE_AGENT_DISPATCH_EPOCH_H
#define GPUTRACE_AGENT_DISPATCH_EPOCH_H

#include <stdbool.h>
#include <stdint.h>

#define EPOCH_CLIENTS 16u /* whose callbacks' time is kept apart */

/* One for each thread, reused when the thread has ended. */
struct epoch_reader {
    struct epoch_reader *next;
    uint32_t taken;  /* by a thread that lives */
    uint32_t rounds; /* odd: within a dispatch */
    uint32_t depth;  /* dispatches within dispatches */
    bool in_client;  /* in a callback of a plugin or of the program */
    struct {
        uint64_t calls, ns;
    } spent[EPOCH_CLIENTS];
};

/* This thread's; NULL: no memory, or the child was not announced (fork_watch.h). */
extern __thread struct epoch_reader *epoch_reader_known; /* NULL: not made yet */
struct epoch_reader *epoch_reader_make(void);
static inline struct epoch_reader *epoch_reader(void)
{
    return epoch_reader_known ? epoch_reader_known : epoch_reader_make();
}

static inline void epoch_read_lock(struct epoch_reader *reader)
{
    if (reader->depth++ == 0)
        __atomic_store_n(&reader->rounds, reader->rounds + 1, __ATOMIC_RELAXED);
    __atomic_signal_fence(__ATOMIC_SEQ_CST); /* the thread that frees does the processor's part */
}

static inline void epoch_read_unlock(struct epoch_reader *reader)
{
    if (--reader->depth == 0)
        __atomic_store_n(&reader->rounds, reader->rounds + 1, __ATOMIC_RELEASE);
}

/* Called before the first thread of ours: registering for membarrier is free in a process with one thread, and takes
 * ten milliseconds in one with more, where it is delayed until something is removed for the first time. */
void epoch_prepare(void);

/* Whether no thread but this one is in a dispatch that began before the call. Also false when that cannot be
 * determined. */
bool epoch_is_quiescent(void);

/* Waits until every other thread has left the dispatch that it is in now. */
void epoch_synchronize(void);

/* Calls and time (ns) of all threads in one client's callbacks. */
void epoch_client_time(unsigned client, uint64_t *calls, uint64_t *ns);

/* In a forked child: the other threads are gone. */
void epoch_atfork_child(void);

#endif
