/*
 * Which call started which GPU work: one small entry for each correlation id of a process, in pages, which may be more
 * than memory holds: launches_evict().
 *
 * A runtime call and the driver calls within it have one correlation id; the runtime's counts. Of driver calls alone
 * the last to start counts, since loading comes before launching. Several GPU operations of one id (the nodes of a
 * graph, the copies of a batch) all belong to its call.
 *
 * Flows: the first work of correlation id C has the flow id C + offset, the further ones get ids beyond all of these.
 * OFFSET keeps the ids of several processes apart.
 *
 * Several threads may tell of calls and GPU operations at once, and then of GPU operations again: each entry has a lock
 * of its own. Once they are numbered the entries change no more, and several threads may read them.
 */
#ifndef GPUTRACE_TRACE_MEANING_LAUNCHES_LAUNCHES_H
#define GPUTRACE_TRACE_MEANING_LAUNCHES_LAUNCHES_H

#include <stdbool.h>
#include <stdint.h>

#include "trace/meaning/launches/graphs.h"

enum launch_from { LAUNCH_UNKNOWN = 0, LAUNCH_DRIVER, LAUNCH_RUNTIME };

struct launch {
    uint64_t start;    /* of the call, ns */
    uint32_t duration; /* ns, UINT32_MAX when longer */
    uint32_t thread;
    uint32_t gpu_ops; /* GPU operations that a flow can go to */
    uint32_t met;     /* of them, by launches_meet() so far; of launches with several */
    uint32_t extra;   /* flow id of the second work, 0: there are no ids left; before: where it was met last, + 1 */
    uint8_t from;     /* enum launch_from */
    uint8_t sorts;    /* enum launch_sorts: what its calls start, as far as launches_starts() said */
    bool suppressed;  /* a plugin's call, which is not shown, had the same id */
    bool held;        /* atomically */
};

/* Of a launch whose GPU operations are in several parts of the spool: how many come before those of PART. */
struct launch_share {
    uint32_t part, correlation, before;
};

#define LAUNCHES_PAGE 1024
#define LAUNCHES_GROUP 2048 /* pages */
#define LAUNCHES_GROUPS ((UINT64_C(1) << 32) / LAUNCHES_PAGE / LAUNCHES_GROUP)

/* Read and written atomically. NULL: none is there. */
typedef struct launch *launches_page;
typedef launches_page *launches_group;

struct launches {
    launches_group *groups; /* LAUNCHES_GROUPS of them, once there is a launch */
    struct spill spill;
    FILE_VECTOR(struct launch_share) shares; /* in order, once they are numbered */
    bool several;                            /* atomically: some launch has more than one GPU operation */
    uint32_t offset;                         /* what the trace adds to this process's correlation ids */
};

/* DIRECTORY is for what memory cannot hold, as spill_init() tells. One that is all zero, too, can be used. */
void launches_init(struct launches *launches, const char *directory);
void launches_release(struct launches *launches);

/* What was put need not stay in memory for now; others may put more meanwhile. */
void launches_evict(const struct launches *launches);

/* The entry of CORRELATION, which is not 0, made when there is none; NULL after error(). Stays where it is. */
struct launch *launches_put(struct launches *launches, uint32_t correlation);

/* NULL: there is none. */
static inline struct launch *launches_get(const struct launches *launches, uint32_t correlation)
{
    launches_group *groups = __atomic_load_n(&launches->groups, __ATOMIC_ACQUIRE);
    launches_group *place = groups ? &groups[correlation / LAUNCHES_PAGE / LAUNCHES_GROUP] : NULL;
    launches_page *group = place ? __atomic_load_n(place, __ATOMIC_ACQUIRE) : NULL;
    struct launch *page =
        group ? __atomic_load_n(&group[correlation / LAUNCHES_PAGE % LAUNCHES_GROUP], __ATOMIC_ACQUIRE) : NULL;
    return page ? &page[correlation % LAUNCHES_PAGE] : NULL;
}

/* The highest correlation id that has an entry; 0: none has. */
uint32_t launches_highest(const struct launches *launches);

