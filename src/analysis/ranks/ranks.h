/*
 * Describes the ranks of a trace or of a job: what each rank did, how long it waited for others in communication, and
 * how late it was itself. section_ranks and the report of a job show them as a table.
 */
#ifndef GPUTRACE_ANALYSIS_RANKS_RANKS_H
#define GPUTRACE_ANALYSIS_RANKS_RANKS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/array.h"
#include "common/map.h"
#include "analysis/idle/idle.h"
#include "analysis/comm/collectives.h"
#include "analysis/engine/section.h"
#include "analysis/ranks/comm.h"
#include "analysis/steps/steps.h"

/* The steps of a rank, and how long the rank communicated and waited in them. A rank has at most RANK_STEPS_MOST items:
 * with more steps, an item stands for several consecutive steps. */
#define RANK_STEPS_MOST 256

/* Groups of enum idle_cause.
 *   constant  for people */
#define RANK_STEP_CAUSES(X)                                 \
    X(OUTSIDE, "Idle: host outside CUDA")                   \
    X(CALLS, "Idle: host in CUDA calls that do not launch") \
    X(LAUNCH, "Idle: waiting for launches")                 \
    X(QUEUED, "Idle: work was queued")                      \
    X(OTHER, "Idle: other causes")

enum rank_step_cause {
#define CAUSE(constant, text) RANK_STEP_##constant,
    RANK_STEP_CAUSES(CAUSE)
#undef CAUSE
        RANK_STEP_CAUSE_COUNT
};

/* Times are ns. */
struct rank_step {
    uint32_t rank;                       /* index in ranks.items */
    uint32_t first, count;               /* number of its first step, from 0 in each rank; count of steps */
    uint32_t width;                      /* steps of each item of the rank, except the last; a power of two */
    int64_t from, to;                    /* start of the first and end of the last step on the host */
    int64_t total;                       /* sum of the lengths of its steps */
    int64_t gpu;                         /* time of GPU operations launched in the steps, with communication */
    int64_t communication;               /* time of communication that was called in the steps */
    int64_t waited;                      /* part of `communication`: waiting for ranks that began later */
    int64_t idle[RANK_STEP_CAUSE_COUNT]; /* idle time of the rank's GPUs between `from` and `to` */
};

/* Sorted by rank and time. Initialise with zeros. */
struct rank_steps {
    struct rank_step *items;
    size_t count, capacity;
};

/* A rank. Times are ns, texts numbers of ranks.texts or EVENT_NO_TEXT. */
struct rank {
    int64_t rank;
    uint32_t host;
    int64_t start, end;        /* begin of the first and end of the last GPU operation; FIELD_ABSENT: none */
    int64_t steps, step_total; /* number of steps, and the sum of their lengths */
    int64_t compute, communication, exposed, copies;
    int64_t idle;                      /* idle time of its GPUs, from the first to the last operation */
    int64_t loading;                   /* part of the idle time due to late launches: in PyTorch's DataLoader */
    int64_t causes[IDLE_CAUSE_COUNT];  /* idle time of its GPUs by cause; 0 if another rank uses a GPU, too */
    uint32_t mostly[IDLE_CAUSE_COUNT]; /* by cause: what the host mostly did */
    uint32_t between;   /* the operations or lines between which its host is outside CUDA (ranks_describe_gaps()) */
    int64_t compared;   /* number of operations whose times on other ranks are known, too */
    int64_t waited;     /* waiting for ranks that began an operation later */
    int64_t neighbours; /* waiting in steps for the other rank of a send or receive, computing nothing */
    /* Time in operations of several ranks while nothing is computed, without the first of each communicator. All ranks
     * of a job take equally long, so a rank that works longer than its peers is blocked for less time. */
    int64_t blocked;
    int64_t delayed; /* total time that other ranks waited for this one when it began last */
    /* Sum of how much later it began operations than a typical rank. An operation counts at most with the time of
     * the typical rank. Sends and receives do not count, because one of two ranks of a pipeline always waits for the
     * other. */
    int64_t late;
    int64_t late_operations;
    int64_t worst, worst_at; /* largest lateness, and when; FIELD_ABSENT: never late */
    int64_t device;          /* id of one of its GPUs; FIELD_ABSENT: unknown */
    int64_t shares;          /* 1: another rank of the trace uses one of its GPUs, too */
};

