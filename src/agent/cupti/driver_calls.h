/*
 * The driver's functions that have callbacks, and which callbacks of CUPTI are on: those of the kinds that a subscriber
 * is registered for, and no others. Each function is a row in a table of calls_*.c or graphs.c, which says what kinds of
 * event the call is published as, and by which function.
 */
#ifndef GPUTRACE_AGENT_CUPTI_DRIVER_CALLS_H
#define GPUTRACE_AGENT_CUPTI_DRIVER_CALLS_H

#include <cuda.h>
#include <cupti.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/cupti/cupti_library.h"
#include "agent/dispatch/registry.h"

/* A driver call that a thread is in, as far as its callbacks are on: what is known of it from its begin. */
struct open_call {
    const struct driver_call *row; /* NULL: none */
    const void *params;
    uint64_t start;
    uint32_t correlation;
    bool in_phase;  /* of compilation, which ends when the call returns */
    bool published; /* a resource callback published what it does */
};

/*
 * One driver call stands for each operation, for all functions of the runtime that call it, and has the runtime
 * call's correlation id. Functions exist in versions: NAME, NAME_v2, NAMEWithFlags, NAMEEx, and, compiled for a default
 * stream of each thread's own, NAME_ptsz (it takes a stream) and NAME_ptds (it takes none). Each is a row; versions
 * with the same parameters share the function that publishes them.
 *
 * Left out: the first versions of functions that have a _v2 because they were made for addresses of 32 bits
 * (cuMemAlloc, cuMemcpyHtoD, cuMemsetD8, cuArrayCreate …). A 64-bit program cannot pass them a device's address.
 */

/* A call that has returned. */
struct driver_return {
    const struct driver_call *row;
    struct gputrace_call call;
    const void *params; /* the struct FUNCTION_params of CUPTI's headers; what it points to is the program's */
    const char *symbol; /* of a launch: the kernel's mangled name */
    bool published;     /* resource callbacks have published what this call did */
    /* What the thread keeps from one callback to the next; it is found once for each callback. */
    struct epoch_reader *reader;
    struct cupti_ids *ids;
};

/* Why a function has callbacks though no subscriber is registered for what it does, as long as certain kinds are wanted. */
enum callback_need {
    CALLBACKS_LAZY_LOADING = 1,   /* launches, for phases of compilation: lazy_loading_arm() */
    CALLBACKS_FIRST_LAUNCHES = 2, /* launches, for names of launches: kernel_names.h */
    CALLBACKS_CAPTURES = 4,       /* launches, for nodes of graphs: graphs.h */
    CALLBACKS_GRAPH_LAUNCHES = 8, /* launches of graphs, for nodes of graphs: graphs.h */
    CALLBACKS_EVENT_WATCH = 16,   /* cuEventRecord: event_watch_begin() */
};

struct driver_call {
    CUpti_CallbackId cbid;
    uint32_t needs; /* a set of enum callback_need: it is enabled while one of them is there, or … */
    uint64_t kinds; /* … while a subscriber wants one of these, REGISTRY_BIT()s, which it serves */
    const char *name;
    /* Publishes what was done, or failed. Outputs of a failed call are not read. NULL: it serves phases alone. */
    void (*publish)(const struct driver_return *returned);
    uint32_t phase; /* the enum gputrace_trigger of the phase of compilation that the call is; 0: none, or … */
    /* … what this returns when the call begins. */
    uint32_t (*trigger)(const void *params, CUcontext context, uint32_t correlation);
    bool per_thread; /* its default stream is the thread's own */
    bool brief;      /* the recorder writes when it begins, and not when it ends */
    /* The function that a launch launches. NULL: not a launch, or one of several functions. */
    CUfunction (*launched)(const void *params);
    /* When the call begins, before CUDA does anything. NULL: nothing is to be done then. */
    void (*begins)(const void *params);
};

struct driver_calls {
    const struct driver_call *rows;
    size_t count;
};

extern const struct driver_calls code_calls, copy_calls, graph_calls, memory_calls, stream_calls;

/* Builds the index. Once, before the first look; again does no harm. */
void driver_calls_init(void);

/* Returns the row of CBID, or NULL. */
extern const struct driver_call *driver_calls_by_cbid[CUPTI_DRIVER_TRACE_CBID_SIZE];
static inline const struct driver_call *driver_call_find(CUpti_CallbackId cbid)
{
    return cbid < CUPTI_DRIVER_TRACE_CBID_SIZE ? driver_calls_by_cbid[cbid] : NULL;
}

/* --- for the groups --- */

/* The row of a function: the kinds that it serves, what publishes it, and further members of struct driver_call.
 *
 * cuda.h defines many names as macros that stand for the newest version: a name is pasted or quoted before anything
 * else is done with it, for else the row of the old version would be one more of the new. */
#define DRIVER_CALL(function, ...) DRIVER_CALL_ROW(CUPTI_DRIVER_TRACE_CBID_##function, #function, false, __VA_ARGS__)
/* The function and its _ptsz; the function and its _ptds. */
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

/* The stream that was given, so that it means the same for all versions of a function: a default stream that is the
 * thread's own becomes CU_STREAM_PER_THREAD. */
static inline CUstream driver_call_stream(const struct driver_return *returned, CUstream stream)
{
    return stream == NULL && returned->row->per_thread ? CU_STREAM_PER_THREAD : stream;
}

