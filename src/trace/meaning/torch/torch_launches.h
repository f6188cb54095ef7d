/*
 * What PyTorch's launches lack: operators for kernels that compiled code launches, and lines of the program for GPU
 * operations that PyTorch's threads launch in the backward pass.
 */
#ifndef GPUTRACE_TRACE_MEANING_TORCH_TORCH_LAUNCHES_H
#define GPUTRACE_TRACE_MEANING_TORCH_TORCH_LAUNCHES_H

#include <stddef.h>
#include <stdint.h>

#include "trace/meaning/torch/operators.h"
#include "trace/meaning/base/process.h"

struct launch;

/* Launches by compiled code in one part of the spool. Starts as zeros. */
struct compiled_found {
    ARRAY(struct compiled_launch) items;
    struct nvtx_places places;
};

/* Adds the kernel EVENT to FOUND if compiled code launched it. Returns 0, or -1 after error(). */
int compiled_scan(struct compiled_found *found, const struct process *process, const struct event *event,
                  const struct launch *launch);
/* Moves what was found to OPERATORS; FOUND becomes empty. Returns 0, or -1 after error(). */
int compiled_join(struct operators *operators, struct compiled_found *found);
/* Sorts the launches, after the last compiled_join(). Returns 0, or -1 after error(). */
int compiled_order(struct operators *operators);
/* Writes an operator around the call EVENT if the call launches a kernel of compiled code. Call it before the call's
 * slice is written. */
void write_compiled_operator(struct piece_writer *out, const struct process *process, const struct event *event,
                             struct row row);

/* Where something was launched, or captured in a graph. */
struct launch_site {
    uint32_t thread, stack; /* stack: number within the process, 0: none */
    uint64_t time;
};

/* Add the lines of all launches, or of one site, to the operators of the forward pass around them, after stacks have
 * their lines; _sort follows the last. Return 0, or -1 after error(). */
int forward_stacks_add_calls(struct process *process, struct nvtx_places *places);
int forward_stacks_add(struct process *process, struct nvtx_places *places, const struct launch_site *site);
int forward_stacks_sort(struct process *process);

/* Returns the line that stands for a site, as index + 1 in conversion.stacks.places, or 0 if there is none. The line is
 * the forward operator's (KIND: ARG_FORWARD_AT), or else the one that called the backward pass (ARG_BACKWARD_AT). */
uint32_t launch_line(const struct process *process, struct nvtx_places *places, const struct launch_site *site,
                     enum arg_key *kind);
/* Adds to a GPU operation, whose launch has call stack NUMBER (0: none), the line of the launch's forward operator; if
 * there is none and the stack has no line, the operator around the launch. */
void add_forward_line(struct piece_writer *out, struct args *args, const struct process *process,
                      const struct event *event, uint32_t number);
/* Without recorded operators: adds the line that called the backward pass to a GPU operation that a thread of the
 * backward pass launched, if the process has only one such line. */
void add_backward_line(struct args *args, const struct process *process, const struct event *event, uint32_t number);

#endif
