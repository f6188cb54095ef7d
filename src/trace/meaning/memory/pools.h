/*
 * How much memory the stream-ordered pools of a process hold, and how much of it is in use, by device.
 *
 * The agent asks CUDA for both now and then, and records what changed; CUDA also knows the peaks in between. The steps
 * are collected, sorted by time, and then applied.
 */
#ifndef GPUTRACE_TRACE_MEANING_MEMORY_POOLS_H
#define GPUTRACE_TRACE_MEANING_MEMORY_POOLS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/file_vector.h"
#include "common/map.h"

struct pool_step {
    uint64_t time; /* ns */
    uint64_t pool;
    uint64_t reserved, used; /* bytes from then on */
    uint32_t device;
    uint32_t order; /* of reading */
};

struct pool_level {
    uint32_t device;
    uint64_t reserved, used;             /* bytes of all pools of the device */
    bool reserved_changed, used_changed; /* since they were last written */
};

/* The most that one pool held, and the most of it that was in use. */
struct pool_peak {
    uint64_t pool;
    uint64_t reserved, used; /* bytes */
    uint32_t device;
};

struct pools {
    FILE_VECTOR(struct pool_step) steps;
    ARRAY(struct pool_peak) peaks;   /* in the order in which pools were first seen */
    struct map peak_of;              /* pool -> index + 1 of its latest item in peaks */
    struct map latest;               /* pool -> index + 1 of the last step of it that was applied */
    ARRAY(struct pool_level) levels; /* few */
};

struct piece_writer;
struct json_out;
struct process;
/* Writes the counters of the process's pools. Returns 0, or -1 after error(). */
int write_pools(struct piece_writer *out, struct process *process);
/* Writes the peaks of the pools to the metadata. */
void put_pools(const struct pools *pools, struct json_out *json);

#endif
