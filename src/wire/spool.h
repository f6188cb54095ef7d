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
 *   SPOOL_CUPTI    CUPTI's activity records exactly as CUPTI laid them out. While in use, CUPTI owns it: `used` is 0,
 * and the records are found by walking kind after kind with the sizes in header.record_bytes until kind 0 or an unknown
 * one. A kind with the top bit set (SPOOL_IN_FLIGHT) is a record whose GPU times CUPTI had not collected. When done,
 * `used` bytes are valid. SPOOL_RECORDS  our own records (struct spool_record …), by one thread; `used` (stored with
 * release after the record is whole) is valid at any time.
 *
 * A reader takes nothing here on trust: sizes, types, alignments and counts are checked against the file's length.
 */
#ifndef GPUTRACE_WIRE_SPOOL_H
#define GPUTRACE_WIRE_SPOOL_H

#include <assert.h>
#include <stdint.h>

#define SPOOL_MAGIC "GPUTRACE" /* 8 bytes, no NUL */
#define SPOOL_VERSION 1u
#define SPOOL_HEADER_BYTES 4096u
#define SPOOL_ALIGN 64u
#define SPOOL_SUFFIX ".spool" /* files are named PID-N.spool: N tells apart several images of one pid */

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
    char command[2048]; /* the command line, arguments separated by blanks, NUL-terminated, cut when longer */
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
};

struct spool_chunk {
    uint32_t magic;
    uint16_t type;     /* enum spool_chunk_type */
    uint16_t state;    /* enum spool_chunk_state */
    uint64_t bytes;    /* this header, the data and the room after it: leads to the next chunk */
    uint64_t used;     /* bytes of valid data after this header; see above */
    uint64_t sequence; /* order of handing out within the process, from 1 */
    uint64_t opened;   /* CLOCK_REALTIME when handed out, ns */
    uint32_t thread;   /* gettid() of the one writer; of a CUPTI chunk, the thread that CUPTI asked on */
    uint32_t reserved[5];
};
static_assert(sizeof(struct spool_chunk) == SPOOL_ALIGN, "chunk data is aligned");

/* Our own records: this head, then the fields of its type, then texts. Sizes are multiples of 8. */
struct spool_record {
    uint16_t type;  /* enum spool_record_type */
    uint16_t flags; /* of the type; 0 where it tells of none */
    uint32_t bytes; /* the whole record with padding */
    uint64_t time;  /* CLOCK_REALTIME, ns */
};

/*      type            struct */
#define SPOOL_RECORD_TYPES(X)             \
    X(POINTER_NAME, spool_pointer_name)   \
    X(THREAD_NAME, spool_thread_name)     \
    X(CAPTURE, spool_capture)             \
    X(NOTE, spool_note)                   \
    X(CONTEXT, spool_context)             \
    X(STREAM, spool_stream)               \
    X(MEMORY, spool_memory)               \
    X(NVTX_DOMAIN, spool_nvtx_domain)     \
    X(NVTX_STRING, spool_nvtx_string)     \
    X(NVTX_CATEGORY, spool_nvtx_category) \
    X(NVTX_NAME, spool_nvtx_name)         \
    X(NVTX_EVENT, spool_nvtx_event)

enum spool_record_type {
    SPOOL_RECORD_NONE = 0,
#define TYPE(name, structure) SPOOL_RECORD_##name,
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
enum { SPOOL_NOTE_WARNING = 0, SPOOL_NOTE_VERBOSE = 1 };
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
    struct spool_record head; /* time: when the call returned */
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
    uint32_t reserved;
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
    SPOOL_NVTX_RESOURCE,   /* nvtxResourceAttributes_t's identifier */
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
};
struct spool_nvtx_event {
    struct spool_record head; /* flags: enum spool_nvtx_what */
    uint64_t range;           /* START and END: the id given to the program, unique in the process; else 0 */
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

/* Every record is a whole number of 8-byte words, and its text starts where the reader expects it. */
#define TYPE(name, structure) static_assert(sizeof(struct structure) % 8 == 0, #structure);
SPOOL_RECORD_TYPES(TYPE)
#undef TYPE

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
