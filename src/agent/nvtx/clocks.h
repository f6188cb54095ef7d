/*
 * Clocks of the program that events and counters are timed by: its own, which it hands over as functions, and those
 * of the system. To bring them onto the trace's clock each is read beside it from time to time.
 */
#ifndef GPUTRACE_AGENT_NVTX_CLOCKS_H
#define GPUTRACE_AGENT_NVTX_CLOCKS_H

#include <stdint.h>

/* Something is timed by this clock: an NVTX_TIMESTAMP_TYPE_… or the id of a time domain. */
void nvtx_clock_used(uint64_t id);

/* Reads all clocks that were not read for a while; called where times of theirs are handed over. */
void nvtx_clocks_read(void);

/* The process ends: reads all that can still be read. */
void nvtx_clocks_finish(void);

#endif
