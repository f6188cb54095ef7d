/*
 * The events of a .pftrace as records for the report (event_records.h), without a text in between: one thread's way of
 * understanding run after run.
 */
#ifndef GPUTRACE_TRACE_PFTRACE_PFTRACE_RECORDS_H
#define GPUTRACE_TRACE_PFTRACE_PFTRACE_RECORDS_H

#include <stdint.h>

#include "common/buffer.h"

struct packets_run;
struct pftrace_records;

/* NULL after error(). */
struct pftrace_records *pftrace_records_new(void);
void pftrace_records_free(struct pftrace_records *records); /* NULL: nothing happens */

/* Puts the records of RUN into BUFFER, and adds to *LEFT_OUT how many packets tell nothing. A run that does not begin a
 * section must be given to who had the one before it. Gives 0, or -1 after error(). */
int pftrace_records_take(struct pftrace_records *records, struct packets_run *run, struct buffer *buffer,
                         uint64_t *left_out);

#endif
