/*
 * CUPTI's numbers of contexts, devices and streams, as its records have them.
 */
#ifndef GPUTRACE_INJECTED_COLLECT_CUPTI_IDS_H
#define GPUTRACE_INJECTED_COLLECT_CUPTI_IDS_H

#include <stdint.h>

#include <gputrace/callbacks.h>

struct cupti;

void cupti_ids_init(const struct cupti *cupti);
/* In a forked child: CUPTI is not to be asked. */
void cupti_ids_leave(void);

/* Fills in CALL's context, its number and its device. UID: CUpti_CallbackData.contextUid, which no other context of
 * the process has; 0: not known, CUPTI is asked anew. */
void cupti_ids_of_context(struct CUctx_st *context, uint32_t uid, struct gputrace_call *call);

/* The number of a stream of the program (CUstream or cudaStream_t as an integer) in its context (0: the thread's), or
 * GPUTRACE_NO_STREAM. Streams 0 and 1 are the legacy default stream, 2 is the thread's own. */
uint32_t cupti_stream_id(uint64_t context, uint64_t stream);

/* The same of the stream that CALL was about. Of one that failed GPUTRACE_NO_STREAM: its handle may be none, and CUPTI
 * is not asked about such. */
uint32_t cupti_stream_id_of_call(const struct gputrace_call *call, const struct CUstream_st *stream);

#endif
