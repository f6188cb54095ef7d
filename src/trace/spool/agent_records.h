/*
 * From the library's own records (common/spool_records.h) to events.
 */
#ifndef GPUTRACE_TRACE_SPOOL_AGENT_RECORDS_H
#define GPUTRACE_TRACE_SPOOL_AGENT_RECORDS_H

#include "trace/spool/event_record.h"
#include "trace/spool/records.h"

/* Fills EVENT from the record at hand, written by THREAD. */
void own_decode(struct event *event, const struct own_walk *walk, uint32_t thread);

#endif
