/* Operators of kernels that compiled code launches. */
#ifndef GPUTRACE_TRACE_MEANING_TORCH_COMPILED_LAUNCHES_H
#define GPUTRACE_TRACE_MEANING_TORCH_COMPILED_LAUNCHES_H

#include <stddef.h>
#include <stdint.h>

#include "common/array.h"
#include "trace/meaning/base/nvtx_places.h"
#include "trace/meaning/torch/operators.h"
#include "trace/tracks.h"

struct event;
struct launch;
struct piece_writer;
struct process;

/* Those of one part of the spool. Starts as zeros. */
struct compiled_found {
    ARRAY(struct compiled_launch) items;
    struct nvtx_places places;
};

/* Looks whether a kernel is one that compiled code launched. Returns 0, or -1 after error(). */
int compiled_look(struct compiled_found *found, const struct process *process, const struct event *event,
                  const struct launch *launch);
/* Adds what was found, and makes FOUND empty. Returns 0, or -1 after error(). */
int compiled_take(struct operators *operators, struct compiled_found *found);
void compiled_found_release(struct compiled_found *found);
/* After the last. Returns 0, or -1 after error(). */
int compiled_order(struct operators *operators);
/* Before a call: the operator that it is, where it launches a kernel of compiled code. */
void write_compiled_operator(struct piece_writer *out, const struct process *process, const struct event *event,
                             struct row row);

#endif
