/*
 * Agent records in a spool: what callbacks of CUDA and NVTX reported. Numbers of types are in files, so new ones come
 * last. Records of NVTX's extensions are in spool_nvtx.h.
 */
#ifndef GPUTRACE_COMMON_SPOOL_RECORDS_H
#define GPUTRACE_COMMON_SPOOL_RECORDS_H

#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#include "common/spool.h"
#include "common/spool_nvtx.h"

/* Limit of a symbol, the mangled name of a kernel, in bytes: only a whole symbol can be made readable. Other texts are
 * cut after TEXT_MAX bytes (common/text.h). */
#define SPOOL_SYMBOL_MAX (UINT32_C(256) << 10)

/* HOLDS is TEXT when its last fields are `length` and `text`, else FIXED.
 *    type           struct               holds */
#define SPOOL_RECORD_TYPES(X)                           \
    X(POINTER_NAME, spool_pointer_name, TEXT)           \
    X(THREAD_NAME, spool_thread_name, TEXT)             \
    X(CAPTURE, spool_capture, TEXT)                     \
    X(NOTE, spool_note, TEXT)                           \
    X(CONTEXT, spool_context, FIXED)                    \
    X(STREAM, spool_stream, FIXED)                      \
    X(MEMORY, spool_memory, FIXED)                      \
    X(NVTX_DOMAIN, spool_nvtx_domain, TEXT)             \
    X(NVTX_STRING, spool_nvtx_string, TEXT)             \
    X(NVTX_CATEGORY, spool_nvtx_category, TEXT)         \
    X(NVTX_NAME, spool_nvtx_name, TEXT)                 \
    X(NVTX_EVENT, spool_nvtx_event, TEXT)               \
    X(PHASE, spool_phase, TEXT)                         \
    X(PLUGIN, spool_plugin, TEXT)                       \
    X(PLUGIN_TIME, spool_plugin_time, FIXED)            \
    X(PLUGIN_WINDOW, spool_plugin_window, FIXED)        \
    X(PLUGIN_EVENT, spool_plugin_event, TEXT)           \
    X(PLUGIN_LINE, spool_plugin_line, TEXT)             \
    X(STACK, spool_stack, TEXT)                         \
    X(MAPPING, spool_mapping, TEXT)                     \
    X(DEVICE_RANGE, spool_device_range, TEXT)           \
    X(NVTX_PLAIN, spool_nvtx_plain, TEXT)               \
    X(NVTX_RESOURCE, spool_nvtx_resource, TEXT)         \
    X(NVTX_RECORDED, spool_nvtx_recorded, FIXED)        \
    SPOOL_NVTX_EXTENSION_TYPES(X)                       \
    X(CRASH, spool_crash, FIXED)                        \
    X(OPEN_CALL, spool_open_call, FIXED)                \
    X(POOL_LEVEL, spool_pool_level, FIXED)              \
    X(LAUNCH_NAME, spool_launch_name, TEXT)             \
    X(SYNC, spool_sync, FIXED)                          \
    X(EVENT_RECORD, spool_event_record, FIXED)          \
    X(FUNCTION_NAME, spool_function_name, TEXT)         \
    X(GRAPH_NODE, spool_graph_node, FIXED)              \
    X(SEEN, spool_seen, TEXT)                           \
    X(GRAPH_LAUNCH, spool_graph_launch, FIXED)          \
    X(CALL_STACK, spool_call_stack, FIXED)              \
    X(CRASH_STACK, spool_crash_stack, TEXT)             \
    X(CPU_SAMPLE, spool_cpu_sample, FIXED)              \
    X(THREAD_STATE, spool_thread_state, FIXED)          \
    X(TORCH_TEXT, spool_torch_text, TEXT)               \
    X(TORCH_THREAD, spool_torch_thread, FIXED)          \
    X(TORCH_START, spool_torch_start, FIXED)            \
    X(TORCH_INPUTS, spool_torch_inputs, FIXED)          \
    X(TORCH_END, spool_torch_end, FIXED)                \
    X(PYTHON_FRAME, spool_python_frame, TEXT)           \
    X(GRAPH_NODE_STACK, spool_graph_node_stack, FIXED)  \
    X(NCCL_COMMUNICATOR, spool_nccl_communicator, TEXT) \
    X(NCCL_OPERATION, spool_nccl_operation, TEXT)       \
    X(NCCL_STEPS, spool_nccl_steps, FIXED)

