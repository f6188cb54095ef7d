/*
 * Threads that are calling callbacks: so that what was removed is freed when nobody can be calling it any more.
 *
 * Entering and leaving is a store each, without a fence; the rare one who frees makes every thread's stores visible
 * first (membarrier). Where the kernel does not offer that, nothing is ever freed.
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
    __atomic_signal_fence(__ATOMIC_SEQ_CST); /* the processor's part is done by who frees */
}

static inline void epoch_read_unlock(struct epoch_reader *reader)
{
    if (--reader->depth == 0)
        __atomic_store_n(&reader->rounds, reader->rounds + 1, __ATOMIC_RELEASE);
}

/* Before the first thread of ours: to register for membarrier costs nothing in a process with one thread, and ten
 * milliseconds in one with more, which pay when something is removed for the first time. */
void epoch_prepare(void);

/* Whether no thread but this one is in a dispatch that began before the call. False is also said when that cannot be
 * found out. */
bool epoch_is_quiescent(void);

/* Waits until every other thread has left the dispatch that it is in now. */
void epoch_synchronize(void);

/* Calls and time of all threads in the callbacks of one client. */
void epoch_client_time(unsigned client, uint64_t *calls, uint64_t *ns);

/* In a forked child: the other threads are gone. */
void epoch_atfork_child(void);

#endif
