/* Kernels that calls of NCCL launched: looked at by several threads, and shared out to the calls once all are known. */
#ifndef GPUTRACE_TRACE_MEANING_COLLECTIVES_COLLECTIVE_KERNELS_H
#define GPUTRACE_TRACE_MEANING_COLLECTIVES_COLLECTIVE_KERNELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/meaning/base/process.h"

/* A call that was captured, and the type that a kernel of the graph says. */
struct collective_captured {
    uint32_t call, type; /* index; index + 1 */
};

/* What one of several threads found of kernels; it starts as zeros. */
struct collective_kernels_found {
    ARRAY(struct collective_kernel) items;
    ARRAY(struct collective_captured) captured;
    struct map nodes; /* of graphs, that were looked at */
    struct nvtx_places places;
    struct collective_name {
        uint32_t number; /* of a name + 1, 0: none */
        uint16_t does, type;
    } names[64]; /* by the number's last bits: what the names say that came last */
};

/* A GPU operation. Returns 0, or -1 after error(). */
int collectives_scan(struct collective_kernels_found *found, const struct process *process, const struct event *event);
/* Adds what was found, and makes FOUND empty. Returns 0, or -1 after error(). */
int collectives_join_found(struct communication *collectives, struct collective_kernels_found *found);
void collective_kernels_found_release(struct collective_kernels_found *found);
/* After the last: shares out calls to kernels. Returns 0, or -1 after error(). */
int collectives_share(struct process *process);

#endif