enum spool_record_type {
    SPOOL_RECORD_NONE = 0,
#define TYPE(name, structure, holds) SPOOL_RECORD_##name,
    SPOOL_RECORD_TYPES(TYPE)
#undef TYPE
        SPOOL_RECORD_TYPE_COUNT
};

/* Texts are the last field of their record: LENGTH bytes, no NUL, UTF-8 as the program gave it (not checked). */

/* The text behind a pointer in CUPTI's records (a kernel's mangled name, a device's name). */
struct spool_pointer_name {
    struct spool_record head;
    uint64_t pointer;
    uint32_t length;
    char text[4];
};

/* A thread's name: flags 0, as the kernel has it (comm); flags 1, given by the program through NVTX. */
enum { SPOOL_THREAD_NAME_KERNEL = 0, SPOOL_THREAD_NAME_NVTX = 1 };
struct spool_thread_name {
    struct spool_record head;
    uint32_t thread; /* gettid() */
    uint32_t length;
    char text[8];
};

/* Recording was turned on (flags 1) or off (flags 0); the text says by what. */
struct spool_capture {
    struct spool_record head;
    uint32_t length;
    char text[4];
};

/* An action of the process while recording waited for another one: a record for each text, but not for all ranges. */
enum {
    SPOOL_SEEN_RANGE = 0,  /* the process opened NVTX range "NAME" or "NAME@DOMAIN"; capture_range names another */
    SPOOL_SEEN_DOMAIN = 1, /* the process used this NVTX domain, which nvtx_domains or nvtx_exclude leave out */
    SPOOL_SEEN_START = 2,  /* the process started what capture_range names, but outside of the time window */
};
struct spool_seen {
    struct spool_record head; /* flags: SPOOL_SEEN_RANGE … */
    uint32_t length;
    char text[4];
};

/* A message to the user about this process: "CUPTI is taken by another profiler: …". It belongs in the trace. */
enum { SPOOL_NOTE_WARNING = 0, SPOOL_NOTE_VERBOSE = 1, SPOOL_NOTE_WARNED = 2 }; /* WARNED: it was printed */
struct spool_note {
    struct spool_record head;
    uint32_t length;
    char text[4];
};

enum { SPOOL_CREATED = 0, SPOOL_DESTROYED = 1 }; /* flags of contexts and streams */

struct spool_context {
    struct spool_record head;
    uint64_t handle;  /* CUcontext */
    uint32_t context; /* CUPTI's context id */
    uint32_t device;
};

struct spool_stream {
    struct spool_record head;
    uint64_t handle;       /* CUstream */
    uint32_t context;      /* CUPTI's context id */
    uint32_t stream;       /* CUPTI's stream id, as in its records */
    uint32_t stream_flags; /* CU_STREAM_NON_BLOCKING … */
    int32_t priority;
};

/* An allocation or a release of memory: the call of the driver and its result. */
enum spool_memory_operation {
    SPOOL_MEMORY_ALLOCATE = 1,
    SPOOL_MEMORY_RELEASE = 2,
};
/*      kind           name in the trace ("Memory in use: NAME") */
#define SPOOL_MEMORY_KINDS(X)   \
    X(DEVICE, "Device")         \
    X(PINNED, "Pinned")         \
    X(MANAGED, "Managed")       \
    X(REGISTERED, "Registered") \
    X(ARRAY, "Array")           \
    X(POOL, "Pool")             \
    X(VIRTUAL, "Virtual")
