/*
 * Communication of one process: what the NVTX ranges of NCCL's and MPI's calls say in their payloads becomes arguments
 * of the call and of the kernel that it launched (trace/event.h: Kineto's names, and those of the recorder).
 *
 *   - A call launches its kernel within its range, or in a group at the outermost ncclGroupEnd of its thread. With a
 *     non-blocking communicator a thread of NCCL launches it later (collective_threads.c).
 *   - Where a group launched several kernels, calls and kernels of a function and a device are shared out in their
 *     order. A kernel of several calls has the arguments of the first, and "operations": how many they are. The
 *     kernel and these calls have the same number as "group call".
 *   - A kernel of a replayed graph has the arguments of the call that was captured.
 *   - "Seq" counts the collective operations of a communicator, in the order in which this process called them; sends
 *     and receives are counted apart, for each peer.
 *
 * Payloads are read by the names of the entries of their schemas, which differ between versions: collective_calls.c has
 * the table of domains.
 */
#ifndef GPUTRACE_TRACE_MEANING_COLLECTIVES_COLLECTIVES_H
#define GPUTRACE_TRACE_MEANING_COLLECTIVES_COLLECTIVES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/array.h"
#include "common/file_vector.h"
#include "common/map.h"
#include "common/number.h"
#include "trace/event.h"
#include "trace/meaning/base/nvtx_places.h"
#include "trace/meaning/nvtx/payloads.h"

struct event;
struct nvtx;
struct nvtx_range;
struct process;

/* --- what one range says: collective_calls.c --- */

/* The domains whose calls are known. */
enum collective_domain { COLLECTIVE_NCCL, COLLECTIVE_MPI, COLLECTIVE_DOMAINS };

/* The domain of this name; COLLECTIVE_DOMAINS: it is another one. */
enum collective_domain collective_domain_named(struct nvtx_text name);

/* Which of NCCL's kernels do it: a word of their names. */
enum collective_kernels {
    COLLECTIVE_NO_KERNEL, /* none, or it is not known */
    COLLECTIVE_KERNEL_ALL_REDUCE,
    COLLECTIVE_KERNEL_BROADCAST,
    COLLECTIVE_KERNEL_REDUCE,
    COLLECTIVE_KERNEL_ALL_GATHER,
    COLLECTIVE_KERNEL_REDUCE_SCATTER,
    COLLECTIVE_KERNEL_SEND_RECV,
    COLLECTIVE_KERNELS
};

/* One rank's share; the shares of all; or what the payload says alone. */
enum collective_shares { COLLECTIVE_ONE_SHARE, COLLECTIVE_ALL_SHARES, COLLECTIVE_SHARES_SAID };

/* What a function does. Payloads have the bytes of one rank's share: of what it gives, of a reduce-scatter and a
 * scatter of what it gets; of MPI_Alltoallv all of them. Where ranks have shares of different sizes they may have the
 * bytes of a buffer. */
struct collective_function {
    const char *call; /* the function in lower case, without "nccl" or "mpi_" */
    const char *name; /* of the operation, as Kineto has it */
    enum collective_kernels kernel;
    enum collective_shares in, out; /* what the buffers have that it reads and writes */
    enum { COLLECTIVE_OF_ALL, COLLECTIVE_SENDS, COLLECTIVE_RECEIVES, COLLECTIVE_EXCHANGES } pairs;
};

/* NCCL's types. */
struct collective_type {
    const char *nccl, *kernel; /* in NCCL's words; in names of kernels, NULL: these leave the sign open */
    const char *name;          /* as PyTorch has it */
    int64_t bytes;
};
#define COLLECTIVE_TYPES 12
extern const struct collective_type collective_types[COLLECTIVE_TYPES];
/* The type that the name of a kernel says: its index + 1; 0: it says none. */
unsigned collective_type_of_kernel(const char *name, size_t length);

/* NULL: the call is not communication. */
const struct collective_function *collective_function_of(enum collective_domain domain, const char *text,
                                                         size_t length);
/* What the kernel of this name does. */
enum collective_kernels collective_kernel_named(const char *name, size_t length);

