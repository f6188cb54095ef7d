/* Kernels that calls of NCCL launched: several threads scan them, and they are assigned to calls when all are known. */
#ifndef GPUTRACE_TRACE_MEANING_COLLECTIVES_COLLECTIVE_KERNELS_H
#define GPUTRACE_TRACE_MEANING_COLLECTIVES_COLLECTIVE_KERNELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/meaning/base/process.h"

/* A call that was captured, and the type that the name of a kernel of the graph contains. */
struct collective_captured {
    uint32_t call, type; /* call: index; type: index + 1 */
};

/* What one of several threads found about kernels. Starts as zeros. */
struct collective_kernels_found {
    ARRAY(struct collective_kernel) items;
    ARRAY(struct collective_captured) captured;
    struct map nodes; /* nodes of graphs that were scanned */
    struct nvtx_places places;
    struct collective_name {
        uint32_t number; /* number of a kernel's name + 1, 0: empty */
        uint16_t does, type;
    } names[64]; /* a cache of what recent names contain, by the last bits of their number */
};

/* Scans a GPU operation. Returns 0, or -1 after error(). */
int collectives_scan(struct collective_kernels_found *found, const struct process *process, const struct event *event);
/* Moves what was found to COLLECTIVES; FOUND becomes empty. Returns 0, or -1 after error(). */
int collectives_join_found(struct communication *collectives, struct collective_kernels_found *found);
void collective_kernels_found_release(struct collective_kernels_found *found);
/* Assigns the calls to the kernels, after the last kernel. Returns 0, or -1 after error(). */
int collectives_share(struct process *process);

#endif
