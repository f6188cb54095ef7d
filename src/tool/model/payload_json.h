/*
 * Payloads of an event as JSON: by their schemas, with names for what has names.
 *
 * A struct is an object with a member for each entry, an array an array (of dimensions an array of arrays), a union
 * what was selected of it, a text a text, an enumeration the name of its value or of its bits. A pointer is what it
 * leads to where that was recorded, else its address; NULL is null. What is cut off, or makes no sense, is left out.
 */
#ifndef GPUTRACE_TOOL_MODEL_PAYLOAD_JSON_H
#define GPUTRACE_TOOL_MODEL_PAYLOAD_JSON_H

#include <stdbool.h>
#include <stdint.h>

#include "tool/model/nvtx.h"
#include "tool/model/nvtx_scopes.h"
#include "tool/model/payload_pieces.h"
#include "tool/model/payload_schemas.h"

struct json_out;

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

/* Writes one value: the one payload that is shown, of several an array; or, when STRIDE is not 0, event N of those in
 * the first. */
void payload_view_put(struct payload_view *view, struct json_out *json, uint64_t stride, uint64_t n);

/* The name of the first schema that has one; NULL: none. */
struct payload_text payload_view_schema(const struct payload_view *view);

/* Writes a value of FIELD, which a walk over the view's BYTES gave; whatever follows it is followed. */
void payload_view_put_field(struct payload_view *view, struct json_out *json, const struct payload_cursor *cursor,
                            struct payload_field *field);

/* What FIELD is: its bytes, *SIZE of them, here or where it points to; NULL: nobody knows. Brings its count within
 * them. */
const uint8_t *payload_view_bytes(const struct payload_view *view, const struct payload_cursor *cursor,
                                  struct payload_field *field, uint64_t *size);

#endif
