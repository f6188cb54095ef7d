/*
 * Phases of compilation, the times in which CUDA prepares code. They are counted, so that a subscriber sees when the
 * first begins and when the last has ended.
 *
 * The functions publish compilation_phase_start and compilation_phase_end for each phase, compilation_start when the
 * number of open phases leaves zero, and compilation_end when it is back at zero. They publish under a lock, one event
 * after the other. No function does anything on a thread that is in a client's callback.
 */
#ifndef GPUTRACE_AGENT_CUPTI_CALLS_CODE_H
#define GPUTRACE_AGENT_CUPTI_CALLS_CODE_H

#include <gputrace/callbacks.h>
#include <stdbool.h>

/* Begins a phase. If STREAM is NULL, the phase lasts as long as the current call of this thread; otherwise STREAM is
 * being captured, and a later call ends the phase. CALL has start, function, context and correlation. If BOUND, only
 * this thread may end the phase. */
void phase_begins(enum gputrace_trigger trigger, const struct CUstream_st *stream, bool bound,
                  const struct gputrace_call *call);
/* Ends the phase that the call with CALL's function and correlation began, with CALL's end and result. Does nothing if
 * the call began no phase. */
void phase_call_returns(const struct gputrace_call *call);

/* Ends the phases of STREAM, whose capture has ended or which is destroyed, and of CONTEXT, which is destroyed; either
 * may be NULL. The end of a thread also ends the phases of its calls, and its bound captures. */
void phases_end(const struct CUstream_st *stream, const struct CUctx_st *context, const struct gputrace_call *call,
                enum gputrace_ending ending);

/* Returns the number of open phases. */
unsigned phases_pending(void);

/* Discards the open phases, because without a subscriber their ends will not be seen. May be called under any lock. */
void phases_forget(void);

/* In a forked child: discards the parent's phases. */
void phases_atfork_child(void);

/* Returns the kind of a code image that the program passes to CUDA, from its first bytes; NULL is
 * GPUTRACE_IMAGE_UNKNOWN. As for cuModuleLoadData(), the image has no length: text ends with a NUL, a binary is longer
 * than its magic number. No byte after the deciding one is read. */
enum gputrace_image image_sort(const void *image);

#endif
