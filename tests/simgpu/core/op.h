/*
 * What a device can be asked to do: a kernel, a copy, a set, a function of the host … The same description serves a
 * stream, which does it once, and a graph's node, which keeps it.
 */
#ifndef SIMGPU_CORE_OP_H
#define SIMGPU_CORE_OP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cupti.h>

#include "core/meeting.h"

struct function;

struct op_kernel {
    const struct function *function;
    unsigned grid[3], block[3], cluster[3];
    unsigned shared; /* dynamic, bytes */
    CUpti_ActivityLaunchType launch_type;
    void **arguments; /* as the caller gave them; only a graph's node is asked for them again */
    void **extra;
    struct next_kernel told; /* by the program: how long it takes, and what it waits for */
};

/* Where one side of a copy lies. Bytes; a row is PITCH apart from the next, a plane SLICE. */
struct op_place {
    uint8_t *address;
    size_t pitch, slice;
    CUpti_ActivityMemoryKind kind;
    int device; /* -1: the host */
};

struct op_copy {
    struct op_place from, to;
    size_t width, height, depth; /* bytes, rows, planes */
    bool async;
    void *staged; /* the copy's own copy of pageable memory, freed after it; or NULL */
};

struct op_set {
    struct op_place to;
    size_t width, height; /* elements, rows */
    unsigned element;     /* bytes: 1, 2 or 4 */
    uint32_t value;
    bool async;
};

struct op_host {
    CUhostFn function;
    CUstreamCallback callback; /* instead of function */
    CUstream stream;           /* for callback */
    void *data;
};

/* A conditional node. No kernel sets conditions here: they are what the handle says by default. */
struct op_conditional {
    CUgraphConditionalNodeType type;
    unsigned value, size;
    CUgraph *bodies; /* the node's own */
};

/* Waits until memory has a value, or writes it. */
struct op_value {
    void *address;
    uint64_t value;
    unsigned bytes; /* 4 or 8 */
    unsigned flags; /* enum CUstreamWaitValue_flags: how they are compared */
    bool write;
};

struct op {
    CUgraphNodeType type;
    union {
        struct op_kernel kernel;
        struct op_copy copy;
        struct op_set set;
        struct op_host host;
        struct op_value value; /* BATCH_MEM_OP */
        CUevent event;         /* EVENT_RECORD, WAIT_EVENT */
        CUgraph graph;         /* GRAPH */
        struct op_conditional conditional;
        CUdeviceptr memory; /* MEM_ALLOC, MEM_FREE */
    };
};

/* How long the device takes, ns. */
uint64_t op_duration(const struct op *op);
/* Does it wait for something that nobody can know before? Then it is done when op_holds says so. */
bool op_waits(const struct op *op);
bool op_holds(const struct op *op);
/* Of a kernel that waits for others: it has started; and whether all others have, *LATEST at the latest. */
void op_enter(struct op *op, uint64_t start);
bool op_complete(const struct op *op, uint64_t *latest);
/* Does what moves bytes, calls or frees. A kernel computes nothing. Once per op. No lock held. */
void op_run(struct op *op);

uint64_t op_copy_bytes(const struct op_copy *copy);
uint64_t op_set_bytes(const struct op_set *set);
/* HTOD, DTOH … PTOP, by the places' kinds and devices. */
CUpti_ActivityMemcpyKind op_copy_kind(const struct op_copy *copy);

#endif
