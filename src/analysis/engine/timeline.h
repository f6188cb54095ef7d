/*
 * The API calls and GPU operations of a trace, and which call started which operation. They are joined by correlation
 * id after the last event, because a call may come after its operation. Every node of a graph is joined with the launch
 * of the graph.
 *
 * If several calls of a process have one correlation id, such as a call of the runtime and the driver's call within it,
 * only the outermost counts: the first to start, and of several with one start, the last to end.
 *
 * All are records in sorters, which keep them in bounded memory: calls by correlation id are added with sorter_add(),
 * operations with gpu_ops_add(). What sections walk over is made from them only if a section needs it. After
 * trace_finish(), several threads may walk over them.
 */
#ifndef GPUTRACE_ANALYSIS_ENGINE_TIMELINE_H
#define GPUTRACE_ANALYSIS_ENGINE_TIMELINE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/array.h"
#include "common/map.h"
#include "common/sorter.h"

struct event_fields;

/* --- API calls by correlation id --- */

struct call {
    uint32_t correlation;
    uint32_t name;    /* of trace.strings */
    uint32_t thread;  /* index in trace.threads */
    uint32_t process; /* index in trace.processes */
    int64_t start, end;
};

void calls_init(struct sorter *calls, struct sorter_space *space);

/* A walk over the outermost calls, by correlation id, then process. sorter_walk_end(&walk.walk) ends it. Several walks
 * may go on at a time. */
struct calls_walk {
    struct sorter_walk walk;
    uint32_t correlation, process; /* of the last call, if `any` was read */
    bool any;
};

void calls_walk_begin(struct calls_walk *walk, const struct sorter *calls);
/* Returns the next call, which is valid until calls_next() is called again, or NULL at the end. */
const struct call *calls_next(struct calls_walk *walk);

/* Finds calls for correlation ids that come in rising order. */
struct calls_join {
    struct calls_walk walk;
    const struct call *next;            /* the next call of the walk, which has a later id */
    ARRAY(struct calls_join_call) same; /* the calls of the last id, one for each process, by process */
    ARRAY(uint32_t) by_time;            /* indices of `same` by start; empty: not sorted yet */
    int64_t correlation;
    bool again; /* the call that was found last had been found before */
    bool no_memory;
    /* The caller may set it after calls_join_begin(): it is called for each call that was not found. Returns 0, or -1:
     * no memory. */
    int (*missed)(void *context, const struct call *call);
    void *context;
};

struct calls_join_call {
    struct call call;
    bool found;
};

void calls_join_begin(struct calls_join *join, const struct sorter *calls);
/* Returns the call of PROCESS, an index, with this CORRELATION, or NULL if there is none. For CALLS_ANY_PROCESS, returns
 * the last call of any process that started by TIME, else the first. The pointer is valid until the next search. */
#define CALLS_ANY_PROCESS UINT32_MAX
const struct call *calls_join_find(struct calls_join *join, int64_t correlation, int64_t time, uint32_t process);
/* Calls missed() for all remaining calls, after the last search. */
void calls_join_miss_rest(struct calls_join *join);
/* Returns 0, or -1: no memory, or after error(). */
int calls_join_end(struct calls_join *join);

/* --- GPU operations --- */

/* Returns the number of blocks of a grid, or of threads of a block; 0: not known. */
int64_t gpu_op_size(const int64_t size[3]);

struct gpu_op {
    int64_t start, duration;
    int64_t size;         /* bytes of a copy or set; blocks of a kernel; 0: not known */
    uint32_t correlation; /* valid if is_correlated */
    uint32_t name;        /* of trace.strings */
    uint32_t stream;      /* index in trace.streams */
    uint32_t order;       /* in the file */
    bool is_correlated;
    bool kernel; /* or a whole graph; else a copy or set */
    uint8_t category;
    uint32_t device;   /* index in trace.devices */
    uint32_t captured; /* number in trace.captured; 0: not known */
    uint32_t stack;    /* number of the call stack that launched it, or a text with one of these bits; 0: not known */
#define GPU_OP_FORWARD (UINT32_C(1) << 31)  /* text: the line of its forward operator */
#define GPU_OP_BACKWARD (UINT32_C(1) << 30) /* text: the line that called the backward pass */
#define GPU_OP_STACKS GPU_OP_BACKWARD       /* numbers and texts are less than this */
};

