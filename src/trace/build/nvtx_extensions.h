/*
 * NVTX's extensions on their way into the trace: what conversion.h's walks call, and what they share.
 */
#ifndef GPUTRACE_TRACE_BUILD_NVTX_EXTENSIONS_H
#define GPUTRACE_TRACE_BUILD_NVTX_EXTENSIONS_H

#include "trace/build/payload_view.h"
#include "trace/event.h"

struct conversion;
struct event;
struct json_out;
struct process;

/* survey: an EVENT_NVTX_EXTENSION, and after the last. Give 0, or -1 after error(). */
int see_nvtx_extension(struct process *process, const struct event *event);
int close_nvtx_extensions(struct process *process);

/* match: times and rows of deferred events, times of samples. Give 0, or -1 after error(). */
int match_deferred(struct process *process);
int match_counters(struct process *process);

/* The name of a deferred row; to be freed, NULL after error(). */
char *deferred_row_name(const struct process *process, uint32_t number);

/* Within an object: "nvtx_counters" is an array of what is known of each counter. */
void put_nvtx_counters(const struct conversion *conversion, struct json_out *json);

/* emit_payload.c */

struct payload_sources process_payload_sources(const struct process *process);

/* Adds the payloads that PAYLOAD names (its number, domain, stride and index) under KEY, and the name of their schema.
 */
void add_payload_args(struct args *args, const struct process *process, enum arg_key key,
                      const struct arg_json *payload);

/* The payloads of an EVENT_NVTX, if it has any. */
void describe_payload(struct args *args, const struct process *process, const struct event *event);

/* What a pop or end told beyond that: EVENT takes its message, colour and category; its payloads are arguments. */
void merge_range_end(struct event *event, const struct nvtx_range *range);
void describe_range_end(struct args *args, const struct process *process, const struct nvtx_range *range);

#endif
