/*
 * Walks over the records that the agent wrote in a process.
 */
#ifndef GPUTRACE_TRACE_MEANING_BASE_RECORD_WALK_H
#define GPUTRACE_TRACE_MEANING_BASE_RECORD_WALK_H

#include <stdint.h>

struct event;
struct process;

typedef int (*event_function)(struct process *process, const struct event *event);

/* Calls VISIT for each event of the agent's records, at times on the axis of all processes, until one call gives
 * non-zero, and returns that. UNDECODED (or NULL) counts what cannot be read. */
int process_walk_agent_records(struct process *process, event_function visit, uint64_t *undecoded);

#endif
