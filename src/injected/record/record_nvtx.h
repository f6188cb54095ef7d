/*
 * The recorder's part for NVTX: events while recording is on, names always.
 */
#ifndef GPUTRACE_INJECTED_RECORD_RECORD_NVTX_H
#define GPUTRACE_INJECTED_RECORD_RECORD_NVTX_H

struct gputrace_nvtx_name;

/* Gives 0, or -1: no memory. */
int record_nvtx_subscribe(void);

/* record_nvtx_names.c. The first CUDA event that is named has the recorder hear of all that are recorded from then on,
 * so that the trace can tell which of CUPTI's records are of that event. */
void record_nvtx_name(void *data, const struct gputrace_nvtx_name *name);

/* In a forked child: another thread may have held the lock. */
void record_nvtx_leave(void);

#endif