enum spool_memory_kind {
    SPOOL_MEMORY_UNKNOWN = 0, /* a release whose call does not show the kind: that of the allocation counts */
#define KIND(name, text) SPOOL_MEMORY_##name,
    SPOOL_MEMORY_KINDS(KIND)
#undef KIND
        SPOOL_MEMORY_KIND_COUNT
};
struct spool_memory {
    struct spool_record head; /* time: when the call returned; for a release it may be when it began */
    uint64_t address;         /* pointer, CUarray or CUmemGenericAllocationHandle; 0 if the allocation failed */
    uint64_t size;            /* bytes; 0 for a release, whose size is the allocation's */
    uint64_t pool;            /* CUmemoryPool of stream-ordered memory, otherwise 0 */
    uint32_t device;          /* SPOOL_NO_DEVICE for host memory */
    uint32_t context;         /* CUPTI's context id */
    uint32_t stream;          /* CUPTI's stream id of stream-ordered memory, else SPOOL_NO_STREAM */
    uint32_t correlation;     /* correlation id of the driver call and of its runtime call */
    uint32_t thread;          /* gettid() */
    int32_t result;           /* CUresult: 0 done, else the operation failed and memory is as before */
    uint16_t operation;       /* enum spool_memory_operation */
    uint16_t kind;            /* enum spool_memory_kind */
    uint32_t stack;           /* number of a spool_stack: where it was allocated; 0: none */
};
#define SPOOL_NO_DEVICE UINT32_MAX
#define SPOOL_NO_STREAM UINT32_MAX

/* NVTX domains are numbered by the library; 0 is the default domain. Registered strings are numbered too, from 1. */
struct spool_nvtx_domain {
    struct spool_record head;
    uint32_t domain;
    uint32_t length;
    char text[8];
};

struct spool_nvtx_string {
    struct spool_record head;
    uint32_t domain;
    uint32_t string;
    uint32_t length;
    char text[4];
};

struct spool_nvtx_category {
    struct spool_record head;
    uint32_t domain;
    uint32_t category;
    uint32_t length;
    char text[4];
};

/* A name of a CUDA object. */
enum spool_nvtx_object {
    SPOOL_NVTX_DEVICE = 1, /* object: device number */
    SPOOL_NVTX_CONTEXT,    /* CUcontext */
    SPOOL_NVTX_STREAM,     /* CUstream / cudaStream_t */
    SPOOL_NVTX_CUDA_EVENT, /* CUevent / cudaEvent_t */
};
struct spool_nvtx_name {
    struct spool_record head;
    uint64_t object;
    uint32_t what;   /* enum spool_nvtx_object */
    uint32_t stream; /* for SPOOL_NVTX_STREAM: CUPTI's stream id if known, otherwise SPOOL_NO_STREAM */
    uint32_t length;
    char text[4];
};

enum spool_nvtx_what {
    SPOOL_NVTX_PUSH = 1,
    SPOOL_NVTX_POP,
    SPOOL_NVTX_START,
    SPOOL_NVTX_END,
    SPOOL_NVTX_MARK,
    SPOOL_NVTX_ACQUIRE, /* the thread waits for a synchronisation object */
    SPOOL_NVTX_ACQUIRED,
    SPOOL_NVTX_ACQUIRE_FAILED,
    SPOOL_NVTX_RELEASE,
};
struct spool_nvtx_event {
    struct spool_record head; /* flags: enum spool_nvtx_what */
    uint64_t range;   /* START, END: the id that the program got; ACQUIRE … RELEASE: the object's; otherwise 0 */
    uint64_t payload; /* bits of the value, by payload_type */
    uint32_t domain;
    uint32_t category;     /* 0: none */
    uint32_t color;        /* ARGB when color_type is 1 */
    uint16_t color_type;   /* nvtxColorType_t: 0 none, 1 ARGB */
    uint16_t payload_type; /* nvtxPayloadType_t: 0 none, 1 u64, 2 i64, 3 double, 4 u32, 5 i32, 6 float */
    uint32_t string;       /* registered message, 0: the text below, if any */
    uint32_t length;
    char text[8]; /* may be of length 0; the record then ends with these 8 bytes */
};

/* A spool_nvtx_event without range, category, colour and payload, as most events are: half the bytes. */
struct spool_nvtx_plain {
    struct spool_record head; /* flags: enum spool_nvtx_what */
    uint32_t domain;
    uint32_t string; /* registered message; 0: the text below, if any */
    uint32_t length;
    char text[4];
};

/* A resource or synchronisation object that NVTX names (flags 0), or its end (flags 1), with only its number. Names of
 * OpenCL objects are resources, too, which have no end. */
struct spool_nvtx_resource {
    struct spool_record head; /* flags: SPOOL_CREATED or SPOOL_DESTROYED */
    uint64_t resource;        /* number, unique in the process */
    uint64_t identifier;      /* handle or address, as `type` says; 0 for a synchronisation object */
    uint32_t type;            /* result of NVTX_RESOURCE_MAKE_TYPE, or SPOOL_NVTX_SYNC_USER */
    uint32_t domain;
    uint32_t length;
    char text[4];
};
#define SPOOL_NVTX_SYNC_USER UINT32_MAX

