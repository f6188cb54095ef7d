/*
 * Payloads of an event as JSON: by their schemas, with names for what has names.
 *
 * A struct is an object with a member for each entry, an array an array (of dimensions an array of arrays), a union
 * what was selected of it, a text a text, an enumeration the name of its value or of its bits. A pointer is what it
 * leads to where that was recorded, else its address; NULL is null. What is cut off, or makes no sense, is left out.
 */
#ifndef GPUTRACE_TRACE_BUILD_PAYLOAD_JSON_H
#define GPUTRACE_TRACE_BUILD_PAYLOAD_JSON_H

#include "trace/build/payload_view.h"

struct json_out;

/* Writes one value: the one payload that is shown, of several an array; or, when STRIDE is not 0, event N of those in
 * the first. */
void payload_view_put(struct payload_view *view, struct json_out *json, uint64_t stride, uint64_t n);

/* Writes a value of FIELD, which a walk over the view's BYTES gave; whatever follows it is followed. */
void payload_view_put_field(struct payload_view *view, struct json_out *json, const struct payload_cursor *cursor,
                            struct payload_field *field);

#endif
