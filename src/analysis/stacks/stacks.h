/*
 * GPU time by the stack that launched it: for each GPU a tree from the outermost range, operator or Python function on
 * the launching thread to the innermost one, then the API call, then the kernel or copy. Operations with the same names
 * on their whole way are one node, so the tree of any number of events is small. Between the launch of a graph and what
 * it replays stand the ranges that this was captured in; around it, where call stacks are wanted, the frames that
 * captured it.
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

#include "common/array.h"
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
    STACK_OTHERS, /* all that would have been below its parent when there were STACKS_NODES already */
};

#define STACKS_NODES ((size_t)1 << 16) /* beyond these there is at most one STACK_OTHERS for each of them */
/* Ranges, operators and functions deeper than this count for the one at this depth, or the outermost are left out. */
#define STACKS_DEPTH 200

struct gpu_stack_node {
    uint32_t parent;      /* index + 1; 0: none */
    uint32_t inner, next; /* index + 1 of the first node below it, and of the next below its parent; 0: none */
    uint32_t name;        /* of trace.strings, EVENT_NO_TEXT: none; of STACK_GPU: index in trace.devices */
    uint32_t process;     /* of STACK_GPU: index in trace.processes; STACK_NO_PROCESS */
    uint16_t depth;       /* 0: outermost */
    uint8_t kind;         /* enum stack_kind */
    int64_t ns;           /* of its own GPU operations, each counted as a whole: those below it are not among them */
    uint64_t count;       /* of these */
};

#define STACK_NO_PROCESS UINT32_MAX /* the launching call is not known, and there are several processes */

/* All zero is empty. */
struct gpu_stacks {
    ARRAY(struct gpu_stack_node) nodes; /* a parent comes before what is below it */
    struct map by_place;                /* parent, kind and name -> index + 1 */
    uint32_t first;                     /* index + 1 of the first GPU */
    size_t most;                        /* nodes; 0: STACKS_NODES */
    /* Operations stand below the frames of their call stack, or of that of the last one of their name from their
     * thread; where neither is known, below ranges. To be set before gpu_stacks_gather(). It takes
     * trace->wanted.stacks. */
    bool by_frames;
};

void gpu_stacks_release(struct gpu_stacks *stacks);

/* After trace_finish(): adds all GPU operations of the trace. Several threads may look at the trace meanwhile. Returns
 * 0, or -1: no memory, or after error(). */
int gpu_stacks_gather(struct gpu_stacks *stacks, const struct trace *trace);

/* The node of this place below PARENT (index + 1; 0: outermost), made when it is new: index + 1; 0: no memory. Nodes
 * made by others than gpu_stacks_gather() are linked by gpu_stacks_link(). */
uint32_t gpu_stacks_node(struct gpu_stacks *stacks, uint32_t parent, enum stack_kind kind, uint32_t name,
                         uint32_t process);

/* Sets `first`, `inner` and `next` of all nodes, in the order in which they were made. */
void gpu_stacks_link(struct gpu_stacks *stacks);

/* The next node of a walk over all of them from `first`, each before those below it: index + 1; 0: it was the last. */
uint32_t gpu_stacks_next(const struct gpu_stacks *stacks, uint32_t node);

/* Appends the name of a node as it is shown: "GPU 0 (NVIDIA H200)", "(others)". */
void gpu_stacks_put_name(struct buffer *buffer, const struct trace *trace, const struct gpu_stack_node *node);

#endif