/* A CUDA event that has a name was recorded into a stream. */
struct spool_nvtx_recorded {
    struct spool_record head;
    uint64_t event;       /* CUevent */
    uint32_t correlation; /* correlation id of the call, as in CUPTI's records */
    uint32_t reserved;
};

/* The beginning (flags 0) or the end (flags 1) of a phase of compilation; both records have its `phase`. Triggers and
 * endings have the numbers of enum gputrace_trigger and gputrace_ending in callbacks.h.
 *      trigger             name in the trace */
enum { SPOOL_PHASE_STARTED = 0, SPOOL_PHASE_ENDED = 1 };
#define SPOOL_TRIGGERS(X)                         \
    X(MODULE_LOAD, "Module load")                 \
    X(FUNCTION_LOAD, "Lazy function load")        \
    X(PTX, "PTX compilation")                     \
    X(LINK, "Linking")                            \
    X(GRAPH_CAPTURE, "Graph capture")             \
    X(GRAPH_INSTANTIATION, "Graph instantiation") \
    X(CONTEXT_CREATION, "Context creation")
enum spool_trigger {
    SPOOL_TRIGGER_NONE = 0,
#define TRIGGER(name, text) SPOOL_TRIGGER_##name,
    SPOOL_TRIGGERS(TRIGGER)
#undef TRIGGER
        SPOOL_TRIGGER_COUNT
};
struct spool_phase {
    struct spool_record head; /* time: of the start, or of the end */
    uint64_t phase;           /* number within the process, from 1 */
    uint32_t trigger;         /* enum spool_trigger */
    uint32_t thread;          /* gettid() of the thread that began it */
    uint32_t correlation;     /* correlation id of the call that began the phase */
    uint32_t ending;          /* at the end: 0 if the call returned, otherwise why the phase ended */
    int32_t result;           /* at the end: CUresult */
    uint32_t length;
    char text[8]; /* the function: "cuLibraryLoadData" */
};

/* A client that registers callbacks and adds to the trace: number 1 is the program itself, plugins follow from 2. */
struct spool_plugin {
    struct spool_record head;
    uint32_t plugin;
    uint32_t length;
    char text[8]; /* name of the client */
};

/* Time spent in the callbacks of a plugin so far. Only the last record of a plugin counts. */
struct spool_plugin_time {
    struct spool_record head;
    uint64_t calls, ns;
    uint32_t plugin;
    uint32_t reserved;
};

/* This thread was in callbacks of plugins from head.time to END: CUDA calls in between are the plugins' own. */
struct spool_plugin_window {
    struct spool_record head;
    uint64_t end;
};

/* An event that a plugin adds to the trace. The text is the name, then the detail. */
enum { SPOOL_PLUGIN_SLICE = 1, SPOOL_PLUGIN_INSTANT = 2, SPOOL_PLUGIN_COUNTER = 3 };
struct spool_plugin_event {
    struct spool_record head; /* flags: SPOOL_PLUGIN_SLICE …; time: its start */
    uint64_t end;             /* end of a slice, ns */
    double value;             /* value of a counter */
    uint32_t plugin;
    uint32_t thread; /* gettid() */
    uint32_t name_length;
    uint32_t length; /* length of name and detail together */
    char text[8];
};

/* A line of a plugin for the user, printed at the end. */
struct spool_plugin_line {
    struct spool_record head;
    uint32_t plugin;
    uint32_t stack; /* number of a spool_stack to print below the line; 0: none */
    uint32_t reserved;
    uint32_t length;
    char text[8];
};

/* A call stack of the program, innermost frame first, an 8-byte word in the text for each frame. Words are addresses in
 * the process: in the first frame that of the call, in the others return addresses. A word whose upper 16 bits are
 * SPOOL_STACK_PYTHON is a Python function: its other bits are the number of a spool_python_frame, or 0 if it is
 * unknown. */
#define SPOOL_STACK_PYTHON UINT64_C(0x8001)
struct spool_stack {
    struct spool_record head;
    uint32_t stack; /* number within the process, from 1 */
    uint32_t length;
    char text[8];
};

