/*
 * Reads payloads of NVTX's payload extension by their schemas, for the process that copies payloads and the one that
 * shows them. Numbers of types and flags are NVTX's own (nvToolsExtPayload.h).
 *
 * A walk over one payload returns its fields one after another, with the place of each:
 *
 *     struct payload_cursor cursor;
 *     struct payload_field field;
 *     payload_begin(&cursor, &reader, schema, bytes, size, 0);
 *     while (payload_next(&cursor, &field)) …
 *
 * The bytes are not trusted: a field that does not lie within them is not returned, a walk ends after `budget` fields,
 * and callers stop at nested schemas deeper than PAYLOAD_DEPTH.
 */
#ifndef GPUTRACE_COMMON_PAYLOAD_H
#define GPUTRACE_COMMON_PAYLOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PAYLOAD_ENTRIES_MAX 4096 /* entries of a schema; further entries are dropped */
#define PAYLOAD_BLOBS_MAX 64     /* payloads of one event */
#define PAYLOAD_BUDGET 4096      /* fields of one payload */
#define PAYLOAD_DEPTH 8          /* schemas within schemas */

/*      type         number  bytes                 kind of value */
#define PAYLOAD_TYPES(X)                          \
    X(CHAR, 1, sizeof(char), CHARACTER)           \
    X(UCHAR, 2, sizeof(char), UNSIGNED)           \
    X(SHORT, 3, sizeof(short), SIGNED)            \
    X(USHORT, 4, sizeof(short), UNSIGNED)         \
    X(INT, 5, sizeof(int), SIGNED)                \
    X(UINT, 6, sizeof(int), UNSIGNED)             \
    X(LONG, 7, sizeof(long), SIGNED)              \
    X(ULONG, 8, sizeof(long), UNSIGNED)           \
    X(LONGLONG, 9, sizeof(long long), SIGNED)     \
    X(ULONGLONG, 10, sizeof(long long), UNSIGNED) \
    X(INT8, 11, 1, SIGNED)                        \
    X(UINT8, 12, 1, UNSIGNED)                     \
    X(INT16, 13, 2, SIGNED)                       \
    X(UINT16, 14, 2, UNSIGNED)                    \
    X(INT32, 15, 4, SIGNED)                       \
    X(UINT32, 16, 4, UNSIGNED)                    \
    X(INT64, 17, 8, SIGNED)                       \
    X(UINT64, 18, 8, UNSIGNED)                    \
    X(FLOAT, 19, sizeof(float), REAL)             \
    X(DOUBLE, 20, sizeof(double), REAL)           \
    X(LONGDOUBLE, 21, sizeof(long double), REAL)  \
    X(SIZE, 22, sizeof(size_t), UNSIGNED)         \
    X(ADDRESS, 23, sizeof(void *), ADDRESS)       \
    X(WCHAR, 24, sizeof(wchar_t), CHARACTER)      \
    X(CHAR8, 25, 1, CHARACTER)                    \
    X(CHAR16, 26, 2, CHARACTER)                   \
    X(CHAR32, 27, 4, CHARACTER)                   \
    X(BYTE, 32, 1, BYTES)                         \
    X(INT128, 33, 16, SIGNED)                     \
    X(UINT128, 34, 16, UNSIGNED)                  \
    X(FLOAT16, 42, 2, REAL)                       \
    X(FLOAT32, 43, 4, REAL)                       \
    X(FLOAT64, 44, 8, REAL)                       \
    X(FLOAT128, 45, 16, REAL)                     \
    X(BF16, 50, 2, REAL)                          \
    X(TF32, 52, 4, REAL)                          \
    X(RANGE_ID, 67, 8, UNSIGNED)                  \
    X(CATEGORY, 68, 4, CATEGORY)                  \
    X(COLOR_ARGB, 69, 4, COLOR)                   \
    X(SCOPE_ID, 70, 8, SCOPE)                     \
    X(PID_UINT32, 71, 4, UNSIGNED)                \
    X(PID_UINT64, 72, 8, UNSIGNED)                \
    X(TID_UINT32, 73, 4, UNSIGNED)                \
    X(TID_UINT64, 74, 8, UNSIGNED)                \
    X(CSTRING, 75, 1, STRING)                     \
    X(CSTRING_UTF8, 76, 1, STRING)                \
    X(CSTRING_UTF16, 77, 2, STRING)               \
    X(CSTRING_UTF32, 78, 4, STRING)               \
    X(REGISTERED_STRING, 80, sizeof(void *), HANDLE)

