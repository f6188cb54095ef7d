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

#include "common/settings.h"

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

/*
 * Stacks of calls (call_stacks.c): launches, waits and graph nodes have a record for each stack, which names the call or
 * the node. An allocation has its stack in its own record.
 */

/* Sets what gets a stack. BITS are of enum stacks_bits. Among the launches of one kernel and grid by one thread, the
 * first gets a stack, and then one of EVERY on average (0: STACKS_EVERY_DEFAULT). NODES: graph nodes get stacks, too,
 * if launches do. Called once, before recording is first switched on. */
void call_stacks_init(uint64_t bits, uint64_t every, bool nodes);

/* From the next switch on, calls that get no whole stack get a stack of Python functions alone. Must not run at the
 * same time as a switch. */
void call_stacks_add_python(void);

/* Records this thread's stack, whole or of Python functions alone as the settings say for WHAT. Returns its number, or
 * 0 if no stack is wanted or none could be read. */
uint32_t call_stack_record(enum stacks_bits what);

/* Registers or removes the callbacks that take stacks, as recording goes on or off. Calls must not overlap. */
void call_stacks_switch(bool on);

#endif
