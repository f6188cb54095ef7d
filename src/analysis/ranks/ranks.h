/*
 * The ranks of a trace or of a job: what each did, how long it waited for others in communication, and how late it was
 * itself. They are the table of section_ranks, and of the report of a job.
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

/* The steps of the ranks: how long each took, and how long it communicated and waited in it. A rank has RANK_STEPS_MOST
 * items at most: of more steps, several that follow one another are one item. */
#define RANK_STEPS_MOST 256

/* Causes of idle time, in groups.
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
    uint32_t first, count;               /* the number of its first step, from 0 in each rank; the number of steps */
    uint32_t width;                      /* a power of two: the steps of an item, except the last of the rank */
    int64_t from, to;                    /* from the start of its first to the end of its last step on the host */
    int64_t total;                       /* time of all its steps */
    int64_t gpu;                         /* of GPU operations that they launched, communication too */
    int64_t communication;               /* of operations that they launched */
    int64_t waited;                      /* of `communication`: for ranks that began an operation later */
    int64_t idle[RANK_STEP_CAUSE_COUNT]; /* of its GPUs, between `from` and `to` */
};

/* By rank and time. All zero is empty. */
struct rank_steps {
    struct rank_step *items;
    size_t count, capacity;
};

/* Times are ns, texts numbers of ranks.texts, EVENT_NO_TEXT: none. */
struct rank {
    int64_t rank;
    uint32_t host;
    int64_t start, end;        /* of its GPU operations; FIELD_ABSENT: it has none */
    int64_t steps, step_total; /* the number of steps, and their time */
    int64_t compute, communication, exposed, copies;
    int64_t idle;                      /* of its GPUs, from the first to the last operation */
    int64_t loading;                   /* of the idle time because of late launches: in PyTorch's DataLoader */
    int64_t causes[IDLE_CAUSE_COUNT];  /* idle time of its GPUs by cause; 0 if another rank uses a GPU, too */
    uint32_t mostly[IDLE_CAUSE_COUNT]; /* text: what the host mostly did, by cause */
    uint32_t between;   /* text: the operations or lines between which its host is outside CUDA; stragglers.h */
    int64_t compared;   /* operations whose times on other ranks are known, too */
    int64_t waited;     /* for ranks that began an operation later */
    int64_t neighbours; /* wait in steps for the other rank of a send or receive, computing nothing */
    /* Time in operations of several ranks, computing nothing, without the first of each communicator. All ranks of a
     * job take equally long, so a rank that works longer than its peers is blocked for less time. */
    int64_t blocked;
    int64_t delayed; /* the sum of what all others waited for this rank, when it began last */
    /* How much later it began operations than a typical rank, at most what the typical rank waited. Sends and receives
     * do not count, because one of two ranks of a pipeline always waits for the other. */
    int64_t late;
    int64_t late_operations;
    int64_t worst, worst_at; /* the longest time that it was late, and when; FIELD_ABSENT: never */
    int64_t device;          /* one of its GPUs; FIELD_ABSENT: not known */
    int64_t shares;          /* 1: another rank of the trace uses one of its GPUs, too */
};

struct rank_name {       /* a kernel or a copy of one rank */
    uint32_t rank, name; /* index of ranks.items; text */
    int64_t total, count;
    int64_t copy; /* 1: it is a copy */
};

/* The key of what one rank sends to another. */
struct neighbour_key {
    uint64_t from, to; /* indices of ranks */
};

struct neighbour_row {
    int64_t count; /* operations */
    int64_t alone; /* of them, those with a kernel of their own, which does not also go the other way */
    int64_t first; /* when the first began on the sender, ns */
};

struct neighbours {
    struct dense_map keys; /* struct neighbour_key */
    ARRAY(struct neighbour_row) rows;
};

/* All zero is empty. */
struct ranks {
    const struct trace *trace; /* the trace of the ranks; NULL: they are of a job */
    struct interner texts;
    struct pretty_names pretty; /* of kernels, with --names=pretty */
    ARRAY(struct rank) items;
    ARRAY(struct rank_name) names;
    struct rank_steps steps;
    struct transfers transfers;
    struct neighbours neighbours;
    ARRAY(int64_t) starts;  /* starts of the operation that is being added */
    struct collective last; /* of the last operation, if ANY was added */
    bool any;
};

void ranks_release(struct ranks *ranks);

/* Adds the steps of PROCESS to RANK, which is not below the ranks added before. If RANK has steps already, nothing is
 * added. Returns 0, or -1: no memory. */
int rank_steps_add(struct rank_steps *steps, uint32_t rank, const struct steps_process *process);

/* Adds an operation that took DURATION, and WAITED of it for others, to the step in which it was called at TIME.
 * Returns false if there is no such step. */
bool rank_steps_add_operation(struct rank_steps *steps, uint32_t rank, int64_t time, int64_t duration, int64_t waited);

/* When the first step of RANK begins; INT64_MIN if it has none. */
int64_t rank_steps_begin(const struct rank_steps *steps, uint32_t rank);

/* Adds idle time of a GPU of RANK to the steps in which it was. */
void rank_steps_add_idle(struct rank_steps *steps, uint32_t rank, const struct idle_interval *interval);

/* Whether an item that was read from a file is valid for RANKS ranks. Its times are not checked. */
bool rank_step_is_good(const struct rank_step *step, size_t ranks);

/* Adds an operation of COUNT ranks, whose times are of one clock: who waited for whom. INDEX: the index of each rank in
 * ranks.items. Operations come in their order. Returns 0, or -1: no memory. */
int ranks_add_operation(struct ranks *ranks, const struct collective *operation, const uint32_t *index, size_t count);

/* Returns the row of what the rank with index FROM sends to the rank with index TO; NULL: nothing. */
const struct neighbour_row *neighbours_find(const struct neighbours *neighbours, uint32_t from, uint32_t to);

/* The cause of most of its idle time between its first and its last operation; IDLE_CAUSE_COUNT if there is none. */
unsigned rank_main_cause(const struct rank *rank);
/* Whether CAUSE is one of late launches. */
bool rank_is_host_cause(unsigned cause);
/* Idle time because its host launched late, without the DataLoader. */
int64_t rank_host_idle(const struct rank *rank);

#define RANKS_COLUMNS 15
extern const struct column ranks_columns[RANKS_COLUMNS];
#define RANKS_SORT "rank"
/* The items of RANKS sorted by number, which the caller frees. Returns NULL without memory. */
const struct rank **ranks_by_number(const struct ranks *ranks);

/* Adds a row for each rank, by number, to ROW's table, which has these columns. Returns 0, or -1: no memory. */
int ranks_fill(struct report_row *row, const struct ranks *ranks);

#endif
