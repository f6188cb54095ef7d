/*
 * The communication of one process. The payloads of NVTX ranges around NCCL's and MPI's calls become arguments of the
 * call and of the kernel that it launched (trace/event.h: Kineto's names, and our own).
 *
 *   - A call launches its kernel within its range, or, in a group, at the outermost ncclGroupEnd of its thread. With a
 *     non-blocking communicator a thread of NCCL launches it later (collective_kernels.c).
 *   - If a group launched several kernels, its calls are assigned to kernels of their function and device in order. A
 *     kernel of several calls has the arguments of the first, and "operations", the number of calls. The kernel and its
 *     calls share a number, "group call".
 *   - A kernel of a replayed graph has the arguments of the call that was captured.
 *   - "Seq" counts the collective operations of a communicator in the order in which this process called them; sends
 *     and receives are counted for each peer.
 */
#ifndef GPUTRACE_TRACE_MEANING_COLLECTIVES_COLLECTIVES_H
#define GPUTRACE_TRACE_MEANING_COLLECTIVES_COLLECTIVES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/meaning/base/process.h"
#include "trace/meaning/collectives/collective_calls.h"

#define COLLECTIVE_NO_DEVICE UINT32_MAX

struct collective_communicator {
    uint64_t id;
    uint32_t domain; /* enum collective_domain */
    uint32_t device; /* of the process's rank; COLLECTIVE_NO_DEVICE: unknown, or several ranks */
    int64_t ranks;   /* COLLECTIVE_NOT_SAID: unknown */
    int64_t rank;    /* of the process; COLLECTIVE_NOT_SAID: unknown, or several ranks */
    uint32_t here;   /* how many of its ranks are known to be in this process */
    uint64_t next;   /* how many collective operations of it were numbered */
    uint64_t before; /* how many were called before recording began */
    /* The name that the program gave it; text NULL: none. */
    struct nvtx_text name;
    /* Its ranks in the job: all, "0, 4, 8", and for display, "[0, 4, 8]", cut with ", ...]"; text NULL: unknown. */
    struct nvtx_text members, members_shown;
};

struct collective_call {
    uint64_t start;    /* of its range, ns */
    uint64_t sequence; /* UINT64_MAX: unknown */
    int64_t bytes, peer, root, sent, received, source;
    const struct collective_function *function;
    uint32_t range;        /* number: nvtx_range() */
    uint32_t launcher;     /* number of the range in which its kernel was launched */
    uint32_t communicator; /* index + 1, 0: unknown */
    uint32_t reduction;    /* index + 1, 0: none */
    uint32_t task;         /* index + 1, 0: unknown */
    uint32_t device;       /* the communicator's */
    uint32_t leader;       /* index of the first call of the kernel that does this one */
    uint32_t type;         /* index + 1 of the type in its kernel's name, if the kernel does no other call; else 0 */
};

/* An operation that NCCL told its profiler plugin about. */
struct collective_task {
    const struct spool_nccl_operation *record;
    uint32_t thread; /* which recorded it */
    uint32_t call;   /* index + 1, 0: unknown */
    uint32_t proxies, steps;
};

#define COLLECTIVE_STRAY UINT32_MAX

/* A kernel that calls launched. */
struct collective_kernel {
    uint64_t launched; /* ns */
    uint32_t launcher; /* number of the range of NCCL in which it was launched; COLLECTIVE_STRAY: in none */
    uint32_t correlation, device;
    uint32_t thread;       /* which launched it */
    uint32_t first, count; /* its calls, set by collectives_share() */
    uint16_t does;         /* enum collective_kernels */
    uint16_t type;         /* index + 1 of the type in its name, 0: none */
};

struct communication {
    struct collective_domain_number {
        uint32_t number; /* NVTX's number of the domain */
        enum collective_domain domain;
    } domains[16];
    size_t domain_count;
    ARRAY(struct collective_communicator) communicators;
    ARRAY(struct nvtx_text) reductions;
    struct map by_id;                          /* domain and id -> index + 1 in communicators */
    struct map ranks_here;                     /* communicator's index + 1 and rank -> device + 1, 0: unknown */
    FILE_VECTOR(struct collective_call) calls; /* sorted by launcher, kernel, device, start */
    FILE_VECTOR(struct collective_of_range {
        uint32_t range;
        uint32_t call;
    })
    by_range;                                      /* sorted by range */
    FILE_VECTOR(struct collective_kernel) kernels; /* sorted by correlation, after collectives_share() */
    /* Kernels of NCCL that were launched outside of its ranges; collectives_share() finds their calls. */
    FILE_VECTOR(struct collective_kernel) strays;
    FILE_VECTOR(struct collective_task) tasks; /* sorted by number, after collectives_join_tasks() */
    FILE_VECTOR(const struct spool_nccl_steps *) steps;
    bool has_plugin;               /* NCCL told its plugin about communicators */
    struct nvtx_text version;      /* of NCCL; text NULL: unknown */
    struct nvtx_text other_plugin; /* another plugin that NCCL was to load; text NULL: none */
};

/* _find reads the calls from all ranges; _number sets their sequences, after tasks are joined. Return 0, or -1 after
 * error(). */
int collectives_find(struct process *process);
int collectives_number(struct communication *collectives);

/* Returns how many calls launch their kernels on THREAD at TIME; they are adjacent in `calls`, from *FIRST on. Several
 * threads may call it, each with its own PLACES. */
size_t collectives_launched(const struct process *process, struct nvtx_places *places, uint32_t thread, uint64_t time,
                            size_t *first);

/* Returns number + 1 of the innermost range of NCCL on THREAD at TIME, or 0. */
uint32_t collectives_range_at(const struct process *process, struct nvtx_places *places, uint32_t thread,
                              uint64_t time);
/* Returns the index in `calls` of the call that is range NUMBER, or SIZE_MAX if that is not a call. */
size_t collectives_place_of_range(const struct communication *collectives, uint32_t number);

/* Sets *THREAD and *TIME to where and when a graph's kernel was captured. Returns false if that was not recorded. */
bool collectives_find_capture(const struct process *process, const struct event *event, uint32_t *thread,
                              uint64_t *time);
/* Narrows COUNT calls from *FIRST on to those that launch kernels of DOES. Returns their number; COUNT if there are
 * none. */
size_t collectives_of_function(const struct communication *collectives, enum collective_kernels does, size_t *first,
                               size_t count);

/* Adds a communicator that NCCL told its plugin about. Returns 0, or -1 without memory. */
int collectives_index_communicator(struct communication *collectives, const struct spool_nccl_communicator *record);

#endif
