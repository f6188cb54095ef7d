/*
 * The spool: the file that a traced process writes and gputrace reads, alive or dead.
 *
 * One file per process (and per exec), mapped MAP_SHARED by the writer, so that every byte stored is in the file
 * whatever ends the process. All numbers are little-endian as the machine has them; writer and reader run on one host.
 *
 *     +--------------+---------------------------+---------------------------+----- - -
 *     | spool_header | spool_chunk | data … room | spool_chunk | data … room | …
 *     +--------------+---------------------------+---------------------------+----- - -
 *     0              SPOOL_HEADER_BYTES          + chunk.bytes               + chunk.bytes … up to header.formatted
 *
 * Chunks lie end to end, each SPOOL_ALIGN-aligned, and `bytes` of one leads to the next. A chunk that was handed back
 * half empty is cut: a new chunk header is written into its room first, then `bytes` is shortened (release), so a
 * reader sees either state, and both are right. Their order in the file is therefore not the order of use: `sequence`
 * is.
 *
 * A chunk has one writer and holds one of two things:
 *
 *     SPOOL_CUPTI    CUPTI's activity records exactly as CUPTI laid them out. While in use, CUPTI owns it: `used` is 0,
 *                    and the records are found by walking kind after kind with the sizes in header.record_bytes until
 *                    kind 0 or an unknown one. A kind with the top bit set (SPOOL_IN_FLIGHT) is a record whose GPU
 *                    times CUPTI had not collected. When done, `used` bytes are valid.
 *     SPOOL_RECORDS  our own records (struct spool_record …), by one thread; `used` (stored with release after the
 *                    record is whole) is valid at any time.
 *
 * The writer adds chunks by segments of SPOOL_SEGMENT_BYTES, counted from header.header_bytes, and no chunk reaches
 * over the end of its segment.
 *
 * While the program runs, its launcher drains the spool: it packs a chunk that is done into a file beside (struct
 * spool_packed), and then, in the spool, makes it SPOOL_DRAINED, which gives it back to the writer. A segment with
 * nothing but drained and unused chunks is made one chunk again, whose `bytes` are stored first (release), blank, and
 * used anew, with other sequences. A chunk that the writer has left for good (SPOOL_NO_SEGMENT) gets a hole in the
 * file instead. So a sequence can be in both files, with the same data, and counts once.
 *
 * A reader takes nothing here on trust: sizes, types, alignments and counts are checked against the file's length.
 */
#ifndef GPUTRACE_WIRE_SPOOL_H
#define GPUTRACE_WIRE_SPOOL_H

#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#include "wire/spool_nvtx.h"
#include "wire/spool_record.h"

#define SPOOL_MAGIC "GPUTRACE" /* 8 bytes, no NUL */
#define SPOOL_VERSION 1u
#define SPOOL_HEADER_BYTES 4096u
#define SPOOL_ALIGN 64u
#define SPOOL_SEGMENT_BYTES ((uint64_t)1 << 20)
#define SPOOL_SUFFIX ".spool"         /* files are named PID-N.spool: N tells apart several images of one pid */
#define SPOOL_PACKED_SUFFIX ".packed" /* what was drained of the spool of the same name */
/* In place of a spool that could not be made: a symbolic link, which takes no descriptor, whose target says why. */
#define SPOOL_UNRECORDED_SUFFIX ".unrecorded"

/* CUPTI activity kinds whose record size the header can tell; larger kinds are not known to this version. */
#define SPOOL_CUPTI_KINDS 64
#define SPOOL_IN_FLIGHT UINT32_C(0x80000000)

/* What the writer knows to be missing. Each is a counter in the header.
 *      field             words for the user */
#define SPOOL_LOSSES(X)                                                                           \
    X(cupti_dropped, "records dropped by CUPTI for want of a buffer")                             \
    X(no_room, "records dropped because the spool could not grow")                                \
    X(nested, "records dropped because a signal handler interrupted a record of the same thread") \
    X(cut_texts, "texts cut because they are longer than 16 KiB")

