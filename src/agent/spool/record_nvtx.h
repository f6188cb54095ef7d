/*
 * The recorder's part for NVTX: events while recording is on, names always.
 */
#ifndef GPUTRACE_AGENT_SPOOL_RECORD_NVTX_H
#define GPUTRACE_AGENT_SPOOL_RECORD_NVTX_H

#include <stdint.h>

#include <gputrace/callbacks.h>

#include "common/spool_records.h"

struct gputrace_nvtx_name;

/* Gives 0, or -1: no memory. */
int record_nvtx_subscribe(void);

/* For the registry's shortcut: what happens now, with a message and nothing else. */
void record_nvtx_briefly(enum spool_nvtx_what what, uint32_t domain, uint32_t string, struct gputrace_text message);

/* record_nvtx_names.c. The first CUDA event that is named has the recorder hear of all that are recorded from then on,
 * so that the trace can tell which of CUPTI's records are of that event. */
void record_nvtx_name(void *data, const struct gputrace_nvtx_name *name);

/* In a forked child: another thread may have held the lock. */
void record_nvtx_leave(void);

#endif
