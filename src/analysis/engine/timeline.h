/*
 * The GPU operations of a trace by device and time, each with the call that started it, and all API calls by thread and
 * time with what they do. They are collected only if a section needs them, sorted in bounded memory, and read in walks.
 * After trace_finish() several threads may walk over them.
 */
#ifndef GPUTRACE_ANALYSIS_ENGINE_TIMELINE_H
#define GPUTRACE_ANALYSIS_ENGINE_TIMELINE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/array.h"
#include "common/map.h"
#include "common/sorter.h"
#include "analysis/engine/gpu_ops.h"

/* --- what a call of CUDA's API, or of another API for accelerators, does, by its name --- */

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

/* --- GPU operations --- */

struct timeline_op {
    int64_t start, end;       /* ns */
    int64_t called, returned; /* when the call that started it began and returned; FIELD_ABSENT: no call is known */
    int64_t size;             /* bytes of a copy or set; blocks of a kernel; 0: not known */
    uint32_t device, stream;  /* indices in trace.devices and trace.streams */
    uint32_t thread;          /* index in trace.threads of the call; LAUNCHED_NO_THREAD: no call is known */
    uint32_t call;            /* name of the call; EVENT_NO_TEXT: no call is known */
    uint32_t name;
    uint32_t correlation; /* 0: not known */
    uint32_t order;       /* in the file */
    uint8_t category;     /* enum category */
    uint8_t kind;         /* enum call_kind of the call */
};

/* By device, start and end. */
void timeline_init(struct sorter *timeline, struct sorter_space *space);

/* What a timeline is made of. */
struct timeline_sources {
    const struct sorter *gpu_ops, *calls; /* ready */
    const struct stream_owners *owners;
    struct call_kinds *kinds;
    const struct interner *strings;
};

/* Fills TIMELINE. Returns 0, or -1: no memory, or after error(). */
int timeline_gather(struct sorter *timeline, const struct timeline_sources *parts);

/* --- API calls --- */

struct host_call {
    int64_t start, end; /* ns */
    uint32_t thread;    /* index in trace.threads */
    uint32_t name;
    int64_t correlation; /* FIELD_ABSENT: not known */
    uint8_t kind;        /* enum call_kind */
};

/* By thread and start; a call comes before those that it made itself, such as the driver's within the runtime's. */
void host_calls_init(struct sorter *host_calls, struct sorter_space *space);

/* A walk over the outermost calls. */
struct host_calls_walk {
    struct sorter_walk walk;
    uint32_t thread; /* of the last call */
    int64_t end;     /* of the last call */
    bool any;
};

void host_calls_walk_begin(struct host_calls_walk *walk, const struct sorter *host_calls);
/* Returns the next call, valid until the next one, or NULL. */
const struct host_call *host_calls_next(struct host_calls_walk *walk);
/* Returns 0, or -1: no memory, or after warning(). */
static inline int host_calls_walk_end(struct host_calls_walk *walk)
{
    return sorter_walk_end(&walk->walk);
}

/* Evaluates STATUS with each outermost call until it is not 0. The value is that, or host_calls_walk_end()'s. */
#define HOST_CALLS_EACH(host_calls, call, status)                \
    ({                                                           \
        struct host_calls_walk walk_;                            \
        int status_ = 0;                                         \
        host_calls_walk_begin(&walk_, (host_calls));             \
        while (status_ == 0 && (call = host_calls_next(&walk_))) \
            status_ = (status);                                  \
        int ended_ = host_calls_walk_end(&walk_);                \
        status_ ?: ended_;                                       \
    })

#endif
