/*
 * The communication of a job's ranks as PyTorch's flight recorder sees it: for each rank its operations by time, the
 * groups that they belong to, and how far each operation came.
 *
 * The group of an operation is its communicator. Sends and receives have a group for each direction between two ranks,
 * because fr_trace expects all ranks of a group in each operation.
 */
#ifndef GPUTRACE_ANALYSIS_JOB_FLIGHT_JOB_H
#define GPUTRACE_ANALYSIS_JOB_FLIGHT_JOB_H

#include <stdbool.h>
#include <stdint.h>

#include "analysis/comm/collectives.h"
#include "analysis/hang/hang_facts.h"
#include "analysis/hang/hang_fronts.h"
#include "analysis/engine/trace.h"
#include "common/array.h"

struct flight_group {
    struct collective one; /* one of its operations */
    int64_t first;         /* sequence number from which on all its ranks have operations */
    ARRAY(int64_t) ranks;  /* ranks of the job, sorted */
};

/* An operation of a rank. */
struct flight_entry {
    int64_t rank, time;
    int64_t finished; /* when the first rank finished it; FIELD_ABSENT: no rank did */
    uint32_t group;   /* index in groups */
    struct collective own;
};

/* The communication of a job. After flight_job_read(), only reading the sorter changes it. */
struct flight_job {
    struct trace trace; /* must be first: trace_receive_metadata() gets the struct as a trace */
    struct collectives collectives;
    struct hang_facts facts;
    struct hang_fronts fronts; /* how far ranks got, and what they did at the end */
    ARRAY(struct flight_group) groups;
    ARRAY(int64_t) ranks;      /* ranks of the job, sorted */
    struct dense_map rank_ids; /* rank -> done */
    ARRAY(int64_t) done;       /* when a rank called its last operation whose kernel ended */
    struct sorter entries;     /* by rank and time */
    uint64_t left_out;         /* number of operations without an entry */
};

void flight_job_init(struct flight_job *job);
void flight_job_release(struct flight_job *job);

/* Reads the trace INPUT, in any format that the report reads. Returns 0, or -1 after error(). */
int flight_job_read(struct flight_job *job, const char *input);

/* fr_trace's word for a kind of operation; NULL if fr_trace has no word for it. */
extern const char *const flight_words[COLLECTIVE_KIND_COUNT];

/* Returns whether fr_trace can compare the entry with those of other ranks. */
bool flight_is_comparable(const struct flight_job *job, const struct flight_entry *entry);

/* Returns fr_trace's word for how far the entry came: "scheduled", "started" or "completed". */
const char *flight_state(const struct flight_job *job, const struct flight_entry *entry);

/* Returns the place of RANK among the ranks of the group, or -1 if it does not belong to the group. */
int64_t flight_place(const struct flight_group *group, int64_t rank);

#endif
