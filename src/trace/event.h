/*
 * The events of a trace: sources make them, and sinks write them (trace/sink.h). Texts, arguments and lists that an
 * event points to need to live only as long as the call that the event is passed to. Times are ns of CLOCK_REALTIME.
 */
#ifndef GPUTRACE_TRACE_EVENT_H
#define GPUTRACE_TRACE_EVENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "common/text.h"
#include "trace/names.h"
#include "trace/tracks.h"

/*
 * Categories of events. CPU_OP to TRACE_SPAN occur only in Kineto's traces. CPU_SAMPLE is an instant on the row of its
 * thread, THREAD_STATE a time in which the thread was off the processor. Only the analysis uses DEVICE_RANGE: files
 * have such ranges as GPU_USER_ANNOTATION with DEVICE_RANGE_WORD in the argument "from".
 *      category               name in the file
 */
#define DEVICE_RANGE_WORD "gputrace_device_range"
#define CATEGORIES(X)                             \
    X(KERNEL, "kernel")                           \
    X(GPU_MEMCPY, "gpu_memcpy")                   \
    X(GPU_MEMSET, "gpu_memset")                   \
    X(GPU_GRAPH, "gpu_graph")                     \
    X(GPU_IN_FLIGHT, "gpu_in_flight")             \
    X(CUDA_RUNTIME, "cuda_runtime")               \
    X(CUDA_DRIVER, "cuda_driver")                 \
    X(CUDA_SYNC, "cuda_sync")                     \
    X(CUDA_EVENT, "cuda_event")                   \
    X(USER_ANNOTATION, "user_annotation")         \
    X(GPU_USER_ANNOTATION, "gpu_user_annotation") \
    X(MEMORY, "memory")                           \
    X(CAPTURE, "capture")                         \
    X(OVERHEAD, "overhead")                       \
    X(COMPILATION, "compilation")                 \
    X(PLUGIN, "plugin")                           \
    X(NVTX_MEMORY, "nvtx_memory")                 \
    X(CPU_OP, "cpu_op")                           \
    X(FWDBWD, "fwdbwd")                           \
    X(PYTHON_FUNCTION, "python_function")         \
    X(CPU_INSTANT_EVENT, "cpu_instant_event")     \
    X(TRACE_SPAN, "Trace")                        \
    X(UNIFIED_MEMORY, "unified_memory")           \
    X(CPU_SAMPLE, "cpu_sample")                   \
    X(THREAD_STATE, "thread_state")               \
    X(DEVICE_RANGE, DEVICE_RANGE_WORD)

enum category {
    CATEGORY_OTHER, /* no category, or one that is not in the table */
#define CATEGORY(name, text) CATEGORY_##name,
    CATEGORIES(CATEGORY)
#undef CATEGORY
        CATEGORY_COUNT
};

#define CATEGORY_BIT(category) (1u << (category))
#define CATEGORIES_GPU_OPS                                                                                   \
    (CATEGORY_BIT(CATEGORY_KERNEL) | CATEGORY_BIT(CATEGORY_GPU_MEMCPY) | CATEGORY_BIT(CATEGORY_GPU_MEMSET) | \
     CATEGORY_BIT(CATEGORY_GPU_GRAPH))
/* Events of a GPU, also those in rows of threads. */
#define CATEGORIES_ON_GPU                                                                                             \
    (CATEGORIES_GPU_OPS | CATEGORY_BIT(CATEGORY_GPU_IN_FLIGHT) | CATEGORY_BIT(CATEGORY_GPU_USER_ANNOTATION) |         \
     CATEGORY_BIT(CATEGORY_DEVICE_RANGE) | CATEGORY_BIT(CATEGORY_UNIFIED_MEMORY) | CATEGORY_BIT(CATEGORY_CUDA_SYNC) | \
     CATEGORY_BIT(CATEGORY_CUDA_EVENT))
#define CATEGORIES_API (CATEGORY_BIT(CATEGORY_CUDA_RUNTIME) | CATEGORY_BIT(CATEGORY_CUDA_DRIVER))