struct spool_losses {
#define FIELD(field, words) uint64_t field;
    SPOOL_LOSSES(FIELD)
#undef FIELD
};

enum spool_state {
    SPOOL_OPEN = 1,     /* the process runs, or died without our exit handler */
    SPOOL_FINISHED = 2, /* our exit handler ran */
};

/* CLOCK_REALTIME was stepped: from `monotonic` on it is OFFSET ns ahead of CLOCK_MONOTONIC; at `before` it still was as
 * far ahead as the entry before tells, or `started` and `started_monotonic`. */
struct spool_clock {
    uint64_t before, monotonic; /* CLOCK_MONOTONIC, ns */
    int64_t offset;
};
#define SPOOL_CLOCKS 32 /* later steps are not told */

struct spool_header {
    char magic[8];
    uint32_t version;
    uint32_t header_bytes; /* offset of the first chunk */
    uint32_t pid;
    uint32_t parent_pid;
    uint32_t state;             /* enum spool_state */
    uint32_t cupti_version;     /* as cuptiGetVersion tells, 0: CUPTI was not used */
    int32_t driver_version;     /* as cuDriverGetVersion tells, 0: not known */
    int32_t runtime_version;    /* as cudaRuntimeGetVersion tells, 0: not known */
    uint64_t started;           /* CLOCK_REALTIME, ns, when the file was made */
    uint64_t started_monotonic; /* CLOCK_MONOTONIC at the same moment, ns */
    uint64_t finished;          /* CLOCK_REALTIME when our exit handler ran, 0: it did not */
    uint64_t formatted;         /* bytes of the file that hold the header and whole chunks (release) */
    uint64_t trace_bits;        /* what is recorded: enum trace_bits */
    struct spool_losses losses;
    uint16_t record_bytes[SPOOL_CUPTI_KINDS]; /* size of each CUPTI kind's records, 0: not seen */
    char program[256];                        /* /proc/self/comm or exe's name, NUL-terminated */
    char command[2048];       /* the command line, arguments separated by blanks, NUL-terminated, cut when longer */
    uint64_t process_started; /* by /proc/PID/stat: the same in all images of a process, not in two of one pid; 0: not
                                 known */
    uint32_t rank;            /* among the processes of a job, + 1; 0: not known */
    uint32_t local_rank;      /* among those on this host, + 1 */
    uint64_t clock_looked;    /* CLOCK_MONOTONIC of the last look at both clocks; 0: not known */
    uint32_t clock_count;     /* of `clocks` (release) */
    uint32_t cuda_unrecorded; /* 1: CUPTI could not be used, or somebody has detached it from the process */
    struct spool_clock clocks[SPOOL_CLOCKS];
    uint64_t drained; /* chunks that the launcher has packed; its to write, before they are SPOOL_DRAINED */
};
static_assert(sizeof(struct spool_header) <= SPOOL_HEADER_BYTES, "the header fits in its page");

#define SPOOL_CHUNK_MAGIC UINT32_C(0x4b4e4843) /* "CHNK" */

enum spool_chunk_type {
    SPOOL_FREE = 0, /* ready, or left over: holds nothing */
    SPOOL_CUPTI = 1,
    SPOOL_RECORDS = 2,
};

enum spool_chunk_state {
    SPOOL_READY = 0,
    SPOOL_IN_USE = 1,
    SPOOL_DONE = 2,
    SPOOL_DRAINED = 3, /* it was done, and is packed: the launcher's to store */
};
#define SPOOL_NO_SEGMENT UINT32_MAX

