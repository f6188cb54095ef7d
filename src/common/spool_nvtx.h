/*
 * Records of NVTX's extensions: payloads and their schemas, counters, memory, clocks of the program's own.
 *
 * Ids of schemas, scopes, clocks and counters are chosen by the program, otherwise by libgputrace; each id belongs to a
 * domain. Each definition also has a number of its own, by which other records refer to it. Each record ends with its
 * text, which starts 4 bytes before the end of the struct.
 *
 * A payload is recorded as pieces of the program's memory, byte for byte, with the address that each had: first the
 * pieces that the program passed, then the pieces to which pointers in them lead. A reader follows a pointer by looking
 * for its address among the pieces of the same number.
 */
#ifndef GPUTRACE_COMMON_SPOOL_NVTX_H
#define GPUTRACE_COMMON_SPOOL_NVTX_H

#include "common/spool.h"

/*    type              struct                  holds */
#define SPOOL_NVTX_EXTENSION_TYPES(X)                 \
    X(NVTX_SCHEMA, spool_nvtx_schema, TEXT)           \
    X(NVTX_ENTRY, spool_nvtx_entry, TEXT)             \
    X(NVTX_SEMANTICS, spool_nvtx_semantics, TEXT)     \
    X(NVTX_SCOPE, spool_nvtx_scope, TEXT)             \
    X(NVTX_TIME_DOMAIN, spool_nvtx_time_domain, TEXT) \
    X(NVTX_SYNC, spool_nvtx_sync, TEXT)               \
    X(NVTX_PIECE, spool_nvtx_piece, TEXT)             \
    X(NVTX_DEFERRED, spool_nvtx_deferred, TEXT)       \
    X(NVTX_COUNTER, spool_nvtx_counter, TEXT)         \
    X(NVTX_SAMPLE, spool_nvtx_sample, TEXT)           \
    X(NVTX_MEMORY, spool_nvtx_memory, TEXT)

/* Limit of a text in bytes, also for each of two texts in one record. Longer texts are cut and counted as a loss. */
#define SPOOL_NVTX_TEXT_MAX (UINT32_C(16) << 10)

/* payload_type of an NVTX event whose payload is recorded in pieces; `payload` is their number. */
#define SPOOL_NVTX_PAYLOAD_PIECES 7

/* A schema or an enumeration. Its text is its name. */
struct spool_nvtx_schema {
    struct spool_record head;
    uint64_t id;
    uint64_t flags; /* enum payload_schema_flags */
    uint64_t size;  /* bytes of such a payload, or of the enumeration; 0: not specified */
    uint64_t pack;  /* largest alignment; 0: natural */
    uint32_t number;
    uint32_t domain;
    uint32_t kind; /* enum payload_schema_kind */
    uint32_t entries;
    uint32_t length;
    char text[4];
};

/* An entry of a schema, or a value of an enumeration: TYPE is then 0, DETAIL the value, FLAGS 1 for a bit. Its text is
 * its name, then its description. */
struct spool_nvtx_entry {
    struct spool_record head;
    uint64_t flags, type, detail, offset; /* as in nvtxPayloadSchemaEntry_t */
    uint32_t schema;                      /* number of the spool_nvtx_schema */
    uint32_t index;
    uint32_t name_length;
    uint32_t reserved;
    uint32_t length;
    char text[4];
};

/* What an entry, or a counter, means beyond its type. Its text is the unit. */
enum spool_nvtx_meaning {
    SPOOL_NVTX_SCOPE_MEANT = 1,   /* scope */
    SPOOL_NVTX_TIME_MEANT = 2,    /* time_domain */
    SPOOL_NVTX_COUNTER_MEANT = 4, /* flags, scale, limits */
};
struct spool_nvtx_semantics {
    struct spool_record head; /* flags: 0 for an entry, 1 for a counter */
    uint64_t scope, time_domain;
    uint64_t flags; /* NVTX_COUNTER_FLAG_… */
    uint64_t numerator, denominator;
    uint64_t least, most; /* bits, by limit_type */
    uint32_t limit_type;  /* 0 none, 1 signed, 2 unsigned, 3 double */
    uint32_t meanings;    /* bits of enum spool_nvtx_meaning */
    uint32_t of;          /* number of the schema or counter */
    uint32_t index;       /* index of the entry */
    uint32_t length;
    char text[4];
};

/* A scope: where events or counters come from. Its text is the path below PARENT. */
struct spool_nvtx_scope {
    struct spool_record head;
    uint64_t id, parent;
    uint32_t domain;
    uint32_t reserved;
    uint32_t length;
    char text[4];
};

/* A clock of the program. */
struct spool_nvtx_time_domain {
    struct spool_record head;
    uint64_t id, scope;
    uint64_t type;  /* NVTX_TIMESTAMP_TYPE_… */
    uint64_t start; /* NVTX_TIMER_START_… */
    uint64_t flags;
    int64_t resolution; /* ticks in a second; 0: not known */
    uint32_t domain;
    uint32_t reserved;
    uint32_t length;
    char text[4];
};

/* Two clocks at one time: SOURCE showed SOURCE_TIME, TARGET showed TARGET_TIME. With SPOOL_NVTX_SYNC_SLOPE the target
 * advances by SLOPE for each tick of the source. */
enum { SPOOL_NVTX_SYNC_POINT = 0, SPOOL_NVTX_SYNC_SLOPE = 1 };
struct spool_nvtx_sync {
    struct spool_record head; /* flags: SPOOL_NVTX_SYNC_POINT … */
    uint64_t source, target;  /* ids of clocks, NVTX_TIMESTAMP_TYPE_… */
    int64_t source_time, target_time;
    double slope;
    uint32_t domain;
    uint32_t reserved;
    uint32_t length;
    char text[4];
};

