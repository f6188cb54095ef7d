/*
 * The ranks of a trace or of a job: what each did, how long it waited for others in communication, and how late it came
 * itself. The table of section_ranks, and of the report of a job.
 */
#ifndef GPUTRACE_ANALYSIS_RANKS_RANKS_H
#define GPUTRACE_ANALYSIS_RANKS_RANKS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/array.h"
#include "common/dense_map.h"
#include "common/map.h"
#include "analysis/idle/idle.h"
#include "analysis/comm/collectives.h"
#include "analysis/engine/section.h"
#include "analysis/ranks/rank_steps.h"
#include "analysis/ranks/transfers.h"

/* Times are ns, texts numbers of ranks.texts, EVENT_NO_TEXT: none. */
struct rank {
    int64_t rank;
    uint32_t host;
    int64_t start, end;        /* of its GPU operations; FIELD_ABSENT: it has none */
    int64_t steps, step_total; /* how many, and how long all of them took */
    int64_t compute, communication, exposed, copies;
    int64_t idle;    /* of its GPUs, from the first to the last operation */
    int64_t loading; /* of what its GPUs were idle because of late launches: for PyTorch's DataLoader */
    int64_t causes[IDLE_CAUSE_COUNT];  /* of idle time of its GPUs; where a GPU is another rank's, too, not known */
    uint32_t mostly[IDLE_CAUSE_COUNT]; /* what most of it was */
    uint32_t between;                  /* operations or lines that its host is outside CUDA between; stragglers.h */
    int64_t compared;                  /* operations that began on other ranks, too, so that it is known who waited */
    int64_t waited;                    /* for ranks that began an operation later */
    int64_t neighbours;                /* in steps: for the other rank of a send or receive, computing nothing */
    /* In operations of several ranks, but for the first of each communicator: computing nothing. All ranks of a job
     * take as long, so that one that works longer than its peers has less of it. */
    int64_t blocked;
    int64_t delayed; /* how long all others together waited for this one, which began last */
    /* How much later it began operations than a typical rank, as far as that waited. Sends and receives do not count:
     * of two ranks of a pipeline, one waits for the other. */
    int64_t late;
    int64_t late_operations;
    int64_t worst, worst_at; /* the longest that it was late, and when it began; FIELD_ABSENT: never */
    int64_t device;          /* a GPU of it; FIELD_ABSENT: not known */
    int64_t shares;          /* 1: another rank of the trace uses one of its GPUs, too */
};

struct rank_name {       /* a kernel or a copy of one rank */
    uint32_t rank, name; /* index of ranks.items; text */
    int64_t total, count;
    int64_t copy; /* 1: it is a copy */
};

/* Which ranks send to which: a row for each two ranks and direction. */
struct neighbour_key {
    uint64_t from, to; /* indices of ranks */
};

struct neighbour_row {
    int64_t count; /* operations */
    int64_t alone; /* of them: with a kernel of their own, so that no other direction is in it */
    int64_t first; /* when the first began on the sender, ns */
};

struct neighbours {
    struct dense_map keys; /* struct neighbour_key */
    ARRAY(struct neighbour_row) rows;
};

/* All zero is empty. */
struct ranks {
    const struct trace *trace; /* whose they are; NULL: of a job */
    struct interner texts;
    struct pretty_names pretty; /* of names of kernels, where names are shown so */
    ARRAY(struct rank) items;
    ARRAY(struct rank_name) names;
    struct rank_steps steps;
    struct transfers transfers;
    struct neighbours neighbours;
    ARRAY(int64_t) starts;  /* of the operation that is added */
    struct collective last; /* the last operation's */
    bool any;
};

void ranks_release(struct ranks *ranks);

/* Puts in what is known of the ranks of TRACE, which has the states of section_ranks, section_comm, section_steps and
 * section_idle. Returns 0, or -1: no memory, or after warning(). */
int ranks_of_trace(struct ranks *ranks, const struct trace *trace);

/* An operation of COUNT ranks, in one clock: who waited for whom. INDEX: the index of each in ranks.items. Operations
 * come in their order. Returns 0, or -1: no memory. */
int ranks_add_operation(struct ranks *ranks, const struct collective *operation, const uint32_t *index, size_t count);

/* What rank FROM sends to rank TO, indices both. NULL: nothing. */
const struct neighbour_row *neighbours_find(const struct neighbours *neighbours, uint32_t from, uint32_t to);

/* The cause of most of its idle time, but for what comes before its first and after its last operation.
 * IDLE_CAUSE_COUNT: none. */
unsigned rank_main_cause(const struct rank *rank);
/* Whether it is a cause of late launches. */
bool rank_is_host_cause(unsigned cause);
/* Idle time because its host launched late, without the DataLoader. */
int64_t rank_host_idle(const struct rank *rank);

#define RANKS_COLUMNS 15
extern const struct column ranks_columns[RANKS_COLUMNS];
#define RANKS_SORT "rank"
/* The items of RANKS by number, which the caller frees. NULL: no memory. */
const struct rank **ranks_by_number(const struct ranks *ranks);

/* Adds a row for each rank, by number, to ROW's table, which has these columns. Returns 0, or -1: no memory. */
int ranks_fill(struct report_row *row, const struct ranks *ranks);

#endif