/* Numbers of a payload. Those that it does not have are COLLECTIVE_NOT_SAID. */
#define COLLECTIVE_NOT_SAID INT64_MIN
#define COLLECTIVE_NO_RANK (-2) /* a peer: MPI_PROC_NULL */
struct collective_facts {
    bool has_communicator;
    uint64_t communicator;
    int64_t bytes, peer, root, ranks, rank, device;
    int64_t sent, received, source; /* bytes of buffers; the rank of an exchange that sends to this one */
    int64_t sequence;               /* of the operation on its communicator; of collective operations */
    struct nvtx_text reduction;
};

/* Reads the payloads of a range of the NVTX domain number DOMAIN, of its begin and its end. */
void collective_facts_read(struct collective_facts *facts, enum collective_domain kind, const struct nvtx *nvtx,
                           const struct nvtx_range *range);

/* Groups of calls. */
enum collective_group { COLLECTIVE_NO_GROUP, COLLECTIVE_GROUP_STARTS, COLLECTIVE_GROUP_ENDS };
enum collective_group collective_group_of(enum collective_domain domain, const char *text, size_t length);

/* --- all of them: collectives.c --- */

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
    bool told;                     /* NCCL told its plugin of communicators */
    struct nvtx_text version;      /* of NCCL; NULL text: not known */
    struct nvtx_text other_plugin; /* that NCCL was to load; NULL text: none */
};

/* Once all ranges are known: finds and numbers the calls. Returns 0, or -1 after error(). */
int collectives_resolve(struct process *process);

/* Numbers the calls: collective_numbers.c. Returns 0, or -1: no memory. */
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

/* --- what NCCL's profiler plugin said: collective_tasks.c --- */

/* What NCCL says of a new communicator. Returns 0, or -1: no memory. */
int collectives_learn(struct communication *collectives, const struct spool_nccl_communicator *record);
/* Once the calls are sorted: finds the task of each. Returns 0, or -1 after error(). */
int collectives_join_tasks(struct process *process);
/* Gives task NUMBER to a call that LAUNCHER launched, if one fits it. */
void collectives_join_launched(const struct communication *collectives, uint32_t number, uint32_t launcher);
enum collective_word {
    COLLECTIVE_WORD_FUNCTION,
    COLLECTIVE_WORD_TYPE,
    COLLECTIVE_WORD_ALGORITHM,
    COLLECTIVE_WORD_PROTOCOL
};
/* NULL text: it is not known. */
struct nvtx_text collective_task_word(const struct collective_task *task, enum collective_word which);
/* What the user should know about the plugin of a process that called NCCL. False: nothing. */
#define COLLECTIVES_NOTE 512
bool collectives_note(const struct process *process, char text[COLLECTIVES_NOTE]);

/* --- kernels: collective_kernels.c --- */

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
int collectives_look(struct collective_kernels_found *found, const struct process *process, const struct event *event);
/* Adds what was found, and makes FOUND empty. Returns 0, or -1 after error(). */
int collectives_take(struct communication *collectives, struct collective_kernels_found *found);
void collective_kernels_found_release(struct collective_kernels_found *found);
/* After the last: shares out calls to kernels. Returns 0, or -1 after error(). */
int collectives_share(struct process *process);

/* Finds out which calls the strays are of and adds these to the kernels, which are those by launchers so far:
 * collective_threads.c. Returns 0, or -1: no memory. */
int collectives_find_strays(struct process *process);
/* Whether a call of LAUNCHER launched a kernel within its range; KERNELS are by launcher. */
bool collectives_has_kernel(const struct communication *collectives, uint32_t launcher);

/* When and where the kernel of a node of a graph was captured. False: it is not known. */
bool collectives_find_capture(const struct process *process, const struct event *event, uint32_t *thread,
                              uint64_t *time);
/* Of COUNT calls from *FIRST on, those whose function a kernel that DOES this does; all, if there are none. */
size_t collectives_of_function(const struct communication *collectives, enum collective_kernels does, size_t *first,
                               size_t count);

/* --- arguments: collectives_write.c. Any number of threads may ask. --- */

/* Where the arguments are put together. */
struct collective_args {
    struct args args;
    struct arg_list list;
    char communicator[NUMBER_SPACE];
};

/* Adds those of the call that is range NUMBER, if it is one; SPACE lives as long as ARGS. */
void collectives_describe_range(struct args *args, const struct process *process, uint32_t number,
                                struct collective_args *space);
/* Adds those of the kernel EVENT. */
void collectives_describe_kernel(struct args *args, const struct process *process, const struct event *event,
                                 struct nvtx_places *places, struct collective_args *space);

#endif
