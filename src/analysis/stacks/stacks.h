/*
 * GPU time by the stack that launched it: for each GPU a tree from the outermost range, operator or Python function on
 * the launching thread to the innermost one, then the API call, then the kernel or copy. Operations whose whole stacks
 * have the same names are one node, so the tree of any number of events is small. Below the launch of a graph come the
 * ranges in which its nodes were captured, if call stacks are wanted also the frames that captured them, then the node.
 *
 * What a thread of PyTorch's autograd launched stands below the range that autograd_attribute() (ranges.h) finds for
 * it, and there below the operators of the autograd thread.
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
    STACK_GPU, /* the outermost node: a device, as one process uses it */
    STACK_RANGE,
    STACK_OPERATOR,
    STACK_PYTHON,
    STACK_FRAME, /* of a call stack of the host */
    STACK_CALL,
    STACK_KERNEL, /* or a whole graph */
    STACK_COPY,   /* or a set */
    STACK_OTHERS, /* whatever was to be added below its parent after the tree had reached STACKS_NODES */
};

#define STACKS_NODES ((size_t)1 << 16) /* a full tree grows by at most one STACK_OTHERS per node */
/* Stacks deeper than this are cut: either the innermost entries count for the one at this depth, or the outermost are
 * left out. */
#define STACKS_DEPTH 200

struct gpu_stack_node {
    uint32_t parent;      /* index + 1; 0: none */
    uint32_t inner, next; /* index + 1 of the first node below it, and of the next below its parent; 0: none */
    uint32_t name;        /* of trace.strings, EVENT_NO_TEXT: none; of STACK_GPU: index in trace.devices */
    uint32_t process;     /* of STACK_GPU: index in trace.processes; STACK_NO_PROCESS */
    uint16_t depth;       /* 0: outermost */
    uint8_t kind;         /* enum stack_kind */
    int64_t ns;           /* sum over its own GPU operations, without those of the nodes below it */
    uint64_t count;       /* of its own GPU operations */
};

#define STACK_NO_PROCESS UINT32_MAX /* the launching call is not known, and there are several processes */

/* All zero is empty. */
struct gpu_stacks {
    ARRAY(struct gpu_stack_node) nodes; /* a parent comes before what is below it */
    struct map by_place;                /* parent, kind and name -> index + 1 */
    uint32_t first;                     /* index + 1 of the first GPU */
    size_t most;                        /* the most nodes that the tree may have; 0: STACKS_NODES */
    /* Operations stand below the frames of their call stack instead of below ranges. An operation without a call stack
     * uses that of the last operation of its name and thread; if there is none, it stands below ranges. Set this before
     * gpu_stacks_gather(), and trace->wanted.stacks before reading. */
    bool by_frames;
};

void gpu_stacks_release(struct gpu_stacks *stacks);

/* After trace_finish(): adds all GPU operations of the trace. Several threads may look at the trace meanwhile. Returns
 * 0, or -1: no memory, or after error(). */
int gpu_stacks_gather(struct gpu_stacks *stacks, const struct trace *trace);

/* Finds or makes the node of this kind and name below PARENT (index + 1; 0: outermost). Returns its index + 1; 0: no
 * memory. Nodes made by others than gpu_stacks_gather() are linked by gpu_stacks_link(). */
uint32_t gpu_stacks_node(struct gpu_stacks *stacks, uint32_t parent, enum stack_kind kind, uint32_t name,
                         uint32_t process);

/* Sets `first`, `inner` and `next` of all nodes, in the order in which they were made. */
void gpu_stacks_link(struct gpu_stacks *stacks);

/* The next node of a walk over all of them from `first`, each before those below it: index + 1; 0: it was the last. */
uint32_t gpu_stacks_next(const struct gpu_stacks *stacks, uint32_t node);

/* Appends the name of a node as it is shown: "GPU 0 (NVIDIA H200)", "(others)". */
void gpu_stacks_put_name(struct buffer *buffer, const struct trace *trace, const struct gpu_stack_node *node);

#endif
