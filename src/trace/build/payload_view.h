/*
 * The payloads of one event, put together from their pieces and ready to be walked over.
 */
#ifndef GPUTRACE_TRACE_BUILD_PAYLOAD_VIEW_H
#define GPUTRACE_TRACE_BUILD_PAYLOAD_VIEW_H

#include <stdbool.h>
#include <stdint.h>

#include "trace/build/nvtx.h"
#include "trace/build/nvtx_scopes.h"
#include "trace/build/payload_pieces.h"
#include "trace/build/payload_schemas.h"

/* What payloads are read with: of one process, by those who hold it all. */
struct payload_sources {
    const struct payload_schemas *schemas;
    const struct payload_pieces *pieces;
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

#endif
