/*
 * Arguments as debug annotations of a TrackEvent, or as arguments of a GPU operation, where those that all launches of a
 * kernel share are kept apart from the others.
 */
#ifndef GPUTRACE_TRACE_PFTRACE_WRITER_ARGS_H
#define GPUTRACE_TRACE_PFTRACE_WRITER_ARGS_H

#include "trace/pftrace/writer_rows.h"

/* ARGS may be NULL. */
void pftrace_put_args(struct pftrace_put *put, const struct args *args);

/* The argument that was held, after all. */
void pftrace_put_correlation(struct pftrace_put *put, uint64_t correlation);

#endif