struct spool_chunk {
    uint32_t magic;
    uint16_t type;             /* enum spool_chunk_type */
    uint16_t state;            /* enum spool_chunk_state */
    uint64_t bytes;            /* this header, the data and the room after it: leads to the next chunk */
    uint64_t used;             /* bytes of valid data after this header; see above */
    uint64_t sequence;         /* order of handing out within the process, from 1 */
    uint64_t opened;           /* CLOCK_REALTIME when handed out, ns */
    uint32_t thread;           /* gettid() of the one writer; of a CUPTI chunk, the thread that CUPTI asked on */
    uint32_t segment;          /* the writer's own; SPOOL_NO_SEGMENT: it will not touch the chunk again */
    uint64_t opened_monotonic; /* CLOCK_MONOTONIC when handed out, ns … */
    uint64_t done_monotonic;   /* … and when it was done; 0: it was not */
};
static_assert(sizeof(struct spool_chunk) == SPOOL_ALIGN, "chunk data is aligned");

/* A chunk in the packed file: this header, then `packed` bytes, then zeros up to the next multiple of SPOOL_ALIGN,
 * where the next one is. A launcher that dies may leave a last one that is not whole; its chunk is in the spool still.
 */
#define SPOOL_PACKED_MAGIC UINT32_C(0x444b4350) /* "PCKD" */
enum spool_packing {
    SPOOL_PACKED_PLAIN = 0,   /* as they were */
    SPOOL_PACKED_COLUMNS = 1, /* by records' fields (tool/spool/columns.h), then LZ4 in its block format */
};
struct spool_packed {
    uint32_t magic;
    uint16_t packing;  /* enum spool_packing */
    uint16_t type;     /* the chunk's, enum spool_chunk_type */
    uint32_t packed;   /* bytes after this header */
    uint32_t columned; /* of SPOOL_PACKED_COLUMNS: bytes between LZ4 and columns */
    uint64_t used;     /* the chunk's, as are these; at most SPOOL_SEGMENT_BYTES */
    uint64_t sequence;
    uint64_t opened;
    uint64_t opened_monotonic;
    uint64_t done_monotonic;
    uint32_t thread;
    uint32_t blank;
};
static_assert(sizeof(struct spool_packed) == SPOOL_ALIGN, "as large as the chunk's header");

/* HOLDS is TEXT when its last fields are `length` and `text`, else FIXED.
 *    type           struct               holds */
#define SPOOL_RECORD_TYPES(X)                    \
    X(POINTER_NAME, spool_pointer_name, TEXT)    \
    X(THREAD_NAME, spool_thread_name, TEXT)      \
    X(CAPTURE, spool_capture, TEXT)              \
    X(NOTE, spool_note, TEXT)                    \
    X(CONTEXT, spool_context, FIXED)             \
    X(STREAM, spool_stream, FIXED)               \
    X(MEMORY, spool_memory, FIXED)               \
    X(NVTX_DOMAIN, spool_nvtx_domain, TEXT)      \
    X(NVTX_STRING, spool_nvtx_string, TEXT)      \
    X(NVTX_CATEGORY, spool_nvtx_category, TEXT)  \
    X(NVTX_NAME, spool_nvtx_name, TEXT)          \
    X(NVTX_EVENT, spool_nvtx_event, TEXT)        \
    X(PHASE, spool_phase, TEXT)                  \
    X(PLUGIN, spool_plugin, TEXT)                \
    X(PLUGIN_TIME, spool_plugin_time, FIXED)     \
    X(PLUGIN_WINDOW, spool_plugin_window, FIXED) \
    X(PLUGIN_EVENT, spool_plugin_event, TEXT)    \
    X(PLUGIN_LINE, spool_plugin_line, TEXT)      \
    X(STACK, spool_stack, TEXT)                  \
    X(MAPPING, spool_mapping, TEXT)              \
    X(DEVICE_RANGE, spool_device_range, TEXT)    \
    X(NVTX_PLAIN, spool_nvtx_plain, TEXT)        \
    X(NVTX_RESOURCE, spool_nvtx_resource, TEXT)  \
    X(NVTX_RECORDED, spool_nvtx_recorded, FIXED) \
    SPOOL_NVTX_EXTENSION_TYPES(X)                \
    X(DEATH, spool_death, FIXED)                 \
    X(OPEN_CALL, spool_open_call, FIXED)         \
    X(POOL_LEVEL, spool_pool_level, FIXED)       \
    X(LAUNCH_NAME, spool_launch_name, TEXT)      \
    X(SYNC, spool_sync, FIXED)                   \
    X(EVENT_RECORD, spool_event_record, FIXED)   \
    X(FUNCTION_NAME, spool_function_name, TEXT)  \
    X(GRAPH_NODE, spool_graph_node, FIXED)