/* A trace lasts from the first to the last event about the program. Slices of CATEGORIES_RECORDING are about the
 * recording, and so are all instants except those of CATEGORIES_INSTANT. */
#define CATEGORIES_RECORDING (CATEGORY_BIT(CATEGORY_TRACE_SPAN) | CATEGORY_BIT(CATEGORY_PLUGIN))
#define CATEGORIES_INSTANT                                                                                           \
    (CATEGORY_BIT(CATEGORY_USER_ANNOTATION) | CATEGORY_BIT(CATEGORY_MEMORY) | CATEGORY_BIT(CATEGORY_GPU_IN_FLIGHT) | \
     CATEGORY_BIT(CATEGORY_CPU_INSTANT_EVENT) | CATEGORY_BIT(CATEGORY_CPU_SAMPLE))

static inline bool category_in(enum category category, unsigned bits)
{
    return (bits >> category) & 1;
}

/* Whether an event of CATEGORY, an instant or a slice, is about the program. */
static inline bool category_is_program(enum category category, bool instant)
{
    return instant ? category_in(category, CATEGORIES_INSTANT) : !category_in(category, CATEGORIES_RECORDING);
}

/* The names of categories in files; "" for CATEGORY_OTHER. */
extern const struct word category_words[CATEGORY_COUNT];

/* Returns the category that gputrace or another profiler calls TEXT, which need not end with a NUL, or
 * CATEGORY_OTHER. */
enum category category_find(const char *text, size_t length);

/* Corrects the category of an event of PyTorch before 1.13 by its name: there, the profiler's ranges are operators, and
 * the allocator's instants have no category. */
enum category category_by_name(enum category category, char phase, const char *name, size_t length);

/*
 * Numbers in CUPTI's record of a kernel that are passed on unchanged. Each row generates the member of the decoded
 * record (32 bits), the argument of every kernel in every format, also when it is 0, and the field for the report. A
 * database names the column as the member, which must be the last part of the field's name.
 *
 *      key, name in files, type and name of the field in struct event_fields, categories, member of the decoded record,
 *      member of CUPTI's record
 */
#define KERNEL_NUMBERS(X) \
    X(REGISTERS, "registers per thread", NUMBER, of.kernel.registers, ARGS_KERNEL, registers, registersPerThread)

/*
 * Arguments of events. The analysis keeps the arguments of rows with F: F also names the type of the field, the field
 * of struct event_fields (trace/event_fields.h), and the categories whose events have the argument. Programs and other
 * profilers use the same name with other meanings, so the analysis ignores the argument of other categories. The
 * arguments of PyTorch's allocator and operators come last but for those of communication: these have Kineto's names,
 * except "communicator", which is NCCL's or MPI's number of a group of ranks.
 *      key                      name in the file
 */
#define ARGS_KERNEL CATEGORY_BIT(CATEGORY_KERNEL)
#define ARGS_OPERATOR CATEGORY_BIT(CATEGORY_CPU_OP)
#define ARGS_SYNC CATEGORY_BIT(CATEGORY_CUDA_SYNC)
#define ARGS_MEMORY CATEGORY_BIT(CATEGORY_MEMORY)
#define ARGS_PYTORCH CATEGORY_BIT(CATEGORY_CPU_INSTANT_EVENT)
#define ARGS_UNIFIED CATEGORY_BIT(CATEGORY_UNIFIED_MEMORY)
#define ARGS_COMPILATION CATEGORY_BIT(CATEGORY_COMPILATION)
#define ARGS_STATE CATEGORY_BIT(CATEGORY_THREAD_STATE)
#define ARGS_IN_FLIGHT CATEGORY_BIT(CATEGORY_GPU_IN_FLIGHT)
#define ARGS_UNKNOWN CATEGORY_BIT(CATEGORY_OTHER) /* counters, names of rows */
#define ARGS_GPU_RANGE (CATEGORY_BIT(CATEGORY_GPU_USER_ANNOTATION) | CATEGORY_BIT(CATEGORY_DEVICE_RANGE))
#define ARGS_HOST_RANGE CATEGORY_BIT(CATEGORY_USER_ANNOTATION)
#define ARGS_RANGE (ARGS_HOST_RANGE | ARGS_GPU_RANGE)
#define ARGS_GPU (CATEGORIES_GPU_OPS | ARGS_IN_FLIGHT | ARGS_SYNC | ARGS_GPU_RANGE)
#define ARGS_COPY (CATEGORY_BIT(CATEGORY_GPU_MEMCPY) | CATEGORY_BIT(CATEGORY_GPU_MEMSET))
#define ARGS_SIZED (ARGS_COPY | ARGS_MEMORY | ARGS_UNIFIED | ARGS_UNKNOWN)
#define ARGS_THREAD \
    (CATEGORIES_API | ARGS_RANGE | ARGS_OPERATOR | ARGS_COMPILATION | CATEGORY_BIT(CATEGORY_CPU_SAMPLE) | ARGS_STATE)
