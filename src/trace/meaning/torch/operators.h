/*
 * PyTorch's operators of one process, and the program's record_function() ranges.
 *
 * Both are ranges of struct nvtx, in two domains of their own: an operator becomes a slice of category cpu_op, a
 * record_function() range a user_annotation, which is shown on the GPU's streams too. An operator may end on another
 * thread than it began on; then it lies on the thread of its start.
 *
 * The id of an operator ("External id") is that of its range; calls and GPU operations have the id of the innermost
 * operator around the call. An operator of the backward pass has a flow from the operator of the forward pass that made
 * it: the one that began last, among those with its sequence number, on the thread that it names, that ended before it.
 * If several operators of the backward pass lead back to one, the first of them to end has the flow.
 */
#ifndef GPUTRACE_TRACE_MEANING_TORCH_OPERATORS_H
#define GPUTRACE_TRACE_MEANING_TORCH_OPERATORS_H

#include <stdbool.h>
#include <stdint.h>

#include "trace/meaning/base/process.h"

struct operators {
    struct map text_of; /* number -> index + 1 in texts */
    ARRAY(struct operator_text {
        const char *text; /* in the spool */
        uint32_t length;
    })
    texts;
    struct map thread_numbers; /* thread -> PyTorch's number for it */
    FILE_VECTOR(struct operator_end {
        uint32_t self;
        uint32_t thread;
        uint64_t time;
    })
    ends; /* of operators that did not begin on the thread where they ended */
    FILE_VECTOR(struct operator_link {
        uint32_t range; /* index of the range */
        uint32_t flow;  /* number within the process, from 0 */
        bool ends;      /* the flow ends at the range; if not, it begins there */
    })
    links; /* sorted by range */
    FILE_VECTOR(struct compiled_launch {
        uint32_t correlation;
        uint32_t name; /* of the kernel, in conversion.names */
    })
    compiled;                      /* sorted by correlation, after compiled_order() */
    FILE_VECTOR(uint32_t) forward; /* by flow: the range that it begins at */
    FILE_VECTOR(struct forward_stack {
        uint32_t range; /* index: an operator where a flow begins */
        uint32_t stack; /* of a launch in the operator */
        uint32_t owner; /* enum frame_owner of the line that the stack is known by */
    })
    forward_stacks; /* sorted by range, after forward_stacks_sort() */
    bool any;
    uint64_t ids_before; /* how many ids earlier processes use */
    uint32_t flows, flows_before;
};

/* Ends operators that ended on other threads, after all records are indexed. Returns 0, or -1 after error(). */
int operators_match_ends(struct process *process);
/* Finds the flows, after all ranges have ended. Returns 0, or -1 after error(). */
int operators_link(struct process *process);
/* Sets the first ids of each process, so that they are distinct in the trace. Call it before writing. */
void operators_number(struct conversion *conversion);

/* Sets the arguments of the operator or annotation that is range number RANGE, and returns its name. SHOWN: adds inputs
 * and whether it was open at the end; a range on a stream does not show these. */
struct name describe_operator(struct args *args, const struct process *process, uint32_t range, bool shown);
/* Writes the begin or end of the flow at range number RANGE, if there is one, after the range's slice on ROW. */
void write_operator_flow(struct piece_writer *out, const struct process *process, uint32_t range, struct row row);
/* Returns index + 1 in `compiled` of the launch by this call, or 0 if compiled code did not launch it. */
size_t compiled_find(const struct operators *operators, uint32_t correlation);
/* Adds the id of the operator in which THREAD began the call with this correlation id at TIME, if there is one. */
void add_operator_around(struct piece_writer *out, struct args *args, const struct process *process,
                         uint32_t correlation, uint32_t thread, uint64_t time);

/* Returns the name of an operator or annotation. */
struct operator_text operator_name(const struct process *process, uint32_t range);

#endif
