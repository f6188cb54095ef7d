/*
 * What is kept of communication of one process: what the NVTX ranges of NCCL's and MPI's calls say in their payloads
 * becomes arguments of the call and of the kernel that it launched (trace/event.h: Kineto's names, and those of the
 * recorder).
 *
 *   - A call launches its kernel within its range, or in a group at the outermost ncclGroupEnd of its thread. With a
 *     non-blocking communicator a thread of NCCL launches it later (collective_kernels.c).
 *   - Where a group launched several kernels, calls and kernels of a function and a device are shared out in their
 *     order. A kernel of several calls has the arguments of the first, and "operations": how many they are. The
 *     kernel and these calls have the same number as "group call".
 *   - A kernel of a replayed graph has the arguments of the call that was captured.
 *   - "Seq" counts the collective operations of a communicator, in the order in which this process called them; sends
 *     and receives are counted apart, for each peer.
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
    uint32_t device; /* of the only rank here; COLLECTIVE_NO_DEVICE: not known, or several */
    int64_t ranks;   /* COLLECTIVE_NOT_SAID: not known */
    int64_t rank;    /* the same; also where several ranks are in this process */
    uint32_t here;   /* ranks in this process, as far as is known */
    uint64_t next;   /* how many collective operations were called … */
    uint64_t before; /* … after so many that were not recorded */
    /* That the program gave it; NULL text: none. */
    struct nvtx_text name;
    /* Its ranks in the job, "0, 4, 8", and "[0, 4, 8]", which ends with ", ...]" after some; NULL text: not known. */
    struct nvtx_text members, members_shown;
};

struct collective_call {
    uint64_t start;    /* of its range, ns */
    uint64_t sequence; /* UINT64_MAX: the communicator is not known */
    int64_t bytes, peer, root, sent, received, source;
    const struct collective_function *function;
    uint32_t range;        /* number: nvtx_range() */
    uint32_t launcher;     /* the range in which its kernel was launched */
    uint32_t communicator; /* index + 1, 0: not known */
    uint32_t reduction;    /* index + 1, 0: none */
    uint32_t task;         /* index + 1, 0: none is known */
    uint32_t device;       /* that of the communicator */
    uint32_t leader;       /* index of the first call that the same kernel does */
    uint32_t type;         /* that its kernel's name says, if that does nothing else: index + 1, 0: none */
};

/* What NCCL's profiler plugin said of an operation. */
struct collective_task {
    const struct spool_nccl_operation *record;
    uint32_t thread; /* that wrote it */
    uint32_t call;   /* index + 1, 0: not known */
    uint32_t proxies, steps;
};

#define COLLECTIVE_STRAY UINT32_MAX

/* A kernel that calls launched. */
struct collective_kernel {
    uint64_t launched; /* ns */
    uint32_t launcher; /* the range in which it was launched; COLLECTIVE_STRAY: in none of NCCL */
    uint32_t correlation, device;
    uint32_t thread;       /* that launched it */
    uint32_t first, count; /* its calls, once they are shared out */
    uint16_t does;         /* enum collective_kernels */
    uint16_t type;         /* that its name says: index + 1, 0: none */
};

struct communication {
    struct collective_domain_number {
        uint32_t number; /* of NVTX */
        enum collective_domain domain;
    } domains[16];
    size_t domain_count;
    ARRAY(struct collective_communicator) communicators;
    ARRAY(struct nvtx_text) reductions;
    struct map by_id;                          /* domain and id -> index + 1 in communicators */
    struct map ranks_here;                     /* index + 1 and rank -> device + 1, 0: not known */
    FILE_VECTOR(struct collective_call) calls; /* by launcher, function, device, and in their order */
    FILE_VECTOR(struct collective_of_range {
        uint32_t range;
        uint32_t call;
    })
    by_range;                                      /* by range */
    FILE_VECTOR(struct collective_kernel) kernels; /* by correlation */
    /* Until they are shared out: NCCL's kernels that were launched out of its ranges. */
    FILE_VECTOR(struct collective_kernel) strays;
    FILE_VECTOR(struct collective_task) tasks; /* once they are joined: by number */
    FILE_VECTOR(const struct spool_nccl_steps *) steps;
    bool has_plugin;               /* NCCL told its plugin of communicators */
    struct nvtx_text version;      /* of NCCL; NULL text: not known */
    struct nvtx_text other_plugin; /* that NCCL was to load; NULL text: none */
};

/* Once all ranges are known: finds the calls; and once their tasks are: numbers them. Return 0, or -1 after error(). */
int collectives_find(struct process *process);
int collectives_number(struct communication *collectives);

/* The calls whose kernels THREAD launches at TIME: *FIRST and those after it in `calls`, COUNT of them, which it
 * returns. Any number of threads may ask, each with places of its own. */
size_t collectives_launched(const struct process *process, struct nvtx_places *places, uint32_t thread, uint64_t time,
                            size_t *first);

/* The innermost range of NCCL on THREAD at TIME: number + 1; 0: there is none. */
uint32_t collectives_range_at(const struct process *process, struct nvtx_places *places, uint32_t thread,
                              uint64_t time);
/* Where the call that is range NUMBER is in `calls`; SIZE_MAX: it is none. */
size_t collectives_place_of_range(const struct communication *collectives, uint32_t number);

/* When and where the kernel of a node of a graph was captured. False: it is not known. */
bool collectives_find_capture(const struct process *process, const struct event *event, uint32_t *thread,
                              uint64_t *time);
/* Of COUNT calls from *FIRST on, those whose function a kernel that DOES this does; all, if there are none. */
size_t collectives_of_function(const struct communication *collectives, enum collective_kernels does, size_t *first,
                               size_t count);

/* What NCCL says of a new communicator. Returns 0, or -1: no memory. */
int collectives_index_communicator(struct communication *collectives, const struct spool_nccl_communicator *record);

#endif
