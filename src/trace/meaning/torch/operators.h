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

#include "trace/meaning/base/process.h"

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
/* The index + 1 of the launch by the call of this id. 0: it is not one of compiled code. */
size_t compiled_find(const struct operators *operators, uint32_t correlation);
/* Adds the id of the operator in which a call of THREAD, with this id, began at TIME, if there was one. */
void add_operator_around(struct piece_writer *out, struct args *args, const struct process *process,
                         uint32_t correlation, uint32_t thread, uint64_t time);

/* The name of an operator or annotation. */
struct operator_text operator_name(const struct process *process, uint32_t range);

#endif
