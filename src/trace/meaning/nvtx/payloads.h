/*
 * Payloads of NVTX events: schemas that describe them, copies of the program's memory that they lie in, and what they
 * say about their event.
 */
#ifndef GPUTRACE_TRACE_MEANING_NVTX_PAYLOADS_H
#define GPUTRACE_TRACE_MEANING_NVTX_PAYLOADS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/array.h"
#include "common/file_vector.h"
#include "common/lookup.h"
#include "common/map.h"
#include "common/payload.h"
#include "common/spool_records.h"
#include "trace/spool/event_record.h"

struct json_out;
struct nvtx;

struct nvtx_text {
    const char *text; /* in the spool, of LENGTH bytes; NULL: there is none */
    uint32_t length;
};

static inline struct nvtx_text nvtx_text_of(const char *text, uint32_t length)
{
    return (struct nvtx_text){length ? text : NULL, length};
}

/* A key for what has an id in a domain. Different ones may have the same key: a find compares id and domain again. */
static inline uint64_t payload_key(uint32_t domain, uint64_t id)
{
    return id + domain * UINT64_C(0x9e3779b97f4a7c15);
}

/* --- schemas: payload_schemas.c --- */

/*
 * Payload schemas and enumerations of one process, put together from the records of their entries: how
 * common/payload.h walks over a payload, and what its parts are called. Records may be read in any order, so they are
 * collected first.
 */

struct payload_entry_words {
    struct nvtx_text name, description;
    const struct spool_nvtx_semantics *semantics; /* NULL: nothing beyond its type */
};

struct payload_described {
    struct payload_schema layout; /* first: a pointer to it is one to the whole */
    const struct spool_nvtx_schema *record;
    struct nvtx_text name;
    struct payload_entry *entries;
    struct payload_entry_words *words; /* of each entry */
};

struct payload_schemas {
    ARRAY(struct payload_described) items; /* once closed: by number */
    ARRAY(const struct spool_nvtx_entry *) entries;
    ARRAY(const struct spool_nvtx_semantics *) semantics; /* of entries */
    struct map by_id;                                     /* domain and id -> index + 1 of the latest */
};

/* A record of a schema. Returns 0, or -1 after error(). */
int payload_schemas_index(struct payload_schemas *schemas, const struct event *event);
/* After the last: puts them together. Returns 0, or -1 after error(). */
int payload_schemas_close(struct payload_schemas *schemas);
/* NULL: there is none of this id in the domain. */
const struct payload_described *payload_schemas_find(const struct payload_schemas *schemas, uint32_t domain,
                                                     uint64_t id);
/* The two texts of a record: the name has NAME_LENGTH bytes of LENGTH. */
void payload_split_text(const char *text, uint32_t length, uint32_t name_length, struct nvtx_text *name,
                        struct nvtx_text *description);

/* --- copies of the program's memory: payload_schemas.c --- */

struct payload_copy {
    const struct spool_nvtx_piece *record;
    uint64_t number; /* of its payload */
    uint64_t order;  /* in which it was read */
};

struct payload_copies {
    FILE_VECTOR(struct payload_copy) items; /* once closed: by number and order */
    uint64_t lost;                          /* that the agent did not copy */
};

int payload_copies_index(struct payload_copies *copies, const struct event *event);
/* After the last, before any is asked for. Returns 0, or -1 after error(). */
int payload_copies_close(struct payload_copies *copies);

/* The first copy of a payload, and the one after; NULL: there is none. */
const struct payload_copy *payload_copies_first(const struct payload_copies *copies, uint64_t number);
const struct payload_copy *payload_copies_next(const struct payload_copies *copies, const struct payload_copy *copy);
/* The bytes that lay at ADDRESS, *SIZE of them; NULL: they were not recorded. */
const uint8_t *payload_copies_at(const struct payload_copies *copies, uint64_t number, uint64_t address,
                                 uint64_t *size);
/* The text of the registered string with this handle, in the same way. */
const uint8_t *payload_copies_string(const struct payload_copies *copies, uint64_t number, uint64_t handle,
                                     uint64_t *size);

/* --- the payloads of one event: payload_view.c --- */

struct payload_view {
    const struct nvtx *nvtx;
    uint64_t number;
    uint32_t domain;
    struct payload_reader reader;
    struct payload_blob blobs[PAYLOAD_BLOBS_MAX];
    unsigned values_left; /* how many more are shown */
};