struct rank_name {       /* a kernel or a copy of one rank */
    uint32_t rank, name; /* index in ranks.items; text */
    int64_t total, count;
    int64_t copy; /* 1: a copy; 0: a kernel */
};

/* The sender and the receiver of a row. */
struct neighbour_key {
    uint64_t from, to; /* indices in ranks.items */
};

struct neighbour_row {
    int64_t count; /* number of sends */
    int64_t alone; /* number of sends whose kernels on both ranks do nothing else */
    int64_t first; /* when the first send began on the sender, ns */
};

struct neighbours {
    struct dense_map keys; /* struct neighbour_key */
    ARRAY(struct neighbour_row) rows;
};

/* Initialise with zeros. */
struct ranks {
    const struct trace *trace; /* the trace of the ranks; NULL for ranks of a job */
    struct interner texts;
    struct pretty_names pretty; /* names of kernels, with --names=pretty */
    ARRAY(struct rank) items;
    ARRAY(struct rank_name) names;
    struct rank_steps steps;
    struct transfers transfers;
    struct neighbours neighbours;
    ARRAY(int64_t) starts;  /* scratch memory: starts of the operation that is being added */
    struct collective last; /* the last operation, if `any` is set */
    bool any;
};

void ranks_release(struct ranks *ranks);

/* Adds the steps of PROCESS to RANK. Ranks come in rising order. Adds nothing if RANK has steps already. Returns 0, or
 * -1: no memory. */
int rank_steps_add(struct rank_steps *steps, uint32_t rank, const struct steps_process *process);

/* Adds an operation to the step in which it was called at TIME. It took DURATION, of which the rank waited WAITED for
 * other ranks. Returns false if there is no such step. */
bool rank_steps_add_operation(struct rank_steps *steps, uint32_t rank, int64_t time, int64_t duration, int64_t waited);

/* Returns when the first step of RANK begins, or INT64_MIN if it has none. */
int64_t rank_steps_begin(const struct rank_steps *steps, uint32_t rank);

/* Adds idle time of a GPU of RANK to the steps that it overlaps. */
void rank_steps_add_idle(struct rank_steps *steps, uint32_t rank, const struct idle_interval *interval);

/* Returns whether an item from a file is valid for RANKS ranks. Does not check times. */
bool rank_step_is_good(const struct rank_step *step, size_t ranks);

/* Adds an operation of COUNT ranks, whose times are on one clock, to the sums of who waited for whom. INDEX has the
 * index of each rank in ranks.items. Operations come in the order of collectives_order(). Returns 0, or -1: no
 * memory. */
int ranks_add_operation(struct ranks *ranks, const struct collective *operation, const uint32_t *index, size_t count);

/* Returns the row of sends from the rank with index FROM to the rank with index TO, or NULL. */
const struct neighbour_row *neighbours_find(const struct neighbours *neighbours, uint32_t from, uint32_t to);

/* Returns the main cause of idle time between the rank's first and last operation, or IDLE_CAUSE_COUNT. */
unsigned rank_main_cause(const struct rank *rank);
/* Returns whether CAUSE means that the host launched late. */
bool rank_is_host_cause(unsigned cause);
/* Returns the idle time due to late launches of the host, without the DataLoader. */
int64_t rank_host_idle(const struct rank *rank);

#define RANKS_COLUMNS 15
extern const struct column ranks_columns[RANKS_COLUMNS];
#define RANKS_SORT "rank"
/* Returns the items of RANKS sorted by number; the caller frees the array. Returns NULL without memory. */
const struct rank **ranks_by_number(const struct ranks *ranks);

/* Adds a row for each rank, sorted by number, to ROW's table, which has these columns. Returns 0, or -1: no memory. */
int ranks_fill(struct report_row *row, const struct ranks *ranks);

#endif
