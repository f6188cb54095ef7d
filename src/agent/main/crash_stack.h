/* The stack of a thread that crashes: its registers and memory, saved in the signal's handler. */
#ifndef GPUTRACE_AGENT_MAIN_CRASH_STACK_H
#define GPUTRACE_AGENT_MAIN_CRASH_STACK_H

#include <stdint.h>

/* In the handler of THREAD's signal, whose ucontext_t is CONTEXT: saves registers and the stack, and which code its
 * words may point to. Async-signal-safe, takes no lock. It may fault; what is in the spool by then stays whole. Does
 * nothing on other processors than x86-64. crash_stack.c */
void crash_stack_publish(const void *context, uint32_t thread);

#endif
