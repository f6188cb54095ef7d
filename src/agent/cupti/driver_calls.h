/*
 * The driver's functions that have callbacks, and which of CUPTI's callbacks are on: exactly those that a subscriber's
 * kinds need. Each function is a row in a table of calls_*.c or graphs.c, with the kinds of event that the call is
 * published as, and the function that publishes it.
 */
#ifndef GPUTRACE_AGENT_CUPTI_DRIVER_CALLS_H
#define GPUTRACE_AGENT_CUPTI_DRIVER_CALLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/cupti/cupti_library.h"
#include "agent/dispatch/registry.h"

/* A driver call that a thread is in, with the data from its begin. Known only if the function has a callback. */
struct open_call {
    const struct driver_call *row; /* NULL: no call */
    const void *params;
    uint64_t start;
    uint32_t correlation;
    bool in_phase;  /* the call is a phase of compilation, which ends when it returns */
    bool published; /* a resource callback published what the call does */
};

/*
 * The callbacks are those of driver calls: every runtime function makes one driver call for an operation, with the
 * runtime call's correlation id. Functions exist in versions: NAME, NAME_v2, NAMEWithFlags, NAMEEx,
 * and, compiled for per-thread default streams, NAME_ptsz (takes a stream) and NAME_ptds (takes none). Each is a row;
 * versions with the same parameters share a publisher.
 *
 * Left out: the first versions of functions that have a _v2 because they were made for addresses of 32 bits
 * (cuMemAlloc, cuMemcpyHtoD, cuMemsetD8, cuArrayCreate …). A 64-bit program cannot pass them a device address.
 */

/* A call that has returned, for its publisher. */
struct driver_return {
    const struct driver_call *row;
    struct gputrace_call call;
    const void *params; /* struct FUNCTION_params of CUPTI's headers; its pointers are the program's */
    const char *symbol; /* a launched kernel's mangled name */
    bool published;     /* resource callbacks have published what the call did */
    /* Per-thread data, looked up once for each callback. */
    struct epoch_reader *reader;
    struct cupti_ids *ids;
};

/* Reasons for callbacks of a function even though no subscriber wants the function's own kinds. They hold only while
 * certain kinds are wanted. */
enum callback_need {
    CALLBACKS_LAZY_LOADING = 1,   /* launches, for phases of compilation: lazy_loading_arm() */
    CALLBACKS_FIRST_LAUNCHES = 2, /* launches, for names of launches: kernel_names.h */
    CALLBACKS_CAPTURES = 4,       /* launches, for nodes of graphs: graphs.h */
    CALLBACKS_GRAPH_LAUNCHES = 8, /* launches of graphs, for nodes of graphs: graphs.h */
    CALLBACKS_EVENT_WATCH = 16,   /* cuEventRecord: event_watch_begin() */
};

/* The kinds that phases publish. */
#define PHASE_KINDS                                                                                            \
    (REGISTRY_BIT(compilation_start) | REGISTRY_BIT(compilation_end) | REGISTRY_BIT(compilation_phase_start) | \
     REGISTRY_BIT(compilation_phase_end))

struct driver_call {
    CUpti_CallbackId cbid;
    uint32_t needs; /* set of enum callback_need: the callback is on while one of them holds */
    uint64_t kinds; /* REGISTRY_BIT()s of kinds: the callback is also on while a subscriber wants one of them */
    const char *name;
    /* Publishes a call that succeeded or failed, without reading outputs of a failed call. NULL: only phases are
     * published. */
    void (*publish)(const struct driver_return *returned);
    uint32_t phase; /* enum gputrace_trigger of the call's phase of compilation; 0: none, or `trigger` decides */
    /* Returns the phase of a call when it begins; may be NULL. */
    uint32_t (*trigger)(const void *params, CUcontext context, uint32_t correlation);
    bool per_thread; /* the default stream is the thread's own */
    bool brief;      /* the recorder needs no end time, only the start */
    /* Returns the function that a launch launches. NULL if the call is not a launch, or launches several functions. */
    CUfunction (*launched)(const void *params);
    /* Runs when the call begins, before CUDA does anything; may be NULL. */
    void (*begins)(const void *params);
};

