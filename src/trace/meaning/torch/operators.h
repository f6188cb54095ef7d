/*
 * PyTorch's operators of one process, and the program's record_function() ranges.
 *
 * Both are ranges of struct nvtx, of two domains of their own: an operator becomes a slice of category cpu_op, a range
 * a user_annotation, which is shown on the GPU's streams too. An operator may end on another thread than it began on;
 * then it lies on the thread of its start.
 *
 * The id of an operator ("External id") is that of its range; calls and GPU operations have that of the innermost
 * operator around the call. An operator of the backward pass has a flow from the one of the forward pass that made it:
 * of those with its sequence number on the thread that it names, the last to begin of those that ended before it did.
 * Of several that it leads to the first to end has the flow.
 */
#ifndef GPUTRACE_TRACE_MEANING_TORCH_OPERATORS_H
#define GPUTRACE_TRACE_MEANING_TORCH_OPERATORS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/array.h"
#include "common/file_vector.h"
#include "common/map.h"
#include "trace/event.h"
#include "trace/meaning/base/nvtx_places.h"

struct conversion;
struct event;
struct launch;
struct piece_writer;
struct process;

struct operators {
    struct map text_of; /* number -> index + 1 in texts */
    ARRAY(struct operator_text {
        const char *text; /* in the spool */
        uint32_t length;
    })
    texts;
    struct map thread_numbers; /* thread -> PyTorch's number of it */
    FILE_VECTOR(struct operator_end {
        uint32_t self;
        uint32_t thread;
        uint64_t time;
    })
    ends; /* of operators that did not begin on that thread */
    FILE_VECTOR(struct operator_link {
        uint32_t range; /* index of the range */
        uint32_t flow;  /* number within the process, from 0 */
        bool ends;      /* else it begins there */
    })
    links; /* by range */
    FILE_VECTOR(struct compiled_launch {
        uint32_t correlation;
        uint32_t name; /* of the kernel */
    })
    compiled;                      /* by correlation, once all are known */
    FILE_VECTOR(uint32_t) forward; /* by flow: the range that it leads from */
    FILE_VECTOR(struct forward_stack {
        uint32_t range; /* index: an operator that a flow leads from */
        uint32_t stack; /* of a launch in it … */
        uint32_t owner; /* … and whose code its line is: enum frame_owner */
    })
    forward_stacks; /* by range */
    bool any;
    uint64_t ids_before; /* of operators of other processes */
    uint32_t flows, flows_before;
};

/* Once all records are indexed: ends operators that ended on other threads. Returns 0, or -1 after error(). */
int operators_match_ends(struct process *process);
/* Once all ranges have ended: finds the flows. Returns 0, or -1 after error(). */
int operators_link(struct process *process);
/* Before the first is written: numbers of several processes do not mix. */
void operators_number(struct conversion *conversion);

/* Arguments and name of the operator or annotation that is range number RANGE; on a stream (not SHOWN) without what
 * only its thread shows. */
struct name describe_operator(struct args *args, const struct process *process, uint32_t range, bool shown);
/* After its slice: the end of a flow that lies on it, if there is one. */
void write_operator_flow(struct piece_writer *out, const struct process *process, uint32_t range, struct row row);
/* Adds the id of the operator in which a call of THREAD, with this id, began at TIME, if there was one. */
void add_operator_around(struct piece_writer *out, struct args *args, const struct process *process,
                         uint32_t correlation, uint32_t thread, uint64_t time);

/* --- lines of GPU operations without one: forward_stacks.c --- */

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

/* --- launches in compiled code: compiled_launches.c --- */

/* The name of an operator or annotation. */
struct operator_text operator_name(const struct process *process, uint32_t range);

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
/* The index + 1 of the launch by the call of this id. 0: it is not one of compiled code. */
size_t compiled_find(const struct operators *operators, uint32_t correlation);
/* Before a call: the operator that it is, where it launches a kernel of compiled code. */
void write_compiled_operator(struct piece_writer *out, const struct process *process, const struct event *event,
                             struct row row);

#endif
