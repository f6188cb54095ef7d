/*
 * What a call of CUDA's API, or of another API for accelerators, does, by its name.
 */
#ifndef GPUTRACE_ANALYSIS_ENGINE_CALL_KIND_H
#define GPUTRACE_ANALYSIS_ENGINE_CALL_KIND_H

#include <stdbool.h>
#include <stdint.h>

#include "common/array.h"
#include "common/map.h"

enum call_kind {
    CALL_OTHER,
    CALL_LAUNCH,       /* of a kernel */
    CALL_GRAPH_LAUNCH, /* of a whole graph */
    CALL_COPY,         /* returns when the copy is done, with the exceptions that CUDA's manual lists */
    CALL_COPY_ASYNC,
    CALL_SET,
    CALL_SET_ASYNC,
    CALL_SYNC_DEVICE, /* waits for all work of the device */
    CALL_SYNC_STREAM, /* waits for the work of a stream */
    CALL_SYNC_EVENT,  /* waits for an event */
    CALL_WAIT_EVENT,  /* makes a stream wait for an event */
    CALL_RECORD_EVENT,
    CALL_QUERY, /* whether a stream or an event is done */
    CALL_ALLOCATE,
    CALL_FREE,
    CALL_ALLOCATE_ASYNC, /* stream-ordered */
    CALL_FREE_ASYNC,
    CALL_ALLOCATE_HOST, /* pins memory */
    CALL_FREE_HOST,
    CALL_MODULE,  /* loads a module or a library, links or compiles */
    CALL_GRAPH,   /* captures, builds, instantiates or changes a graph */
    CALL_CONTEXT, /* initialises CUDA, makes or resets a context */
    CALL_KIND_COUNT,
};
#define CALL_KIND_BIT(kind) (1u << (kind))

/* The kind of the call NAME, of CUDA's runtime or driver, with any ending (_v2, _ptsz), or of HIP, MUSA, Level Zero,
 * Unified Runtime or AscendCL. */
enum call_kind call_kind_of(const char *name);

/* Whether the host waits for the GPU in a call of this kind. */
static inline bool call_kind_waits(enum call_kind kind)
{
    return kind == CALL_SYNC_DEVICE || kind == CALL_SYNC_STREAM || kind == CALL_SYNC_EVENT || kind == CALL_COPY;
}

static inline bool call_kind_launches(enum call_kind kind)
{
    return kind >= CALL_LAUNCH && kind <= CALL_SET_ASYNC;
}

/* The kinds of calls by the numbers of their names, each searched once. All zero is empty. */
struct call_kinds {
    ARRAY(char) items; /* by the number of the name: kind + 1; 0: not searched yet */
};

/* The kind of the call whose name is text NAME of STRINGS; CALL_OTHER without memory. */
enum call_kind call_kinds_find(struct call_kinds *kinds, const struct interner *strings, uint32_t name);

#endif
