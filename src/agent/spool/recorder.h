/*
 * The recorder: a subscriber that writes what it hears into the spool. Here it is put together and switched; what is
 * written of CUDA and of NVTX stands in files of their own.
 *
 * Names, contexts, streams, memory and phases are always kept, for the trace cannot be read without them; NVTX events
 * and synchronisation only while recording is on. Of CUDA events alone (TRACE_EVENT without TRACE_SYNC) nothing is
 * written but their calls, which CUPTI records.
 */
#ifndef GPUTRACE_AGENT_SPOOL_RECORDER_H
#define GPUTRACE_AGENT_SPOOL_RECORDER_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/dispatch/text.h"
#include "common/spool.h"

/* Subscribes to what TRACE_BITS ask for. Gives 0, or -1: no memory. */
int recorder_subscribe(uint64_t trace_bits);
/* Also to what nodes of graphs launch, where there is a record for each node. */
int recorder_subscribe_graph_nodes(void);

/* Recording goes on or off, as of TIME (CLOCK_REALTIME, ns); REASON is written beside it. */
void recorder_switch(bool on, uint64_t time, const char *reason);

/* Notes what the process did while recording waits for something else: WHAT is SPOOL_SEEN_RANGE … */
void recorder_seen(uint16_t what, struct gputrace_text text);

extern bool recorder_on;
/* Whether recording is on. */
static inline bool recorder_is_on(void)
{
    return __atomic_load_n(&recorder_on, __ATOMIC_RELAXED);
}

/* A word to the user that belongs in the trace; a warning is printed by the tool when it makes that. */
void recorder_note(uint16_t flags, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The same, printed now if there is a way to the user: what he may want to know while the program runs. */
void recorder_warn(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