#define ARGS_STACK (ARGS_THREAD | CATEGORIES_GPU_OPS | ARGS_IN_FLIGHT | ARGS_MEMORY)
#define ARGS_COMMUNICATION (ARGS_KERNEL | ARGS_IN_FLIGHT | ARGS_HOST_RANGE | ARGS_OPERATOR)
#define ARG_KEYS(X, F)                                                                                  \
    X(QUEUED, "queued")                                                                                 \
    F(DEVICE, "device", NUMBER, device, ARGS_GPU | ARGS_MEMORY)                                         \
    F(CONTEXT, "context", NUMBER, of.gpu.context, ARGS_GPU)                                             \
    F(STREAM, "stream", NUMBER, of.gpu.stream, ARGS_GPU)                                                \
    F(SYCL_QUEUE, "sycl queue", NUMBER, of.gpu.stream, CATEGORIES_GPU_OPS)                              \
    F(CORRELATION, "correlation", NUMBER, correlation, ARGS_GPU | CATEGORIES_API)                       \
    KERNEL_NUMBERS(F)                                                                                   \
    F(SHARED_MEMORY, "shared memory", NUMBER, of.kernel.shared_bytes, ARGS_KERNEL)                      \
    X(DYNAMIC_SHARED_MEMORY, "dynamic shared memory")                                                   \
    X(SHARED_MEMORY_CONFIG, "shared memory config")                                                     \
    X(BLOCKS_PER_SM, "blocks per SM")                                                                   \
    X(WARPS_PER_SM, "warps per SM")                                                                     \
    F(GRID, "grid", TRIPLE, of.kernel.grid, ARGS_KERNEL)                                                \
    F(BLOCK, "block", TRIPLE, of.kernel.block, ARGS_KERNEL)                                             \
    X(OCCUPANCY, "est. achieved occupancy %")                                                           \
    X(GRAPH, "graph id")                                                                                \
    X(GRAPH_NODE, "graph node id")                                                                      \
    F(COPY_SIZE, "size", NUMBER, bytes, ARGS_COPY)                                                      \
    F(BYTES, "bytes", NUMBER, bytes, ARGS_SIZED)                                                        \
    X(BANDWIDTH, "memory bandwidth (GB/s)")                                                             \
    X(COPIES, "copies")                                                                                 \
    X(FROM_DEVICE, "fromDevice")                                                                        \
    X(FROM_CONTEXT, "inContext")                                                                        \
    X(TO_DEVICE, "toDevice")                                                                            \
    X(TO_CONTEXT, "toContext")                                                                          \
    X(VALUE, "value")                                                                                   \
    X(CBID, "cbid")                                                                                     \
    F(RETURN_VALUE, "return value", NUMBER, return_value, CATEGORIES_API)                               \
    X(ERROR, "error")                                                                                   \
    X(SYNC_KIND, "cuda_sync_kind")                                                                      \
    F(WAIT_ON_STREAM, "wait_on_stream", NUMBER, of.wait.stream, ARGS_SYNC)                              \
    F(WAIT_ON_CORRELATION, "wait_on_cuda_event_record_corr_id", NUMBER, of.wait.correlation, ARGS_SYNC) \
    F(WAIT_ON_EVENT, "wait_on_cuda_event_id", NUMBER, of.wait.event, ARGS_SYNC)                         \
    X(WAIT_ON_EVENT_NAME, "wait_on_cuda_event_name")                                                    \
    X(EVENT, "cuda_event_id")                                                                           \
    X(EVENT_NAME, "cuda_event_name")                                                                    \
    X(MESSAGE, "message")                                                                               \
    F(DOMAIN, "domain", TEXT, of.range.domain, ARGS_RANGE)                                              \
    X(CATEGORY, "category")                                                                             \
    X(COLOR, "color")                                                                                   \
    X(PAYLOAD, "payload")                                                                               \
    F(OPEN_AT_END, "open at end", NUMBER, of.range.open_at_end, ARGS_RANGE | ARGS_OPERATOR)             \
    X(FAILED, "failed")                                                                                 \
    F(ADDRESS, "address", NUMBER, of.memory.address, ARGS_MEMORY)                                       \
    F(KIND, "kind", TEXT, of.memory.kind, ARGS_MEMORY)                                                  \
    X(POOL, "pool")                                                                                     \
    F(RESULT, "result", NUMBER, return_value, ARGS_MEMORY | ARGS_COMPILATION)                           \
    F(FAULT, "fault", TEXT, of.memory.fault, ARGS_MEMORY)                                               \
    F(HELD, "held", NUMBER, of.memory.held, ARGS_MEMORY)                                                \
    F(HELD_BY_KIND, "held by kind", TEXT, of.memory.held_by_kind, ARGS_MEMORY)                          \
    F(STACK, "stack", NUMBER, stack, ARGS_STACK)                                                        \
    F(REASON, "reason", TEXT, label, ARGS_UNIFIED)                                                      \
    F(THREAD, "thread", NUMBER, of_thread, ARGS_THREAD)                                                 \
    X(TRIGGER, "trigger")                                                                               \
    F(FUNCTION, "function", TEXT, of.compilation.function, ARGS_COMPILATION)                            \
    X(PHASE, "phase")                                                                                   \
    F(ENDING, "ending", TEXT, of.compilation.ending, ARGS_COMPILATION)                                  \
    F(CACHE_HIT, "cache hit", NUMBER, of.compilation.cache_hit, ARGS_COMPILATION)                       \
    X(GROUP, "group")                                                                                   \
    X(CACHE_LIMIT, "cache limit bytes")                                                                 \
    X(FROM, "from")                                                                                     \
    X(DETAIL, "detail")                                                                                 \
    X(RANGE, "range")                                                                                   \
    X(END_STREAM, "end stream")                                                                         \
    X(SCHEMA, "schema")                                                                                 \
    X(END_PAYLOAD, "end payload")                                                                       \
    X(SCOPE, "scope")                                                                                   \
    F(NAME, "name", TEXT, label, ARGS_UNKNOWN)                                                          \
    X(HEAP, "heap")                                                                                     \
    X(USAGE, "usage")                                                                                   \
    X(PERMISSIONS, "permissions")                                                                       \
    X(ACCESS, "access")                                                                                 \
    X(FLAGS, "flags")                                                                                   \
    X(OFFSET, "offset")                                                                                 \
    X(EXTENT, "extent")                                                                                 \
    X(PROCESS, "process")                                                                               \
    X(FAULT_GROUPS, "page fault groups")                                                                \
    X(PROGRAM_COUNTER, "program counter")                                                               \
    F(MANGLED_NAME, "mangled name", TEXT, of.kernel.mangled_name, ARGS_KERNEL)                          \
    F(LABELS, "labels", TEXT, label, ARGS_UNKNOWN)                                                      \
    F(CAPTURED_IN, "captured in", TEXT, of.launch.captured_in, CATEGORIES_GPU_OPS)                      \
    F(WAKER, "waker", NUMBER, of.state.waker, ARGS_STATE)                                               \
    F(SEQUENCE, "Sequence number", NUMBER, of.operator.sequence, ARGS_OPERATOR)                         \
    F(FORWARD_THREAD, "Fwd thread id", NUMBER, of.operator.forward_thread, ARGS_OPERATOR)               \
    F(INPUT_DIMS, "Input Dims", SHAPES, of.operator.shapes, ARGS_OPERATOR)                              \
    F(PYTORCH_ADDRESS, "Addr", NUMBER, of.memory.address, ARGS_PYTORCH)                                 \
    F(PYTORCH_BYTES, "Bytes", NUMBER, bytes, ARGS_PYTORCH)                                              \
    F(PYTORCH_DEVICE, "Device Id", NUMBER, device, ARGS_PYTORCH)                                        \
    F(DEVICE_TYPE, "Device Type", NUMBER, of.memory.device_type, ARGS_PYTORCH)                          \
    F(TOTAL_ALLOCATED, "Total Allocated", NUMBER, of.memory.total_allocated, ARGS_PYTORCH)              \
    F(TOTAL_RESERVED, "Total Reserved", NUMBER, of.memory.total_reserved, ARGS_PYTORCH)                 \
    X(CALLED_AT, "called at")                                                                           \
    X(EXTERNAL_ID, "External id")                                                                       \
    X(INPUT_TYPES, "Input type")                                                                        \
    F(COLLECTIVE, "Collective name", TEXT, of.communication.collective, ARGS_COMMUNICATION)             \
    F(COMMUNICATOR, "communicator", TEXT, of.communication.communicator, ARGS_COMMUNICATION)            \
    F(GROUP_NAME, "Process Group Name", TEXT, of.communication.communicator, ARGS_COMMUNICATION)        \
    F(GROUP_RANKS, "Process Group Ranks", TEXT, of.communication.group_ranks, ARGS_COMMUNICATION)       \
    F(GROUP_SIZE, "Group size", NUMBER, of.communication.group_size, ARGS_COMMUNICATION)                \
    F(GROUP_RANK, "Rank", NUMBER, of.communication.group_rank, ARGS_COMMUNICATION)                      \
    F(GROUP_SEQUENCE, "Seq", NUMBER, of.communication.group_sequence, ARGS_COMMUNICATION)               \
    F(IN_ELEMENTS, "In msg nelems", NUMBER, of.communication.in_elements, ARGS_COMMUNICATION)           \
    F(OUT_ELEMENTS, "Out msg nelems", NUMBER, of.communication.out_elements, ARGS_COMMUNICATION)        \
    F(DTYPE, "dtype", TEXT, of.communication.dtype, ARGS_COMMUNICATION)                                 \
    F(ROOT_RANK, "Root", NUMBER, of.communication.peer, ARGS_COMMUNICATION)                             \
    F(SOURCE_RANK, "Src Rank", NUMBER, of.communication.peer, ARGS_COMMUNICATION)                       \
    F(TARGET_RANK, "Dst Rank", NUMBER, of.communication.peer, ARGS_COMMUNICATION)                       \
    X(REDUCTION, "Reduction operation")                                                                 \
    X(GROUP_DESCRIPTION, "Process Group Description")                                                   \
    X(ALGORITHM, "algorithm")                                                                           \
    X(PROTOCOL, "protocol")                                                                             \
    X(CHANNELS, "channels")                                                                             \
    X(CAPTURED_AT, "captured at")                                                                       \
    X(OPERATIONS, "operations")                                                                         \
    X(PROXY_STEPS, "proxy steps")                                                                       \
    F(GROUP_CALL, "group call", NUMBER, of.communication.group_call, ARGS_COMMUNICATION)                \
    F(FORWARD_AT, "forward at", TEXT, of.launch.forward_at, CATEGORIES_GPU_OPS)                         \
    F(BACKWARD_AT, "backward at", TEXT, of.launch.backward_at, CATEGORIES_GPU_OPS)                      \
    F(IN_OPERATOR, "in operator", TEXT, of.launch.in_operator, CATEGORIES_GPU_OPS)

