/*
 * Writes the GPUs of a trace, and figures of launches that are computed from the GPU's limits.
 */
#ifndef GPUTRACE_TRACE_PFTRACE_WRITER_GPUS_H
#define GPUTRACE_TRACE_PFTRACE_WRITER_GPUS_H

#include "trace/pftrace/writer_rows.h"

/* Writes the GPUs in the metadata "deviceProperties", and keeps their limits. */
void pftrace_write_gpus(struct sink *sink, const char *value, size_t size);
/* Appends figures that are computed from the launch's shape and the GPU to the interned KERNEL. */
void pftrace_put_figures(const struct pftrace_rows *rows, const struct pftrace_put *put, struct buffer *kernel);

#endif
