/*
 * Call stacks of the program, kept once each.
 *
 * A stack is written into the spool as addresses when it first comes, with the lines of /proc/self/maps that say what
 * lies there; gputrace finds functions, files and lines after the program's end. What belongs to the tracing is left
 * out: gputrace, CUPTI and, in a callback, whoever asks.
 */
#ifndef GPUTRACE_AGENT_SPOOL_STACKS_H
#define GPUTRACE_AGENT_SPOOL_STACKS_H

#include <stdint.h>

#define STACK_FRAMES_MAX 64 /* outer frames than these are left out */

/* Before the first stack: loads what unwinding needs, so that this does not happen in the midst of a call. Takes the
 * loader's lock. */
void stacks_prepare(void);

/* The number of this thread's stack without SKIP more of the innermost frames; 0: none could be had or written. From
 * any thread; takes a microsecond or several, a new stack more. */
uint32_t stacks_take(uint32_t skip);

/* In a forked child: what was written is the parent's. Numbers begin at 1 again. */
void stacks_leave(void);

#endif
