/*
 * The payloads of one NVTX event: numbers in them, by their names too, and what they say of the event: message,
 * category, colour, begin and end by which clock, scope. Of two that say the same thing the later counts, in the order
 * of payloads and entries.
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

#endif