enum payload_type {
#define TYPE(name, number, bytes, value) PAYLOAD_TYPE_##name = (number),
    PAYLOAD_TYPES(TYPE)
#undef TYPE
        PAYLOAD_TYPE_UNION_SELECTOR = 100,
    PAYLOAD_TYPE_REFERENCED = 1022, /* type of a payload into which other payloads point */
    PAYLOAD_TYPE_RAW = 1023,        /* type of a payload of plain bytes */
};

enum payload_value {
    PAYLOAD_NONE = 0, /* not a type of NVTX */
    PAYLOAD_CHARACTER,
    PAYLOAD_SIGNED,
    PAYLOAD_UNSIGNED,
    PAYLOAD_REAL,
    PAYLOAD_ADDRESS,
    PAYLOAD_BYTES,
    PAYLOAD_CATEGORY,
    PAYLOAD_COLOR,
    PAYLOAD_SCOPE,
    PAYLOAD_STRING,
    PAYLOAD_HANDLE, /* handle of a registered string */
    PAYLOAD_SELECTOR,
};

enum payload_entry_flags {
    PAYLOAD_FLAG_POINTER = 1 << 1,
    PAYLOAD_FLAG_OFFSET_FROM_BASE = 1 << 2,
    PAYLOAD_FLAG_OFFSET_FROM_HERE = 1 << 3,
    PAYLOAD_FLAG_ARRAY = 7 << 4, /* one of the following values */
    PAYLOAD_FLAG_ARRAY_FIXED = 1 << 4,
    PAYLOAD_FLAG_ARRAY_TERMINATED = 2 << 4,
    PAYLOAD_FLAG_ARRAY_LENGTH = 3 << 4,
    PAYLOAD_FLAG_ARRAY_LENGTH_PAYLOAD = 4 << 4,
    PAYLOAD_FLAG_DEEP_COPY = 1 << 8,
    PAYLOAD_FLAG_HIDE = 1 << 9,
    PAYLOAD_FLAG_EVENT_MESSAGE = 1 << 10,
    PAYLOAD_FLAG_TIMESTAMP = 1 << 11,
    PAYLOAD_FLAG_ROLE = 7 << 12, /* one of the following values */
    PAYLOAD_FLAG_RANGE_BEGIN = 1 << 12,
    PAYLOAD_FLAG_RANGE_END = 2 << 12,
    PAYLOAD_FLAG_MARK = 3 << 12,
    PAYLOAD_FLAG_COUNTER = 4 << 12,
};

enum payload_schema_kind {
    PAYLOAD_STATIC = 1,
    PAYLOAD_DYNAMIC = 2,
    PAYLOAD_UNION = 3,          /* an entry of the enclosing schema selects the member */
    PAYLOAD_UNION_SELECTED = 4, /* an entry of the union selects the member */
    PAYLOAD_ENUM = 100,         /* our own number, for nvtxPayloadEnumRegister() */
};

enum payload_schema_flags {
    PAYLOAD_SCHEMA_DEEP_COPY = 1 << 1,
    PAYLOAD_SCHEMA_REFERENCED = 1 << 2,
    PAYLOAD_SCHEMA_ROLE = 15 << 3, /* one of the following values */
    PAYLOAD_SCHEMA_COUNTER_GROUP = 1 << 3,
    PAYLOAD_SCHEMA_PUSHPOP = 2 << 3,
    PAYLOAD_SCHEMA_STARTEND = 3 << 3,
    PAYLOAD_SCHEMA_MARK = 4 << 3,
};

#define PAYLOAD_FIRST_SCHEMA (UINT64_C(1) << 24)  /* lower ids are types of NVTX */
#define PAYLOAD_FIRST_DYNAMIC (UINT64_C(1) << 32) /* ids from here on are chosen by libgputrace */

/* The members of nvtxPayloadSchemaEntry_t. In an enumeration `detail` is the value, and `flags` is 1 for a bit. */
struct payload_entry {
    uint64_t flags, type, detail, offset;
};

struct payload_schema {
    uint64_t id;
    uint64_t flags; /* enum payload_schema_flags */
    uint64_t size;  /* bytes; 0: unknown */
    uint64_t pack;  /* largest alignment of anything in it; 0: natural alignment */
    enum payload_schema_kind kind;
    uint32_t align; /* alignment of the whole */
    bool walks;     /* it or a nested schema has pointers, strings, or fields that describe the event */
    uint32_t count;
    const struct payload_entry *entries;
};

