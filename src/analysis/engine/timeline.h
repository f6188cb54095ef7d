/*
 * The GPU operations of a trace by device and time, each with the call that started it, and all API calls by thread and
 * time with their kinds. Both are collected only if a section needs them, sorted in bounded memory, and read in walks.
 * After trace_finish(), several threads may walk over them.
 */
#ifndef GPUTRACE_ANALYSIS_ENGINE_TIMELINE_H
#define GPUTRACE_ANALYSIS_ENGINE_TIMELINE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/array.h"
#include "common/map.h"
#include "common/sorter.h"
#include "analysis/engine/gpu_ops.h"

/* --- kinds of calls of CUDA's API, or of another API for accelerators, by the names of the functions --- */

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
    CALL_QUERY, /* asks whether a stream or an event is done */
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

/* Returns the kind of the function NAME of CUDA's runtime or driver, with any suffix (_v2, _ptsz), or of HIP, MUSA,
 * Level Zero, Unified Runtime or AscendCL. */
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

/* A cache of the kinds of calls by the numbers of their names. All zero is empty. */
struct call_kinds {
    ARRAY(char) items; /* by the number of the name: kind + 1; 0: not looked up yet */
};

/* Returns the kind of the call whose name is text NAME of STRINGS. Returns CALL_OTHER without memory. */
enum call_kind call_kinds_find(struct call_kinds *kinds, const struct interner *strings, uint32_t name);

/* --- GPU operations --- */

struct timeline_op {
    int64_t start, end;       /* ns */
    int64_t called, returned; /* when its call began and returned, ns; FIELD_ABSENT: not known */
    int64_t size;             /* bytes of a copy or set; blocks of a kernel; 0: not known */
    uint32_t device, stream;  /* indices in trace.devices and trace.streams */
    uint32_t thread;          /* of the call: index in trace.threads; LAUNCHED_NO_THREAD: not known */
    uint32_t call;            /* name of the call; EVENT_NO_TEXT: not known */
    uint32_t name;
    uint32_t correlation; /* 0: not known */
    uint32_t order;       /* in the file */
    uint8_t category;     /* enum category */
    uint8_t kind;         /* enum call_kind of the call */
};

/* Initialises a sorter of struct timeline_op by device, start and end. */
void timeline_init(struct sorter *timeline, struct sorter_space *space);

/* The inputs of timeline_gather(). */
struct timeline_sources {
    const struct sorter *gpu_ops, *calls; /* ready */
    const struct stream_owners *owners;
    struct call_kinds *kinds;
    const struct interner *strings;
};

/* Fills TIMELINE, and makes it ready. Returns 0, or -1: no memory, or after error(). */
int timeline_gather(struct sorter *timeline, const struct timeline_sources *parts);

/* --- API calls --- */

struct host_call {
    int64_t start, end; /* ns */
    uint32_t thread;    /* index in trace.threads */
    uint32_t name;
    int64_t correlation; /* FIELD_ABSENT: not known */
    uint8_t kind;        /* enum call_kind */
};

/* Initialises a sorter of struct host_call by thread and start. A call comes before the calls within it, such as the
 * driver's within the runtime's. */
void host_calls_init(struct sorter *host_calls, struct sorter_space *space);

/* A walk over the outermost calls. */
struct host_calls_walk {
    struct sorter_walk walk;
    uint32_t thread; /* of the last call */
    int64_t end;     /* of the last call */
    bool any;
};

void host_calls_walk_begin(struct host_calls_walk *walk, const struct sorter *host_calls);
/* Returns the next outermost call, which is valid until the next one is read, or NULL at the end. */
const struct host_call *host_calls_next(struct host_calls_walk *walk);
/* Returns 0, or -1: no memory, or after warning(). */
static inline int host_calls_walk_end(struct host_calls_walk *walk)
{
    return sorter_walk_end(&walk->walk);
}

/* Evaluates STATUS with each outermost CALL until STATUS is not 0. The value is that status, else that of
 * host_calls_walk_end(). */
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
