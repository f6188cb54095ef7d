/*
 * One thing that was recorded, whatever recorded it: the decoders of this folder fill it, and the passes read it.
 *
 * Times are nanoseconds of CLOCK_REALTIME; 0 is "not known". Texts are not terminated, not checked for UTF-8, and live
 * as long as the spool is mapped. An event is filled anew for each record and kept by nobody; who needs one again keeps
 * `record` and decodes it again.
 */
#ifndef GPUTRACE_TRACE_SPOOL_EVENT_RECORD_H
#define GPUTRACE_TRACE_SPOOL_EVENT_RECORD_H

#include <stdbool.h>
#include <stdint.h>

#include "trace/event.h"

enum event_type {
    EVENT_TYPE_NONE = 0, /* a record that is known and tells nothing for a trace */
    /* Work of a GPU */
    EVENT_KERNEL,
    EVENT_MEMCPY,
    EVENT_MEMSET,
    EVENT_GRAPH, /* a whole graph launch */
    /* CUPTI's other records */
    EVENT_API,
    EVENT_SYNC,
    EVENT_CUDA_EVENT,
    EVENT_OVERHEAD,
    EVENT_UNIFIED_MEMORY,
    EVENT_JIT,
    EVENT_DEVICE,
    EVENT_CONTEXT,
    /* The library's own records */
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
    EVENT_LAUNCH_NAME,    /* its text: the mangled name of what `correlation` launches */
    EVENT_FUNCTION_NAME,  /* its text: the mangled name of graph_node.function */
    EVENT_GRAPH_NODE,     /* what it launches, or is a copy of */
    EVENT_SEEN,           /* its text: what was there instead of what recording waits for */
    EVENT_CRASH_STACK,    /* its text: memory of the stack of the thread that crashed */
    EVENT_CALL_STACK,     /* a call that launched or waited has a stack */
    EVENT_GRAPH_LAUNCH,   /* `correlation` launches graph.graph, which has conditional nodes; start: of the call */
    EVENT_NVTX_EXTENSION, /* its record is a struct of common/spool_nvtx.h */
    EVENT_CPU_SAMPLE,
    EVENT_THREAD_STATE,
    EVENT_OPERATOR_TEXT,
    EVENT_OPERATOR_THREAD,
    EVENT_OPERATOR,
    EVENT_OPERATOR_INPUTS,
    EVENT_OPERATOR_END,
    EVENT_PYTHON_FRAME, /* its text: a function and its file */
    EVENT_GRAPH_NODE_STACK,
    EVENT_NCCL, /* its record is a struct of common/spool_records.h */
    EVENT_TYPE_COUNT
};

static inline bool event_is_gpu_work(enum event_type type)
{
    return type >= EVENT_KERNEL && type <= EVENT_GRAPH;
}

#define EVENT_NO_STREAM UINT32_MAX
#define EVENT_NO_DEVICE UINT32_MAX

enum event_api_domain { EVENT_API_RUNTIME, EVENT_API_DRIVER };

/* What the just-in-time compiler did, as CUPTI numbers it. */
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

/* What happened to managed memory, as CUPTI numbers its counters. */
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

/* What a GPU is, as far as a trace tells it. */
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
    bool in_flight;       /* GPU work whose times CUPTI had not collected */
    uint32_t correlation; /* 0: none */
    uint32_t device;
    uint32_t context;
    uint32_t stream; /* EVENT_NO_STREAM: none */
    uint32_t thread;
    uint64_t start, end; /* of what has one time: both the same */
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
            uint8_t kind, source, target; /* numbers of cuda_names.h */
            bool peer;                    /* then the devices and contexts of both sides are known */
            uint32_t source_device, source_context, target_device, target_context;
            uint64_t copies; /* of a batch; 0: not known */
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
            uint32_t event_context; /* in which that is its id; 0: it is a handle, which is the process's */
            uint64_t sync_id;       /* of the record waited for, 0: not known */
        } sync;
        struct {
            uint64_t event; /* likewise */
            uint32_t event_context;
            uint64_t sync_id;
        } cuda_event; /* its time is the GPU's */
        struct {
            const char *name;
        } overhead;
        struct {
            enum event_unified_memory what;
            uint32_t source, target, process; /* devices; EVENT_NO_DEVICE: the host, or none */
            uint32_t flags;                   /* why, or how the memory was accessed, by `what`: as CUPTI numbers it */
            uint64_t value;                   /* bytes, of a fault CUPTI's value */
            uint64_t address;
        } unified_memory; /* `device`: whose row it is on */
        struct {
            uint64_t group; /* operations on one piece of code have the same */
            uint64_t cache_bytes;
            enum event_jit_operation operation;
            enum event_jit_entry entry;
        } jit; /* `thread` 0: not known */
        struct device device_info;
        struct {
            bool on;
        } capture;
        struct {
            bool destroyed;
            uint64_t handle;
        } object; /* of EVENT_CONTEXT and EVENT_STREAM */
        struct {
            uint64_t address, size, pool;
            int32_t result;
            uint16_t operation, kind; /* enum spool_memory_operation, spool_memory_kind */
            uint32_t stack;           /* that asked for it; 0: not kept */
        } memory;
        struct {
            uint32_t domain, number; /* of EVENT_NVTX_DOMAIN, _STRING, _CATEGORY */
        } nvtx_text;
        struct {
            uint64_t object;
            uint32_t what; /* enum spool_nvtx_object */
        } nvtx_name;       /* also of EVENT_NVTX_RECORDED */
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
            bool ended; /* else it began */
        } device_range; /* of a start, its text: the message */
        struct {
            uint64_t node, original; /* CUPTI's numbers */
            uint64_t function;       /* the handle */
            uint32_t capturer;       /* another thread that began the capture; 0: none */
        } graph_node;
        struct {
            uint32_t stack;
            uint32_t waker; /* of EVENT_THREAD_STATE; 0: not known */
            uint16_t state; /* the same: enum spool_thread_state_kind */
        } cpu;
        struct {
            uint16_t scope;   /* of EVENT_OPERATOR: enum spool_operator_scope */
            uint32_t self;    /* which operator, of those that are open */
            uint32_t text;    /* number of its name, or of EVENT_OPERATOR_INPUTS; of the text itself */
            int64_t sequence; /* -1: none */
            uint32_t forward; /* PyTorch's number of the thread of the forward pass, of EVENT_OPERATOR_THREAD its own */
        } operator;
    };
};

#endif
