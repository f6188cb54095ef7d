/*
 * What launches of PyTorch's lack: operators of kernels that compiled code launches, and lines of GPU operations that
 * PyTorch's threads launch for the backward pass.
 */
#ifndef GPUTRACE_TRACE_MEANING_TORCH_TORCH_LAUNCHES_H
#define GPUTRACE_TRACE_MEANING_TORCH_TORCH_LAUNCHES_H

#include <stddef.h>
#include <stdint.h>

#include "trace/meaning/torch/operators.h"
#include "trace/meaning/base/process.h"

struct launch;

/* Those of one part of the spool. Starts as zeros. */
struct compiled_found {
    ARRAY(struct compiled_launch) items;
    struct nvtx_places places;
};

/* Looks whether a kernel is one that compiled code launched. Returns 0, or -1 after error(). */
int compiled_scan(struct compiled_found *found, const struct process *process, const struct event *event,
                  const struct launch *launch);
/* Adds what was found, and makes FOUND empty. Returns 0, or -1 after error(). */
int compiled_join(struct operators *operators, struct compiled_found *found);
void compiled_found_release(struct compiled_found *found);
/* After the last. Returns 0, or -1 after error(). */
int compiled_order(struct operators *operators);
/* Before a call: the operator that it is, where it launches a kernel of compiled code. */
void write_compiled_operator(struct piece_writer *out, const struct process *process, const struct event *event,
                             struct row row);

/* Something was launched, or captured in a graph. */
struct launch_site {
    uint32_t thread, stack; /* stack 0: it has none */
    uint64_t time;
};

/* Once stacks have their lines: adds those of all launches, or of one site, to the lines of operators of the forward
 * pass; and after the last. Return 0, or -1 after error(). */
int forward_stacks_add_calls(struct process *process, struct nvtx_places *places);
int forward_stacks_add(struct process *process, struct nvtx_places *places, const struct launch_site *site);
int forward_stacks_sort(struct process *process);

/* The line that stands for a site: that of its forward operator, else the one that called the backward pass, by KIND
 * (ARG_FORWARD_AT, ARG_BACKWARD_AT): index + 1 in conversion.stacks.places; 0: none is known. */
uint32_t launch_line(const struct process *process, struct nvtx_places *places, const struct launch_site *site,
                     enum arg_key *kind);
/* Of a GPU operation that a call of THREAD, which began at TIME, launched, with the call stack NUMBER (0: none): adds
 * the line of its forward operator; else, where the stack has no line, the operator around the launch. */
void add_forward_line(struct piece_writer *out, struct args *args, const struct process *process,
                      const struct event *event, uint32_t number);
/* Where no operators were recorded: adds the line that called the backward pass, if there is but one in the process, of
 * a GPU operation that a thread of the backward pass launched. */
void add_backward_line(struct args *args, const struct process *process, const struct event *event, uint32_t number);

#endif
