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

/* A symbol, the name of a kernel, is cut after so many bytes: a readable name needs the whole of it. Other texts are
 * cut after TEXT_MAX (common/text.h). */
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

/* What the process did while recording waited for something else: a record for each text, for ranges only some. */
enum {
    SPOOL_SEEN_RANGE = 0,  /* it opened this NVTX range, "NAME" or "NAME@DOMAIN", and capture_range names another */
    SPOOL_SEEN_DOMAIN = 1, /* it used this NVTX domain, which nvtx_domains or nvtx_exclude leave out */
    SPOOL_SEEN_START = 2,  /* it started what capture_range names, outside of the time window */
};
struct spool_seen {
    struct spool_record head; /* flags: SPOOL_SEEN_RANGE … */
    uint32_t length;
    char text[4];
};

/* A message to the user about this process: "CUPTI is taken by another profiler: …". It belongs in the trace. */
enum { SPOOL_NOTE_WARNING = 0, SPOOL_NOTE_VERBOSE = 1, SPOOL_NOTE_WARNED = 2 }; /* the last: it was printed */
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
    SPOOL_MEMORY_UNKNOWN = 0, /* of a release whose call does not show it: the allocation's kind counts */
#define KIND(name, text) SPOOL_MEMORY_##name,
    SPOOL_MEMORY_KINDS(KIND)
#undef KIND
        SPOOL_MEMORY_KIND_COUNT
};
struct spool_memory {
    struct spool_record head; /* time: when the call returned; of a release it may be when it was called */
    uint64_t address;         /* pointer, CUarray or CUmemGenericAllocationHandle; 0 of a failed allocation */
    uint64_t size;            /* bytes; 0 of a release: it is the allocation's */
    uint64_t pool;            /* CUmemoryPool of stream-ordered memory, else 0 */
    uint32_t device;          /* SPOOL_NO_DEVICE for host memory */
    uint32_t context;         /* CUPTI's context id */
    uint32_t stream;          /* CUPTI's stream id of stream-ordered memory, else SPOOL_NO_STREAM */
    uint32_t correlation;     /* of the driver call, which is its runtime call's too */
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
    uint32_t stream; /* for SPOOL_NVTX_STREAM: CUPTI's stream id where known, else SPOOL_NO_STREAM */
    uint32_t length;
    char text[4];
};

enum spool_nvtx_what {
    SPOOL_NVTX_PUSH = 1,
    SPOOL_NVTX_POP,
    SPOOL_NVTX_START,
    SPOOL_NVTX_END,
    SPOOL_NVTX_MARK,
    SPOOL_NVTX_ACQUIRE, /* of a synchronisation object: the thread wants it … */
    SPOOL_NVTX_ACQUIRED,
    SPOOL_NVTX_ACQUIRE_FAILED,
    SPOOL_NVTX_RELEASE,
};
struct spool_nvtx_event {
    struct spool_record head; /* flags: enum spool_nvtx_what */
    uint64_t range;           /* START, END: the id given to the program; ACQUIRE … RELEASE: the object's; else 0 */
    uint64_t payload;         /* bits of the value, by payload_type */
    uint32_t domain;
    uint32_t category;     /* 0: none */
    uint32_t color;        /* ARGB when color_type is 1 */
    uint16_t color_type;   /* nvtxColorType_t: 0 none, 1 ARGB */
    uint16_t payload_type; /* nvtxPayloadType_t: 0 none, 1 u64, 2 i64, 3 double, 4 u32, 5 i32, 6 float */
    uint32_t string;       /* registered message, 0: the text below, if any */
    uint32_t length;
    char text[8]; /* may be of length 0; the record then ends with these 8 bytes */
};

/* The same without range, category, colour and payload, as most are: half the bytes. */
struct spool_nvtx_plain {
    struct spool_record head; /* flags: enum spool_nvtx_what */
    uint32_t domain;
    uint32_t string; /* as above */
    uint32_t length;
    char text[4];
};

/* A resource or synchronisation object that NVTX names; later (flags 1) its end, with only its number. Names of OpenCL
 * objects are resources too, which have no end. */
struct spool_nvtx_resource {
    struct spool_record head; /* flags: SPOOL_CREATED or SPOOL_DESTROYED */
    uint64_t resource;        /* its number, unique in the process */
    uint64_t identifier;      /* handle or address, as `type` says; of a synchronisation object 0 */
    uint32_t type;            /* as NVTX_RESOURCE_MAKE_TYPE makes it; SPOOL_NVTX_SYNC_USER */
    uint32_t domain;
    uint32_t length;
    char text[4];
};
#define SPOOL_NVTX_SYNC_USER UINT32_MAX

/* A CUDA event that has a name was recorded into a stream. */
struct spool_nvtx_recorded {
    struct spool_record head;
    uint64_t event;       /* CUevent */
    uint32_t correlation; /* of the call: CUPTI's records of it have the same */
    uint32_t reserved;
};

