/*
 * What was open on a thread when it captured, or created, a node of a CUDA graph: NVTX ranges and operators. A replayed
 * operation shows it as the argument "captured in", a path of names, with the call stack of that thread, if it was
 * recorded, or the program's line that stands for it in the backward pass.
 *
 * The path is computed once for each node, in the resolve pass.
 */
#ifndef GPUTRACE_TRACE_MEANING_GPU_CAPTURES_H
#define GPUTRACE_TRACE_MEANING_GPU_CAPTURES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/meaning/launches/graphs.h"

struct nvtx;

#define CAPTURE_PATH 1024 /* bytes, approximately */
#define CAPTURE_RECENT 16u

struct captures {
    FILE_VECTOR(struct capture {
        uint32_t context; /* index + 1; 0: none */
        uint32_t stack;   /* number within the process; 0: none */
        /* In the backward pass, the program's line that stands for the stack: torch/torch_launches.c. */
        uint32_t line;          /* index + 1 in conversion.stacks.places; 0: unknown */
        enum arg_key line_kind; /* ARG_FORWARD_AT or ARG_BACKWARD_AT */
    })
    of_changes; /* one for each of graph_nodes.changes */
    FILE_VECTOR(struct node_stack {
        uint64_t node;
        uint64_t time;
        uint32_t thread;
        uint32_t stack;
    })
    stacks; /* sorted by node, then by time */
    ARRAY(struct capture_context {
        struct arg arg; /* its text lives as long as the conversion */
        struct arg_list list;
    })
    contexts;
    struct map by_path; /* number of the path in conversion.names -> index + 1 in contexts */
    struct inner_nodes inner;
    struct capture_answer {   /* a cache: the context of THREAD, with OTHER, at times in [from, until) */
        uint64_t from, until; /* until 0: empty */
        uint32_t thread, other, context;
    } recent[CAPTURE_RECENT];
};

/* Computes the contexts of all nodes. Call it after graph_nodes_order() and projections_begin(). Returns 0, or -1 after
 * error(). */
int captures_resolve(struct process *process);

/* After stacks have their lines: finds the lines that stand for nodes captured in the backward pass, by the stacks that
 * launches and nodes of the forward pass have. Returns 0, or -1 after error(). */
int captures_find_lines(struct process *process);

/* Compares a GPU operation with its node, before any captures_find(). Several threads may call it. */
void captures_scan(const struct process *process, const struct event *event);

/* Returns what was open when NODE of a graph launched by the call CORRELATION was captured, or NULL if it is unknown.
 * Several threads may call it. */
const struct capture *captures_find(const struct process *process, uint64_t node, uint32_t correlation);

#define OPEN_NAMES 32u /* the innermost ranges that are named */

/* The ranges that are open in the times [from, until), outermost first. */
struct open_names {
    uint64_t from, until;
    struct open_name {
        uint64_t start;
        struct name name; /* its text lives as long as the spool is open */
    } items[OPEN_NAMES];
    size_t count;
    bool left_out; /* there are more ranges around these */
};

/* Prepares open_ranges_at(), after projections_begin(). Returns 0, or -1 after error(). */
int open_ranges_begin(struct nvtx *nvtx);
/* Adds the ranges of THREAD that are open at TIME to NAMES, and narrows its times. */
void open_ranges_at(const struct process *process, uint32_t thread, uint64_t time, struct open_names *names);
void open_ranges_end(struct nvtx *nvtx);

#endif
