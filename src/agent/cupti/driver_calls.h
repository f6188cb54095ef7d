/*
 * Declares the driver's functions that have callbacks: each is a row in a table of calls_*.c, which says what kinds of
 * event the call is published as, and by which function. Also declares the calls that a thread is in.
 */
#ifndef GPUTRACE_AGENT_CUPTI_DRIVER_CALLS_H
#define GPUTRACE_AGENT_CUPTI_DRIVER_CALLS_H

#include <cuda.h>
#include <cupti.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/cupti/cupti_ids.h"
#include "agent/dispatch/registry.h"

/*
 * The driver calls that a thread is in, as far as their callbacks are on: what is known of them from their begin.
 */

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

/* Why a function has callbacks though no subscriber is registered for what it does; callback_switches.h. */
enum callback_need {
    CALLBACKS_LAZY_LOADING = 1,
    CALLBACKS_FIRST_LAUNCHES = 2,
    CALLBACKS_CAPTURES = 4,
    CALLBACKS_GRAPH_LAUNCHES = 8,
    CALLBACKS_EVENT_WATCH = 16,
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

/* Each in the calls_*.c of its name. */
extern const struct driver_calls code_calls, copy_calls, graph_calls, launch_calls, memory_calls, sync_calls;

/* Builds the index. Once, before the first look; again does no harm. */
void driver_calls_init(void);

/* The row of CBID, or NULL. */
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
#define DRIVER_CALL(function, ...) \
    {.cbid = CUPTI_DRIVER_TRACE_CBID_##function, .name = #function, DRIVER_CALL_REST(false, __VA_ARGS__)}
/* The function and its _ptsz; the function and its _ptds. */
#define DRIVER_CALL_PTSZ(function, ...)                                                                    \
    {.cbid = CUPTI_DRIVER_TRACE_CBID_##function, .name = #function, DRIVER_CALL_REST(false, __VA_ARGS__)}, \
    {                                                                                                      \
        .cbid = CUPTI_DRIVER_TRACE_CBID_##function##_ptsz, .name = #function "_ptsz",                      \
        DRIVER_CALL_REST(true, __VA_ARGS__)                                                                \
    }
#define DRIVER_CALL_PTDS(function, ...)                                                                    \
    {.cbid = CUPTI_DRIVER_TRACE_CBID_##function, .name = #function, DRIVER_CALL_REST(false, __VA_ARGS__)}, \
    {                                                                                                      \
        .cbid = CUPTI_DRIVER_TRACE_CBID_##function##_ptds, .name = #function "_ptds",                      \
        DRIVER_CALL_REST(true, __VA_ARGS__)                                                                \
    }
#define DRIVER_CALL_REST(is_per_thread, kind_set, publisher, ...) \
    .kinds = (kind_set), .publish = (publisher), .per_thread = (is_per_thread), ##__VA_ARGS__

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

/* --- units of the groups that tests look at --- */

/* The kind of an image of code that the program passes to CUDA (calls_code.c), from its first bytes; NULL is of no
 * known kind. As given to cuModuleLoadData(), it has no length: text ends with a NUL, a binary is longer than its magic
 * number. No byte after the one that decides is read. */
enum gputrace_image image_sort(const void *image);

/* How much memory an array takes (calls_memory.c): its texels, without the padding that the driver adds. No descriptor
 * (NULL): 0. Texels of block-compressed and video formats count a byte a channel: the least. */
uint64_t array_bytes_2d(const CUDA_ARRAY_DESCRIPTOR *array);
uint64_t array_bytes_3d(const CUDA_ARRAY3D_DESCRIPTOR *array);
uint64_t array_bytes_mipmapped(const CUDA_ARRAY3D_DESCRIPTOR *array, unsigned levels);

#endif