/* A mapping of code in which addresses of stacks lie: a line of /proc/self/maps without its newline. */
struct spool_mapping {
    struct spool_record head;
    uint32_t reserved;
    uint32_t length;
    char text[8];
};

/* A marker in a stream, put there by gputrace_device_range_start() (flags 0) or _end() (flags 1). */
enum { SPOOL_DEVICE_RANGE_START = 0, SPOOL_DEVICE_RANGE_END = 1 };
struct spool_device_range {
    struct spool_record head; /* time: of the call */
    uint64_t range;           /* number within the process, from 1 */
    uint32_t correlation;     /* correlation id of CUPTI's CUDA_EVENT record, which has stream and time; 0: none */
    uint32_t length;
    char text[8]; /* message of the start */
};

/* A signal that was about to end the process, written by the thread that got it. */
struct spool_crash {
    struct spool_record head;
    uint64_t address; /* address of a fault (si_addr) */
    int32_t signal;
    int32_t code;    /* si_code */
    uint32_t thread; /* gettid() */
    uint32_t sender; /* pid of the sender; 0: the kernel, or unknown */
};

/* A driver call in progress on a thread, if its callbacks are enabled. The record is reused for one call after another;
 * it is valid while flags are SPOOL_CALL_OPEN, which is stored last (release). */
enum { SPOOL_CALL_RETURNED = 0, SPOOL_CALL_OPEN = 1, SPOOL_CALL_TAKEN = 2 };
enum spool_call_object { SPOOL_CALL_OF_NOTHING = 0, SPOOL_CALL_OF_STREAM, SPOOL_CALL_OF_EVENT, SPOOL_CALL_OF_CONTEXT };
struct spool_open_call {
    struct spool_record head; /* time: when it began */
    uint64_t object;          /* what it waits for: CUstream, CUevent; 0: the thread's context */
    uint32_t what;            /* enum spool_call_object */
    uint32_t cbid;            /* CUPTI's, of the driver's functions */
    uint32_t correlation;
    uint32_t thread; /* gettid() */
};

/* The bytes that a stream-ordered pool has reserved, and that are in use, written if they changed since the last
 * reading. A pool that was destroyed has reserved nothing. */
struct spool_pool_level {
    struct spool_record head; /* time: of the reading */
    uint64_t pool;            /* CUmemoryPool */
    uint64_t reserved, used;  /* bytes */
    uint64_t reserved_high;   /* highest since the pool was made, or the program reset it */
    uint64_t used_high;
    uint32_t device;
    uint32_t blank;
};

/* The (mangled) name of the kernel that a launch starts, written before CUPTI writes the kernel's record: if the
 * process is killed in between, the pointer in that record was not followed yet. */
struct spool_launch_name {
    struct spool_record head; /* time: when the launch began */
    uint32_t correlation;
    uint32_t length;
    char text[8];
};

/* A thread has waited, or a stream will wait. If a process writes these records, CUPTI's records of waits serve other
 * purposes. The numbers are CUPTI's kinds of synchronisation. */
enum spool_sync_kind {
    SPOOL_SYNC_EVENT = 1,         /* the thread waits for an event */
    SPOOL_SYNC_STREAM_WAIT_EVENT, /* the stream, or without one all streams of the context, waits for an event */
    SPOOL_SYNC_STREAM,            /* the thread waits for a stream */
    SPOOL_SYNC_CONTEXT,           /* the thread waits for the whole context */
};
struct spool_sync {
    struct spool_record head; /* flags: enum spool_sync_kind; time: when the call returned */
    uint64_t start;
    uint64_t event;       /* CUevent; 0: none */
    uint32_t context;     /* CUPTI's context id */
    uint32_t stream;      /* CUPTI's stream id; SPOOL_NO_STREAM: none, or not known */
    uint32_t correlation; /* correlation id of the driver call and of its runtime call */
    int32_t result;       /* CUresult: 0, or the error of the wait */
};

/* A CUDA event was recorded; later waits for the event wait for this record. */
struct spool_event_record {
    struct spool_record head; /* time: when the call began or returned */
    uint64_t event;           /* CUevent */
    uint32_t context;
    uint32_t stream; /* SPOOL_NO_STREAM: all of the context, or not known */
    uint32_t correlation;
    uint32_t reserved;
};

