/*
 * Writes events, in sections that readers can read alone. A slice waits for the flows that follow it.
 */
#ifndef GPUTRACE_TRACE_PFTRACE_WRITER_EVENTS_H
#define GPUTRACE_TRACE_PFTRACE_WRITER_EVENTS_H

#include "trace/pftrace/writer_rows.h"

/* Writes the slice that waited for its flows. */
void pftrace_flush(struct sink *sink);

void pftrace_write_slice(struct sink *sink, const struct slice *slice);
/* Events that have no flows. */
void pftrace_write_instant(struct sink *sink, const struct slice *instant);
void pftrace_write_async(struct sink *sink, const struct async_slice *slice);
void pftrace_write_counter(struct sink *sink, const struct counter *counter);

#endif
