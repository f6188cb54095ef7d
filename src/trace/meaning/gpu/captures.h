/*
 * What was open on a thread when it captured, or made, a node of a CUDA graph: NVTX ranges and operators. A replayed
 * operation shows it as the argument "captured in", a path of names; and the call stack of that thread, where it was
 * recorded, or the line of the program that stands for it in the backward pass.
 *
 * The path is found once for each node, in the resolve pass.
 */
#ifndef GPUTRACE_TRACE_MEANING_GPU_CAPTURES_H
#define GPUTRACE_TRACE_MEANING_GPU_CAPTURES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/meaning/launches/graphs.h"

struct nvtx;

#define CAPTURE_PATH 1024 /* bytes, about */
#define CAPTURE_RECENT 16u

struct captures {
    FILE_VECTOR(struct capture {
        uint32_t context; /* index + 1; 0: none */
        uint32_t stack;   /* number within the process; 0: none */
        /* In the backward pass, the line of the program that stands for it: torch/torch_launches.c. */
        uint32_t line;          /* index + 1 in conversion.stacks.places; 0: none is known */
        enum arg_key line_kind; /* ARG_FORWARD_AT or ARG_BACKWARD_AT */
    })
    of_changes; /* of each of graph_nodes.changes */
    FILE_VECTOR(struct node_stack {
        uint64_t node;
        uint64_t time;
        uint32_t thread;
        uint32_t stack;
    })
    stacks; /* by node, then by time */
    ARRAY(struct capture_context {
        struct arg arg; /* its text lives as long as the conversion */
        struct arg_list list;
    })
    contexts;
    struct map by_path; /* number of its name -> index + 1 */
    struct inner_nodes inner;
    struct capture_answer {
        uint64_t from, until; /* the context is the same meanwhile */
        uint32_t thread, other, context;
    } recent[CAPTURE_RECENT];
};

/* Finds the contexts of all nodes. After graph_nodes_order() and projections_begin(). Returns 0, or -1 after error().
 */
int captures_resolve(struct process *process);

/* Once stacks have their lines: finds those of the operators of the forward pass, by launches and nodes, and the line
 * that stands for each node. Returns 0, or -1 after error(). */
int captures_find_lines(struct process *process);

/* Looks at a GPU operation, before captures_find() is asked about any. Any number of threads may. */
void captures_scan(const struct process *process, const struct event *event);

/* What is known of what NODE does in a graph that is launched by the call CORRELATION. NULL: nothing. Any number of
 * threads may ask. */
const struct capture *captures_find(const struct process *process, uint64_t node, uint32_t correlation);

#define OPEN_NAMES 32u /* the innermost */

/* What is open, outermost first, and for how long that is so. */
struct open_names {
    uint64_t from, until;
    struct open_name {
        uint64_t start;
        struct name name; /* its text lives as long as the spool is open */
    } items[OPEN_NAMES];
    size_t count;
    bool left_out; /* there are more around them */
};

/* Before the first time is asked for, once projections_begin() was called. Returns 0, or -1 after error(). */
int open_ranges_begin(struct nvtx *nvtx);
/* Adds the ranges of THREAD that are open at TIME. */
void open_ranges_at(const struct process *process, uint32_t thread, uint64_t time, struct open_names *names);
void open_ranges_end(struct nvtx *nvtx);

#endif