enum arg_key {
    ARG_OTHER, /* not in the table: `other` of struct arg is its name */
#define KEY(name, text) ARG_##name,
#define FIELD(name, ...) ARG_##name,
    ARG_KEYS(KEY, FIELD)
#undef KEY
#undef FIELD
        ARG_KEY_COUNT
};
extern const struct word arg_words[ARG_KEY_COUNT];

/* Returns the key of the argument called TEXT, or ARG_OTHER. */
enum arg_key arg_key_find(const char *text, size_t length);

enum arg_type {
    ARG_TYPE_U64,
    ARG_TYPE_I64,
    ARG_TYPE_FIXED, /* written with six decimals */
    ARG_TYPE_REAL,  /* written in the shortest exact form; infinity and NaN are written as texts */
    ARG_TYPE_HEX,   /* a number that is written as a text, "0x7f00" */
    ARG_TYPE_COLOR, /* ARGB as a text, "#rrggbb", or "#aarrggbb" unless it is opaque */
    ARG_TYPE_TEXT,  /* sinks escape it */
    ARG_TYPE_TRUE,
    ARG_TYPE_FALSE,
    ARG_TYPE_SIZE3,   /* [x,y,z] */
    ARG_TYPE_RAW,     /* `text` is a JSON value, which is written unchanged */
    ARG_TYPE_JSON,    /* `json` writes the value when the sink needs it; not with ARG_OTHER */
    ARG_TYPE_MEMBERS, /* `text` is the members of a JSON object, written unchanged; the key is unused */
    ARG_TYPE_LIST,    /* `list` has further arguments; the key is unused */
};