/* CUPTI's number of STREAM, as driver_call_stream() returns it. Of a call that failed GPUTRACE_NO_STREAM: its handle
 * may be none, and CUPTI is not asked about such. */
static inline uint32_t driver_call_stream_id(const struct driver_return *returned, CUstream stream)
{
    bool valid = driver_call_done(returned) && returned->call.context;
    return valid ? cupti_ids_of_stream(returned->ids, &returned->call, stream) : GPUTRACE_NO_STREAM;
}

static inline uint64_t driver_call_integer(const void *pointer)
{
    return (uint64_t)(uintptr_t)pointer;
}

/* Defines publish_FUNCTION(), which publishes an event of KIND. What follows initialises its members beside `call`,
 * from `p`, the parameters, and `returned`. */
#define DRIVER_CALL_PUBLISHES(function, kind, ...)                                                    \
    static void publish_##function(const struct driver_return *returned)                              \
    {                                                                                                 \
        const function##_params *p = returned->params;                                                \
        (void)p;                                                                                      \
        registry_##kind##_publish_by(returned->reader,                                                \
                                     &(struct gputrace_##kind){.call = returned->call, __VA_ARGS__}); \
    }

/* Subscribes to CUPTI (cupti_callbacks.c), and follows from now on what the registry wants. A resource callback that
 * comes within a driver call with a callback takes the name, the start and the correlation id of that call. Returns 0,
 * or -1 with WHY filled: another profiler has CUPTI. */
int cupti_callbacks_init(const struct cupti *cupti, char *why, size_t size);

/* In a forked child, after registry_atfork_child(): forgets CUPTI, calls nothing. */
void cupti_callbacks_atfork_child(void);

/*
 * Which callbacks are on. The functions may be called from any thread, also inside a callback of CUPTI's; one change is
 * made at a time, and only the difference is switched in CUPTI.
 */

/* All callbacks of SUBSCRIBER are off. */
void callback_switches_init(const struct cupti *cupti, CUpti_SubscriberHandle subscriber);

/* The set of kinds that are wanted, from the registry. */
void callback_switches_follow(uint64_t wanted);

/* Returns that set. */
uint64_t callback_switches_wanted(void);

/* Functions have callbacks, whether or not a subscriber is registered for them, while NEED is there. */
void callback_switches_need(enum callback_need need, bool on);

/* Whether CUPTI does not know the subscriber any more, because CUPTI was detached from the process: true once,
 * and CUPTI is not called from then on. */
bool callback_switches_lost(void);

/* In a forked child: CUPTI is not to be called. */
void callback_switches_atfork_child(void);

/*
 * The correlation id of one call of cuEventRecord that this thread is about to make: CUPTI's record of the event has
 * the same, and with it the GPU's time.
 *
 *     event_watch_begin();
 *     result = cuEventRecord(event, stream);
 *     correlation = event_watch_end();
 *
 * It takes the callback of cuEventRecord: callback_switches_need(CALLBACKS_EVENT_WATCH, true), at any time before.
 */

void event_watch_begin(void);

/* Returns the correlation id of the call; 0: there was no such call, or CUPTI did not report it. */
uint32_t event_watch_end(void);

/* For the collector: cuEventRecord was called on this thread. True: it is the call that was waited for, which is
 * our own and not published. */
bool event_watch_claims(uint32_t correlation);

/*
 * The first launch of a kernel that CUDA loads lazily: a phase of compilation inside a launch.
 *
 * Launches have no callback unless a subscriber wants them. So, when a thread gets a kernel from a library
 * (which CUDA's runtime does right before it launches the kernel for the first time), their callbacks are switched on
 * until the kernel was launched; or until, after LAZY_LOADING_NS without another such kernel, a thread launches
 * anything. Threads that launch nothing pay nothing, and the launches of others pay no more than that long.
 */

#define LAZY_LOADING_NS UINT64_C(100000000)

/* This thread got KERNEL in the call CORRELATION, and has not loaded it: the last one counts. */
void lazy_loading_arm(CUkernel kernel, uint32_t correlation);

/* The program asks for the function of KERNEL in CONTEXT: whether it is the first time. */
bool lazy_loading_is_first(CUkernel kernel, CUcontext context);

/* Code was unloaded, or a context is going: whatever has the handles of its kernels later is loaded anew. */
void lazy_loading_unloaded(void);

/* This thread loaded it otherwise. */
void lazy_loading_loaded(CUkernel kernel);

/* A launch begins on this thread: whether it loads the kernel, because it is the kernel's handle that is launched, or
 * because the runtime got it in the same call. Then lazy_loading_ends() when it returns. */
bool lazy_loading_begins(CUfunction launched, uint32_t correlation);
/* Does nothing on a thread on which none has begun. */
void lazy_loading_ends(void);

/* No subscriber wants phases any more: whatever was armed or is loading is forgotten. */
void lazy_loading_cancel(void);

/* In a forked child. */
void lazy_loading_atfork_child(void);

/* The kind of an image of code that the program passes to CUDA (calls_code.c), from its first bytes; NULL is of no
 * known kind. As given to cuModuleLoadData(), it has no length: text ends with a NUL, a binary is longer than its magic
 * number. No byte after the one that decides is read. */
enum gputrace_image image_sort(const void *image);

#endif
