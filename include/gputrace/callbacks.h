/*
 * callbacks.h: callbacks for what a CUDA program does.
 *
 * gputrace reports events, streams, memory, launches, copies, graphs, modules, NVTX ranges and compilation to every
 * callback that is registered for that kind, once for each operation, for all versions of CUDA's functions.
 * Callbacks are registered by
 *
 *   a plugin, a shared library that the user names: gputrace run --plugin ./mine.so[,key=value…] ./program
 *
 *       #include <gputrace/callbacks.h>
 *
 *       static void recorded(void *data, const struct gputrace_event_record *record)
 *       {
 *           if (record->call.result == 0)
 *               ++*(unsigned long *)data;
 *       }
 *
 *       static int start(const struct gputrace_host *host)
 *       {
 *           static unsigned long count;
 *           return gputrace_event_record_register(host, recorded, &count) ? 0 : -1;
 *       }
 *       GPUTRACE_PLUGIN("mine", start);
 *
 *   the program itself: gputrace_own_host() returns its host, or NULL when the program does not run under gputrace.
 *
 * Everything is in this header: there is nothing to link, and no other header of CUDA's or gputrace's is needed.
 *
 * CALLBACKS. For each KIND of GPUTRACE_KINDS there are a struct gputrace_KIND that describes what happened, the type of
 * its callbacks gputrace_KIND_fn, and gputrace_KIND_register(). A callback runs on the thread that did the operation,
 * after the operation was done or failed and before the program continues. Callbacks of a kind run in the order in
 * which they were registered. Their argument is valid during the call alone. The same function may be registered more
 * than once, with the same or with different data, and is then called as often. Callbacks of one kind run at the same
 * time on several threads.
 *
 * Callbacks may be registered and removed at any time, from any thread, also from inside a callback; dispatch takes no
 * lock. A removed callback is not called for operations that begin afterwards. A call that had begun on another thread
 * may still be going on: gputrace_synchronize() waits for those. A kind without callbacks costs nothing: CUPTI is not
 * asked for it.
 *
 * A callback may call CUDA and NVTX. Those calls are neither traced nor reported to callbacks. A callback must not
 * throw, not leave by longjmp(), and not wait for another thread that calls CUDA. `call.result` holds the CUresult: an
 * operation that failed was not done. Two sorts of calls are not reported: calls that the CUDA runtime refuses itself,
 * before it calls the driver, and calls that the driver refuses before CUPTI sees them (waiting for the event NULL, or
 * querying it). The trace has the former, as calls with an error.
 *
 * COMPILATION. A phase is a time in which CUDA prepares code: it loads a module, compiles PTX, links, loads a function
 * at its first use, captures or instantiates a graph. The start and the end of each phase are reported. Besides,
 * `compilation_start` is reported when the number of phases that are going on leaves zero, and `compilation_end` when
 * it is back at zero. These two never overlap: they are reported under a lock, one after the other. Every phase ends:
 * if its own end never comes, it ends with its thread or its context, and `ending` says so.
 *
 * VERSIONS. As long as GPUTRACE_CALLBACKS_VERSION stays, a plugin works with an earlier and with a later gputrace.
 *   - Structs grow at their end. A struct that may grow holds its size: struct gputrace_KIND in `call.size`, a host and
 *     a plugin in `size`. The side that fills in a struct sets the size that it knows.
 *   - GPUTRACE_HAS(what, member) is true if the running gputrace filled in that member. Members of the first version
 *     need no such check. Structs without a size do not change.
 *   - New kinds come last. Registering for a kind that the running gputrace does not have returns 0.
 * A plugin that was built for another version is not loaded, and gputrace prints a warning.
 *
 * C99 and later, C++11 and later; GCC or Clang; Linux. See gputrace-callbacks(3).
 */
#ifndef GPUTRACE_CALLBACKS_H
#define GPUTRACE_CALLBACKS_H

#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

#define GPUTRACE_CALLBACKS_VERSION 2u

/* CUDA's own types, as cuda.h declares them: CUcontext is struct CUctx_st *, and so on. */
struct CUctx_st;
struct CUstream_st;
struct CUevent_st;
struct CUgraph_st;
struct CUgraphExec_st;

#define GPUTRACE_NO_DEVICE UINT32_MAX
#define GPUTRACE_NO_STREAM UINT32_MAX