struct buffer;

/* A function that writes one JSON value; it alone knows what CONTEXT and the numbers mean. */
struct arg_json {
    void (*put)(struct buffer *buffer, const struct arg_json *json);
    const void *context;
    uint64_t number, stride;
    uint32_t domain, index;
};

struct arg {
    enum arg_key key;
    enum arg_type type;
    union {
        struct {
            union {
                uint64_t u64;
                int64_t i64;
                double real;
                int32_t size3[3];
                struct {
                    const char *text;
                    size_t length;
                };
                const struct arg_list *list; /* never empty */
            };
            const char *other; /* the name of an argument with ARG_OTHER; sinks escape it */
            size_t other_length;
        };
        struct arg_json json;
    };
};

/* Arguments that several events may share. */
struct arg_list {
    const struct arg *items;
    size_t count;
    uint32_t number; /* lists with the same number have the same content within one sink; 0: not numbered */
};

#define ARGS_MAX 24

struct args {
    size_t count;
    struct arg items[ARGS_MAX + 1]; /* the last item takes the arguments beyond ARGS_MAX, which are dropped */
};

/* Returns the new argument, for the caller to set its value; never NULL. */
static inline struct arg *args_add(struct args *args, enum arg_key key, enum arg_type type)
{
    struct arg *arg = &args->items[args->count];
    args->count += args->count < ARGS_MAX;
    arg->key = key;
    arg->type = type;
    return arg;
}

