/*
 * From CUPTI's activity records to events.
 *
 * The layouts are those of the header this was compiled with. Records of an older CUPTI are shorter, with the fields
 * that they have at the same places; fields beyond a record's end are taken as 0 and never read.
 */
#ifndef GPUTRACE_TRACE_SPOOL_CUPTI_H
#define GPUTRACE_TRACE_SPOOL_CUPTI_H

#include <stdbool.h>
#include <stdint.h>

#include "trace/spool/event_record.h"
#include "trace/spool/records.h"
#include "common/spool.h"

/*
 * The size of every kind's records, for cupti_walk_begin(): what the header tells, else what is known of its version of
 * CUPTI. 0 for kinds of which neither is known, and for sizes that cannot be right.
 */
void cupti_record_sizes(uint16_t sizes[SPOOL_CUPTI_KINDS], const struct spool_header *header);

/* Whether this kind becomes an event at all; records of others are stepped over. */
bool cupti_kind_decoded(uint32_t kind);

/* Fills EVENT from the record at hand. EVENT_NONE: a record that tells nothing for a trace. */
void cupti_decode(struct event *event, const struct cupti_walk *walk);

#endif
