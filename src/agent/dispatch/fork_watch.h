/* Says which process and thread this is, and notices children that no fork handler announces. */
#ifndef GPUTRACE_AGENT_DISPATCH_FORK_WATCH_H
#define GPUTRACE_AGENT_DISPATCH_FORK_WATCH_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Forked children that no handler announces.
 *
 * _Fork(), clone() and the bare system call run no handler of pthread_atfork(), nor does a fork() of another C library
 * than ours (dlmopen()). Such a child has the parent's memory as it was at a random moment: a thread that the child
 * does not have may hold any lock, and what is mapped of the spool is the parent's. So the child is left alone: it
 * records nothing, takes no lock of ours and makes no system call for us. What it would have recorded is counted in the
 * parent's spool.
 *
 * It is noticed by a page that the kernel clears in every child (MADV_WIPEONFORK). The generation of this process lies
 * there, which each record compares with that of its chunk anyway. Without such a page (Linux before 4.14,
 * sandboxes that refuse madvise()), the process id is compared: by calls other than ranges and marks, and when a thread
 * needs a chunk.
 */

#ifdef __x86_64__
#define FORK_PAGE_BYTES 4096u
#else
#define FORK_PAGE_BYTES 65536u
#endif

/* A page that holds nothing else, since children get it cleared as a whole. */
union fork_page {
    uint32_t generation;
    char bytes[FORK_PAGE_BYTES];
};
extern union fork_page fork_page;

/* A number of this process that differs from its parent's, so that threads notice that what they keep is the parent's.
 * 0: there is none yet, or this child was not announced. */
static inline uint32_t fork_generation(void)
{
    return __atomic_load_n(&fork_page.generation, __ATOMIC_RELAXED);
}

/* Must be called before anything is recorded or locked. Does nothing the second time. */
void fork_watch_begin(void);

/* In an announced child, by its one thread: a new generation. Nothing is counted until fork_watch_count(). */
void fork_watch_announced(void);

/* Counts here what children that were not announced would have recorded. COUNTER lies in shared memory. */
void fork_watch_count(uint64_t *counter);

/* Whether this process is a child that no handler announced. */
bool fork_unannounced(void);

/* Whether it is such a child, for a call that would have been recorded: that is counted. Async-signal-safe. */
bool fork_turned_away(void);

/*
 * gettid() of this thread, asked once.
 */

extern __thread uint32_t thread_id_known; /* 0: not asked yet */
uint32_t thread_id_ask(void);

static inline uint32_t thread_id(void)
{
    return thread_id_known ? thread_id_known : thread_id_ask();
}

#endif
