/*
 * Records how far each rank got in each communicator: the last operation that it finished, the last that it entered,
 * and the first that it did not finish. Communicators without an unfinished operation are dropped, so that memory does
 * not depend on the number of operations.
 */
#ifndef GPUTRACE_ANALYSIS_HANG_HANG_FRONTS_H
#define GPUTRACE_ANALYSIS_HANG_HANG_FRONTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/array.h"
#include "common/map.h"
#include "analysis/comm/collectives.h"

/* The least ns that a wait, or an operation on the GPU, has lasted at the end of the recording to count as a hang: a
 * job may be killed at any time. */
#define HANG_LEAST_NS INT64_C(1000000000)

enum hang_ending {
    HANG_LIVES,    /* the process still ran, or how it ended is unknown */
    HANG_KILLED,   /* it ended without its exit handlers, perhaps because of the hang */
    HANG_CRASHED,  /* a signal for a fault of its own ended it */
    HANG_FINISHED, /* it exited */
};

/* A rank of a job and what it did at the end. Texts are numbers of hang_fronts.texts. Unknown numbers are FIELD_ABSENT,
 * unknown texts EVENT_NO_TEXT. */
struct hang_member {
    int64_t rank;       /* rank in the job */
    event_id process;   /* id of its process in its trace */
    uint32_t ending;    /* enum hang_ending */
    uint32_t how;       /* how it ended: "signal 11 (Segmentation fault)" */
    int64_t last;       /* when the process was last seen */
    uint32_t gpu;       /* what its GPU runs besides communication: "kernel spin() has been running on GPU 2" */
    int64_t gpu_since;  /* when `gpu` began to run */
    int64_t gpu_called; /* when `gpu` was launched */
    uint32_t host;      /* the call that its communicating thread was in: "cudaStreamSynchronize" */
    int64_t host_since; /* when `host` began */
    uint32_t thread;    /* its communicating thread: "thread 583 (python3)" */
    uint32_t range;     /* the innermost open range or operator of `thread` */
    uint32_t place;     /* the innermost frames of its last stack: "load (train.py:31) < main (train.py:9)" */
    uint32_t init;      /* the call that creates a communicator, if it had not returned */
    int64_t init_since; /* when `init` began */
    uint32_t in_call;   /* 1: `host` had not returned; 0: it is the last call */
};

/* The fields that are texts and times, for code that renumbers texts or corrects clocks. */
#define HANG_MEMBER_TEXTS(m) {&(m)->how, &(m)->gpu, &(m)->host, &(m)->thread, &(m)->range, &(m)->place, &(m)->init}
#define HANG_MEMBER_TIMES(m) {&(m)->last, &(m)->gpu_since, &(m)->gpu_called, &(m)->host_since, &(m)->init_since}

/* How far a rank got in a communicator. */
struct hang_front {
    uint32_t member;           /* index in members */
    bool finished, pends;      /* `done` and `pending` are set */
    struct collective last;    /* the last operation that the rank entered */
    struct collective done;    /* the last operation that the rank finished */
    struct collective pending; /* the first unfinished operation after `done` */
};

/* The most ranks that are kept because their operation differs from that of the first rank. */
#define HANG_OTHERS 8u

/* The operations of a communicator, or the sends and receives between two of its ranks. */
struct hang_group {
    size_t first_front, front_count;
    int64_t size;     /* ranks; FIELD_ABSENT: not known */
    bool has_kernels; /* operations have kernels, so that a call without one is unfinished */
    bool any_finished;
    struct collective finished; /* the last operation that all ranks finished */
    unsigned other_count;       /* number of `others` */
    /* If other_count > 0, the first operation on which ranks disagree: as the first rank and as the other ranks entered
     * it. */
    struct collective one, others[HANG_OTHERS];
};

/* Initialise with zeros and `strings`, which must outlive the struct. */
struct hang_fronts {
    const struct interner *strings; /* texts of the collectives */
    struct interner texts;
    ARRAY(struct hang_member) members;
    struct dense_map member_of_rank;  /* a rank or a process -> members */
    struct dense_map member_of_place; /* communicator and rank in it -> places */
    ARRAY(uint32_t) places;
    ARRAY(struct hang_front) fronts; /* grouped by `groups` */
    ARRAY(struct hang_group) groups;
    ARRAY(uint32_t) front_of_member; /* by member: index + 1 in `fronts` of its front in the last group; 0: none */
    bool reading;                    /* the last group may get more operations */
};

void hang_fronts_release(struct hang_fronts *fronts);

/* Adds TEXT to hang_fronts.texts and returns its number. Returns EVENT_NO_TEXT without memory, or if TEXT is NULL. */
uint32_t hang_fronts_text(struct hang_fronts *fronts, const char *text);

/* Returns the member of RANK, or of PROCESS if RANK is FIELD_ABSENT, and adds an empty one if it is new. The pointer is
 * valid until the next member is added. Returns NULL without memory. */
struct hang_member *hang_fronts_member(struct hang_fronts *fronts, int64_t rank, event_id process);
/* Returns the index of the member that is RANK in the communicator of OWN, or -1 if it is unknown. */
int64_t hang_fronts_place(const struct hang_fronts *fronts, const struct collective *own, int32_t rank);

/* Adds an operation with the COUNT ranks that took part. Operations come in the order of struct collectives_walk.
 * Returns 0, or -1: no memory. */
int hang_fronts_operation(struct hang_fronts *fronts, const struct collective *ranks, size_t count);
/* Ends the last group. Call it after the last operation. */
void hang_fronts_end(struct hang_fronts *fronts);

/* Compares two operations of a group by their order in the program, as qsort() expects. */
int hang_fronts_order(const struct collective *left, const struct collective *right);
/* Returns whether the operations of two ranks do not match, because their kind, size or root differs. */
bool hang_fronts_differ(const struct hang_fronts *fronts, const struct collective *one, const struct collective *other);

#endif