/* Bytes of the program's memory. */
enum spool_nvtx_piece_kind {
    SPOOL_NVTX_PIECE_PAYLOAD = 0, /* payload number INDEX of the event, with SCHEMA */
    SPOOL_NVTX_PIECE_POINTED = 1, /* memory to which a pointer led */
    SPOOL_NVTX_PIECE_STRING = 2,  /* text of the registered string with handle ADDRESS */
    SPOOL_NVTX_PIECE_LOST = 3,    /* SIZE further pieces were not recorded */
};
struct spool_nvtx_piece {
    struct spool_record head; /* flags: enum spool_nvtx_piece_kind */
    uint64_t number;          /* number of the payload, from 1 */
    uint64_t address;         /* address in the program; 0: it passed NULL */
    uint64_t schema;
    uint64_t size; /* bytes in the program; the text has fewer if the piece was cut */
    uint32_t domain;
    uint32_t index;
    uint32_t length;
    char text[4];
};

/* Events with times of their own that the program passed in one call: one event in all pieces of NUMBER, or, if stride
 * is not 0, several events one after another in the first piece. */
struct spool_nvtx_deferred {
    struct spool_record head;
    uint64_t number; /* number of the pieces */
    uint64_t scope;
    uint64_t stride; /* bytes of one event; 0: there is only one event */
    uint32_t domain;
    uint32_t reserved;
    uint32_t length;
    char text[4];
};

/* A counter, or a group of counters. Its text is its name, then its description. */
struct spool_nvtx_counter {
    struct spool_record head;
    uint64_t id, schema, scope;
    uint32_t number;
    uint32_t domain;
    uint32_t name_length;
    uint32_t reserved;
    uint32_t length;
    char text[4];
};

/* Values of a counter. */
enum spool_nvtx_sample_kind {
    SPOOL_NVTX_SAMPLE_INTEGER = 1, /* bits: int64_t */
    SPOOL_NVTX_SAMPLE_REAL = 2,    /* bits: double */
    SPOOL_NVTX_SAMPLE_BYTES = 3,   /* the text has the layout of the counter's schema */
    SPOOL_NVTX_SAMPLE_NONE = 4,    /* no value, bits tell why: 0 zero, 1 unchanged, 2 unavailable */
    SPOOL_NVTX_SAMPLE_BATCH = 5,   /* the text is COUNT times, or none, then samples of STRIDE bytes */
    SPOOL_NVTX_SAMPLE_EVERY = 6, /* the text is samples of STRIDE bytes: the first at FIRST, then one every INTERVAL */
};
struct spool_nvtx_sample {
    struct spool_record head; /* flags: enum spool_nvtx_sample_kind */
    uint64_t counter;
    uint64_t bits;
    uint64_t stride;
    int64_t first, interval;
    uint32_t domain;
    uint32_t count; /* number of times */
    uint32_t length;
    char text[4];
};

/* Memory as the program annotates it. Its text is a name.
 *      operation              words in the trace */
#define SPOOL_NVTX_MEMORY_OPERATIONS(X)                     \
    X(HEAP_REGISTER, "Heap registered")                     \
    X(HEAP_UNREGISTER, "Heap unregistered")                 \
    X(HEAP_RESET, "Heap reset")                             \
    X(REGION_REGISTER, "Region registered")                 \
    X(REGION_RESIZE, "Region resized")                      \
    X(REGION_UNREGISTER, "Region unregistered")             \
    X(REGION_NAME, "Region named")                          \
    X(PERMISSIONS_ASSIGN, "Permissions assigned")           \
    X(PERMISSIONS_CREATE, "Permissions created")            \
    X(PERMISSIONS_DESTROY, "Permissions destroyed")         \
    X(PERMISSIONS_RESET, "Permissions reset")               \
    X(PERMISSIONS_BIND, "Permissions bound")                \
    X(PERMISSIONS_UNBIND, "Permissions unbound")            \
    X(PROCESS_PERMISSIONS, "Process permissions asked for") \
    X(DEVICE_PERMISSIONS, "Device permissions asked for")   \
    X(PEER_ACCESS, "Peer access set")                       \
    X(INITIALIZED, "Memory marked initialised")
enum spool_nvtx_memory_operation {
    SPOOL_NVTX_MEMORY_NONE = 0,
#define OPERATION(name, words) SPOOL_NVTX_MEMORY_##name,
    SPOOL_NVTX_MEMORY_OPERATIONS(OPERATION)
#undef OPERATION
        SPOOL_NVTX_MEMORY_OPERATION_COUNT
};
struct spool_nvtx_memory {
    struct spool_record head;      /* flags: enum spool_nvtx_memory_operation */
    uint64_t heap;                 /* handle; 0: the whole process */
    uint64_t region;               /* handle; for virtual memory its address */
    uint64_t address, size;        /* size in bytes; 0 for arrays */
    uint64_t offset[3], extent[3]; /* place and size within arrays */
    uint64_t permissions;          /* handle; 0: permissions of the process */
    uint64_t stream;               /* CUstream of INITIALIZED */
    uint32_t type;                 /* NVTX_MEM_TYPE_… */
    uint32_t usage;                /* NVTX_MEM_HEAP_USAGE_TYPE_… */
    uint32_t flags;                /* flags of permissions */
    uint32_t bind_scope;
    uint32_t category;
    int32_t device; /* -1: none, or all */
    uint32_t domain;
    uint32_t reserved;
    uint32_t length;
    char text[4];
};

#endif
