/*
 * Phases of compilation: times in which CUDA prepares code, counted, so that a subscriber sees when the first begins
 * and when the last has ended.
 *
 * Every function publishes what it says: compilation_phase_start and _end for each phase, compilation_start when the
 * number going on leaves zero, compilation_end when it is back at zero. One at a time: under a lock. None does anything
 * on a thread that is in a client's callback.
 */
#ifndef GPUTRACE_AGENT_DISPATCH_PHASES_H
#define GPUTRACE_AGENT_DISPATCH_PHASES_H

#include <gputrace/callbacks.h>

#include "agent/dispatch/registry.h"

/* The kinds that phases publish. */
#define PHASE_KINDS                                                                                            \
    (REGISTRY_BIT(compilation_start) | REGISTRY_BIT(compilation_end) | REGISTRY_BIT(compilation_phase_start) | \
     REGISTRY_BIT(compilation_phase_end))

/* Begins a phase: STREAM is NULL, and it lasts as long as a call of this thread; or STREAM is captured, and it lasts
 * until another call. CALL has the start, function, context and correlation. BOUND: only this thread may end it. */
void phase_begins(enum gputrace_trigger trigger, const struct CUstream_st *stream, bool bound,
                  const struct gputrace_call *call);
/* The call (the same correlation) returned, with CALL's end and result. Does nothing when it began no phase. */
void phase_call_returns(const struct gputrace_call *call);

/* Ends the phases of a STREAM, whose capture has ended or which is destroyed, and of a CONTEXT that is destroyed (NULL:
 * of none). A thread that ends also ends the phases of its calls, and its captures that are bound. */
void phases_end(const struct CUstream_st *stream, const struct CUctx_st *context, const struct gputrace_call *call,
                enum gputrace_ending ending);

/* Phases that are going on. */
unsigned phases_pending(void);

/* There is no subscriber any more, so ends will not be seen: what goes on is forgotten. May be called under any lock.
 */
void phases_forget(void);

/* In a forked child: the phases of the parent are not its own. */
void phases_atfork_child(void);

#endif
