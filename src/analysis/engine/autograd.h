/*
 * PyTorch runs the backward pass on threads of its own (autograd), which have no ranges. Kineto's flows "fwdbwd" name
 * the operator of the forward pass that caused an operator of the backward pass; without these flows, both operators
 * have the same sequence number. A GPU operation that an autograd thread launches belongs to a range of the thread that
 * ran the forward pass: to the range that is open there at that time, around the call of backward(), else to the range
 * around the operator of the forward pass.
 */
#ifndef GPUTRACE_ANALYSIS_ENGINE_AUTOGRAD_H
#define GPUTRACE_ANALYSIS_ENGINE_AUTOGRAD_H

#include <stdint.h>

#include "common/sorter.h"
#include "trace/event_fields.h"
#include "analysis/engine/ranges.h"

struct autograd {
    struct sorter flows, operators; /* ends of links, by flows and by sequence numbers */
    struct sorter links;            /* by the thread of the backward pass, then time */
};

void autograd_init(struct autograd *autograd, struct sorter_space *space);
void autograd_release(struct autograd *autograd);

/* autograd_flow() adds an end of a flow "fwdbwd", autograd_operator() an operator with a sequence number. PROCESS and
 * THREAD are indices of the trace. Both return 0, or -1: no memory. */
int autograd_flow(struct autograd *autograd, const struct event_fields *event, uint32_t process, uint32_t thread);
int autograd_operator(struct autograd *autograd, const struct event_fields *event, uint32_t process, uint32_t thread);

/* Moves the operations in GPU_OPS that an autograd thread launched outside of ranges to the thread and range of the
 * operator that caused them. RANGES and GPU_OPS must be ready. Returns 0, or -1: no memory, or after error(). */
int autograd_attribute(struct autograd *autograd, const struct ranges *ranges, struct sorter *gpu_ops);

#endif