/* The kinds of events, each with the moment at which its callbacks are called. */
#define GPUTRACE_KINDS(X)                                                                              \
    X(event_creation)            /* cuEventCreate */                                                   \
    X(event_deletion)            /* cuEventDestroy */                                                  \
    X(event_record)              /* cuEventRecord, WithFlags */                                        \
    X(event_wait)                /* a stream waits for an event: cuStreamWaitEvent */                  \
    X(event_synchronization)     /* the thread waited for an event */                                  \
    X(event_query)               /* the thread asked whether an event's work is done */                \
    X(stream_creation)           /* the program created a stream */                                    \
    X(stream_deletion)           /* a stream is about to be destroyed, alone or with its context */    \
    X(stream_synchronization)    /* the thread waited for a stream */                                  \
    X(stream_query)              /* the thread asked whether a stream's work is done */                \
    X(device_synchronization)    /* the thread waited for a device (context) */                        \
    X(memory_allocation)         /* memory of any sort was allocated, or host memory registered */     \
    X(memory_deallocation)       /* memory was freed, or host memory unregistered */                   \
    X(memory_allocation_failure) /* an allocation failed */                                            \
    X(memory_mapping)            /* virtual addresses got memory: cuMemMap */                          \
    X(memory_unmapping)          /* virtual addresses lost their memory: cuMemUnmap */                 \
    X(memory_access)             /* the program declared an access: gputrace_access() */               \
    X(kernel_launch)             /* a kernel was launched */                                           \
    X(memcpy)                    /* a copy was made, or put into a stream */                           \
    X(memset)                    /* memory was set, or a memset was put into a stream */               \
    X(host_function)             /* a function of the host was put into a stream */                    \
    X(stream_value)              /* a stream waits for, or writes, a value in memory or a semaphore */ \
    X(graph_capture_start)       /* the capture of a stream starts */                                  \
    X(graph_capture_end)         /* the capture of a stream ends */                                    \
    X(graph_instantiation)       /* a graph was made ready to launch */                                \
    X(graph_launch)              /* a graph was launched */                                            \
    X(module_load)               /* a module or library was loaded */                                  \
    X(module_unload)             /* a module or library was unloaded */                                \
    X(code_load)                 /* machine code of a module was loaded into a context */              \
    X(context_creation)          /* a context was created */                                           \
    X(context_deletion)          /* a context is about to be destroyed */                              \
    X(nvtx_push)                 /* NVTX: a range of this thread begins */                             \
    X(nvtx_pop)                  /* NVTX: a range of this thread ends */                               \
    X(nvtx_start)                /* NVTX: a range of the process begins */                             \
    X(nvtx_end)                  /* NVTX: a range of the process ends */                               \
    X(nvtx_mark)                 /* NVTX: a mark */                                                    \
    X(profiler)                  /* cuProfilerStart, cuProfilerStop */                                 \
    X(compilation_start)         /* the number of phases going on leaves zero */                       \
    X(compilation_end)           /* the number of phases going on is back at zero */                   \
    X(compilation_phase_start)   /* a phase starts */                                                  \
    X(compilation_phase_end)     /* a phase has ended */                                               \
    X(jit)                       /* CUPTI's record of a compilation of PTX, a little later */          \
    X(process_fork)              /* this process is a fork of a process that registered callbacks */   \
    X(process_end)               /* the process exits: the last callback, none when it is killed */

enum gputrace_kind {
#define GPUTRACE_KIND(name) GPUTRACE_KIND_##name,
    GPUTRACE_KINDS(GPUTRACE_KIND)
#undef GPUTRACE_KIND
        GPUTRACE_KIND_COUNT /* number of the kinds that this header has */
};
#define GPUTRACE_EVERY_KIND UINT32_MAX

/* The first member of every kind's struct. Times are nanoseconds of CLOCK_REALTIME, as in the trace. */
struct gputrace_call {
    uint32_t size;        /* bytes of the struct gputrace_KIND that begins here; see GPUTRACE_HAS() */
    uint32_t thread;      /* gettid() */
    uint64_t start;       /* when the program called */
    uint64_t end;         /* when the function was done; equal to start for what has no duration */
    const char *function; /* called function of the driver or NVTX, as "cuMemAlloc_v2"; lives for ever; NULL: none */
    struct CUctx_st *context; /* CUcontext; NULL if there is none */
    uint32_t context_id;      /* CUPTI's number of the context, as in the trace; 0: none */
    uint32_t device;          /* GPUTRACE_NO_DEVICE if there is none */
    uint32_t correlation;     /* CUPTI's number of the call, as in the trace; 0: none */
    int32_t result;           /* CUresult: 0 if the call succeeded */
};