enum spool_record_type {
    SPOOL_RECORD_NONE = 0,
#define TYPE(name, structure, holds) SPOOL_RECORD_##name,
    SPOOL_RECORD_TYPES(TYPE)
#undef TYPE
        SPOOL_RECORD_TYPE_COUNT
};

/* Texts are the last field of their record: LENGTH bytes, no NUL, UTF-8 as the program gave it (not checked). */

/* The text behind a pointer that CUPTI's records hold (a kernel's mangled name, a device's name). */
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

/* Recording went on (flags 1) or off (flags 0); the text says what asked for it. */
struct spool_capture {
    struct spool_record head;
    uint32_t length;
    char text[4];
};

/* A word to the user about this process: "CUPTI is taken by another profiler: …". It belongs in the trace. */
enum { SPOOL_NOTE_WARNING = 0, SPOOL_NOTE_VERBOSE = 1, SPOOL_NOTE_WARNED = 2 }; /* the last: the user has read it */
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

/* An allocation or a release of memory, as the driver was asked and answered. */
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
    SPOOL_MEMORY_UNKNOWN = 0, /* of a release whose call does not tell: the allocation's kind counts */
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
    uint32_t stack;           /* number of a spool_stack: where it was asked for; 0: not kept */
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

/* A name given to something of CUDA's. */
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
    uint64_t payload;         /* bits of the value, as payload_type tells */
    uint32_t domain;
    uint32_t category;     /* 0: none */
    uint32_t color;        /* ARGB when color_type is 1 */
    uint16_t color_type;   /* nvtxColorType_t: 0 none, 1 ARGB */
    uint16_t payload_type; /* nvtxPayloadType_t: 0 none, 1 u64, 2 i64, 3 double, 4 u32, 5 i32, 6 float */
    uint32_t string;       /* registered message, 0: the text below, if any */
    uint32_t length;
    char text[8]; /* may be of length 0; the record then ends with these 8 bytes */
};

/* The same for the many that have neither range nor category, colour and payload: half the bytes. */
struct spool_nvtx_plain {
    struct spool_record head; /* flags: enum spool_nvtx_what */
    uint32_t domain;
    uint32_t string; /* as above */
    uint32_t length;
    char text[4];
};

/* A resource, or a synchronisation object, which NVTX gives a name; later (flags 1) it is destroyed, told by its number
 * alone. What OpenCL's objects are named is told as resources too, which stay. */
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

/* A phase of compilation began (flags 0) or ended (flags 1): a record each, told apart by `phase`. The triggers and
 * endings have the numbers of enum gputrace_trigger and gputrace_ending in callbacks.h.
 *      trigger             name in the trace */
enum { SPOOL_PHASE_STARTED = 0, SPOOL_PHASE_ENDED = 1 };
#define SPOOL_TRIGGERS(X)                  \
    X(MODULE_LOAD, "Module load")          \
    X(FUNCTION_LOAD, "Lazy function load") \
    X(PTX, "PTX compilation")              \
    X(LINK, "Linking")                     \
    X(GRAPH_CAPTURE, "Graph capture")      \
    X(GRAPH_INSTANTIATION, "Graph instantiation")
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
    uint32_t ending;          /* of an end: 0 the call returned, else why it ended without */
    int32_t result;           /* of an end: CUresult */
    uint32_t length;
    char text[8]; /* the function: "cuLibraryLoadData" */
};

