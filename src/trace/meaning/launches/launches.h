/*
 * Which call started which GPU work: a small entry for each correlation id of a process. The entries lie in pages of a
 * spill, so that they may exceed memory; launches_evict() frees what is in memory.
 *
 * A runtime call and the driver calls within it share a correlation id; the runtime call counts. Among driver calls
 * alone the last to start counts, since loading comes before launching. Several GPU operations with one id (the nodes
 * of a graph, the copies of a batch) all belong to its call.
 *
 * Flows: the first GPU operation of correlation id C has the flow id C + offset; further ones get ids beyond all of
 * these. OFFSET keeps the ids of several processes apart.
 *
 * In the index and resolve passes several threads may add calls and GPU operations at once: each entry has a lock.
 * After launches_number() the entries do not change, and any thread may read them.
 */
#ifndef GPUTRACE_TRACE_MEANING_LAUNCHES_LAUNCHES_H
#define GPUTRACE_TRACE_MEANING_LAUNCHES_LAUNCHES_H

#include <stdbool.h>
#include <stdint.h>

#include "trace/meaning/launches/graphs.h"

enum launch_from { LAUNCH_UNKNOWN = 0, LAUNCH_DRIVER, LAUNCH_RUNTIME };

struct launch {
    uint64_t start;    /* of the call, ns */
    uint32_t duration; /* ns, UINT32_MAX if it is longer */
    uint32_t thread;
    uint32_t gpu_ops; /* GPU operations that a flow can go to */
    uint32_t met;     /* how many of them launches_meet() has counted so far, if there are several */
    uint32_t extra;   /* flow id of the second operation, 0: no id was left; before numbering: the part met last + 1 */
    uint8_t from;     /* enum launch_from */
    uint8_t sorts;    /* enum launch_sorts: what the program's calls start, by launches_starts() */
    bool suppressed;  /* a plugin's call, which is not shown, had this id too */
    bool held;        /* the entry's lock, atomic */
};

/* If a launch's GPU operations are in several parts of the spool: how many are in parts before PART. */
struct launch_share {
    uint32_t part, correlation, before;
};

#define LAUNCHES_PAGE 1024
#define LAUNCHES_GROUP 2048 /* pages */
#define LAUNCHES_GROUPS ((UINT64_C(1) << 32) / LAUNCHES_PAGE / LAUNCHES_GROUP)

/* Read and written atomically. NULL: does not exist yet. */
typedef struct launch *launches_page;
typedef launches_page *launches_group;

struct launches {
    launches_group *groups; /* LAUNCHES_GROUPS of them; NULL before the first launch */
    struct spill spill;
    FILE_VECTOR(struct launch_share) shares; /* sorted by launches_number() */
    bool several;                            /* atomic: some launch has more than one GPU operation */
    uint32_t offset;                         /* added to this process's correlation ids in the trace */
};

/* DIRECTORY is for what memory cannot hold, see spill_init(). A struct of zeros is valid as well. */
void launches_init(struct launches *launches, const char *directory);
void launches_release(struct launches *launches);

/* Lets the kernel take the pages of the entries back. Other threads may add entries meanwhile. */
void launches_evict(const struct launches *launches);

/* Returns the entry of CORRELATION, which is not 0, creating it if there is none; its address does not change. Returns
 * NULL after error(). */
struct launch *launches_put(struct launches *launches, uint32_t correlation);

/* Returns NULL if there is no entry. */
static inline struct launch *launches_get(const struct launches *launches, uint32_t correlation)
{
    launches_group *groups = __atomic_load_n(&launches->groups, __ATOMIC_ACQUIRE);
    launches_group *place = groups ? &groups[correlation / LAUNCHES_PAGE / LAUNCHES_GROUP] : NULL;
    launches_page *group = place ? __atomic_load_n(place, __ATOMIC_ACQUIRE) : NULL;
    struct launch *page =
        group ? __atomic_load_n(&group[correlation / LAUNCHES_PAGE % LAUNCHES_GROUP], __ATOMIC_ACQUIRE) : NULL;
    return page ? &page[correlation % LAUNCHES_PAGE] : NULL;
}

/* Returns the highest correlation id that has an entry, or 0. */
uint32_t launches_highest(const struct launches *launches);

