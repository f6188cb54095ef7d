/*
 * The driver's functions that have callbacks, one row each (calls_*.c), and the calls that a thread is in.
 */
#ifndef GPUTRACE_AGENT_CUPTI_DRIVER_CALLS_H
#define GPUTRACE_AGENT_CUPTI_DRIVER_CALLS_H

#include <cupti.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/cupti/cupti_ids.h"
#include "agent/dispatch/registry.h"

/*
 * The driver calls that a thread is in, as far as their callbacks are on: what is known of them from their begin.
 */

struct driver_call;

struct open_call {
    const struct driver_call *row; /* NULL: none */
    const void *params;
    uint64_t start;
    uint32_t correlation;
    bool in_phase;  /* of compilation, which ends when the call returns */
    bool published; /* a resource callback published what it does */
};

/* Calls within calls that both have callbacks are rare. One whose callback was switched off while it went on never
 * returns here: it is overwritten in the end. */
#define OPEN_CALLS_DEPTH 4u

/* Of one thread; zero: none. */
struct open_calls {
    unsigned next;
    struct open_call calls[OPEN_CALLS_DEPTH];
};

static inline struct open_call *open_call_back(struct open_calls *open, unsigned back)
{
    return &open->calls[(open->next - back) % OPEN_CALLS_DEPTH];
}

/* A call begins, at START. */
static inline struct open_call *open_call_push(struct open_calls *open, const struct driver_call *row,
                                               const void *params, uint32_t correlation, uint64_t start)
{
    struct open_call *call = open_call_back(open, 0);
    open->next++;
    *call = (struct open_call){.row = row, .params = params, .start = start, .correlation = correlation};
    return call;
}

/* It returns. Returns what was known of it, until the next one begins; NULL: nothing, for its callback was switched on
 * only in between. */
static inline struct open_call *open_call_pop(struct open_calls *open, const struct driver_call *row,
                                              uint32_t correlation)
{
    for (unsigned back = 1; back <= OPEN_CALLS_DEPTH; back++) {
        struct open_call *call = open_call_back(open, back);
        if (call->row != row || call->correlation != correlation)
            continue;
        call->row = NULL;
        open->next -= back;
        return call;
    }
    return NULL;
}

/* The innermost; NULL: none. Valid until it returns. */
static inline struct open_call *open_calls_innermost(struct open_calls *open)
{
    struct open_call *call = open_call_back(open, 1);
    return call->row ? call : NULL;
}

/*
 * One driver call stands for each operation, whichever function of the runtime the program used, and has the runtime
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
    /* Of this thread, which finds them but once. */
    struct epoch_reader *reader;
    struct cupti_ids *ids;
};

struct driver_call {
    CUpti_CallbackId cbid;
    const char *name;
    uint64_t kinds; /* that it serves: REGISTRY_BIT()s; it is enabled when a subscriber wants one of them */
    /* Publishes what was done, or failed. Outputs of a failed call are not read. NULL: it serves phases alone. */
    void (*publish)(const struct driver_return *returned);
    /* When the call begins: the enum gputrace_trigger of the phase of compilation that it is, 0: none. NULL: never. */
    uint32_t (*trigger)(const void *params, CUcontext context, uint32_t correlation);
    bool per_thread; /* its default stream is the thread's own */
    bool brief;      /* the recorder writes when it begins, and not when it ends */
    /* The function that a launch launches. NULL: it is no launch, or of several. */
    CUfunction (*launched)(const void *params);
    /* When the call begins, before CUDA does anything. NULL: nothing is to be done then. */
    void (*begins)(const void *params);
};

struct driver_calls {
    const struct driver_call *rows;
    size_t count;
};

extern const struct driver_calls event_calls, stream_calls, sync_calls, memory_calls, copy_calls, copy_shape_calls,
    copy_batch_calls, set_calls, launch_calls, queue_calls, graph_calls, graph_node_calls, module_calls, code_calls,
    profiler_calls, pool_calls;

/* Builds the index. Once, before the first look; again does no harm. */
void driver_calls_init(void);

/* The row of CBID, or NULL. */
extern const struct driver_call *driver_calls_by_cbid[CUPTI_DRIVER_TRACE_CBID_SIZE];
static inline const struct driver_call *driver_call_find(CUpti_CallbackId cbid)
{
    return cbid < CUPTI_DRIVER_TRACE_CBID_SIZE ? driver_calls_by_cbid[cbid] : NULL;
}

/* --- for the groups --- */

/* cuda.h defines many names as macros that stand for the newest version: a name is pasted or quoted before anything
 * else is done with it, for else the row of the old version would be one more of the new. */
#define DRIVER_CALL_ROW(id, text, is_per_thread, kind_set, publisher, why)                           \
    {                                                                                                \
        .cbid = (id), .name = (text), .kinds = (kind_set), .publish = (publisher), .trigger = (why), \
        .per_thread = (is_per_thread)                                                                \
    }
#define DRIVER_CALL(function, kinds, publish, trigger) \
    DRIVER_CALL_ROW(CUPTI_DRIVER_TRACE_CBID_##function, #function, false, kinds, publish, trigger)
/* The function and its _ptsz; the function and its _ptds. */
#define DRIVER_CALL_PTSZ(function, kinds, publish, trigger)                                         \
    DRIVER_CALL_ROW(CUPTI_DRIVER_TRACE_CBID_##function, #function, false, kinds, publish, trigger), \
        DRIVER_CALL_ROW(CUPTI_DRIVER_TRACE_CBID_##function##_ptsz, #function "_ptsz", true, kinds, publish, trigger)
#define DRIVER_CALL_PTDS(function, kinds, publish, trigger)                                         \
    DRIVER_CALL_ROW(CUPTI_DRIVER_TRACE_CBID_##function, #function, false, kinds, publish, trigger), \
        DRIVER_CALL_ROW(CUPTI_DRIVER_TRACE_CBID_##function##_ptds, #function "_ptds", true, kinds, publish, trigger)

/* Those of which the recorder writes no end. */
#define DRIVER_CALL_BRIEF_ROW(id, text, is_per_thread, kind_set, publisher)                                       \
    {                                                                                                             \
        .cbid = (id), .name = (text), .kinds = (kind_set), .publish = (publisher), .per_thread = (is_per_thread), \
        .brief = true                                                                                             \
    }
#define DRIVER_CALL_BRIEF(function, kinds, publish) \
    DRIVER_CALL_BRIEF_ROW(CUPTI_DRIVER_TRACE_CBID_##function, #function, false, kinds, publish)
#define DRIVER_CALL_PTSZ_BRIEF(function, kinds, publish)                                         \
    DRIVER_CALL_BRIEF_ROW(CUPTI_DRIVER_TRACE_CBID_##function, #function, false, kinds, publish), \
        DRIVER_CALL_BRIEF_ROW(CUPTI_DRIVER_TRACE_CBID_##function##_ptsz, #function "_ptsz", true, kinds, publish)

#define DRIVER_CALLS(table)                         \
    {                                               \
        (table), sizeof(table) / sizeof((table)[0]) \
    }

static inline bool driver_call_done(const struct driver_return *returned)
{
    return returned->call.result == CUDA_SUCCESS;
}

/* The stream that was given, so that it means the same whichever version it was given to: a default stream that is the
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

#endif
