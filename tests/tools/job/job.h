/*
 * Makes the traces of a job: training on N ranks of H hosts, whose truth is known.
 *
 *   main.c      options; one process for each worker, which writes some of the files
 *   program.c   what a rank does in a step: a list of operations
 *   simulate.c  all ranks at once: when each enters and leaves its collective operations
 *   events.c    the operations of one rank as events
 *   files.c     traces by the sinks of gputrace
 *   metadata.c  what stands before the events
 *   truth.c     truth.json
 *
 * Time is ns since the job's start, the same for all ranks; a host's clock shows another one (job_shown()).
 */
#ifndef TESTS_TOOLS_JOB_H
#define TESTS_TOOLS_JOB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/array.h"

#define JOB_EPOCH INT64_C(1790000000000000000) /* of the clock of a host without an offset, at the start */

#define JOB_FIRST_PID 4000 /* of a host's ranks */

/* --- what is asked for --- */

struct job_rank_options {
    int64_t late;  /* ns that the host sleeps in each step */
    int64_t data;  /* ns by which loading data takes longer */
    int64_t copy;  /* ns by which copying them to the GPU takes longer */
    double slower; /* kernels take so many times as long: 1 + this */
    uint32_t dies; /* in this step, once its data are loaded; UINT32_MAX: it does not */
};

struct job_host_options {
    double link;      /* transfers between this and other hosts take so many times as long */
    int64_t offset;   /* of its clock at the start, ns */
    double drift_ppm; /* of its clock */
};

struct job {
    const char *directory, *ending;
    uint32_t ranks, hosts, tensor, pipeline; /* ranks; hosts; ranks of a tensor parallel group; stages */
    uint32_t data;                           /* ranks of a data parallel group */
    uint32_t microbatches;                   /* of a step: all forward, then all backward */
    uint32_t steps;
    uint64_t seed;
    bool by_host; /* a file for each host, else for each rank */
    struct job_rank_options *of_rank;
    struct job_host_options *of_host;
    uint32_t per_host; /* ranks of a host; of the last one there may be fewer */

    struct job_stage *stages; /* the program of each */
    /* Of each rank, step and communication: ns from its entry to when it leaves; JOB_STUCK: it does not. After
     * job_simulate(). */
    uint32_t *durations;
    uint32_t communications; /* of a step, of the stage that has most */
    ARRAY(struct job_truth) truths;
    int64_t *waits; /* of each rank: ns in all its collective operations for the last rank */
    int64_t end;    /* the last rank's; of a job that hangs, when it was killed */
    int64_t died;   /* when a rank did; 0: none */
};

/* What collective operations of a kind did. */
struct job_truth {
    uint8_t group, operation;
    uint64_t bytes, count; /* of one; operations */
    uint64_t ranks;        /* that took part in one */
    int64_t wait;          /* ns, of all their ranks for the last one */
    int64_t transfer;      /* ns, from the last entry to the first that leaves */
    int64_t time;          /* ns, of all their ranks from entry to end */
};

/* --- program.c --- */

enum job_group { JOB_DATA, JOB_TENSOR, JOB_PIPELINE, JOB_GROUP_COUNT };
enum job_operation { JOB_ALL_REDUCE, JOB_ALL_GATHER, JOB_REDUCE_SCATTER, JOB_SEND, JOB_RECEIVE, JOB_OPERATION_COUNT };

struct job_op {
    enum {
        JOB_OP_PUSH, /* an NVTX range named NAME begins */
        JOB_OP_POP,
        JOB_OP_LOAD, /* the host loads data, and copies them to the GPU */
        JOB_OP_LATE, /* the host sleeps where it is a late one's */
        JOB_OP_KERNELS,
        JOB_OP_COMMUNICATE,
        JOB_OP_WAIT, /* computation goes on when communication has ended */
        JOB_OP_SYNCHRONISE
    } kind;
    const char *name;
    uint32_t count; /* kernels */
    enum job_group group;
    enum job_operation operation;
    int peer; /* of a send or receive: stages from here */
    uint64_t bytes;
    bool overlapped; /* computation goes on meanwhile */
};

struct job_stage {
    ARRAY(struct job_op) ops;
    uint32_t communications; /* of a step */
    uint32_t events;         /* slices of a step */
};

extern const struct job_operation_names {
    const char *name, *call, *kernel;
} job_operation_names[JOB_OPERATION_COUNT];
extern const char *const job_group_names[JOB_GROUP_COUNT];

/* Makes `stages`. */
void job_program(struct job *job);

/* Ranks are numbered tensor parallel first, then data parallel, then by stage. */
static inline uint32_t job_stage_of(const struct job *job, uint32_t rank)
{
    return rank / (job->tensor * job->data);
}
static inline uint32_t job_host_of(const struct job *job, uint32_t rank)
{
    return rank / job->per_host;
}

