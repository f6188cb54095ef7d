/*
 * GPU time by the stack that launched it. Each GPU has a tree from the outermost range, operator or Python function
 * on the launching thread to the innermost, then the API call, then the kernel or copy. Operations whose whole
 * stacks have the same names share a node, so the tree is small for any number of events. Below the launch of a
 * graph are the ranges in which its nodes were captured (with call stacks, also the frames that captured them),
 * then the node.
 *
 * Operations that a thread of PyTorch's autograd launched are below the range that autograd_attribute()
 * (autograd.h) finds for them, and there below the operators of the autograd thread.
 *
 *     trace->wanted.ranges = …launched_ops = …host_frames = …gpu_ops = …calls = true;
 *     all events, trace_finish()
 *     gpu_stacks_gather(&stacks, trace);
 *     for (i = stacks.first; i; i = stacks.nodes.items[i - 1].next) …;
 *     gpu_stacks_release()
 */
#ifndef GPUTRACE_ANALYSIS_STACKS_STACKS_H
#define GPUTRACE_ANALYSIS_STACKS_STACKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/map.h"

struct buffer;
struct trace;

enum stack_kind {
    STACK_GPU, /* the outermost node: a device and a process that uses it */
    STACK_RANGE,
    STACK_OPERATOR,
    STACK_PYTHON,
    STACK_FRAME, /* of a call stack of the host */
    STACK_CALL,
    STACK_KERNEL, /* or a whole graph */
    STACK_COPY,   /* or a set */
    STACK_OTHERS, /* replaces all nodes below its parent that would exceed STACKS_NODES */
};

#define STACKS_NODES ((size_t)1 << 16) /* a full tree grows by at most one STACK_OTHERS per node */
/* Stacks deeper than this are cut: the innermost entries count for the entry at this depth, or the outermost are left
 * out. */
#define STACKS_DEPTH 200

struct gpu_stack_node {
    uint32_t parent;      /* index + 1; 0: none */
    uint32_t inner, next; /* index + 1 of the first node below it, and of the next node of its parent; 0: none */
    uint32_t name;        /* of trace.strings, EVENT_NO_TEXT: none; of STACK_GPU: index in trace.devices */
    uint32_t process;     /* of STACK_GPU: index in trace.processes, or STACK_NO_PROCESS */
    uint16_t depth;       /* 0: outermost */
    uint8_t kind;         /* enum stack_kind */
    int64_t ns;           /* sum over its own GPU operations, without those of nodes below it */
    uint64_t count;       /* the number of its own GPU operations */
};

#define STACK_NO_PROCESS UINT32_MAX /* the process is not known, and there are several */

/* All zero is empty. */
struct gpu_stacks {
    ARRAY(struct gpu_stack_node) nodes; /* a parent comes before the nodes below it */
    struct map by_place;                /* parent, kind and name -> index + 1 */
    uint32_t first;                     /* index + 1 of the first GPU */
    size_t most;                        /* the most nodes that the tree may have; 0: STACKS_NODES */
    /* Operations are placed below the frames of their call stacks instead of below ranges. An operation without a call
     * stack uses that of the last operation with its name and thread; if there is none, it is below ranges. Set this
     * before gpu_stacks_gather(), and trace->wanted.stacks before the trace is read. */
    bool by_frames;
};

void gpu_stacks_release(struct gpu_stacks *stacks);

/* Adds all GPU operations of the trace, after trace_finish(). Other threads may read the trace at the same time.
 * Returns 0, or -1: no memory, or after error(). */
int gpu_stacks_gather(struct gpu_stacks *stacks, const struct trace *trace);

/* Returns the index + 1 of the node of this kind and name below PARENT (index + 1; 0: outermost), which is added if it
 * is new. Returns 0 without memory. Callers other than gpu_stacks_gather() call gpu_stacks_link() after the last
 * node. */
uint32_t gpu_stacks_node(struct gpu_stacks *stacks, uint32_t parent, enum stack_kind kind, uint32_t name,
                         uint32_t process);

/* Sets `first`, and `inner` and `next` of all nodes, in the order in which the nodes were added. */
void gpu_stacks_link(struct gpu_stacks *stacks);

/* Returns the node after NODE in a depth-first walk from `first`, parents first: index + 1; 0: NODE was the last. */
uint32_t gpu_stacks_next(const struct gpu_stacks *stacks, uint32_t node);

/* Appends the shown name of a node, such as "GPU 0 (NVIDIA H200)" or "(others)". */
void gpu_stacks_put_name(struct buffer *buffer, const struct trace *trace, const struct gpu_stack_node *node);

#endif
