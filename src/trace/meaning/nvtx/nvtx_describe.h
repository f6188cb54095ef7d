/* Names and arguments of NVTX's events, as they are written, and payloads as JSON. */
#ifndef GPUTRACE_TRACE_MEANING_NVTX_NVTX_DESCRIBE_H
#define GPUTRACE_TRACE_MEANING_NVTX_NVTX_DESCRIBE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/meaning/nvtx/payload_schemas.h"

struct json_out;
struct nvtx;
struct nvtx_range;
struct payload_number;
struct payload_view;
struct process;

/* The domain's name. False: it has none. */
bool describe_nvtx_domain(struct args *args, const struct nvtx *nvtx, uint32_t domain);
/* The category's name; where it has none, its number if it IS_SET. */
void describe_nvtx_category(struct args *args, const struct nvtx *nvtx, uint32_t domain, uint32_t category,
                            bool is_set);
/* The payloads that PAYLOAD names (number, domain, stride and index) under KEY, and the name of their schema. */
void describe_nvtx_payload(struct args *args, const struct nvtx *nvtx, enum arg_key key,
                           const struct arg_json *payload);
struct name nvtx_message_name(struct nvtx_text message);
/* Adds what an EVENT_NVTX says. */
void describe_nvtx_event(struct args *args, const struct nvtx *nvtx, const struct event *event);
/* Arguments and name of a range. What the payloads of a pop or end say replaces what its push or start says; they are
 * an argument of their own where they are SHOWN. */
struct name describe_nvtx_range(struct args *args, const struct nvtx *nvtx, const struct nvtx_range *range, bool shown);
struct name nvtx_range_name(const struct nvtx *nvtx, const struct nvtx_range *range);

/* The row of a thread for what is not a slice. */
struct row nvtx_thread_row(struct process *process, uint32_t thread);

/* Writes one value: the one payload that is shown, of several an array; or, when STRIDE is not 0, event N of those in
 * the first. */
void payload_put(struct payload_view *view, struct json_out *json, uint64_t stride, uint64_t n);
void payload_put_number(struct json_out *json, const struct payload_number *number);

#endif