/* Ranks of one trace have correlation numbers of their own. */
static inline uint32_t job_correlation_offset(const struct job *job, uint32_t rank)
{
    return job->by_host ? (UINT32_C(1) << 31) / job->per_host * (rank % job->per_host) : 0;
}

/* The group of RANK for an operation: its number among those of its kind, how many ranks it has, which of them RANK is;
 * rank I of it. */
struct job_group_of {
    uint32_t number, size, rank, first, stride;
};
struct job_group_of job_group_of(const struct job *job, enum job_group group, uint32_t rank);

/* A number in [0, 1) that depends on these alone. */
double job_uniform(const struct job *job, uint32_t rank, uint32_t step, uint32_t what, uint32_t index);

/* Time that kernel INDEX of an operation takes, on RANK. */
int64_t job_kernel_time(const struct job *job, uint32_t rank, uint32_t step, uint32_t op, uint32_t index);
/* Time that the data of an operation take, once all have come. */
int64_t job_transfer_time(const struct job *job, const struct job_op *op, uint32_t rank, uint32_t step,
                          uint32_t number);

/* --- events.c --- */

struct job_writer; /* files.c; NULL: nothing is written */

/* A rank on its way through its program. */
struct job_run {
    const struct job *job;
    uint32_t rank, step, op;
    uint32_t communication; /* of this step, the next */
    int64_t host, compute, communicate;
    int64_t pushed[8];
    const char *pushed_names[8];
    unsigned depth;
    uint32_t correlation;
    uint64_t sequences[JOB_GROUP_COUNT]; /* of the next collective operation */
    uint64_t pair_sequences[4];          /* of the next send or receive: to and from the stage before, and after */
    /* Of the communication that it is at: */
    int64_t called, launched, returned, entered;
    bool stuck; /* it never leaves it; known where events are written */
};

void job_run_begin(struct job_run *run, const struct job *job, uint32_t rank);
/* Goes on to the next communication, whose `entered` is then known. Returns NULL: the program has ended, or died. */
const struct job_op *job_run_next(struct job_run *run, struct job_writer *writer);
/* It has left it; LEFT below 0: it never does, and only its events are to be written. */
void job_run_leave(struct job_run *run, const struct job_op *op, int64_t left, struct job_writer *writer);

/* --- simulate.c --- */

#define JOB_STUCK UINT32_MAX

/* Fills `durations`, `truths`, `waits` and `end`. Returns 0, or -1 after error(). */
int job_simulate(struct job *job);

static inline uint32_t *job_duration(const struct job *job, uint32_t rank, uint32_t step, uint32_t number)
{
    return &job->durations[((size_t)rank * job->steps + step) * job->communications + number];
}

/* --- files.c --- */

/* What a host's clock shows. */
static inline int64_t job_shown(const struct job *job, uint32_t host, int64_t time)
{
    const struct job_host_options *options = &job->of_host[host];
    return JOB_EPOCH + time + options->offset + (int64_t)((double)time * options->drift_ppm * 1e-6);
}

/* How many files there are, and whose the ranks of one are. */
uint32_t job_file_count(const struct job *job);

/* Writes a file; adds its slices to *EVENTS. Returns 0, or -1 after error(). */
int job_file_write(const struct job *job, uint32_t file, uint64_t *events);

/* Events of a rank, true times. */
void job_write_range(struct job_writer *writer, const char *name, int64_t start, int64_t end);
void job_write_call(struct job_writer *writer, const char *name, uint32_t cbid, uint32_t correlation, int64_t start,
                    int64_t end, bool launches);
void job_write_kernel(struct job_writer *writer, uint32_t kind, uint32_t correlation, int64_t start, int64_t end);
void job_write_copy(struct job_writer *writer, uint64_t bytes, uint32_t correlation, int64_t start, int64_t end);
/* The call's range and the kernel of a communication. */
void job_write_communication(struct job_writer *writer, const struct job_run *run, const struct job_op *op,
                             uint64_t sequence, int64_t left);
/* The same of one that has not ended, and of the ranges around it. */
void job_write_stuck(struct job_writer *writer, const struct job_run *run, const struct job_op *op, uint64_t sequence);
void job_write_open_ranges(struct job_writer *writer, const struct job_run *run, int64_t end);
/* A step has ended. */
void job_write_step(struct job_writer *writer);

/* --- metadata.c --- */

struct sink;
void job_metadata_write(const struct job *job, uint32_t first, uint32_t end, const char *path, struct sink *sink);

/* --- truth.c --- */

/* Returns 0, or -1 after error(). */
int job_truth_write(const struct job *job);

#endif
