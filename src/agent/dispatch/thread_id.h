/*
 * gettid() of this thread, asked once.
 */
#ifndef GPUTRACE_AGENT_DISPATCH_THREAD_ID_H
#define GPUTRACE_AGENT_DISPATCH_THREAD_ID_H

#include <stdint.h>

extern __thread uint32_t thread_id_known; /* 0: not asked yet */
uint32_t thread_id_ask(void);

static inline uint32_t thread_id(void)
{
    return thread_id_known ? thread_id_known : thread_id_ask();
}

/* In a forked child: its one thread has another number than the thread that forked. */
void thread_id_leave(void);

#endif
