/* NVTX in the trace: ranges, marks, payloads, synchronisation objects, named resources. */
#ifndef GPUTRACE_TRACE_BUILD_NVTX_WRITE_H
#define GPUTRACE_TRACE_BUILD_NVTX_WRITE_H

#include <stddef.h>

#include "trace/build/payload_view.h"
#include "trace/event.h"

struct nvtx_range;
struct projection;
struct conversion;
struct piece_writer;
struct event;
struct json_out;
struct process;

int write_nvtx_mark(struct piece_writer *out, struct process *process, const struct event *event);
/* Those of the numbers FIRST to END, without END itself; on the GPU, ranges of NVTX's and device ranges. */
int write_nvtx_ranges(struct piece_writer *out, struct process *process, size_t first, size_t end);
int write_nvtx_started(struct piece_writer *out, struct process *process, size_t first, size_t end);
/* One of NVTX's on the GPU. */
void write_projection(struct piece_writer *out, struct process *process, const struct projection *projection);
/* All there are, by one thread at a time. */
int write_nvtx_syncs(struct piece_writer *out, struct process *process);
/* metadata_nvtx.c: its key and array, within an object, when there are any. */
void write_nvtx_resources(const struct conversion *conversion, struct json_out *json);
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

void describe_range_end(struct args *args, const struct process *process, const struct nvtx_range *range);

#endif