/* Counts a GPU operation. Returns 0, or -1 after error(). */
int launches_gpu_op(struct launches *launches, uint32_t correlation);

/* Adds an API call of the program. Returns 0, or -1 after error(). */
int launches_call(struct launches *launches, const struct event *api);

/* Adds an API call that a plugin made in a callback. Returns 0, or -1 after error(). */
int launches_suppress(struct launches *launches, const struct event *api);

/* Adds SORTS (enum launch_sorts) to what the program's calls with this id start. Returns 0, or -1 after error(). */
int launches_starts(struct launches *launches, uint32_t correlation, unsigned sorts);

/* Whether only plugins' calls can have started an event of this type: a plugin's call within a call of the program has
 * the id of the program's call. */
bool launch_is_suppressed(const struct launch *launch, enum event_type type);

/* Whether this call is the one that its GPU operations belong to. */
bool launch_is_call(const struct launch *launch, const struct event *api);

/* For the resolve pass, once for each GPU operation whose call is known: whether a flow can go from the call to the
 * operation, which ends at END. If not, the operation no longer counts as the launch's. */
enum launch_reach { LAUNCH_REACHES_NOT, LAUNCH_REACHES_ONE, LAUNCH_REACHES_SEVERAL };
enum launch_reach launch_reach(struct launch *launch, uint64_t end);
/* Counts COUNT operations of a LAUNCH_REACHES_SEVERAL launch in this part of the spool. One thread calls it, in the
 * order of parts. Returns 0, or -1 after error(). */
int launches_meet(struct launches *launches, uint32_t correlation, uint32_t part, uint32_t count);
/* Returns how many GPU operations of the launch are in earlier parts. Valid after launches_number(). */
uint32_t launches_met_before(const struct launches *launches, uint32_t correlation, uint32_t part);

/* Assigns flow ids to the second and further GPU operations of each launch, from *next on, and advances *next.
 * Returns 0, or -1 after error(). */
int launches_number(struct launches *launches, uint64_t *next);

/* Returns the id of the flow to the launch's GPU operation number I, or 0 if no id was left: then there is no flow. */
static inline uint32_t launch_flow(const struct launches *launches, const struct launch *launch, uint32_t correlation,
                                   uint32_t i)
{
    if (i == 0)
        return correlation <= UINT32_MAX - launches->offset ? correlation + launches->offset : 0;
    return launch->extra ? launch->extra + i - 1 : 0;
}

/* Whether a flow can go from the call to GPU work that ends at END: the flow's head lies on the work and may not come
 * before its tail. */
static inline bool launch_reaches(const struct launch *launch, uint64_t end)
{
    return launch->from != LAUNCH_UNKNOWN && end >= launch->start;
}

static inline uint64_t launch_end(const struct launch *launch)
{
    return launch->start + launch->duration;
}

/* Returns the trace's id for a correlation id, distinct between processes, or 0 for 0. */
uint32_t process_correlation(const struct process *process, uint32_t correlation);

/* Names of kernels, beyond those that the agent read at the pointers of their records (process.symbols). */
struct kernel_names {
    struct pointer_names derived;   /* pointer -> a name that a launch or node gave it */
    struct pointer_names functions; /* handle of the function -> name */
    struct graph_nodes nodes;       /* what they launch, and when they were made */
    struct map of_launch;           /* correlation -> name + 1; KERNEL_NAMES_SEVERAL: several kernels have the id */
    struct map unknown;             /* pointer -> how many kernels had it when it had no name yet */
};

void kernel_names_release(struct kernel_names *names);

/* Index pass: derives a name for the kernel's pointer from its launch or node. Returns 0, or -1 after error(). */
int index_kernel_name(struct process *process, const struct event *event);
/* Whether the agent read the name at the kernel's pointer and the launch has no name: then index_kernel_name() would
 * change nothing. Several threads may call this. */
bool kernel_name_is_settled(const struct process *process, const struct event *event);
/* After the last record: counts the kernels without a name. */
void close_kernel_names(struct process *process);
/* Returns the number of the kernel's name, or NAMES_NO_MEMORY if the name is unknown. */
uint32_t kernel_name_number(const struct process *process, const struct event *event);

#endif
