/*
 * Call stacks of launches, of waits and of nodes of graphs: a record for each that has one, which names the call or the
 * node. Allocations have theirs in their own record.
 */
#ifndef GPUTRACE_AGENT_SPOOL_CALL_STACKS_H
#define GPUTRACE_AGENT_SPOOL_CALL_STACKS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/settings.h"

/* BITS of enum stacks_bits; EVERY: of the launches of one kernel and grid by one thread the first has its stack, and
 * one of so many afterwards (0: STACKS_EVERY_DEFAULT). NODES: with launches, also of nodes of graphs. Once, before
 * recording is first switched on. */
void call_stacks_init(uint64_t bits, uint64_t every, bool nodes);

/* From the next switch on, calls that get no whole stack get one of Python functions alone. Must not run at the same
 * time as a switch. */
void call_stacks_add_python(void);

/* This thread's stack, whole or of Python's functions alone, as it is wanted of WHAT; 0: neither is, or none could be
 * had. */
uint32_t call_stack_record(enum stacks_bits what);

/* Recording goes on or off: launches and waits have callbacks for their stacks only meanwhile. One call at a time. */
void call_stacks_switch(bool on);

#endif