/* Whether the running gputrace has filled in this MEMBER of WHAT, a struct gputrace_KIND that a callback received. */
#define GPUTRACE_HAS(what, member) \
    ((size_t)((const char *)(&(what)->member + 1) - (const char *)(what)) <= (what)->call.size)

/* --- events --- */

struct gputrace_event_creation {
    struct gputrace_call call;
    struct CUevent_st *event; /* NULL if the call failed */
    uint32_t flags;           /* CU_EVENT_DISABLE_TIMING … */
};

struct gputrace_event_deletion {
    struct gputrace_call call;
    struct CUevent_st *event;
};

struct gputrace_event_record {
    struct gputrace_call call;
    struct CUevent_st *event;
    struct CUstream_st *stream; /* as passed: NULL or 1 is the legacy default stream, 2 the thread's own */
    uint32_t flags;             /* CU_EVENT_RECORD_EXTERNAL … */
    uint32_t whole_context;     /* 1: cuCtxRecordEvent, which covers all work of the context instead of a stream */
    uint32_t stream_id;         /* CUPTI's number; GPUTRACE_NO_STREAM: none, unknown, or the call failed */
    uint32_t captured;          /* 1: the call became part of a graph; nothing was recorded now */
};

struct gputrace_event_wait {
    struct gputrace_call call;
    struct CUevent_st *event;
    struct CUstream_st *stream;
    uint32_t flags;
    uint32_t whole_context; /* 1: all later work of the context waits: cuCtxWaitEvent */
    uint32_t stream_id;
    uint32_t captured; /* 1: the call became part of a graph; nothing waits now */
};

struct gputrace_event_synchronization {
    struct gputrace_call call;
    struct CUevent_st *event;
};

/* `call.result` is 0 if all work before the event is done, and 600 (CUDA_ERROR_NOT_READY), which is not a failure, if
 * not yet. A cuEventElapsedTime() that succeeds shows that both its events are done: it is reported as a query of each.
 */
struct gputrace_event_query {
    struct gputrace_call call;
    struct CUevent_st *event;
};

/* --- streams, devices, contexts --- */

struct gputrace_stream_creation {
    struct gputrace_call call;
    struct CUstream_st *stream; /* NULL if the call failed */
    uint32_t stream_id;         /* CUPTI's number of the stream, its row in the trace; GPUTRACE_NO_STREAM if unknown */
    uint32_t flags;             /* CU_STREAM_NON_BLOCKING … */
    int32_t priority;
};

struct gputrace_stream_deletion {
    struct gputrace_call call; /* function is NULL if the stream goes with its context */
    struct CUstream_st *stream;
    uint32_t stream_id;
};

struct gputrace_stream_synchronization {
    struct gputrace_call call;
    struct CUstream_st *stream;
    uint32_t stream_id; /* GPUTRACE_NO_STREAM if the call failed or the number is unknown */
};

/* `call.result` is 0 if all work in the stream is done, and 600 (CUDA_ERROR_NOT_READY) if not yet. */
struct gputrace_stream_query {
    struct gputrace_call call;
    struct CUstream_st *stream;
};

struct gputrace_device_synchronization {
    struct gputrace_call call;
};

struct gputrace_context_creation {
    struct gputrace_call call; /* its context is the new one */
};

struct gputrace_context_deletion {
    struct gputrace_call call;
};

struct gputrace_profiler {
    struct gputrace_call call;
    uint32_t start; /* 1: cuProfilerStart, 0: cuProfilerStop */
};

/* --- memory --- */

enum gputrace_memory_kind {
    GPUTRACE_MEMORY_UNKNOWN = 0, /* of a function that frees several kinds: the allocation's kind counts */
    GPUTRACE_MEMORY_DEVICE = 1,
    GPUTRACE_MEMORY_PINNED = 2, /* host memory that CUDA allocated */
    GPUTRACE_MEMORY_MANAGED = 3,
    GPUTRACE_MEMORY_REGISTERED = 4, /* host memory that the program allocated and registered */
    GPUTRACE_MEMORY_ARRAY = 5,      /* its address is the CUarray or CUmipmappedArray */
    GPUTRACE_MEMORY_POOL = 6,       /* stream-ordered */
    GPUTRACE_MEMORY_VIRTUAL = 7,    /* physical memory of cuMemCreate; its address is the handle */
};

