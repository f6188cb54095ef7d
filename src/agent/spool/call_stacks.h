/*
 * Call stacks of launches, waits and graph nodes: a record for each stack, which names the call or the node. An
 * allocation has its stack in its own record.
 */
#ifndef GPUTRACE_AGENT_SPOOL_CALL_STACKS_H
#define GPUTRACE_AGENT_SPOOL_CALL_STACKS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/settings.h"

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