/* The (mangled) name of a function, written when the program gets the function. A function that is loaded later may
 * have the same handle. */
struct spool_function_name {
    struct spool_record head;
    uint64_t function; /* CUfunction or CUkernel */
    uint32_t length;
    char text[4];
};

/* What a node of a graph launches. Records of a graph's kernels have the correlation id of the graph's launch and the
 * number of a node. This record is written when the node is made, copied or changed, in the call `correlation`: kernels
 * with a lower correlation id came before. The first record of a node that is not a copy is written by the thread that
 * made the node; head.time is when it was made. */
struct spool_graph_node {
    struct spool_record head;
    uint64_t node;     /* CUPTI's number, of no other node of the process */
    uint64_t original; /* number of the node that it copies from now on; 0: it launches `function` */
    uint64_t function; /* as in spool_function_name; 0: not a kernel, or unknown */
    uint32_t correlation;
    uint32_t capturer; /* the other thread that began the capture that made the node; 0: this thread, or unknown */
};

/* The call `correlation`, which began at head.time, launched an executable graph that has conditional nodes: records of
 * their bodies have only the graph's number. */
struct spool_graph_launch {
    struct spool_record head;
    uint32_t graph; /* CUPTI's number, of no other graph of the process */
    uint32_t correlation;
};

/* The program's call stack in a call that launched, or waited. */
struct spool_call_stack {
    struct spool_record head; /* time: when the call began */
    uint32_t correlation;     /* correlation id of the driver call and of its runtime call */
    uint32_t stack;           /* number of a spool_stack */
};

/* The program's call stack when it captured, or added, a node of a graph. The first record of a node counts. */
struct spool_graph_node_stack {
    struct spool_record head;
    uint64_t node;  /* as in spool_graph_node */
    uint32_t stack; /* number of a spool_stack */
    uint32_t reserved;
};

/* The stack of the thread of a spool_crash, which the tool unwinds: nothing that unwinds is safe in a signal handler.
 * The text is the memory from the stack pointer on. Code that its words may point into has spool_mapping records. */
#define SPOOL_CRASH_REGISTERS 17
struct spool_crash_stack {
    struct spool_record head;
    uint64_t registers[SPOOL_CRASH_REGISTERS]; /* by DWARF number: rax … r15, rip; on aarch64 x16 … x30, sp, pc */
    uint64_t stack;                            /* address of the text */
    uint32_t thread;                           /* gettid() */
    uint32_t machine;                          /* EM_X86_64 or EM_AARCH64 */
    uint32_t length;
    char text[4];
};

/* A thread was at STACK. The launcher writes spool_cpu_sample and spool_thread_state into files of its own
 * (perf/cpu_records.c). */
struct spool_cpu_sample {
    struct spool_record head;
    uint32_t thread; /* gettid() */
    uint32_t stack;  /* number of a spool_stack of the same file; 0: not known */
};

/* A thread was off the processors from head.time to END.
 *      state           name in the trace */
#define SPOOL_THREAD_STATES(X) \
    X(SLEEPING, "Sleeping")    \
    X(RUNNABLE, "Runnable")    \
    X(DISK_WAIT, "Disk wait")
enum spool_thread_state_kind {
    SPOOL_THREAD_UNKNOWN = 0,
#define STATE(name, text) SPOOL_THREAD_##name,
    SPOOL_THREAD_STATES(STATE)
#undef STATE
        SPOOL_THREAD_STATE_COUNT
};
struct spool_thread_state {
    struct spool_record head; /* flags: enum spool_thread_state_kind */
    uint64_t end;
    uint32_t thread;
    uint32_t stack; /* where the thread left the processor; 0: unknown */
    uint32_t waker; /* gettid() of the thread that woke it; 0: not known */
    uint32_t reserved;
};

/* A text of PyTorch's operators, in most cases written once. Flags 0: a name. Flags 1: inputs, that is a JSON array
 * with an array of dimensions for each input, and then their types. A NUL ends the JSON and each type. */
enum { SPOOL_OPERATOR_NAME = 0, SPOOL_OPERATOR_INPUTS = 1 };
struct spool_torch_text {
    struct spool_record head;
    uint32_t number; /* number of the text within the process, from 1 */
    uint32_t length;
    char text[8];
};

