/*
 * Writes arguments as debug annotations of a TrackEvent, or as arguments of a GPU operation. For the latter, arguments
 * that all launches of a kernel share are kept apart from the others.
 */
#ifndef GPUTRACE_TRACE_PFTRACE_WRITER_ARGS_H
#define GPUTRACE_TRACE_PFTRACE_WRITER_ARGS_H

#include "trace/pftrace/writer_rows.h"

/* Writes ARGS, which may be NULL. */
void pftrace_put_args(struct pftrace_put *put, const struct args *args);

/* Writes the argument "correlation", which pftrace_put_args() held back. */
void pftrace_put_correlation(struct pftrace_put *put, uint64_t correlation);

/* Appends figures that are computed from the launch's shape and the GPU to the interned KERNEL. */
void pftrace_put_figures(const struct pftrace_rows *rows, const struct pftrace_put *put, struct buffer *kernel);

#endif