/* A phase of compilation began (flags 0) or ended (flags 1): a record each, with the same `phase`. The triggers and
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
    uint32_t correlation;     /* of the call that began it */
    uint32_t ending;          /* of an end: 0 the call returned, else why it ended otherwise */
    int32_t result;           /* of an end: CUresult */
    uint32_t length;
    char text[8]; /* the function: "cuLibraryLoadData" */
};

/* A client that registers callbacks and adds to the trace: number 1 is the program itself, plugins follow from 2. */
struct spool_plugin {
    struct spool_record head;
    uint32_t plugin;
    uint32_t length;
    char text[8]; /* its name */
};

/* Time spent in its callbacks so far: the last record of a plugin counts. */
struct spool_plugin_time {
    struct spool_record head;
    uint64_t calls, ns;
    uint32_t plugin;
    uint32_t reserved;
};

/* This thread was in callbacks of plugins from head.time to END: CUDA calls in between are theirs. */
struct spool_plugin_window {
    struct spool_record head;
    uint64_t end;
};

/* What a plugin adds to the trace. The text is the name, then the detail. */
enum { SPOOL_PLUGIN_SLICE = 1, SPOOL_PLUGIN_INSTANT = 2, SPOOL_PLUGIN_COUNTER = 3 };
struct spool_plugin_event {
    struct spool_record head; /* flags: SPOOL_PLUGIN_SLICE …; time: its start */
    uint64_t end;             /* of a slice */
    double value;             /* of a counter */
    uint32_t plugin;
    uint32_t thread; /* gettid() */
    uint32_t name_length;
    uint32_t length; /* of name and detail together */
    char text[8];
};

/* A line for the user at the end. */
struct spool_plugin_line {
    struct spool_record head;
    uint32_t plugin;
    uint32_t stack; /* number of a spool_stack to write out below the line, 0: none */
    uint32_t reserved;
    uint32_t length;
    char text[8];
};

/* A call stack of the program, innermost frame first: addresses as they are in the process, of the call of the first
 * frame and return addresses of the others, as 8-byte words in the text. A word whose upper 16 bits are
 * SPOOL_STACK_PYTHON is a function of Python: the others are the number of a spool_python_frame, or 0: not known. */
#define SPOOL_STACK_PYTHON UINT64_C(0x8001)
struct spool_stack {
    struct spool_record head;
    uint32_t stack; /* number within the process, from 1 */
    uint32_t length;
    char text[8];
};

/* Code of the process that addresses of stacks lie in: a line of /proc/self/maps without its newline. */
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
    uint32_t correlation;     /* of CUPTI's CUDA_EVENT record, which has stream and time; 0: there is none */
    uint32_t length;
    char text[8]; /* of a start: its message */
};

