/*
 * Writes events, in sections that can be read independently. A slice is held until the next event, for its flows.
 */
#ifndef GPUTRACE_TRACE_PFTRACE_WRITER_EVENTS_H
#define GPUTRACE_TRACE_PFTRACE_WRITER_EVENTS_H

#include "trace/pftrace/writer_rows.h"

/* Writes the slice that is held with its flows. */
void pftrace_flush(struct sink *sink);

void pftrace_write_slice(struct sink *sink, const struct slice *slice);
/* These events have no flows. */
void pftrace_write_instant(struct sink *sink, const struct slice *instant);
void pftrace_write_async(struct sink *sink, const struct async_slice *slice);
void pftrace_write_counter(struct sink *sink, const struct counter *counter);

#endif
