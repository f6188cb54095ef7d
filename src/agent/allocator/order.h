/*
 * Order between streams, and whether one is being captured. Without a heap's lock.
 */
#ifndef GPUTRACE_AGENT_ALLOCATOR_ORDER_H
#define GPUTRACE_AGENT_ALLOCATOR_ORDER_H

#include <cuda.h>
#include <stdbool.h>
#include <stdint.h>

struct cuda_calls;
struct heap;

/* --- the context --- */

struct order_context {
    bool pushed;
};

/* Makes a context of the heap's device current, if none of it is: its primary one, as CUDA's runtime does. It stays
 * when there was none. False: CUDA does not work (any more); then it is not left. */
bool order_enter(const struct heap *heap, struct order_context *context);
void order_leave(const struct heap *heap, const struct order_context *context);

/* --- captures --- */

/* Between these the thread may do what captures do not like, as it does not concern them. */
struct relaxed {
    const struct cuda_calls *cuda;
    CUstreamCaptureMode before;
    bool done;
};
struct relaxed order_relax(const struct cuda_calls *cuda);
void order_unrelax(struct relaxed *relaxed);

struct capture {
    bool active;   /* nothing may be put into the stream but what shall be captured */
    uint64_t id;   /* unique in the process; 0: the capture is broken, or is that of a stream that this one waits for */
    CUgraph graph; /* that is being made; NULL: as before */
};
struct capture order_capture(const struct heap *heap, CUstream stream);

/* --- streams --- */

/* THEN goes on when the work in FIRST so far is done. Neither is being captured. The host does not wait, unless there
 * is no event to be had. */
void order_after(const struct heap *heap, CUstream first, CUstream then);

/* A stream of the allocator's own, in *PLACE (of the heap) once it is made; NULL: the driver refuses. */
CUstream order_own(const struct heap *heap, CUstream *place);

#endif
