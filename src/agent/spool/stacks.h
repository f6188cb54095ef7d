/*
 * Call stacks of the program, each kept once.
 *
 * A stack is written to the spool as addresses when it first comes, with the lines of /proc/self/maps that describe the
 * code there; gputrace finds functions, files and lines after the program's end. Frames of the tracing are left out:
 * gputrace, CUPTI and, in a callback, its caller.
 *
 * In a process with Python, the stack has Python functions in the place of the interpreter's own frames: innermost the
 * C code that a function called, then that function and its callers, then the C code that called those. A function is a
 * word of agent/python/frames.h, whose names are in a record of their own.
 */
#ifndef GPUTRACE_AGENT_SPOOL_STACKS_H
#define GPUTRACE_AGENT_SPOOL_STACKS_H

#include <stdbool.h>
#include <stdint.h>

#define STACK_FRAMES_MAX 64  /* further frames, the outer ones, are left out */
#define STACK_WORDS_MAX 128u /* maximum for a stack with Python functions */

/* Loads what unwinding needs before the first stack, so that this does not happen in the middle of a call. Takes the
 * loader's lock. */
void stacks_prepare(void);

/* Records this thread's stack without SKIP more of the innermost frames. Returns its number, or 0 if it could not be
 * read or written. Callable from any thread; takes a microsecond or several, more for a new stack. */
uint32_t stacks_record(uint32_t skip);

/* Whether this process runs a Python whose functions can be read. Takes the loader's lock. */
bool stacks_find_python(void);

/* Records this thread's stack of Python functions alone. Returns its number, or 0 if the thread runs none. Callable
 * from any thread; takes a fraction of a microsecond if the functions are known. */
uint32_t stacks_record_python(void);

/* In a forked child: forgets the stacks, which are in the parent's spool. Numbers begin at 1 again. */
void stacks_atfork_child(void);

#endif