static inline void args_u64(struct args *args, enum arg_key key, uint64_t value)
{
    args_add(args, key, ARG_TYPE_U64)->u64 = value;
}

static inline void args_i64(struct args *args, enum arg_key key, int64_t value)
{
    args_add(args, key, ARG_TYPE_I64)->i64 = value;
}

static inline void args_real(struct args *args, enum arg_key key, enum arg_type type, double value)
{
    args_add(args, key, type)->real = value;
}

static inline void args_text(struct args *args, enum arg_key key, const char *text, size_t length)
{
    struct arg *arg = args_add(args, key, ARG_TYPE_TEXT);
    arg->text = text;
    arg->length = length;
}

static inline void args_words(struct args *args, enum arg_key key, const char *words)
{
    args_text(args, key, words, strlen(words));
}

static inline void args_size3(struct args *args, enum arg_key key, const int32_t size3[3])
{
    memcpy(args_add(args, key, ARG_TYPE_SIZE3)->size3, size3, 3 * sizeof(*size3));
}

static inline void args_list(struct args *args, const struct arg_list *list)
{
    args_add(args, ARG_OTHER, ARG_TYPE_LIST)->list = list;
}

/* Adds the error that a call returned: NUMBER under KEY, and CUDA's NAME for it unless NAME is NULL. */
static inline void args_error(struct args *args, enum arg_key key, int64_t number, const char *name)
{
    args_i64(args, key, number);
    if (name)
        args_words(args, ARG_ERROR, name);
}