void payload_view_open(struct payload_view *view, const struct nvtx *nvtx, uint32_t domain, uint64_t number);
/* Whether a payload is shown: not one that others only point into. */
bool payload_view_shows(const struct payload_view *view, const struct payload_blob *blob);
/* How many are shown. */
unsigned payload_view_shown(const struct payload_view *view);
/* The schema of this id in its domain; NULL: there is none. */
const struct payload_described *payload_view_described(const struct payload_view *view, uint64_t id);
/* The name of the first schema that has one. */
struct nvtx_text payload_view_schema(const struct payload_view *view);
/* The bytes of FIELD, *SIZE of them, here or where it points to; NULL: they are not known. Limits its count to them. */
const uint8_t *payload_view_bytes(const struct payload_view *view, const struct payload_cursor *cursor,
                                  struct payload_field *field, uint64_t *size);

/*
 * What payloads say of their event: message, category, colour, begin and end by which clock, scope. Of two that say the
 * same thing the later counts, in the order of payloads and entries.
 */

#define PAYLOAD_MESSAGE_BYTES 1024 /* of a message that is not UTF-8 */

struct payload_time {
    bool known;
    int64_t ticks;
    uint64_t clock; /* 0: not known */
};

struct payload_facts {
    struct nvtx_text message; /* lies in the spool, or in `wide` */
    struct payload_time begin, end, mark;
    uint64_t role; /* PAYLOAD_SCHEMA_PUSHPOP …, 0: not known */
    uint64_t scope;
    unsigned scope_rank; /* of what says the scope */
    uint32_t category, color;
    bool has_category, has_color;
    char wide[PAYLOAD_MESSAGE_BYTES]; /* not initialised */
};

/* What a scope may come from, as NVTX ranks them; 0: from nothing. */
enum {
    PAYLOAD_SCOPE_BY_SEMANTICS = 1,
    PAYLOAD_SCOPE_BY_BATCH = 2,
    PAYLOAD_SCOPE_BY_ENTRY = 3,
    PAYLOAD_SCOPE_BY_ROLE_SEMANTICS = 4,
    PAYLOAD_SCOPE_BY_ROLE_ENTRY = 5,
};

/* Reads all payloads of the view; or, when STRIDE is not 0, event N of those in the first. False: it has no event N. */
bool payload_facts_read(struct payload_facts *facts, struct payload_view *view, uint64_t stride, uint64_t n);

/* --- values: payload_view.c --- */

struct payload_number {
    enum { PAYLOAD_NUMBER_SIGNED, PAYLOAD_NUMBER_UNSIGNED, PAYLOAD_NUMBER_REAL } kind;
    union {
        int64_t i64;
        uint64_t u64;
        double real;
    };
};

/* The number of a TYPE of NVTX's at BYTES, which has as many as the type. False: the type is not a number, or one that
 * 64 bits do not hold. */
bool payload_number(struct payload_number *number, uint64_t type, const uint8_t *bytes);
double payload_number_real(const struct payload_number *number);

/* The numbers of a payload by their names: the values of a counter. */

#define PAYLOAD_SERIES_MAX 32  /* values of one counter group; further ones are not shown */
#define PAYLOAD_SERIES_NAME 96 /* of a path through nested schemas; a longer one is cut */

struct payload_series {
    bool marked_only; /* of a group that marks which of its entries are counters */
    size_t count;
    struct payload_series_value {
        char name[PAYLOAD_SERIES_NAME];
        size_t length;
        const struct spool_nvtx_semantics *semantics; /* of a counter; NULL: none */
        uint64_t type;                                /* of NVTX's */
        struct payload_number number;
    } values[PAYLOAD_SERIES_MAX];
};

/* Reads SIZE bytes of SCHEMA, which may be a type of NVTX's. */
void payload_series_read(struct payload_series *series, const struct nvtx *nvtx, uint32_t domain, uint64_t schema,
                         const uint8_t *bytes, uint64_t size);
void payload_series_add(struct payload_series *series, const char *name, uint64_t type,
                        const struct spool_nvtx_semantics *semantics, struct payload_number number);

/* --- JSON: payload_json.c --- */

/*
 * A struct is an object with a member for each entry, an array an array (of dimensions an array of arrays), a union
 * what was selected of it, a text a text, an enumeration the name of its value or of its bits. A pointer is what it
 * leads to where that was recorded, else its address; NULL is null. What is cut off, or makes no sense, is left out.
 */

/* Writes one value: the one payload that is shown, of several an array; or, when STRIDE is not 0, event N of those in
 * the first. */
void payload_put(struct payload_view *view, struct json_out *json, uint64_t stride, uint64_t n);
void payload_put_number(struct json_out *json, const struct payload_number *number);

#endif
