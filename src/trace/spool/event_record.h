/*
 * One recorded event, from any source: the decoders of this folder set it, and the passes read it.
 *
 * Times are nanoseconds of CLOCK_REALTIME; 0 is unknown. Texts are not terminated, not checked for UTF-8, and live as
 * long as the spool is open. The struct is filled anew for each record; who needs an event again keeps `record` and
 * decodes it again. Fields that only their topic reads have no place here: it reads them from `record`, which is as
 * long as the row in common/record_kinds.h says.
 */
#ifndef GPUTRACE_TRACE_SPOOL_EVENT_RECORD_H
#define GPUTRACE_TRACE_SPOOL_EVENT_RECORD_H

#include <stdbool.h>
#include <stdint.h>

#include "common/record_kinds.h"
#include "trace/event.h"

enum event_type {
    EVENT_TYPE_NONE = 0, /* the record has nothing for a trace */
/* One for each X of CUPTI_KINDS, work of a GPU first */
#define ALSO(...)
#define TYPE(number, kind, groups, on, sizes, event, ...) EVENT_##event,
    CUPTI_KINDS(TYPE, ALSO)
#undef TYPE
#undef ALSO
    /* The agent's own records */
    EVENT_POINTER_NAME,
    EVENT_THREAD_NAME,
    EVENT_CAPTURE,
    EVENT_NOTE,
    EVENT_STREAM,
    EVENT_MEMORY,
    EVENT_POOL,
    EVENT_NVTX_DOMAIN,
    EVENT_NVTX_STRING,
    EVENT_NVTX_CATEGORY,
    EVENT_NVTX_NAME,
    EVENT_NVTX_RESOURCE,
    EVENT_NVTX_RECORDED,
    EVENT_NVTX,
    EVENT_PHASE,
    EVENT_PLUGIN,
    EVENT_PLUGIN_TIME,
    EVENT_PLUGIN_WINDOW,
    EVENT_PLUGIN_EVENT,
    EVENT_PLUGIN_LINE,
    EVENT_STACK,
    EVENT_MAPPING,
    EVENT_DEVICE_RANGE,
    EVENT_CRASH,
    EVENT_OPEN_CALL,
    EVENT_LAUNCH_NAME,    /* text: the mangled name of what `correlation` launches */
    EVENT_FUNCTION_NAME,  /* text: the mangled name of graph_node.function */
    EVENT_GRAPH_NODE,     /* what a node launches, or is a copy of */
    EVENT_SEEN,           /* text: a range or domain that was seen while recording waits for another */
    EVENT_CRASH_STACK,    /* text: memory of the stack of the thread that crashed */
    EVENT_CALL_STACK,     /* the stack of a call that launched or waited */
    EVENT_GRAPH_LAUNCH,   /* `correlation` launches graph.graph, which has conditional nodes; start: the call's */
    EVENT_NVTX_EXTENSION, /* record: a struct of common/spool_nvtx.h */
    EVENT_CPU_SAMPLE,
    EVENT_THREAD_STATE,
    EVENT_OPERATOR_TEXT,
    EVENT_OPERATOR_THREAD,
    EVENT_OPERATOR,
    EVENT_OPERATOR_INPUTS,
    EVENT_OPERATOR_END,
    EVENT_PYTHON_FRAME, /* text: a function and its file */
    EVENT_GRAPH_NODE_STACK,
    EVENT_NCCL, /* record: a struct of common/spool_records.h */
    EVENT_TYPE_COUNT
};

static inline bool event_is_gpu_work(enum event_type type)
{
    return type >= EVENT_KERNEL && type <= EVENT_GRAPH;
}

#define EVENT_NO_STREAM UINT32_MAX
#define EVENT_NO_DEVICE UINT32_MAX

enum event_api_domain { EVENT_API_RUNTIME, EVENT_API_DRIVER };

/* Operations of the just-in-time compiler, with CUPTI's numbers. */
enum event_jit_operation {
    EVENT_JIT_UNKNOWN = 0,
    EVENT_JIT_CACHE_LOAD,
    EVENT_JIT_CACHE_STORE,
    EVENT_JIT_COMPILE,
    EVENT_JIT_OPERATION_COUNT
};
enum event_jit_entry { EVENT_JIT_FROM_UNKNOWN = 0, EVENT_JIT_FROM_PTX, EVENT_JIT_FROM_NVVM_IR, EVENT_JIT_ENTRY_COUNT };