struct gputrace_memory_allocation {
    struct gputrace_call call; /* its device is the memory's; none for host memory */
    uint64_t address;
    uint64_t bytes;
    uint64_t pool;              /* CUmemoryPool; 0: none, or the default one */
    struct CUstream_st *stream; /* stream of stream-ordered memory */
    uint32_t stream_id;         /* GPUTRACE_NO_STREAM: not stream-ordered */
    uint32_t kind;              /* enum gputrace_memory_kind */
};

/* Freeing NULL does nothing and is not reported. If call.result is not 0, the memory is still allocated. */
struct gputrace_memory_deallocation {
    struct gputrace_call call;
    uint64_t address;
    struct CUstream_st *stream;
    uint32_t stream_id; /* GPUTRACE_NO_STREAM: not stream-ordered */
    uint32_t kind;
};

/* A failed attempt of the driver. CUDA's runtime makes one before the process has a context (call.result is
 * CUDA_ERROR_INVALID_CONTEXT, 201) and then another one, in the same call of the program and with the same correlation:
 * the attempt without a context has failed, and the program's call has not. */
struct gputrace_memory_allocation_failure {
    struct gputrace_call call;
    uint64_t bytes;
    uint64_t pool;
    struct CUstream_st *stream;
    uint32_t stream_id;
    uint32_t kind;
};

struct gputrace_memory_mapping {
    struct gputrace_call call;
    uint64_t address;
    uint64_t bytes;
    uint64_t offset; /* into the memory */
    uint64_t handle; /* the memory: address of its memory_allocation */
};

struct gputrace_memory_unmapping {
    struct gputrace_call call;
    uint64_t address;
    uint64_t bytes;
};

enum gputrace_access_mode {
    GPUTRACE_ACCESS_READ = 1,
    GPUTRACE_ACCESS_WRITE = 2,
    GPUTRACE_ACCESS_READ_WRITE = 3,
};

/* A declaration by the program (gputrace_access() of gputrace.h) that its next work in the stream uses this memory. It
 * is not a call of CUDA's; `call` has the context that is current on the thread, if there is one. */
struct gputrace_memory_access {
    struct gputrace_call call;
    uint64_t address;
    uint64_t bytes;
    struct CUstream_st *stream; /* NULL: the legacy default stream; CU_STREAM_PER_THREAD (2): the thread's own */
    uint32_t mode;              /* enum gputrace_access_mode */
};

/* --- work --- */

struct gputrace_kernel_launch {
    struct gputrace_call call;
    const char *name; /* mangled; NULL if unknown */
    uint64_t kernel;  /* CUfunction or CUkernel as the program passed it */
    struct CUstream_st *stream;
    uint32_t grid[3];
    uint32_t block[3];
    uint32_t shared_bytes; /* dynamic */
    uint32_t cooperative;  /* 1: cooperative launch */
};

/* One side of a copy. */
struct gputrace_place {
    uint64_t address; /* of the first byte; of an array, its CUarray */
    uint64_t pitch;   /* bytes from a row to the next; 0: one row */
    uint64_t rows;    /* rows from a slice to the next; 0: one slice */
    uint32_t array;   /* 1: address is an array, and the copy begins at x, y, z in it */
    uint32_t x;       /* bytes */
    uint32_t y, z;
};

struct gputrace_memcpy {
    struct gputrace_call call;
    struct gputrace_place target, source;
    uint64_t bytes;             /* in all: width * height * depth */
    uint64_t width;             /* bytes of a row */
    uint64_t height;            /* rows of a slice */
    uint64_t depth;             /* slices */
    struct CUstream_st *stream; /* NULL for functions that take none: they work in the default stream */
    uint32_t stream_given;      /* 1: the function takes a stream and does not wait for the copy */
    uint32_t per_thread;        /* 1: its default stream is the thread's own */
    uint32_t index, count;      /* this copy among the copies of one call; a batch is reported as `count` copies */
    /* Kinds of the two sides as the function names them: 'H' host, 'D' device, 'A' array, '?' to be found out from the
     * address. */
    char target_side, source_side;
};