/* Counts a GPU operation. Returns 0, or -1 after error(). */
int launches_gpu_op(struct launches *launches, uint32_t correlation);

/* Tells of an API call. Returns 0, or -1 after error(). */
int launches_call(struct launches *launches, const struct event *api);

/* Tells of an API call that a plugin made in a callback. Returns 0, or -1 after error(). */
int launches_suppress(struct launches *launches, const struct event *api);

/* Adds to what the program's calls of this id start: SORTS of enum launch_sorts. Returns 0, or -1 after error(). */
int launches_starts(struct launches *launches, uint32_t correlation, unsigned sorts);

/* Whether GPU work, or the record of a CUDA event, was started by plugins' calls alone, as far as is known: nested
 * calls have the id of the program's call around them. */
bool launch_is_suppressed(const struct launch *launch, enum event_type type);

/* Whether this call is the one that its GPU operations belong to. */
bool launch_is_call(const struct launch *launch, const struct event *api);

/* Once all calls and GPU operations were indexed: of each work, ending at END, whether a flow can go to it from the
 * call, which is known. Those to which none can are not the launch's. */
enum launch_reach { LAUNCH_REACHES_NOT, LAUNCH_REACHES_ONE, LAUNCH_REACHES_SEVERAL };
enum launch_reach launch_reach(struct launch *launch, uint64_t end);
/* As many as COUNT of several GPU operations that a flow goes to are in this part of the spool. In the order of parts,
 * by one thread. Returns 0, or -1 after error(). */
int launches_meet(struct launches *launches, uint32_t correlation, uint32_t part, uint32_t count);
/* How many GPU operations of the launch were met in earlier parts. After launches_number(). */
uint32_t launches_met_before(const struct launches *launches, uint32_t correlation, uint32_t part);

/* Assigns flow ids to the second and further GPU operations of each launch, from *next on, which is moved. Returns 0,
 * or -1 after error(). */
int launches_number(struct launches *launches, uint64_t *next);

/* The id of the flow to the launch's work number I; 0: no id left, no flow. */
static inline uint32_t launch_flow(const struct launches *launches, const struct launch *launch, uint32_t correlation,
                                   uint32_t i)
{
    if (i == 0)
        return correlation <= UINT32_MAX - launches->offset ? correlation + launches->offset : 0;
    return launch->extra ? launch->extra + i - 1 : 0;
}

/* Whether a flow can go from the call to GPU work that ends at END: the head may not come before the tail, and lies
 * on the work. */
static inline bool launch_reaches(const struct launch *launch, uint64_t end)
{
    return launch->from != LAUNCH_UNKNOWN && end >= launch->start;
}

static inline uint64_t launch_end(const struct launch *launch)
{
    return launch->start + launch->duration;
}

/* The id that the trace shows for a correlation id: those of several processes do not mix. 0: none. */
uint32_t process_correlation(const struct process *process, uint32_t correlation);

/* Beside what the pointers of kernels' records mean. */
struct kernel_names {
    struct pointer_names derived;   /* by pointers: names from launches and nodes that are not in the record */
    struct pointer_names functions; /* by their handles */
    struct graph_nodes nodes;       /* what they launch, and when they were made */
    struct map of_launch;           /* correlation -> name + 1; KERNEL_NAMES_SEVERAL: of no one kernel */
    struct map unknown;             /* pointer -> how many records have it; its meaning was not known yet */
};

void kernel_names_release(struct kernel_names *names);

/* The index pass. All return 0, or -1 after error(); the last gives the number of a name, NAMES_NO_MEMORY:
 * it is not known. */
int index_kernel_name(struct process *process, const struct event *event);
/* Whether the text at the pointer was read, and the launch recorded no name: then the kernel need not be indexed. Any
 * number of threads may call this. */
bool kernel_name_is_settled(const struct process *process, const struct event *event);
/* Once all records were seen: counts those without a name. */
void close_kernel_names(struct process *process);
uint32_t kernel_name_number(const struct process *process, const struct event *event);

#endif
