/*
 * CUPTI's numbers of contexts, devices and streams, as its records have them.
 *
 * To ask CUPTI takes longer than the rest of a callback, so each thread remembers the answers: for a context until
 * the thread's calls are in another one, of a stream until any stream of the process goes.
 */
#ifndef GPUTRACE_AGENT_CUPTI_CUPTI_IDS_H
#define GPUTRACE_AGENT_CUPTI_CUPTI_IDS_H

#include <stdint.h>

#include <gputrace/callbacks.h>

#include "agent/dispatch/registry.h"

struct cupti;

/* Streams that a thread remembers at once. */
#define CUPTI_IDS_STREAMS 8u

/* The answers of one thread; zero: none. */
struct cupti_ids {
    struct CUctx_st *context; /* NULL: none */
    uint32_t uid;             /* its own among all contexts that there ever were */
    uint32_t id, device;
    struct {
        uint64_t stream;
        uint32_t uid; /* its context's; 0: none */
        uint32_t round;
        uint32_t id;
    } streams[CUPTI_IDS_STREAMS];
};

void cupti_ids_init(const struct cupti *cupti);
/* In a forked child: CUPTI is not to be asked, and the streams are the parent's. What threads remember is theirs to
 * forget. */
void cupti_ids_atfork_child(void);

/* Fills in CALL's context, its number and its device. */
void cupti_ids_of_context(struct CUctx_st *context, struct gputrace_call *call);

/* Fills them in for a call of the thread that MINE belongs to. UID: CUpti_CallbackData.contextUid; 0: not known. */
void cupti_ids_learn(struct cupti_ids *mine, struct CUctx_st *context, uint32_t uid);
static inline void cupti_ids_of_call(struct cupti_ids *mine, struct CUctx_st *context, uint32_t uid,
                                     struct gputrace_call *call)
{
    if (mine->context != context || mine->uid != uid || uid == 0)
        cupti_ids_learn(mine, context, uid);
    call->context = context;
    call->context_id = mine->id;
    call->device = mine->device;
}

/* The number of a stream of the program (CUstream or cudaStream_t as an integer) in its context (0: the thread's), or
 * GPUTRACE_NO_STREAM. Streams 0 and 1 are the legacy default stream, 2 is the thread's own. */
uint32_t cupti_stream_id(uint64_t context, uint64_t stream);

/* Returns the number of a stream that exists, in the context of CALL, which cupti_ids_of_call() has filled in. */
uint32_t cupti_ids_of_stream(struct cupti_ids *mine, const struct gputrace_call *call,
                             const struct CUstream_st *stream);

/* The kinds whose callers ask for streams: while they are wanted CUPTI has to report each stream that is destroyed. */
#define CUPTI_IDS_KINDS                                                                             \
    (REGISTRY_BIT(event_record) | REGISTRY_BIT(event_wait) | REGISTRY_BIT(stream_synchronization) | \
     REGISTRY_BIT(memory_allocation) | REGISTRY_BIT(memory_allocation_failure) | REGISTRY_BIT(memory_deallocation))

/* A stream was destroyed, or may have been without a report: all threads ask anew. */
void cupti_ids_forget_streams(void);

/*
 * Streams that the program created and has not destroyed. CUPTI also reports streams that CUDA created for itself, when
 * their context is destroyed.
 */

struct CUstream_st;

void own_streams_add(const struct CUstream_st *stream);

/* Returns whether it was one of them. */
bool own_streams_remove(const struct CUstream_st *stream);

#endif
