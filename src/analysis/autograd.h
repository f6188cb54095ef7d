/*
 * PyTorch runs the backward pass on threads of its own (autograd), which have no ranges. Their operators tell which
 * operator of the forward pass caused them, by Kineto's flows "fwdbwd", or, in a trace without these, by the sequence
 * numbers that both have. So GPU operations that such a thread launches belong to a range of the thread that ran the
 * forward pass: the one that is open there meanwhile, around the call of backward(), else the one around the operator
 * of the forward pass.
 */
#ifndef GPUTRACE_ANALYSIS_AUTOGRAD_H
#define GPUTRACE_ANALYSIS_AUTOGRAD_H

#include "analysis/gpu_ops.h"
#include "analysis/ranges.h"
#include "analysis/sorter.h"

struct autograd {
    struct sorter flows, operators; /* ends of links, of both kinds */
    struct sorter links;            /* by the thread of the backward pass, then time */
};

void autograd_init(struct autograd *autograd, struct sorter_room *room);
void autograd_release(struct autograd *autograd);

/* An end of a flow "fwdbwd", and an operator with a sequence number. PROCESS and THREAD are indices of the trace. These
 * give 0, or -1: no memory. */
int autograd_flow(struct autograd *autograd, const struct event_fields *event, uint32_t process, uint32_t thread);
int autograd_operator(struct autograd *autograd, const struct event_fields *event, uint32_t process, uint32_t thread);

/* After the last event, when RANGES and OPS are ready: operations in OPS that an autograd thread launched in no
 * range of its own get the thread and the time of the operator that caused them. Returns 0, or -1: no memory, or after
 * error(). */
int autograd_attribute(struct autograd *autograd, const struct ranges *ranges, struct launched_ops *gpu_ops);

#endif
