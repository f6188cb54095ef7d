/* Names and arguments of NVTX's events, and payloads as JSON, for the write pass. */
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

/* Adds the domain's name. Returns false if it has none. */
bool describe_nvtx_domain(struct args *args, const struct nvtx *nvtx, uint32_t domain);
/* Adds the category's name; if it has none and IS_SET, its number. */
void describe_nvtx_category(struct args *args, const struct nvtx *nvtx, uint32_t domain, uint32_t category,
                            bool is_set);
/* Adds the payloads that PAYLOAD identifies (number, domain, stride and index) as KEY, and the name of their schema. */
void describe_nvtx_payload(struct args *args, const struct nvtx *nvtx, enum arg_key key,
                           const struct arg_json *payload);
struct name nvtx_message_name(struct nvtx_text message);
/* Adds the attributes of an EVENT_NVTX. */
void describe_nvtx_event(struct args *args, const struct nvtx *nvtx, const struct event *event);
/* Sets the arguments of a range and returns its name. Attributes of its pop or end replace those of its push or start.
 * SHOWN: adds the payloads of the pop or end, and whether the range was open at the end. */
struct name describe_nvtx_range(struct args *args, const struct nvtx *nvtx, const struct nvtx_range *range, bool shown);
struct name nvtx_range_name(const struct nvtx *nvtx, const struct nvtx_range *range);

/* Returns the thread's first row, for events that are not slices. */
struct row nvtx_thread_row(struct process *process, uint32_t thread);

/* Writes one value: the payload that is shown, or an array if there are several. If STRIDE is not 0, writes event N of
 * the events in the first payload. */
void payload_put(struct payload_view *view, struct json_out *json, uint64_t stride, uint64_t n);
void payload_put_number(struct json_out *json, const struct payload_number *number);

#endif
