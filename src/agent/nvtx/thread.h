/*
 * What is kept of each thread: how deep it is in the ranges of each domain, and room for a long text.
 */
#ifndef GPUTRACE_AGENT_NVTX_THREAD_H
#define GPUTRACE_AGENT_NVTX_THREAD_H

#include <stddef.h>
#include <stdint.h>

/* Domains whose depth needs no memory beyond the thread's own. */
#define NVTX_THREAD_DOMAINS 8u

struct nvtx_thread {
    int first[NVTX_THREAD_DOMAINS];
    int *more; /* of the domains after those; freed when the thread ends */
    uint32_t more_count;
    char *text; /* likewise */
};
extern __thread struct nvtx_thread nvtx_this_thread;

int *nvtx_thread_more(uint32_t domain);

/* Where the depth in DOMAIN is counted: ranges that are open now. NULL: no memory. */
static inline int *nvtx_thread_depth(uint32_t domain)
{
    return domain < NVTX_THREAD_DOMAINS ? &nvtx_this_thread.first[domain] : nvtx_thread_more(domain);
}

/* Room for a text, which the next long one takes again; longer than any text that is recorded whole. */
#define NVTX_THREAD_TEXT ((size_t)17 << 10)
/* NULL: no memory. */
char *nvtx_thread_text(void);

#endif
