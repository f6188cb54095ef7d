/*
 * From the library's own records (wire/spool_records.h) to events.
 */
#ifndef GPUTRACE_TOOL_DECODE_OWN_H
#define GPUTRACE_TOOL_DECODE_OWN_H

#include "tool/model/event.h"
#include "tool/spool/records.h"

/* Fills EVENT from the record at hand, written by THREAD. */
void own_decode(struct event *event, const struct own_walk *walk, uint32_t thread);

#endif
