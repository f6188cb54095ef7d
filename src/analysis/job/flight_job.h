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
    struct collective one; /* of its operations */
    int64_t first;         /* the first operation that all ranks with operations have */
    ARRAY(int64_t) ranks;  /* of the job, in order */
};

/* An operation of a rank. */
struct flight_entry {
    int64_t rank, time;
    int64_t finished; /* when the first of all ranks finished it; FIELD_ABSENT: none did */
    uint32_t group;   /* index */
    struct collective own;
};

/* After flight_job_read() all but the entries stays as it is. */
struct flight_job {
    struct trace trace; /* first, as the receiver of metadata is a trace */
    struct collectives collectives;
    struct hang_facts facts;
    struct hang_fronts fronts; /* what ranks did at their end */
    ARRAY(struct flight_group) groups;
    ARRAY(int64_t) ranks;      /* of the job, in order */
    struct dense_map rank_ids; /* a rank -> done */
    ARRAY(int64_t) done;       /* when it called the last operation whose kernel ended */
    struct sorter entries;     /* by rank and time */
    uint64_t left_out;         /* operations that have no entry */
};

void flight_job_init(struct flight_job *job);
void flight_job_release(struct flight_job *job);

/* Reads the trace INPUT, any that the report reads. Returns 0, or -1 after error(). */
int flight_job_read(struct flight_job *job, const char *input);

/* fr_trace's word for a kind of operation; NULL: it has none. */
extern const char *const flight_words[COLLECTIVE_KIND_COUNT];

/* Whether fr_trace can compare the entry with those of other ranks. */
bool flight_is_comparable(const struct flight_job *job, const struct flight_entry *entry);

/* "scheduled", "started" or "completed". */
const char *flight_state(const struct flight_job *job, const struct flight_entry *entry);

/* The place of RANK among the ranks of the group; -1: it does not belong to it. */
int64_t flight_place(const struct flight_group *group, int64_t rank);

#endif
