/*
 * How far each rank came in each communicator: the operation that it finished last, the one that it entered last, and
 * the first that it did not finish. Only communicators with an unfinished operation are kept, so that memory does not
 * depend on the number of operations.
 */
#ifndef GPUTRACE_ANALYSIS_HANG_HANG_FRONTS_H
#define GPUTRACE_ANALYSIS_HANG_HANG_FRONTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/array.h"
#include "common/map.h"
#include "analysis/comm/collectives.h"

/* A rank that waits, or whose GPU runs something, for less at the end of the recording does not hang: a job may be
 * killed at any time. */
#define HANG_LEAST_NS INT64_C(1000000000)

enum hang_ending {
    HANG_LIVES,    /* it still ran, or it is not known how it ended */
    HANG_KILLED,   /* it ended without its exit handlers: perhaps because of the hang */
    HANG_CRASHED,  /* by a signal for its own fault */
    HANG_FINISHED, /* it exited */
};

/* A rank of a job. Numbers that are not known are FIELD_ABSENT, texts, of hang_fronts.texts, EVENT_NO_TEXT. */
struct hang_member {
    int64_t rank;       /* of the job */
    event_id process;   /* its id, in its trace */
    uint32_t ending;    /* enum hang_ending */
    uint32_t how;       /* how it ended: "signal 11 (Segmentation fault)" */
    int64_t last;       /* the time at which it was last seen */
    uint32_t gpu;       /* what its GPU runs that is not communication: "kernel spin() has been running on GPU 2" */
    int64_t gpu_since;  /* when that began to run */
    int64_t gpu_called; /* when that was launched */
    uint32_t host;      /* the call that its communicating thread was in: "cudaStreamSynchronize" */
    int64_t host_since; /* when that call began */
    uint32_t thread;    /* that thread: "thread 583 (python3)" */
    uint32_t range;     /* the innermost open range or operator of that thread */
    uint32_t place;     /* its last lines: "load (train.py:31) < main (train.py:9)" */
    uint32_t init;      /* the open call that makes a communicator */
    int64_t init_since; /* when that call began */
    uint32_t in_call;   /* 1: `host` is a call that had not returned; else the last call */
};

/* Its texts and its times, for those who translate them. */
#define HANG_MEMBER_TEXTS(m) {&(m)->how, &(m)->gpu, &(m)->host, &(m)->thread, &(m)->range, &(m)->place, &(m)->init}
#define HANG_MEMBER_TIMES(m) {&(m)->last, &(m)->gpu_since, &(m)->gpu_called, &(m)->host_since, &(m)->init_since}

/* How far a rank came. */
struct hang_front {
    uint32_t member;           /* index in members */
    bool finished, pends;      /* `done` and `pending` are known */
    struct collective last;    /* the operation that it entered last */
    struct collective done;    /* the one that it finished last */
    struct collective pending; /* the first after that, which it did not finish */
};

/* The most ranks that are listed because their operation differs from that of the first rank. */
#define HANG_OTHERS 8u

/* The operations of a communicator, or those between two of its ranks. */
struct hang_group {
    size_t first_front, front_count;
    int64_t size;     /* ranks; FIELD_ABSENT: not known */
    bool has_kernels; /* a call without a kernel is then not finished */
    bool any_finished;
    struct collective finished; /* the last operation that all ranks finished */
    unsigned other_count;       /* of `others` */
    /* The first operation that differs between ranks: as the first rank entered it, and as others did. */
    struct collective one, others[HANG_OTHERS];
};

/* All zero but `strings`, which outlives it, is empty. */
struct hang_fronts {
    const struct interner *strings; /* of the collectives' texts */
    struct interner texts;
    ARRAY(struct hang_member) members;
    struct dense_map member_of_rank;  /* a rank or a process -> members */
    struct dense_map member_of_place; /* communicator and rank in it -> places */
    ARRAY(uint32_t) places;
    ARRAY(struct hang_front) fronts; /* of one group after another */
    ARRAY(struct hang_group) groups;
    ARRAY(uint32_t) front_of_member; /* index + 1 in fronts, if it is of the last group */
    bool reading;                    /* the last of groups is being read */
};

void hang_fronts_release(struct hang_fronts *fronts);

/* The number of TEXT in hang_fronts.texts; EVENT_NO_TEXT: no memory, or TEXT is NULL. */
uint32_t hang_fronts_text(struct hang_fronts *fronts, const char *text);

/* Returns the member of RANK, or of PROCESS if RANK is FIELD_ABSENT. A new member is made with nothing known. It is
 * valid until the next one is made. Returns NULL without memory. */
struct hang_member *hang_fronts_member(struct hang_fronts *fronts, int64_t rank, event_id process);
/* The index of the member that is RANK of the communicator of OWN; -1: not known. */
int64_t hang_fronts_place(const struct hang_fronts *fronts, const struct collective *own, int32_t rank);

/* Adds an operation with all ranks that took part, in the order of struct collectives_walk. Returns 0, or -1: no
 * memory. */
int hang_fronts_operation(struct hang_fronts *fronts, const struct collective *ranks, size_t count);
/* After the last. */
void hang_fronts_end(struct hang_fronts *fronts);

/* Compares the places of two operations of a group. */
int hang_fronts_order(const struct collective *left, const struct collective *right);
/* Whether the operations of two ranks do not match: they have another kind, size or root. */
bool hang_fronts_differ(const struct hang_fronts *fronts, const struct collective *one, const struct collective *other);

#endif