/* Adds an operation. STREAM and DEVICE are indices of the trace, and CAPTURED is as in struct gpu_op. Returns 0, or -1:
 * no memory. */
int gpu_ops_add(struct sorter *gpu_ops, const struct event_fields *event, uint32_t stream, uint32_t device,
                uint32_t captured);

/* The process of each stream, by index in trace.streams. It is known in traces of gputrace, where it is needed because
 * all processes use the same correlation ids. */
struct stream_owners { /* laid out as an ARRAY */
    uint32_t *items;   /* CALLS_ANY_PROCESS: not known */
    size_t count, capacity;
};

/* Calls EACH for all GPU operations by correlation id, with the call that started the operation, or NULL. Stops when
 * EACH returns non-zero, and returns that; else 0, or -1: no memory, or after error(). Several threads may call it at a
 * time. */
int gpu_ops_each(const struct sorter *gpu_ops, const struct sorter *calls, const struct stream_owners *owners,
                 int (*each)(void *context, const struct gpu_op *op, const struct call *call), void *context);

/* --- GPU operations by the thread and the time of the call that started them: an operation belongs to a range if its
 * call began in it, on a thread of the range --- */

#define LAUNCHED_NO_THREAD UINT32_MAX

struct launched_op {
    int64_t called;          /* when the call began */
    int64_t start, duration; /* of the operation, ns */
    uint32_t name;           /* of trace.strings */
    uint32_t stream;         /* index in trace.streams */
    uint32_t thread;         /* index in trace.threads; LAUNCHED_NO_THREAD: the call is not known, sorted last */
    bool kernel;             /* or a whole graph; else a copy or set */
    uint32_t captured;       /* as in struct gpu_op */
    uint32_t stack;          /* as in struct gpu_op */
    /* The call that started it, because autograd_attribute() changes `called` and `thread`. */
    uint32_t call;     /* name of the call, in trace.strings; EVENT_NO_TEXT: not known */
    uint32_t launcher; /* the thread of the call */
    int64_t launched;  /* when the call began */
};

/* Compares by thread, then call, for sorters of records that begin with a struct launched_op. */
int launched_ops_order(const void *left, const void *right);

void launched_ops_init(struct sorter *launched, struct sorter_space *space);

/* Fills LAUNCHED, and makes it ready. GPU_OPS and CALLS must be ready. Returns 0, or -1: no memory, or after
 * error(). */
int launched_ops_gather(struct sorter *launched, const struct sorter *gpu_ops, const struct sorter *calls,
                        const struct stream_owners *owners);

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

/* --- GPU operations by device and time, each with the call that started it --- */

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

/* The inputs of timeline_gather(). */
struct timeline_sources {
    const struct sorter *gpu_ops, *calls; /* ready */
    const struct stream_owners *owners;
    struct call_kinds *kinds;
    const struct interner *strings;
};

/* Fills TIMELINE, and makes it ready. Returns 0, or -1: no memory, or after error(). */
int timeline_gather(struct sorter *timeline, const struct timeline_sources *parts);

/* --- all API calls by thread and time, with their kinds --- */

struct host_call {
    int64_t start, end; /* ns */
    uint32_t thread;    /* index in trace.threads */
    uint32_t name;
    int64_t correlation; /* FIELD_ABSENT: not known */
    uint8_t kind;        /* enum call_kind */
};

/* Initialises sorters of struct gpu_op by correlation id, of struct timeline_op by device, start and end, and of struct
 * host_call by thread and start, where a call comes before the calls within it. */
void timeline_init(struct sorter *gpu_ops, struct sorter *timeline, struct sorter *host_calls,
                   struct sorter_space *space);

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