/* A signal that was about to end the process, written by the thread that got it. */
struct spool_crash {
    struct spool_record head;
    uint64_t address; /* of a fault: si_addr */
    int32_t signal;
    int32_t code;    /* si_code */
    uint32_t thread; /* gettid() */
    uint32_t sender; /* pid of the sender; 0: the kernel, or not known */
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

/* What a stream-ordered pool has reserved, and how much of it is in use, when it has changed since the last reading. A
 * pool that was destroyed has reserved nothing. */
struct spool_pool_level {
    struct spool_record head; /* time: of the reading */
    uint64_t pool;            /* CUmemoryPool */
    uint64_t reserved, used;  /* bytes */
    uint64_t reserved_high;   /* the most since the pool was made, or the program reset it */
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

/* A thread has waited, or a stream will. If a process writes these, CUPTI's records of the same serve other purposes.
 * The numbers are CUPTI's kinds of synchronisation. */
enum spool_sync_kind {
    SPOOL_SYNC_EVENT = 1,         /* the thread, for an event */
    SPOOL_SYNC_STREAM_WAIT_EVENT, /* the stream, for an event; without one: all streams of the context */
    SPOOL_SYNC_STREAM,            /* the thread, for a stream */
    SPOOL_SYNC_CONTEXT,           /* the thread, for all of the context */
};
struct spool_sync {
    struct spool_record head; /* flags: enum spool_sync_kind; time: when the call returned */
    uint64_t start;
    uint64_t event;       /* CUevent; 0: none */
    uint32_t context;     /* CUPTI's context id */
    uint32_t stream;      /* CUPTI's stream id; SPOOL_NO_STREAM: none, or not known */
    uint32_t correlation; /* of the driver call, which is its runtime call's too */
    int32_t result;       /* CUresult: 0, or the error that the thread got for waiting */
};

/* A CUDA event was recorded: later waits for it wait for this. */
struct spool_event_record {
    struct spool_record head; /* time: when it was called, or has returned */
    uint64_t event;           /* CUevent */
    uint32_t context;
    uint32_t stream; /* SPOOL_NO_STREAM: all of the context, or not known */
    uint32_t correlation;
    uint32_t reserved;
};

/* The (mangled) name of a function, written when the program gets it. A function that is loaded later may have the same
 * handle. */
struct spool_function_name {
    struct spool_record head;
    uint64_t function; /* CUfunction or CUkernel */
    uint32_t length;
    char text[4];
};

/* What a node of a graph launches: records of a graph's kernels have the correlation id of the graph's launch, and the
 * number of a node. Written when the node is made, copied or changed, in the call `correlation`: kernels with a lower
 * one came before. The first record of a node that is not a copy is written when and where it was made: head.time, by
 * the thread of the chunk. */
struct spool_graph_node {
    struct spool_record head;
    uint64_t node;     /* CUPTI's number, of no other node of the process */
    uint64_t original; /* the number of that which it is a copy of from now on; 0: it launches the function */
    uint64_t function; /* as spool_function_name has it; 0: it is not a kernel, or that is not known */
    uint32_t correlation;
    uint32_t capturer; /* another thread, which began the capture that made it; 0: this one did, or that is not known */
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
    uint32_t correlation;     /* of the driver call, which is its runtime call's too */
    uint32_t stack;           /* number of a spool_stack */
};

/* The program's call stack when it captured, or added, a node of a graph. The first of a node counts. */
struct spool_graph_node_stack {
    struct spool_record head;
    uint64_t node;  /* as spool_graph_node has it */
    uint32_t stack; /* number of a spool_stack */
    uint32_t reserved;
};

/* The stack of the thread of a spool_crash, which the tool unwinds: nothing that unwinds is safe in a signal handler.
 * The text is the memory from the stack pointer on. Code that its words may point into has spool_mapping records. */
#define SPOOL_CRASH_REGISTERS 17
struct spool_crash_stack {
    struct spool_record head;
    uint64_t registers[SPOOL_CRASH_REGISTERS]; /* by their numbers in DWARF; of x86-64: rax … r15, rip */
    uint64_t stack;                            /* address of the text */
    uint32_t thread;                           /* gettid() */
    uint32_t reserved;
    uint32_t length;
    char text[4];
};

/* A thread was at STACK. The launcher writes these and the next ones, into files of its own (perf/cpu_records.c). */
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
    uint32_t stack; /* where it left; 0: not known */
    uint32_t waker; /* gettid() of the thread that woke it; 0: not known */
    uint32_t reserved;
};

/* A text of PyTorch's operators, written once for each text in most cases: flags 0, a name; flags 1, inputs: their
 * dimensions, an array of JSON for each in an array, and their types, all with a NUL behind. */
enum { SPOOL_OPERATOR_NAME = 0, SPOOL_OPERATOR_INPUTS = 1 };
struct spool_torch_text {
    struct spool_record head;
    uint32_t number; /* of the text within the process, from 1 */
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
    SPOOL_OPERATOR_BACKWARD = 1, /* of the backward pass */
    SPOOL_OPERATOR_USER = 2,     /* the program's own: record_function() */
};
#define SPOOL_OPERATOR_SEQUENCE_BITS 40
struct spool_torch_start {
    struct spool_record head; /* flags: enum spool_operator_scope */
    uint32_t name;            /* of a spool_torch_text */
    uint32_t self;            /* no two operators that are open at once have the same */
    uint64_t sequence;        /* low bits: PyTorch's sequence number + 1, 0: none; above: `number` of the thread of the
                                 forward pass, of operators of the backward pass; 0: none */
};

/* The inputs of the operator `self`, the last that began on this thread. */
struct spool_torch_inputs {
    struct spool_record head;
    uint32_t self;
    uint32_t inputs; /* of a spool_torch_text */
};

/* A place in a function of Python that stacks refer to: the qualified name of the function (to 3.10 the bare one), a
 * NUL and the file as Python has it. */
struct spool_python_frame {
    struct spool_record head;
    uint64_t number; /* within the process, from 1 */
    uint32_t line;   /* 0: it has none */
    uint32_t length;
    char text[8];
};

/* An operator ended: mostly the last that is open on the thread that writes this; `self` may have begun on another. */
struct spool_torch_end {
    struct spool_record head;
    uint32_t self;
    uint32_t reserved;
};

/* NCCL made a communicator (its profiler plugin: agent/nccl). The text is the name that the program gave it. With flags
 * 1, and without a communicator: NCCL is to load another plugin, which the text names; 2: the text is NCCL's version.
 */
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
    uint64_t number; /* within the process: as they were launched, and not without gaps */
    uint64_t communicator;
    uint64_t sequence; /* of this function on the communicator, from 0; SPOOL_NCCL_NO_SEQUENCE: a send or receive */
    uint64_t count;    /* elements */
    uint64_t called;   /* when the program called NCCL, ns; 0: not known */
    uint32_t thread;   /* that called */
    int32_t peer;      /* or root */
    uint32_t channels;
    uint32_t length;
    char text[8];
};

/* What NCCL's proxies have done for an operation since the last of these. */
struct spool_nccl_steps {
    struct spool_record head;
    uint64_t number; /* of the operation */
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

/* Bytes of a record of SIZE bytes whose text field (SPACE bytes of it counted in SIZE) holds LENGTH bytes. */
static inline uint32_t spool_record_bytes(uint32_t size, uint32_t space, uint32_t length)
{
    uint32_t more = length > space ? length - space : 0;
    return size + ((more + 7) & ~UINT32_C(7));
}

#endif