enum event_sync_kind {
    EVENT_SYNC_UNKNOWN,
    EVENT_SYNC_EVENT,
    EVENT_SYNC_STREAM_WAIT_EVENT,
    EVENT_SYNC_STREAM,
    EVENT_SYNC_CONTEXT,
    EVENT_SYNC_KIND_COUNT
};

/* Events of managed memory, with CUPTI's numbers. */
enum event_unified_memory {
    EVENT_UNIFIED_UNKNOWN,
    EVENT_UNIFIED_HTOD,
    EVENT_UNIFIED_DTOH,
    EVENT_UNIFIED_CPU_FAULT,
    EVENT_UNIFIED_GPU_FAULT,
    EVENT_UNIFIED_THRASHING,
    EVENT_UNIFIED_THROTTLING,
    EVENT_UNIFIED_REMOTE_MAP,
    EVENT_UNIFIED_DTOD,
    EVENT_UNIFIED_COUNT
};

/* The properties of a GPU that a trace shows. */
struct device {
    uint32_t id;
    uint64_t name; /* pointer in the traced process */
    uint64_t memory_bytes;
    uint32_t major, minor;
    uint32_t multiprocessors, warp_size;
    uint32_t max_threads_per_block, max_warps_per_multiprocessor, max_blocks_per_multiprocessor;
    uint32_t registers_per_block, registers_per_multiprocessor;
    uint32_t shared_per_block, shared_per_multiprocessor;
    uint8_t uuid[16];
};

struct event {
    enum event_type type;
    bool in_flight;       /* GPU work whose times CUPTI had not collected when the process ended */
    uint32_t correlation; /* 0: none */
    uint32_t device;
    uint32_t context;
    uint32_t stream; /* EVENT_NO_STREAM: none */
    uint32_t thread;
    uint64_t start, end; /* equal for an event with one time */
    const void *record;
    const char *text;
    uint32_t text_length;
    union {
        struct {
            uint64_t name; /* pointer in the traced process */
            uint64_t queued;
            uint64_t graph_node;
            uint32_t graph;
            int32_t grid[3], block[3];
            uint32_t static_shared, dynamic_shared, executed_shared;
#define NUMBER(name, text, type, field, categories, member, ...) uint32_t member;
            KERNEL_NUMBERS(NUMBER)
#undef NUMBER
        } kernel;
        struct {
            uint64_t bytes, graph_node;
            uint32_t graph;
            uint8_t kind, source, target; /* CUPTI's numbers */
            bool peer;                    /* the devices and contexts of both sides are set */
            uint32_t source_device, source_context, target_device, target_context;
            uint64_t copies; /* in a batch; 0: unknown */
        } memcpy;
        struct {
            uint64_t bytes, graph_node;
            uint32_t graph, value;
            uint16_t target;
        } memset;
        struct {
            uint32_t graph;
        } graph;
        struct {
            enum event_api_domain domain;
            uint32_t cbid;
            uint32_t result; /* cudaError_t or CUresult */
        } api;
        struct {
            enum event_sync_kind kind;
            uint32_t result;
            uint64_t event;         /* CUPTI's id of the CUDA event, UINT32_MAX: none; or its handle, 0: none */
            uint32_t event_context; /* the context of the id; 0: `event` is a handle */
            uint64_t sync_id;       /* of the record waited for, 0: unknown */
        } sync;
        struct {
            uint64_t event; /* id or handle, as for `sync` */
            uint32_t event_context;
            uint64_t sync_id;
        } cuda_event; /* start is the GPU's time */
        struct {
            enum event_unified_memory what;
            uint32_t source, target, process; /* devices; EVENT_NO_DEVICE: the host, or none */
            uint32_t flags;                   /* reason or kind of access, depending on `what`, with CUPTI's numbers */
            uint64_t value;                   /* bytes; for a fault CUPTI's value */
            uint64_t address;
        } unified_memory; /* `device`: whose row shows the event */
        struct {
            uint64_t group; /* equal for operations on one piece of code */
            uint64_t cache_bytes;
            enum event_jit_operation operation;
            enum event_jit_entry entry;
        } jit; /* `thread` 0: unknown */
        struct device device_info;
        struct {
            bool on;
        } capture;
        struct {
            bool destroyed;
            uint64_t handle;
        } object; /* for EVENT_CONTEXT and EVENT_STREAM */
        struct {
            uint64_t address, size, pool;
            int32_t result;
            uint16_t operation, kind; /* enum spool_memory_operation, spool_memory_kind */
            uint32_t stack;           /* of the call; 0: not recorded */
        } memory;
        struct {
            uint32_t domain, number; /* for EVENT_NVTX_DOMAIN, _STRING, _CATEGORY */
        } nvtx_text;
        struct {
            uint64_t object;
            uint32_t what; /* enum spool_nvtx_object */
        } nvtx_name;       /* for EVENT_NVTX_NAME and EVENT_NVTX_RECORDED */
        struct {
            uint64_t number, identifier;
            uint32_t type, domain;
            bool destroyed;
        } nvtx_resource;
        struct {
            uint16_t what; /* enum spool_nvtx_what */
            uint16_t color_type, payload_type;
            uint32_t domain, category, color, string;
            uint64_t range, payload;
        } nvtx;
        struct {
            uint64_t number;
            bool ended; /* the range ends; if not, it starts */
        } device_range; /* text of a start: the message */
        struct {
            uint64_t node, original; /* CUPTI's numbers */
            uint64_t function;       /* the handle */
            uint32_t capturer;       /* the thread that began the capture, if it is another one; else 0 */
        } graph_node;
        struct {
            uint32_t stack;
            uint32_t waker; /* for EVENT_THREAD_STATE; 0: unknown */
            uint16_t state; /* for EVENT_THREAD_STATE: enum spool_thread_state_kind */
        } cpu;
        struct {
            uint16_t scope;   /* for EVENT_OPERATOR: enum spool_operator_scope */
            uint32_t self;    /* identifies an open operator */
            uint32_t text;    /* number of the name, or of the inputs' text; for EVENT_OPERATOR_TEXT, of its own text */
            int64_t sequence; /* -1: none */
            uint32_t
                forward; /* PyTorch's number of the thread of the forward pass; for EVENT_OPERATOR_THREAD, its own */
        } operator;
    };
};

