/*
 * Payloads as JSON. A struct is an object with a member for each entry, an array an array (of dimensions an array of
 * arrays), a union what was selected of it, a text a text, an enumeration the name of its value or of its bits. A
 * pointer is what it leads to where that was recorded, else its address; NULL is null. What is cut off, or makes no
 * sense, is left out.
 */
#ifndef GPUTRACE_TRACE_MEANING_NVTX_PAYLOAD_JSON_H
#define GPUTRACE_TRACE_MEANING_NVTX_PAYLOAD_JSON_H

#include <stdint.h>

struct json_out;
struct payload_number;
struct payload_view;

/* Writes one value: the one payload that is shown, of several an array; or, when STRIDE is not 0, event N of those in
 * the first. */
void payload_put(struct payload_view *view, struct json_out *json, uint64_t stride, uint64_t n);
void payload_put_number(struct json_out *json, const struct payload_number *number);

#endif