/* PyTorch's own number of the thread that writes this, by which operators of the backward pass name threads. */
struct spool_torch_thread {
    struct spool_record head;
    uint32_t number;
    uint32_t reserved;
};

/* An operator began on the thread that writes this. */
enum spool_operator_scope {
    SPOOL_OPERATOR_FUNCTION = 0,
    SPOOL_OPERATOR_BACKWARD = 1, /* operator of the backward pass */
    SPOOL_OPERATOR_USER = 2,     /* the program's own: record_function() */
};
#define SPOOL_OPERATOR_SEQUENCE_BITS 40
struct spool_torch_start {
    struct spool_record head; /* flags: enum spool_operator_scope */
    uint32_t name;            /* number of a spool_torch_text */
    uint32_t self;            /* id of the operator, unique among those that are open */
    uint64_t sequence;        /* low bits: PyTorch's sequence number + 1, or 0; high bits: for operators of the backward
                                 pass `number` of the thread of the forward pass, or 0 */
};

/* The inputs of the operator `self`, the last that began on this thread. */
struct spool_torch_inputs {
    struct spool_record head;
    uint32_t self;
    uint32_t inputs; /* number of a spool_torch_text */
};

/* A place in a Python function to which stacks refer. The text is the qualified name of the function (up to 3.10 the
 * plain name), a NUL, and the file as Python names it. */
struct spool_python_frame {
    struct spool_record head;
    uint64_t number; /* number within the process, from 1 */
    uint32_t line;   /* 0: no line */
    uint32_t length;
    char text[8];
};

/* An operator ended, mostly the last open one of the thread that writes this; it may have begun on another thread. */
struct spool_torch_end {
    struct spool_record head;
    uint32_t self;
    uint32_t reserved;
};

/* NCCL made a communicator (reported to its profiler plugin: agent/nccl). The text is the name that the program chose.
 * Flags 1: no communicator, but another plugin that NCCL is to load, named by the text. Flags 2: the text is NCCL's
 * version. */
enum { SPOOL_NCCL_COMMUNICATOR = 0, SPOOL_NCCL_OTHER_PLUGIN = 1, SPOOL_NCCL_VERSION = 2 };
struct spool_nccl_communicator {
    struct spool_record head;
    uint64_t communicator;
    int32_t nodes, ranks, rank;
    uint32_t length;
    char text[8];
};

/* NCCL launched an operation. The text is its words, with '\n' between them: function, data type, algorithm,
 * protocol. */
#define SPOOL_NCCL_NO_SEQUENCE UINT64_MAX
struct spool_nccl_operation {
    struct spool_record head;
    uint64_t number; /* number within the process, in the order of launches, with gaps */
    uint64_t communicator;
    uint64_t sequence; /* of this function on the communicator, from 0; SPOOL_NCCL_NO_SEQUENCE: send or receive */
    uint64_t count;    /* elements */
    uint64_t called;   /* when the program called NCCL, ns; 0: not known */
    uint32_t thread;   /* thread that called NCCL */
    int32_t peer;      /* the other rank of a send or receive, or the root */
    uint32_t channels;
    uint32_t length;
    char text[8];
};

/* The work of NCCL's proxies for an operation since its last spool_nccl_steps. */
struct spool_nccl_steps {
    struct spool_record head;
    uint64_t number; /* number of the operation */
    uint32_t proxies, steps;
};

/* Every record is a whole number of 8-byte words, and its text ends with its struct. */
#define ENDS_WITH_FIXED(structure) 1
#define ENDS_WITH_TEXT(structure) \
    offsetof(struct structure, text) + sizeof(((struct structure *)0)->text) == sizeof(struct structure)
#define TYPE(name, structure, holds) \
    static_assert(sizeof(struct structure) % 8 == 0 && (ENDS_WITH_##holds(structure)), #structure);
SPOOL_RECORD_TYPES(TYPE)
#undef TYPE
#undef ENDS_WITH_TEXT
#undef ENDS_WITH_FIXED

/* Returns the bytes of a record whose struct has SIZE bytes, SPACE of which are for the text, if the text has LENGTH
 * bytes. */
static inline uint32_t spool_record_bytes(uint32_t size, uint32_t space, uint32_t length)
{
    uint32_t more = length > space ? length - space : 0;
    return size + ((more + 7) & ~UINT32_C(7));
}

#endif