/*
 * X(record, event, decode, index, resolve, write), ALSO(record, event, decode): rows for SPOOL_RECORD_<record>, as
 * those for CUPTI's records in CUPTI_KINDS (common/record_kinds.h).
 */
#define AGENT_RECORDS(X, ALSO)                                                                                         \
    X(POINTER_NAME, POINTER_NAME, NULL, index_pointer_name, no_resolve, no_write)                                      \
    X(THREAD_NAME, THREAD_NAME, decode_thread_name, index_thread_name, no_resolve, no_write)                           \
    X(CAPTURE, CAPTURE, decode_capture, index_capture, no_resolve, write_capture)                                      \
    X(NOTE, NOTE, NULL, no_index, no_resolve, no_write)                                                                \
    X(SEEN, SEEN, NULL, index_seen, no_resolve, no_write)                                                              \
    X(CONTEXT, CONTEXT, decode_context, index_context, no_resolve, no_write)                                           \
    X(STREAM, STREAM, decode_stream, index_stream, no_resolve, no_write)                                               \
    X(MEMORY, MEMORY, decode_memory, index_memory, no_resolve, no_write)                                               \
    X(POOL_LEVEL, POOL, decode_pool_level, index_pool, no_resolve, no_write)                                           \
    X(NVTX_DOMAIN, NVTX_DOMAIN, decode_nvtx_domain, index_nvtx_name, no_resolve, no_write)                             \
    X(NVTX_STRING, NVTX_STRING, decode_nvtx_string, index_nvtx_name, no_resolve, no_write)                             \
    X(NVTX_CATEGORY, NVTX_CATEGORY, decode_nvtx_category, index_nvtx_name, no_resolve, no_write)                       \
    X(NVTX_NAME, NVTX_NAME, decode_nvtx_name, no_index, no_resolve, no_write) /* indexed once all streams are known */ \
    X(NVTX_EVENT, NVTX, decode_nvtx_event, index_nvtx, no_resolve, write_nvtx)                                         \
    ALSO(NVTX_PLAIN, NVTX, decode_nvtx_plain)                                                                          \
    X(NVTX_RESOURCE, NVTX_RESOURCE, decode_nvtx_resource, index_nvtx_name, no_resolve, no_write)                       \
    X(NVTX_RECORDED, NVTX_RECORDED, decode_nvtx_recorded, index_nvtx_name, no_resolve, no_write)                       \
    X(NVTX_SCHEMA, NVTX_EXTENSION, NULL, index_nvtx_extension, no_resolve, no_write)                                   \
    ALSO(NVTX_ENTRY, NVTX_EXTENSION, NULL)                                                                             \
    ALSO(NVTX_SEMANTICS, NVTX_EXTENSION, NULL)                                                                         \
    ALSO(NVTX_SCOPE, NVTX_EXTENSION, NULL)                                                                             \
    ALSO(NVTX_TIME_DOMAIN, NVTX_EXTENSION, NULL)                                                                       \
    ALSO(NVTX_SYNC, NVTX_EXTENSION, NULL)                                                                              \
    ALSO(NVTX_PIECE, NVTX_EXTENSION, NULL)                                                                             \
    ALSO(NVTX_DEFERRED, NVTX_EXTENSION, NULL)                                                                          \
    ALSO(NVTX_COUNTER, NVTX_EXTENSION, NULL)                                                                           \
    ALSO(NVTX_SAMPLE, NVTX_EXTENSION, NULL)                                                                            \
    ALSO(NVTX_MEMORY, NVTX_EXTENSION, NULL)                                                                            \
    X(PHASE, PHASE, decode_phase, index_phase, no_resolve, no_write)                                                   \
    X(PLUGIN, PLUGIN, NULL, index_plugin, no_resolve, no_write)                                                        \
    X(PLUGIN_TIME, PLUGIN_TIME, NULL, index_plugin_time, no_resolve, no_write)                                         \
    X(PLUGIN_WINDOW, PLUGIN_WINDOW, decode_plugin_window, no_index, no_resolve,                                        \
      no_write) /* indexed by index_window() */                                                                        \
    X(PLUGIN_EVENT, PLUGIN_EVENT, decode_plugin_event, index_plugin_event, no_resolve, write_plugin_event)             \
    X(PLUGIN_LINE, PLUGIN_LINE, NULL, index_plugin_line, no_resolve, no_write)                                         \
    X(STACK, STACK, NULL, index_stack, no_resolve, no_write)                                                           \
    X(MAPPING, MAPPING, NULL, index_mapping, no_resolve, no_write)                                                     \
    X(DEVICE_RANGE, DEVICE_RANGE, decode_device_range, no_index, no_resolve, no_write) /* see index_window() */        \
    X(CRASH, CRASH, decode_crash, index_crash_record, no_resolve, no_write)                                            \
    X(OPEN_CALL, OPEN_CALL, decode_open_call, index_crash_record, no_resolve, no_write)                                \
    X(CRASH_STACK, CRASH_STACK, NULL, index_crash_stack, no_resolve, no_write)                                         \
    X(LAUNCH_NAME, LAUNCH_NAME, decode_launch_name, index_launch_name, no_resolve, no_write)                           \
    X(FUNCTION_NAME, FUNCTION_NAME, decode_function_name, index_function_name, no_resolve, no_write)                   \
    X(GRAPH_NODE, GRAPH_NODE, decode_graph_node, index_graph_node, no_resolve, no_write)                               \
    X(GRAPH_LAUNCH, GRAPH_LAUNCH, decode_graph_launch, index_graph_launch, no_resolve, no_write)                       \
    X(CALL_STACK, CALL_STACK, NULL, index_call_stack, no_resolve, no_write)                                            \
    X(SYNC, SYNC, decode_agent_sync, index_sync, resolve_sync, write_sync)                                             \
    X(EVENT_RECORD, CUDA_EVENT, decode_event_record, index_event_record, no_resolve, no_write)                         \
    X(CPU_SAMPLE, CPU_SAMPLE, decode_cpu_sample, index_cpu, no_resolve, write_cpu_sample)                              \
    X(THREAD_STATE, THREAD_STATE, decode_thread_state, index_cpu, no_resolve, write_thread_state)                      \
    X(TORCH_TEXT, OPERATOR_TEXT, decode_torch_text, index_operator_name, no_resolve, no_write)                         \
    X(TORCH_THREAD, OPERATOR_THREAD, decode_torch_thread, index_operator_name, no_resolve, no_write)                   \
    X(TORCH_START, OPERATOR, decode_operator, index_operator, no_resolve, no_write) /* written with NVTX's ranges */   \
    X(TORCH_INPUTS, OPERATOR_INPUTS, decode_torch_inputs, index_operator, no_resolve, no_write)                        \
    X(TORCH_END, OPERATOR_END, decode_torch_end, index_operator, no_resolve, no_write)                                 \
    X(PYTHON_FRAME, PYTHON_FRAME, NULL, index_python_frame, no_resolve, no_write)                                      \
    X(GRAPH_NODE_STACK, GRAPH_NODE_STACK, NULL, index_graph_node_stack, no_resolve, no_write)                          \
    X(NCCL_COMMUNICATOR, NCCL, NULL, index_nccl, no_resolve, no_write)                                                 \
    ALSO(NCCL_OPERATION, NCCL, NULL)                                                                                   \
    ALSO(NCCL_STEPS, NCCL, NULL)

#endif
