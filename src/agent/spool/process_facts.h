/*
 * What the spool's header tells about this process.
 */
#ifndef GPUTRACE_AGENT_SPOOL_PROCESS_FACTS_H
#define GPUTRACE_AGENT_SPOOL_PROCESS_FACTS_H

#include <stdint.h>

#include "common/spool.h"

/* Fills a blank header but for `formatted` and what only collectors know. */
void process_facts_fill(struct spool_header *header, uint64_t trace_bits);

/* Notes in the header when CLOCK_REALTIME was stepped since the last call, or since the header was filled. Called now
 * and then by one thread. */
void process_facts_watch_clock(struct spool_header *header);

/* Threads of this process, and how its first thread has ended, as wait() tells it, by /proc; 0: not known. */
unsigned process_facts_threads(void);
int process_facts_first_status(void);

#endif