struct gputrace_memset {
    struct gputrace_call call;
    uint64_t address;
    uint64_t bytes;  /* in all */
    uint64_t width;  /* bytes of a row */
    uint64_t height; /* rows */
    uint64_t pitch;  /* bytes from a row to the next; 0: one row */
    struct CUstream_st *stream;
    uint32_t stream_given;
    uint32_t per_thread;
    uint32_t value;
    uint32_t value_bytes; /* 1, 2, 4 */
};

struct gputrace_host_function {
    struct gputrace_call call;
    struct CUstream_st *stream;
};

struct gputrace_stream_value {
    struct gputrace_call call;
    struct CUstream_st *stream;
    uint32_t waits;  /* the stream waits */
    uint32_t writes; /* the stream writes or signals */
};

/* --- graphs --- */

struct gputrace_graph_capture_start {
    struct gputrace_call call;
    struct CUstream_st *stream;
    uint32_t mode; /* CUstreamCaptureMode */
};

struct gputrace_graph_capture_end {
    struct gputrace_call call;
    struct CUstream_st *stream;
    struct CUgraph_st *graph; /* NULL if the capture was broken: call.result says why */
};

struct gputrace_graph_instantiation {
    struct gputrace_call call;
    struct CUgraph_st *graph;
    struct CUgraphExec_st *exec; /* NULL if the call failed */
    uint64_t flags;
};

struct gputrace_graph_launch {
    struct gputrace_call call;
    struct CUgraphExec_st *exec;
    struct CUstream_st *stream;
};

/* --- code --- */

enum gputrace_image {
    GPUTRACE_IMAGE_UNKNOWN = 0,
    GPUTRACE_IMAGE_FILE = 1, /* loaded by name */
    GPUTRACE_IMAGE_PTX = 2,
    GPUTRACE_IMAGE_CUBIN = 3,
    GPUTRACE_IMAGE_FATBIN = 4, /* one or more images, of which the driver chooses */
};

struct gputrace_module_load {
    struct gputrace_call call;
    uint64_t module;  /* CUmodule or CUlibrary; 0 if the call failed */
    uint32_t library; /* 1: a CUlibrary */
    uint32_t image;   /* enum gputrace_image */
    const char *file; /* file name that the program passed; NULL if loaded from memory */
};

struct gputrace_module_unload {
    struct gputrace_call call;
    uint64_t module;
    uint32_t library;
};

struct gputrace_code_load {
    struct gputrace_call call;
    const void *code; /* the cubin, valid during the callback */
    uint64_t bytes;
    uint32_t module_id; /* CUPTI's number of the module */
};

/* The cause of a phase of compilation. */
enum gputrace_trigger {
    GPUTRACE_TRIGGER_MODULE_LOAD = 1,   /* a module or library is loaded, and compiled if it has only PTX */
    GPUTRACE_TRIGGER_FUNCTION_LOAD = 2, /* a function is loaded at its first use */
    GPUTRACE_TRIGGER_PTX = 3,           /* the module being loaded is PTX: it is compiled, or found in the cache */
    GPUTRACE_TRIGGER_LINK = 4,          /* cuLinkAddData … cuLinkComplete */
    GPUTRACE_TRIGGER_GRAPH_CAPTURE = 5, /* from the beginning of a capture to its end */
    GPUTRACE_TRIGGER_GRAPH_INSTANTIATION = 6,
    GPUTRACE_TRIGGER_CONTEXT_CREATION = 7, /* CUDA's runtime creates it within the first call that needs the device */
};

enum gputrace_ending {
    GPUTRACE_ENDING_RETURNED = 0,          /* the call that began the phase returned; call.result says how */
    GPUTRACE_ENDING_THREAD_ENDED = 1,      /* the phase's thread ended first */
    GPUTRACE_ENDING_CONTEXT_DESTROYED = 2, /* the phase's context was destroyed first */
    GPUTRACE_ENDING_STREAM_DESTROYED = 3,  /* the captured stream was destroyed first */
};

/* compilation_start has the phase that began first, compilation_end the phase that ended last. */
struct gputrace_compilation_start {
    struct gputrace_call call;
    uint64_t phase; /* number of the phase, from 1 */
    uint32_t trigger;
    uint32_t pending; /* phases going on, including this one: 1 */
};

