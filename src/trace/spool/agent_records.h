/*
 * The agent's records (common/spool_records.h): a walk over the records of one chunk, and their decoding to events.
 */
#ifndef GPUTRACE_TRACE_SPOOL_AGENT_RECORDS_H
#define GPUTRACE_TRACE_SPOOL_AGENT_RECORDS_H

#include "trace/spool/event_record.h"
#include "trace/spool/spool_file.h"

struct agent_walk {
    const uint8_t *at, *end;
    const struct spool_record *record; /* its fixed fields and its text lie within record->bytes */
    const char *text;                  /* not terminated; NULL: the type has no text */
    uint32_t length;
    uint64_t damaged; /* records left out: unknown, too short, or cut */
};

void agent_walk_begin(struct agent_walk *walk, const struct spool_part *part);
bool agent_walk_next(struct agent_walk *walk);

/* Moves the walk to a record that agent_walk_next() returned before. */
void agent_walk_at(struct agent_walk *walk, const void *record);

/* Sets EVENT from the current record, which THREAD wrote. */
void agent_decode(struct event *event, const struct agent_walk *walk, uint32_t thread);
/* Returns the event of a record that agent_walk_next() returned before, and that THREAD wrote. */
struct event agent_read(const void *record, uint32_t thread);

#endif