struct driver_calls {
    const struct driver_call *rows;
    size_t count;
};

extern const struct driver_calls code_calls, copy_calls, graph_calls, memory_calls, stream_calls;

/* Builds the index of rows by cbid. Called before the first driver_call_find(); further calls do nothing. */
void driver_calls_init(void);

/* The rows by cbid; NULL for functions without a row. */
extern const struct driver_call *driver_calls_by_cbid[CUPTI_DRIVER_TRACE_CBID_SIZE];
static inline const struct driver_call *driver_call_find(CUpti_CallbackId cbid)
{
    return cbid < CUPTI_DRIVER_TRACE_CBID_SIZE ? driver_calls_by_cbid[cbid] : NULL;
}

/* --- for the tables of rows --- */

/* Defines the row of a function: kinds, publisher, and further members of struct driver_call.
 *
 * cuda.h defines many names as macros for the newest version, so the name is pasted or quoted before it can be
 * expanded: otherwise the row of an old version would become one more row of the new version. */
#define DRIVER_CALL(function, ...) DRIVER_CALL_ROW(CUPTI_DRIVER_TRACE_CBID_##function, #function, false, __VA_ARGS__)
/* DRIVER_CALL_PTSZ defines the rows of a function and its _ptsz, DRIVER_CALL_PTDS of a function and its _ptds. */
#define DRIVER_CALL_PTSZ(function, ...)                                                 \
    DRIVER_CALL_ROW(CUPTI_DRIVER_TRACE_CBID_##function, #function, false, __VA_ARGS__), \
        DRIVER_CALL_ROW(CUPTI_DRIVER_TRACE_CBID_##function##_ptsz, #function "_ptsz", true, __VA_ARGS__)
#define DRIVER_CALL_PTDS(function, ...)                                                 \
    DRIVER_CALL_ROW(CUPTI_DRIVER_TRACE_CBID_##function, #function, false, __VA_ARGS__), \
        DRIVER_CALL_ROW(CUPTI_DRIVER_TRACE_CBID_##function##_ptds, #function "_ptds", true, __VA_ARGS__)
#define DRIVER_CALL_ROW(its_cbid, its_name, is_per_thread, kind_set, publisher, ...) \
    {.cbid = its_cbid,                                                               \
     .name = its_name,                                                               \
     .kinds = (kind_set),                                                            \
     .publish = (publisher),                                                         \
     .per_thread = (is_per_thread),                                                  \
     ##__VA_ARGS__}

#define DRIVER_CALLS(table) {(table), sizeof(table) / sizeof((table)[0])}

static inline bool driver_call_done(const struct driver_return *returned)
{
    return returned->call.result == CUDA_SUCCESS;
}

/* Returns STREAM with the same meaning for all versions of a function: the default stream becomes CU_STREAM_PER_THREAD
 * if it is the thread's own. */
static inline CUstream driver_call_stream(const struct driver_return *returned, CUstream stream)
{
    return stream == NULL && returned->row->per_thread ? CU_STREAM_PER_THREAD : stream;
}

/* Returns CUPTI's number of STREAM, a result of driver_call_stream(). Returns GPUTRACE_NO_STREAM for a failed call:
 * CUPTI is not asked about a handle that may be invalid. */
static inline uint32_t driver_call_stream_id(const struct driver_return *returned, CUstream stream)
{
    bool valid = driver_call_done(returned) && returned->call.context;
    return valid ? cupti_ids_of_stream(returned->ids, &returned->call, stream) : GPUTRACE_NO_STREAM;
}

static inline uint64_t driver_call_integer(const void *pointer)
{
    return (uint64_t)(uintptr_t)pointer;
}

/* Defines publish_FUNCTION(), which publishes an event of KIND. The last arguments initialise members other than
 * `call`, from `p`, the parameters, and `returned`. */
#define DRIVER_CALL_PUBLISHES(function, kind, ...)                                                    \
    static void publish_##function(const struct driver_return *returned)                              \
    {                                                                                                 \
        const function##_params *p = returned->params;                                                \
        (void)p;                                                                                      \
        registry_##kind##_publish_by(returned->reader,                                                \
                                     &(struct gputrace_##kind){.call = returned->call, __VA_ARGS__}); \
    }

/* Subscribes to CUPTI (cupti_callbacks.c), and from now on follows the kinds that the registry wants. A resource
 * callback within a driver call that has a callback gets name, start and correlation id from that call. Returns 0, or
 * -1 with WHY filled in if another profiler has CUPTI. */
int cupti_callbacks_init(const struct cupti *cupti, char *why, size_t size);

/* In a forked child, after registry_atfork_child(): forgets CUPTI, without calling it. */
void cupti_callbacks_atfork_child(void);

/*
 * Switching of callbacks. The functions may be called from any thread, also inside a callback of CUPTI. Only one thread
 * switches at a time, and only callbacks that change are switched in CUPTI.
 */

/* Starts switching callbacks of SUBSCRIBER, which are all off. */
void callback_switches_init(const struct cupti *cupti, CUpti_SubscriberHandle subscriber);

void callback_switches_follow(uint64_t wanted);

uint64_t callback_switches_wanted(void);

/* Sets whether NEED holds. */
void callback_switches_need(enum callback_need need, bool on);

/* Whether CUPTI was detached from the process and does not know our subscriber any more. Returns true only once; CUPTI
 * is not called from then on. */
bool callback_switches_lost(void);

/* In a forked child: stops calling CUPTI. */
void callback_switches_atfork_child(void);

/*
 * The correlation id of one call of cuEventRecord that this thread is about to make. CUPTI's record of the event has
 * that id, and the GPU's time.
 *
 *      event_watch_begin();
 *      result = cuEventRecord(event, stream);
 *      correlation = event_watch_end();
 *
 * Requires cuEventRecord's callback: callback_switches_need(CALLBACKS_EVENT_WATCH, true), at any time before.
 */

void event_watch_begin(void);

/* Returns the correlation id of the call, or 0 if CUPTI did not report one. */
uint32_t event_watch_end(void);

/* Called at each callback of cuEventRecord. Returns whether this thread is watching for it: then the call is our own
 * and is not published. */
bool event_watch_claims(uint32_t correlation);

/*
 * The first launch of a kernel that CUDA loads lazily: a phase of compilation inside a launch.
 *
 * Launches have no callback unless a subscriber wants them. When a thread looks up a kernel in a library (CUDA's
 * runtime does so right before a kernel's first launch), the callbacks of launches are switched on until the kernel was
 * launched. If LAZY_LOADING_NS pass without another such kernel, the next launch of any thread switches them off.
 * Threads that launch nothing pay nothing, and launches of other threads pay only for that long.
 */

#define LAZY_LOADING_NS UINT64_C(100000000)

/* Notes that this thread looked up KERNEL in the call CORRELATION and has not loaded it. Replaces the thread's previous
 * kernel. */
void lazy_loading_arm(CUkernel kernel, uint32_t correlation);

/* Whether the program asks for the function of KERNEL in CONTEXT for the first time. */
bool lazy_loading_is_first(CUkernel kernel, CUcontext context);

/* Forgets which kernels are loaded, because code is unloaded or a context is destroyed: later kernels with the same
 * handles are loaded anew. */
void lazy_loading_unloaded(void);

/* Notes that this thread loaded KERNEL in another way than by a launch. */
void lazy_loading_loaded(CUkernel kernel);

/* Called when a launch begins on this thread. Returns whether it loads the kernel, because it launches the kernel's
 * handle or the runtime looked the kernel up in this call. Then lazy_loading_ends() must follow. */
bool lazy_loading_begins(CUfunction launched, uint32_t correlation);
/* Ends the loading of this thread's launch. Does nothing if none has begun. */
void lazy_loading_ends(void);

/* Forgets all kernels that are to be loaded or being loaded, because no subscriber wants phases any more. */
void lazy_loading_cancel(void);

/* In a forked child: forgets all kernels, and resets the locks. */
void lazy_loading_atfork_child(void);

#endif