/* Whoever registered callbacks and adds to the trace: number 1 is the program itself, plugins follow from 2. */
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
 * frame and return addresses of the others, as 8-byte words in the text. */
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

/* A moment in a stream, put there by gputrace_device_range_start() (flags 0) or _end() (flags 1). */
enum { SPOOL_DEVICE_RANGE_START = 0, SPOOL_DEVICE_RANGE_END = 1 };
struct spool_device_range {
    struct spool_record head; /* time: of the call */
    uint64_t range;           /* number within the process, from 1 */
    uint32_t correlation;     /* CUPTI's CUDA_EVENT record that has it tells stream and time; 0: there is none */
    uint32_t length;
    char text[8]; /* of a start: its message */
};

/* A signal that was about to end the process, written by the thread that got it. */
struct spool_death {
    struct spool_record head;
    uint64_t address; /* of a fault: si_addr */
    int32_t signal;
    int32_t code;    /* si_code */
    uint32_t thread; /* gettid() */
    uint32_t sender; /* pid of who sent it; 0: the kernel, or not told */
};

/* A driver call that a thread is in, as far as its callbacks are on. The record lasts and is used for one call after
 * another: what it says counts while flags are SPOOL_CALL_OPEN, which is stored last (release). */
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

/* What a stream-ordered pool holds, and how much of it is lent; told when it has changed since the last look. A pool
 * that is gone holds nothing. */
struct spool_pool_level {
    struct spool_record head; /* time: of the look */
    uint64_t pool;            /* CUmemoryPool */
    uint64_t reserved, used;  /* bytes */
    uint64_t reserved_high;   /* the most since the pool was made, or the program reset it */
    uint64_t used_high;
    uint32_t device;
    uint32_t blank;
};

/* The (mangled) name of the kernel that a launch starts, written before CUPTI writes the kernel's record: of a process
 * that is killed in between nobody has read that record's name. */
struct spool_launch_name {
    struct spool_record head; /* time: when the launch began */
    uint32_t correlation;
    uint32_t length;
    char text[8];
};

/* A thread has waited, or a stream will. A process that writes these has CUPTI's records of the same for other purposes
 * if at all. The numbers are CUPTI's of kinds of synchronisation. */
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

/* A CUDA event was recorded: what later waits for it wait for. */
struct spool_event_record {
    struct spool_record head; /* time: when it was called, or has returned */
    uint64_t event;           /* CUevent */
    uint32_t context;
    uint32_t stream; /* SPOOL_NO_STREAM: all of the context, or not known */
    uint32_t correlation;
    uint32_t reserved;
};

/* The (mangled) name of a function, told when the program gets it. One that is loaded later may have its handle. */
struct spool_function_name {
    struct spool_record head;
    uint64_t function; /* CUfunction or CUkernel */
    uint32_t length;
    char text[4];
};

/* What a node of a graph launches: records of a graph's kernels have the correlation id of the graph's launch, and the
 * number of a node. Told when the node is made, copied or changed, in the call `correlation`: kernels of lower ones are
 * of before. Of nodes that launch nothing it is told of which others they are copies. */
struct spool_graph_node {
    struct spool_record head;
    uint64_t node;     /* CUPTI's number, of no other node of the process */
    uint64_t original; /* the number of that which it is a copy of from now on; 0: it launches the function */
    uint64_t function; /* as spool_function_name has it */
    uint32_t correlation;
    uint32_t reserved;
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

/* Bytes of a record of SIZE bytes whose text field (ROOM bytes of it counted in SIZE) holds LENGTH bytes. */
static inline uint32_t spool_record_bytes(uint32_t size, uint32_t room, uint32_t length)
{
    uint32_t more = length > room ? length - room : 0;
    return size + ((more + 7) & ~UINT32_C(7));
}

/* The launcher's own note about the run, in the spool directory: one JSON object (cJSON), written before the
 * program starts. Keys: version, command (array), host, started (ns), output, options (object). */
#define SPOOL_SESSION_FILE "session.json"

#endif
