/*
 * What a .pftrace says of GPUs, and what follows from it for a launch.
 */
#ifndef GPUTRACE_TRACE_PFTRACE_WRITER_GPUS_H
#define GPUTRACE_TRACE_PFTRACE_WRITER_GPUS_H

#include "trace/pftrace/writer_rows.h"

/* What JSON has as "deviceProperties". */
void pftrace_write_gpus(struct sink *sink, const char *value, size_t size);
/* Adds what follows from the launch's shape and the GPU to the interned KERNEL. */
void pftrace_put_figures(const struct pftrace_rows *rows, const struct pftrace_put *put, struct buffer *kernel);

#endif
