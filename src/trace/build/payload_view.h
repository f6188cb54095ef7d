/*
 * The payloads of one event, put together from their pieces and ready to be walked over.
 */
#ifndef GPUTRACE_TRACE_BUILD_PAYLOAD_VIEW_H
#define GPUTRACE_TRACE_BUILD_PAYLOAD_VIEW_H

#include <stdbool.h>
#include <stdint.h>

#include "trace/build/nvtx.h"
#include "trace/build/payload_schemas.h"

/* What payloads are read with: of one process, by those who hold it all. */
struct payload_sources {
    const struct payload_schemas *schemas;
    const struct payload_copies *pieces;
    const struct nvtx_scopes *scopes;
    const struct nvtx *nvtx;
};

/* The payloads of one number, opened. */
struct payload_view {
    const struct payload_sources *sources;
    uint64_t number;
    uint32_t domain;
    struct payload_reader reader;
    struct payload_blob blobs[PAYLOAD_BLOBS_MAX];
    unsigned values_left; /* how many more are shown */
};

void payload_view_open(struct payload_view *view, const struct payload_sources *sources, uint32_t domain,
                       uint64_t number);

/* How many of its payloads are to be shown: not those that others only point into. */
unsigned payload_view_shown(const struct payload_view *view);

/* Whether one of them is. */
bool payload_view_shows(const struct payload_view *view, const struct payload_blob *blob);

/* The schema of this id in its domain; NULL: there is none. */
const struct payload_described *payload_view_described(const struct payload_view *view, uint64_t id);

/* The name of the first schema that has one; NULL: none. */
struct payload_text payload_view_schema(const struct payload_view *view);

/* What FIELD is: its bytes, *SIZE of them, here or where it points to; NULL: nobody knows. Brings its count within
 * them. */
const uint8_t *payload_view_bytes(const struct payload_view *view, const struct payload_cursor *cursor,
                                  struct payload_field *field, uint64_t *size);

/*
 * What payloads say of the event that they are of: its message, category and colour, when it began and ended by which
 * clock, where it comes from. What is said later counts more, in the order of payloads and entries.
 */

#define PAYLOAD_MESSAGE_BYTES 1024 /* of a message that is not UTF-8 */

struct payload_moment {
    bool told;
    int64_t ticks;
    uint64_t clock; /* 0: not told */
};

struct payload_facts {
    struct payload_text message; /* lies in the spool, or in `wide` */
    struct payload_moment begin, end, mark;
    uint64_t role; /* PAYLOAD_SCHEMA_PUSHPOP …, 0: not told */
    uint64_t scope;
    unsigned scope_rank; /* how much what told the scope counts; 0: nothing did */
    uint32_t category, color;
    bool has_category, has_color;
    char wide[PAYLOAD_MESSAGE_BYTES]; /* not initialised */
};

/* Ranks of what tells a scope, as NVTX orders them. */
enum {
    PAYLOAD_SCOPE_BY_SEMANTICS = 1,
    PAYLOAD_SCOPE_BY_BATCH = 2,
    PAYLOAD_SCOPE_BY_ENTRY = 3,
    PAYLOAD_SCOPE_BY_ROLE_SEMANTICS = 4,
    PAYLOAD_SCOPE_BY_ROLE_ENTRY = 5,
};

/* Reads all payloads of the view; or, when STRIDE is not 0, event N of those in the first. False: it has no event N. */
bool payload_facts_read(struct payload_facts *facts, struct payload_view *view, uint64_t stride, uint64_t n);

#endif