/* A payload of an event. */
struct payload_blob {
    uint64_t schema;
    const uint8_t *bytes;
    uint64_t size;
};

struct payload_reader {
    const struct payload_schema *(*find)(const void *context, uint64_t id); /* returns NULL if ID is unknown */
    const void *context;
    const struct payload_blob *blobs; /* all payloads of the event, which may hold lengths */
    size_t blob_count;
    unsigned budget; /* fields that may still be returned; PAYLOAD_BUDGET at first */
};

/* Return the kind of an NVTX type, and its bytes, which are its alignment, too; for strings those of one character. */
enum payload_value payload_value_of(uint64_t type);
uint32_t payload_bytes_of(uint64_t type);

/* Sets `align` and `walks`, and `size` if it is unknown, from the nested schemas that are known. Call it once, when all
 * entries are there. */
void payload_measure(struct payload_schema *schema, const struct payload_reader *reader);

enum payload_form {
    PAYLOAD_ONE,      /* a value, or a nested schema */
    PAYLOAD_ARRAY_OF, /* `count` values or nested schemas */
    PAYLOAD_TEXT,     /* a string of `count` characters */
    PAYLOAD_TEXTS_OF, /* `count` strings of `characters` each */
};

#define PAYLOAD_TERMINATED UINT64_MAX /* a count: elements up to the first that is all zero */
#define PAYLOAD_NO_MEMBER UINT32_MAX
#define PAYLOAD_DIMENSIONS 8

struct payload_field {
    const struct payload_entry *entry;
    uint32_t index;
    const struct payload_schema *nested; /* a schema or an enumeration; NULL: a type of NVTX */
    enum payload_form form;
    bool pointer;     /* the value lies at `address` of the program, not in the payload */
    uint64_t address; /* 0: NULL */
    uint64_t at;      /* place in the payload, unless it is a pointer */
    uint64_t unit;    /* bytes of an element; 0: unknown beforehand */
    uint64_t count;   /* number of elements; PAYLOAD_TERMINATED only for a pointer */
    uint64_t characters;
    uint32_t member; /* selected member of a nested union; PAYLOAD_NO_MEMBER: unknown */
    uint32_t dimensions;
    uint64_t dimension[PAYLOAD_DIMENSIONS]; /* sizes of an array with several dimensions; their product is `count` */
};

#define PAYLOAD_LENGTHS 64 /* entries of a schema that can hold the length of others */

struct payload_cursor {
    struct payload_reader *reader;
    const struct payload_schema *schema;
    const uint8_t *bytes; /* the whole payload */
    uint64_t size, start; /* size of the payload; where this schema begins in it */
    uint64_t end;         /* end of the last field */
    uint32_t next;
    uint32_t member; /* the only entry to return; PAYLOAD_NO_MEMBER: all */
    unsigned depth;
    struct {
        uint64_t at;
        uint32_t unit, count;
    } seen[PAYLOAD_LENGTHS];
};

/* Puts the cursor on the beginning of a payload, or of a nested schema at START. */
void payload_begin(struct payload_cursor *cursor, struct payload_reader *reader, const struct payload_schema *schema,
                   const uint8_t *bytes, uint64_t size, uint64_t start);
/* Puts INNER on element N of the nested schema of FIELD; in a union only the selected member is returned. Returns false
 * if it is nested too deep, or cut off. */
bool payload_enter(struct payload_cursor *inner, const struct payload_cursor *outer, const struct payload_field *field,
                   uint64_t n);
bool payload_next(struct payload_cursor *cursor, struct payload_field *field);

/* Returns the member that a union at START of the cursor's payload selects itself, or PAYLOAD_NO_MEMBER if there is no
 * such member. */
uint32_t payload_selected(const struct payload_cursor *cursor, const struct payload_schema *schema, uint64_t start);

/* Limits `count` of FIELD to the SIZE bytes at BYTES that are there, such as those to which a pointer leads. Counts the
 * elements if a zero ends them. Returns the bytes that FIELD takes. */
uint64_t payload_found(struct payload_field *field, const uint8_t *bytes, uint64_t size);

/* Returns the number of characters of WIDTH bytes before the first one that is zero, within SIZE bytes. */
uint64_t payload_text_length(const uint8_t *bytes, uint64_t size, uint64_t width);

/* Returns an unsigned number of SIZE bytes, 1 to 8. */
uint64_t payload_load(const uint8_t *bytes, uint64_t size);

#endif
