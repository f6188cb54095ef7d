/*
 * The payloads of one NVTX event: named numbers in them, and what they say about the event: message, category, colour,
 * begin and end with their clocks, scope. If two entries say different things, the later one counts, in the order of
 * payloads and entries.
 */
#ifndef GPUTRACE_TRACE_MEANING_NVTX_PAYLOAD_VIEW_H
#define GPUTRACE_TRACE_MEANING_NVTX_PAYLOAD_VIEW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/meaning/nvtx/payload_schemas.h"

struct payload_view {
    const struct nvtx *nvtx;
    uint64_t number;
    uint32_t domain;
    struct payload_reader reader;
    struct payload_blob blobs[PAYLOAD_BLOBS_MAX];
    unsigned values_left; /* how many more values payload_put() may write */
};

void payload_view_open(struct payload_view *view, const struct nvtx *nvtx, uint32_t domain, uint64_t number);
/* Whether a payload is shown: not if other payloads merely point into it. */
bool payload_view_shows(const struct payload_view *view, const struct payload_blob *blob);
/* Returns how many payloads are shown. */
unsigned payload_view_shown(const struct payload_view *view);
/* Returns the schema of this id in the view's domain, or NULL. */
const struct payload_described *payload_view_described(const struct payload_view *view, uint64_t id);
/* Returns the name of the first payload's schema that has one. */
struct nvtx_text payload_view_schema(const struct payload_view *view);
/* Returns the bytes of FIELD, in the payload or where it points to, and their number in *SIZE, to which the count of a
 * field with a pointer is limited. Returns NULL if they were not recorded. */
const uint8_t *payload_view_bytes(const struct payload_view *view, const struct payload_cursor *cursor,
                                  struct payload_field *field, uint64_t *size);

#define PAYLOAD_MESSAGE_BYTES 1024 /* UTF-8 of a message in wide characters; longer ones are cut */

struct payload_time {
    bool known;
    int64_t ticks;
    uint64_t clock; /* 0: not said */
};

struct payload_facts {
    struct nvtx_text message; /* in the spool, or in `wide` */
    struct payload_time begin, end, mark;
    uint64_t role; /* PAYLOAD_SCHEMA_PUSHPOP or another role; 0: not said */
    uint64_t scope;
    unsigned scope_rank; /* of the source of `scope`, as below */
    uint32_t category, color;
    bool has_category, has_color;
    char wide[PAYLOAD_MESSAGE_BYTES]; /* not initialised */
};

/* The sources of a scope in NVTX's order of precedence, higher ones winning; 0: no source. */
enum {
    PAYLOAD_SCOPE_BY_SEMANTICS = 1,
    PAYLOAD_SCOPE_BY_BATCH = 2,
    PAYLOAD_SCOPE_BY_ENTRY = 3,
    PAYLOAD_SCOPE_BY_ROLE_SEMANTICS = 4,
    PAYLOAD_SCOPE_BY_ROLE_ENTRY = 5,
};

/* Reads all payloads of the view, or, if STRIDE is not 0, event N of the events in the first payload. Returns false if
 * there is no event N. */
bool payload_facts_read(struct payload_facts *facts, struct payload_view *view, uint64_t stride, uint64_t n);

struct payload_number {
    enum { PAYLOAD_NUMBER_SIGNED, PAYLOAD_NUMBER_UNSIGNED, PAYLOAD_NUMBER_REAL } kind;
    union {
        int64_t i64;
        uint64_t u64;
        double real;
    };
};

/* Sets NUMBER to the value at BYTES, which has NVTX's TYPE. Returns false if TYPE is not numeric or exceeds 64 bits. */
bool payload_number(struct payload_number *number, uint64_t type, const uint8_t *bytes);
double payload_number_real(const struct payload_number *number);

/* The numbers of a payload with their names: the values of a counter. */
#define PAYLOAD_SERIES_NAME 96 /* bytes of a path through nested schemas, NUL included; a longer path is cut */

struct payload_series {
    bool marked_only; /* the schema being read marks which of its entries are counters */
    size_t count;
    struct payload_series_value {
        char name[PAYLOAD_SERIES_NAME];
        size_t length;
        const struct spool_nvtx_semantics *semantics; /* of the counter; NULL: none */
        uint64_t type;                                /* NVTX's */
        struct payload_number number;
    } values[PAYLOAD_SERIES_MAX];
};

/* Reads a value of SIZE bytes. SCHEMA is the id of a schema or a type of NVTX's. */
void payload_series_read(struct payload_series *series, const struct nvtx *nvtx, uint32_t domain, uint64_t schema,
                         const uint8_t *bytes, uint64_t size);
void payload_series_add(struct payload_series *series, const char *name, uint64_t type,
                        const struct spool_nvtx_semantics *semantics, struct payload_number number);

#endif