struct slice {
    enum category category;
    const char *other_category; /* name of a category that is not in the table, escaped for JSON; NULL: none */
    struct name name;
    struct row row;
    uint64_t start, end; /* an instant has only a start */
    const struct args *args;
};

/* A range that may begin and end on different threads. */
struct async_slice {
    enum category category;
    const char *other_category; /* as in struct slice */
    struct name name;
    struct row begin, end_row;
    uint64_t start, end;
    uint64_t id;  /* unique in the trace, but ranges that nest share an id */
    bool instant; /* it has no duration, and lies within a range of this id */
    const struct args *args;
};

/* Returns RANGE as a slice on the row where it begins, with RANGE's arguments. */
static inline struct slice async_slice_begin(const struct async_slice *range)
{
    return (struct slice){.category = range->category,
                          .other_category = range->other_category,
                          .name = range->name,
                          .row = range->begin,
                          .start = range->start,
                          .end = range->end,
                          .args = range->args};
}

/* One of several values of a counter. */
struct counter_value {
    const char *name; /* sinks escape it */
    size_t length;
    enum { COUNTER_UNSIGNED, COUNTER_SIGNED, COUNTER_REAL } kind;
    union {
        uint64_t u64;
        int64_t i64;
        double real; /* finite */
    };
};

/* An array for array_push(). */
struct counter_values {
    struct counter_value *items;
    size_t count, capacity;
};

#define COUNTER_ID_WORD " id: "
struct counter {
    struct name name; /* unique within its process */
    size_t id_length; /* bytes of the id at the end of the name, after COUNTER_ID_WORD; 0: no id */
    uint32_t pid;
    uint64_t time;
    bool real; /* true: `value` is set, false: `bytes` */
    union {
        uint64_t bytes;
        double value; /* finite */
    };
    const struct counter_value *values; /* used instead of `bytes` and `value` if value_count > 0 */
    size_t value_count;
};

/* Returns the value of a counter with value_count 0, with its name in JSON. */
static inline struct counter_value counter_only_value(const struct counter *counter)
{
    struct counter_value only = {.name = counter->real ? "value" : "bytes", .length = strlen("value")};
    only.kind = counter->real ? COUNTER_REAL : COUNTER_UNSIGNED;
    if (counter->real)
        only.real = counter->value;
    else
        only.u64 = counter->bytes;
    return only;
}

/* One end of a flow, which leads from a call to the GPU operation that it started. A flow of CATEGORY_FWDBWD leads from
 * an operator of the forward pass to that of the backward pass; only JSON has those. */
struct flow {
    enum category category; /* CATEGORY_FWDBWD, or CATEGORY_OTHER for a flow from a call */
    uint32_t id;            /* unique among the flows of the category */
    bool ends;              /* true: the end of the flow, false: its start */
    struct row row;
    uint64_t time;
};

/* The owner of a GPU's row if the trace does not name the process. */
#define ROW_OWNER_UNKNOWN UINT32_MAX

struct row_name {
    struct row row;
    const char *name;  /* sinks escape it */
    const char *label; /* only processes have one; NULL: none */
    uint32_t owner;    /* pid of the process whose operations a GPU's row shows; 0 for other rows */
    int64_t sort_index;
};

#endif