struct gputrace_compilation_end {
    struct gputrace_call call;
    uint64_t phase;
    uint32_t trigger;
    uint32_t pending; /* phases going on, without this one: 0 */
};

struct gputrace_compilation_phase_start {
    struct gputrace_call call; /* end equals start */
    uint64_t phase;
    uint32_t trigger;
    uint32_t pending; /* phases going on, including this one */
};

struct gputrace_compilation_phase_end {
    struct gputrace_call call; /* start is the start of the phase */
    uint64_t phase;
    uint32_t trigger;
    uint32_t pending; /* phases going on, without this one */
    uint32_t ending;  /* enum gputrace_ending */
};

enum gputrace_jit_operation {
    GPUTRACE_JIT_CACHE_LOAD = 1, /* found in the cache: a hit */
    GPUTRACE_JIT_CACHE_STORE = 2,
    GPUTRACE_JIT_COMPILE = 3,
};

/* Reported by a thread of gputrace when CUPTI delivers its record, up to a flush interval after the operation. */
struct gputrace_jit {
    struct gputrace_call call; /* correlation is that of the call that needed the code; start and end are CUPTI's */
    uint64_t cache_bytes;      /* maximum size of the cache */
    const char *cache_path;    /* NULL: none */
    uint32_t operation;        /* enum gputrace_jit_operation */
    uint32_t from_ptx;         /* 1: PTX to cubin, 0: NVVM IR to PTX */
    uint64_t group;            /* operations with the same number belong together */
};

/* --- NVTX --- */

/* A text is UTF-8 as the program passed it, `length` bytes, without a terminating NUL. */
struct gputrace_text {
    const char *bytes;
    uint32_t length;
};

struct gputrace_nvtx {
    struct gputrace_call call; /* no context; start equals end */
    uint64_t range;            /* start and end of one range have the same number */
    uint64_t payload;          /* bits of the value; for payload_type 7 a number, without the payloads */
    uint32_t domain;           /* gputrace's number of the domain; 0: the default domain */
    uint32_t category;
    uint32_t color;
    uint32_t string; /* gputrace's number of a registered message, whose text is in `message`; 0: not registered */
    uint16_t color_type;
    uint16_t payload_type;
    uint32_t reserved;
    struct gputrace_text message;     /* empty for pops and ends */
    struct gputrace_text domain_name; /* empty for the default domain */
};
#define gputrace_nvtx_push gputrace_nvtx
#define gputrace_nvtx_pop gputrace_nvtx
#define gputrace_nvtx_start gputrace_nvtx
#define gputrace_nvtx_end gputrace_nvtx
#define gputrace_nvtx_mark gputrace_nvtx

/* --- the process --- */

struct gputrace_process_fork {
    struct gputrace_call call;
    uint32_t parent; /* pid */
};

struct gputrace_process_end {
    struct gputrace_call call;
};

/* --- registering --- */

typedef void gputrace_any_fn(void);

/* An event that gputrace_event_take() returned. */
struct gputrace_cached_event {
    struct CUevent_st *event;
};

/* The functions that gputrace offers to a plugin, or to the program. Call them through the functions below. */
struct gputrace_host {
    uint32_t version; /* GPUTRACE_CALLBACKS_VERSION of the running gputrace */
    uint32_t size;    /* bytes of this struct in that gputrace */
    uint64_t (*add)(const struct gputrace_host *host, uint32_t kind, gputrace_any_fn *call, void *data);
    int (*remove)(const struct gputrace_host *host, uint64_t registration);
    void (*clear)(const struct gputrace_host *host, uint32_t kind);
    void (*synchronize)(const struct gputrace_host *host);
    const char *(*setting)(const struct gputrace_host *host, const char *key);
    uint64_t (*now)(const struct gputrace_host *host);
    uint32_t (*stream_id)(const struct gputrace_host *host, struct CUctx_st *context, struct CUstream_st *stream);
    uint32_t (*stack)(const struct gputrace_host *host, uint32_t skip);
    void (*slice)(const struct gputrace_host *host, const char *name, uint64_t start, uint64_t end, const char *detail);
    void (*instant)(const struct gputrace_host *host, const char *name, uint64_t time, const char *detail);
    void (*counter)(const struct gputrace_host *host, const char *name, uint64_t time, double value);
    void (*line)(const struct gputrace_host *host, uint32_t stack, const char *text);
    const struct gputrace_cached_event *(*event_take)(const struct gputrace_host *host, struct CUctx_st *context,
                                                      uint32_t timing);
    void (*event_give_back)(const struct gputrace_host *host, const struct gputrace_cached_event *event);
    void (*allocation_failed)(const struct gputrace_host *host,
                              const struct gputrace_memory_allocation_failure *failure);
};

