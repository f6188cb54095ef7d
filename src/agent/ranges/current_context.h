/*
 * The context that is current on this thread, for what is told of without a call of CUDA's.
 */
#ifndef GPUTRACE_AGENT_RANGES_CURRENT_CONTEXT_H
#define GPUTRACE_AGENT_RANGES_CURRENT_CONTEXT_H

struct gputrace_call;

/* Fills in CALL's context, its number and its device; leaves them as they are where none is current, or no CUDA. */
void current_context_find(struct gputrace_call *call);

#endif
