/*
 * The agent's records (common/spool_records.h): a walk over those of one chunk, and what they become.
 */
#ifndef GPUTRACE_TRACE_SPOOL_AGENT_RECORDS_H
#define GPUTRACE_TRACE_SPOOL_AGENT_RECORDS_H

#include "trace/spool/event_record.h"
#include "trace/spool/spool_file.h"

struct agent_walk {
    const uint8_t *at, *end;
    const struct spool_record *record; /* its fixed fields and its text lie within `bytes` */
    const char *text;                  /* of types that have one; not terminated */
    uint32_t length;
    uint64_t damaged; /* records left out: unknown, too short, or cut */
};

void agent_walk_begin(struct agent_walk *walk, const struct spool_part *part);
bool agent_walk_next(struct agent_walk *walk);

/* Puts the walk on one record that agent_walk_next() gave before. */
void agent_walk_at(struct agent_walk *walk, const void *record);

/* Fills EVENT from the record at hand, written by THREAD. */
void agent_decode(struct event *event, const struct agent_walk *walk, uint32_t thread);
/* The event of a record that agent_walk_next() gave before, written by THREAD. */
struct event agent_read(const void *record, uint32_t thread);

#endif