/* Whether the running gputrace has this function of a host; the first version's last function is `line`. */
#define GPUTRACE_HOST_HAS(host, function) \
    ((host)->size >= offsetof(struct gputrace_host, function) + sizeof((host)->function))

/* A callback's registration: a number, never 0. */
typedef uint64_t gputrace_registration;

/* gputrace_KIND_register(host, call, data) makes gputrace call CALL(DATA, what happened) from now on. Returns the
 * registration, or 0 if there is no memory or HOST is NULL. */
#define GPUTRACE_KIND(name)                                                                                \
    typedef void gputrace_##name##_fn(void *data, const struct gputrace_##name *what);                     \
    static inline gputrace_registration gputrace_##name##_register(const struct gputrace_host *host,       \
                                                                   gputrace_##name##_fn *call, void *data) \
    {                                                                                                      \
        return host ? host->add(host, GPUTRACE_KIND_##name, (gputrace_any_fn *)call, data) : 0;            \
    }
GPUTRACE_KINDS(GPUTRACE_KIND)
#undef GPUTRACE_KIND

/* Removes one callback. Returns 0, or -1 if HOST has no such registration (any more). */
static inline int gputrace_remove(const struct gputrace_host *host, gputrace_registration registration)
{
    return host ? host->remove(host, registration) : -1;
}

/* Removes all callbacks that HOST registered for KIND, or for GPUTRACE_EVERY_KIND. */
static inline void gputrace_clear(const struct gputrace_host *host, uint32_t kind)
{
    if (host)
        host->clear(host, kind);
}

/* Waits until no other thread is in a callback that has been removed. The caller must not hold a lock that callbacks
 * take. Called in a callback, the function does not wait for this thread. */
static inline void gputrace_synchronize(const struct gputrace_host *host)
{
    if (host)
        host->synchronize(host);
}

/* --- functions for plugins --- */

/* Returns the value of KEY in `--plugin FILE,key=value`, "" for a key without value, or NULL if the key is absent. The
 * text lives for ever. */
static inline const char *gputrace_setting(const struct gputrace_host *host, const char *key)
{
    return host ? host->setting(host, key) : NULL;
}

/* Returns the time in nanoseconds of CLOCK_REALTIME, the clock of the trace. */
static inline uint64_t gputrace_now(const struct gputrace_host *host)
{
    return host ? host->now(host) : 0;
}

/* Returns CUPTI's number of a stream, which names its row in the trace, or GPUTRACE_NO_STREAM if it is unknown. */
static inline uint32_t gputrace_stream_id(const struct gputrace_host *host, struct CUctx_st *context,
                                          struct CUstream_st *stream)
{
    return host ? host->stream_id(host, context, stream) : GPUTRACE_NO_STREAM;
}

/* Records this thread's call stack without gputrace's own frames and without SKIP more of the innermost frames. Returns
 * the stack's number, equal for equal stacks, or 0 if no stack could be read. `gputrace` finds functions, files and
 * lines after the program has ended. A call takes microseconds. */
static inline uint32_t gputrace_stack(const struct gputrace_host *host, uint32_t skip)
{
    return host ? host->stack(host, skip) : 0;
}

/* Records a slice, an instant or a counter's value on the plugin's own rows of the trace. DETAIL may be NULL. Texts are
 * copied. Slices may overlap. */
static inline void gputrace_slice(const struct gputrace_host *host, const char *name, uint64_t start, uint64_t end,
                                  const char *detail)
{
    if (host)
        host->slice(host, name, start, end, detail);
}

static inline void gputrace_instant(const struct gputrace_host *host, const char *name, uint64_t time,
                                    const char *detail)
{
    if (host)
        host->instant(host, name, time, detail);
}

static inline void gputrace_counter(const struct gputrace_host *host, const char *name, uint64_t time, double value)
{
    if (host)
        host->counter(host, name, time, value);
}

/* Records a line that is printed when the program has ended and is in the trace too. The call stack STACK (0: none) is
 * printed below the line. */
static inline void gputrace_line(const struct gputrace_host *host, uint32_t stack, const char *text)
{
    if (host)
        host->line(host, stack, text);
}

/* --- a cache of CUDA events --- */

/* Returns an event of CONTEXT (NULL: the thread's current one), with timing (1) or without (0), to record in that
 * context's streams and to let streams wait for. Creating and destroying events is slow and can block, so gputrace
 * caches them for each thread and context. What gputrace calls for this is not traced, inside callbacks and outside.
 * Returns NULL if CUDA fails, the context is gone, or this gputrace is too old. */
static inline const struct gputrace_cached_event *gputrace_event_take(const struct gputrace_host *host,
                                                                      struct CUctx_st *context, uint32_t timing)
{
    return host && GPUTRACE_HOST_HAS(host, event_take) ? host->event_take(host, context, timing) : NULL;
}

/* Returns the event to the cache of the thread that took it, or, if that thread has ended, to the next thread. Any
 * thread may call this, once for each event. Streams that wait for what was recorded in the event may go on waiting;
 * nobody may query or wait for the event itself any more. An event need not be returned before its context is destroyed
 * or the process ends. */
static inline void gputrace_event_give_back(const struct gputrace_host *host, const struct gputrace_cached_event *event)
{
    if (host && event && GPUTRACE_HOST_HAS(host, event_give_back))
        host->event_give_back(host, event);
}

/* --- for allocators --- */

/* Reports that the program's own allocator had no memory and did not ask CUDA for it, so that no CUDA call failed. The
 * trace and callbacks get it like any memory_allocation_failure. The caller fills in FAILURE except call.size;
 * call.correlation is 0. Does nothing if this gputrace is too old. */
static inline void gputrace_allocation_failed(const struct gputrace_host *host,
                                              const struct gputrace_memory_allocation_failure *failure)
{
    if (host && GPUTRACE_HOST_HAS(host, allocation_failed)) {
        struct gputrace_memory_allocation_failure sized = *failure;
        sized.call.size = sizeof(sized);
        host->allocation_failed(host, &sized);
    }
}

/* --- for plugins --- */

struct gputrace_plugin {
    uint32_t version; /* GPUTRACE_CALLBACKS_VERSION that the plugin was built with */
    uint32_t size;    /* bytes of this struct in that version */
    const char *name; /* name of the plugin's rows and lines */
    /* Registers callbacks. Runs once, before the program's first CUDA or NVTX call goes on. HOST lives for ever.
     * Returns 0, or another value to be left out after a gputrace_line() that says why. */
    int (*start)(const struct gputrace_host *host);
};

extern __attribute__((visibility("default"))) struct gputrace_plugin gputrace_plugin;

/* One file of the plugin contains GPUTRACE_PLUGIN("name", start); */
#define GPUTRACE_PLUGIN(plugin_name, plugin_start)                                                                     \
    struct gputrace_plugin gputrace_plugin = {GPUTRACE_CALLBACKS_VERSION, sizeof(struct gputrace_plugin), plugin_name, \
                                              plugin_start}

/* A plugin with settings also has GPUTRACE_PLUGIN_SETTINGS("top,stacks"): names separated by commas, "" for none.
 * `gputrace run` then refuses other settings before the program starts; without the macro the plugin gets any setting.
 */
extern __attribute__((visibility("default"))) const char gputrace_plugin_settings[];
#define GPUTRACE_PLUGIN_SETTINGS(names) const char gputrace_plugin_settings[] = names

/* --- for the program itself --- */

/* Returns the program's host, or NULL if this process is not recorded by a gputrace of this version. */
static inline const struct gputrace_host *gputrace_own_host(void)
{
    const char *path = getenv("GPUTRACE_LIBRARY");
    void *library = path && *path ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
    void *symbol = library ? dlsym(library, "gputrace_program_host") : NULL;
    const struct gputrace_host *(*ask)(uint32_t version) = NULL;
    if (!symbol)
        return NULL;
    memcpy(&ask, &symbol, sizeof(ask));
    return ask(GPUTRACE_CALLBACKS_VERSION);
}

#ifdef __cplusplus
}
#endif

#endif
