/*
 * Call stacks of the program, kept once each.
 *
 * A stack is written into the spool as addresses when it first comes, with the lines of /proc/self/maps that say what
 * lies there; gputrace finds functions, files and lines after the program's end. What belongs to the tracing is left
 * out: gputrace, CUPTI and, in a callback, the caller.
 *
 * In a process with Python, its functions stand where the interpreter runs them, and the interpreter's own frames are
 * left out: innermost the C code that a function called, then that function and its callers, then the C code that
 * called those. A function is a word of agent/python/frames.h, whose names are a record of their own.
 */
#ifndef GPUTRACE_AGENT_SPOOL_STACKS_H
#define GPUTRACE_AGENT_SPOOL_STACKS_H

#include <stdbool.h>
#include <stdint.h>

#define STACK_FRAMES_MAX 64  /* outer frames than these are left out */
#define STACK_WORDS_MAX 128u /* the same of a stack with functions of Python */

/* Before the first stack: loads what unwinding needs, so that this does not happen in the midst of a call. Takes the
 * loader's lock. */
void stacks_prepare(void);

/* The number of this thread's stack without SKIP more of the innermost frames; 0: none could be had or written. From
 * any thread; takes a microsecond or several, a new stack more. */
uint32_t stacks_record(uint32_t skip);

/* Whether this process runs Python whose functions can be read. Takes the loader's lock. */
bool stacks_find_python(void);

/* The number of this thread's stack of Python's functions alone; 0: it runs none. From any thread; takes a fraction of
 * a microsecond where they were seen before. */
uint32_t stacks_record_python(void);

/* In a forked child: what was written is the parent's. Numbers begin at 1 again. */
void stacks_atfork_child(void);

#endif
