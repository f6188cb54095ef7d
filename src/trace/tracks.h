/*
 * The rows of a trace: what is drawn where.
 *
 * A track is what a user thinks of as one row: a thread, a stream. It has a lane for most of its slices and more when
 * they overlap; each lane is one (pid, tid) of the file. Numbers:
 *
 *   thread rows    pid, tid: those of the system. Further lanes: tid from TRACKS_EXTRA_TID up.
 *   GPU rows       pid: the device's number, as Kineto has it, for the first process of the trace that uses a device of
 *                  that number. When the number is taken, or is the pid of a traced process:
 *                  TRACKS_GPU_PID + (process << 10) + device, which is beyond all pids of Linux.
 *                  tid: the stream's number; further lanes, and equal numbers of several contexts, from
 *                  TRACKS_EXTRA_TID up.
 *
 *   of a process   whose pid another had before: TRACKS_PROCESS_PID + its index, for pid.
 *
 * All are positive 31-bit numbers, tid 0 is never used, and no tid of an extra row comes twice in a trace.
 */
#ifndef GPUTRACE_TRACE_TRACKS_H
#define GPUTRACE_TRACE_TRACKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/array.h"
#include "common/file_vector.h"
#include "common/map.h"

/* --- lanes --- */

/*
 * Which of several rows a slice goes to, so that in each row slices nest, or follow one another.
 *
 * Most rows need one lane only. So work comes in two steps: lanes_see() watches all slices go by in the order of the
 * records and remembers nothing as long as one lane is certain to do; otherwise `collecting` is set, and
 * lanes_collect() gets all slices a second time, lanes_assign() sorts them, and lanes_take() returns the lane of each.
 * Several threads can watch a piece of the row each; lanes_append() puts together what they saw.
 */

enum lanes_rule {
    LANES_NEST,   /* slices of a lane are apart, or one lies within the other */
    LANES_FOLLOW, /* slices of a lane are apart; the owner of a slice is who takes its lane, and nobody else does */
    LANES_OWN,    /* as LANES_NEST, but within a slice lie slices of the same owner alone */
};

struct lanes_span {
    uint64_t start, end; /* ns */
    uint32_t owner;      /* of LANES_OWN: a thread; of LANES_FOLLOW: a part of the spool; else 0 */
    uint32_t lane : 31;
    uint32_t taken : 1;
};

#define LANES_RECENT 4

struct lanes {
    enum lanes_rule rule;
    bool collecting;
    uint32_t count; /* of lanes, after lanes_assign(); at least 1 */
    /* Watching, which LANES_OWN does not: the last slices that no other one encloses so far, in order, and the end of
     * all before them, 0: there are none; the first of them all, once it is among those; and the earliest start of all
     * slices but that first. */
    struct lanes_recent {
        uint64_t start, end;
    } recent[LANES_RECENT];
    unsigned recent_count;
    uint64_t forgotten_end;
    struct lanes_recent first;
    uint64_t others_start;
    /* Collecting; then only spans of lanes beyond the first, by start and end. */
    FILE_VECTOR(struct lanes_span) spans;
};

void lanes_init(struct lanes *lanes, enum lanes_rule rule);
void lanes_release(struct lanes *lanes);

/* For rows known to need the second step. */
static inline void lanes_must_collect(struct lanes *lanes)
{
    lanes->collecting = true;
}

/* A slice, in the order in which slices end, for LANES_NEST, or begin, for LANES_FOLLOW; another order is noticed. */
void lanes_see(struct lanes *lanes, uint64_t start, uint64_t end);

/* As if LANES had then seen what MORE, of the same rule, has seen; `collecting` may be set although that would not have
 * set it, where MORE begins within more than one slice of others. LANES itself is not to be appended after that. */
void lanes_append(struct lanes *lanes, const struct lanes *more);

/* Returns 0, or -1 after error(). Does nothing unless collecting. */
int lanes_collect(struct lanes *lanes, uint64_t start, uint64_t end);
int lanes_collect_own(struct lanes *lanes, uint64_t start, uint64_t end, uint32_t owner);

int lanes_assign(struct lanes *lanes);

/* The lane of a slice that was collected, 0 when it was not. Of several equal slices each is given one of theirs.
 * Several threads may take those of different owners at once; of LANES_NEST all. */
uint32_t lanes_take(struct lanes *lanes, uint64_t start, uint64_t end);
uint32_t lanes_take_own(struct lanes *lanes, uint64_t start, uint64_t end, uint32_t owner);

/* --- tracks --- */

#define TRACKS_EXTRA_TID UINT32_C(0x20000000)
#define TRACKS_GPU_PID UINT32_C(0x40000000)
#define TRACKS_GPU_DEVICES 1024 /* of a process */
#define TRACKS_PROCESS_PID UINT32_C(0x10000000)

enum track_kind {
    TRACK_THREAD,         /* number: thread id */
    TRACK_OVERHEAD,       /* CUPTI's overhead on a thread; number: thread id, 0: of no thread */
    TRACK_STREAM,         /* number: stream id; GPU operations */
    TRACK_ANNOTATION,     /* NVTX ranges on a stream */
    TRACK_SYNC,           /* waiting for a stream, or, without a stream, for a context */
    TRACK_COMPILATION,    /* of the process; number: 0 */
    TRACK_PLUGIN,         /* what one added; number: the plugin's */
    TRACK_DEFERRED,       /* NVTX's deferred events of one scope; number: of nvtx_deferred's rows */
    TRACK_UNIFIED_MEMORY, /* of a GPU; number: 0 */
    TRACK_THREAD_STATE,   /* when a thread was off the processors; number: thread id */
    TRACK_KIND_COUNT
};

struct track {
    enum track_kind kind;
    uint32_t device, context; /* of streams, annotations and synchronisation */
    uint32_t number;
    uint32_t index; /* among the tracks of its process */
    uint32_t pid;
    uint32_t *tids; /* one for each lane, after tracks_number() */
    bool joined;    /* of annotations: their first lane is the stream's own row */
    bool apart;     /* of annotations: they do not nest with the operations of the stream, and are not joined */
    /* Of streams: the graph whose replays are all that runs there, so far; 0: none. */
    uint32_t graph;
    uint32_t last_graph;     /* of the last operation */
    bool has_others;         /* something else ran there */
    struct track *stands_in; /* of a stream that has no row: that which has its slices; else NULL */
    struct lanes lanes;
};

struct row {
    uint32_t pid, tid;
};

/* What one thread found last, of each kind. Starts as zeros. */
struct tracks_recent {
    const struct tracks *tracks;
    struct track *of_kind[TRACK_KIND_COUNT];
};

/* The tracks of one process. */
struct tracks {
    const char *directory; /* for what memory cannot hold; NULL: none */
    struct map by_key;
    ARRAY(struct track *) items;
    struct tracks_recent recent; /* of who puts */
};

/* The numbers in use in the whole trace. */
struct rows {
    struct map taken_pids;
    struct map taken_tids; /* pid << 32 | tid */
    uint32_t next_extra;
};

void tracks_release(struct tracks *tracks);
/* What is known of slices need not stay in memory for now. */
void tracks_evict(const struct tracks *tracks);
void rows_release(struct rows *rows);

/* The track, made when it is new (then *IS_NEW is true; it may be NULL); stays where it is. NULL after error(). */
struct track *tracks_put(struct tracks *tracks, enum track_kind kind, uint32_t device, uint32_t context,
                         uint32_t number, bool *is_new);
/* NULL: there is none. For a stream without a row the one that stands in. The second remembers it for the next time. */
struct track *tracks_get(const struct tracks *tracks, enum track_kind kind, uint32_t device, uint32_t context,
                         uint32_t number);
struct track *tracks_look(struct tracks *tracks, struct tracks_recent *recent, enum track_kind kind, uint32_t device,
                          uint32_t context, uint32_t number);

/* The pids of all traced processes come first. Returns 0, or -1 after error(). */
int rows_take_pid(struct rows *rows, uint32_t pid);

/* The pid of a GPU's rows in the process of this index; 0 may be one. Returns 0, or -1 after error(). */
int rows_gpu_pid(struct rows *rows, uint32_t process, uint32_t device, uint32_t *pid);

/* Assigns lanes to slices and numbers to lanes. Returns 0, or -1 after error(). */
int tracks_number(struct tracks *tracks, struct rows *rows);

/* The row of a slice that lanes_see() has seen. */
static inline struct row track_row(struct track *track, uint64_t start, uint64_t end)
{
    uint32_t lane = track->lanes.count == 1 ? 0 : lanes_take(&track->lanes, start, end);
    return (struct row){track->pid, track->tids[lane]};
}

/* The same of lanes_collect_own(). */
static inline struct row track_row_own(struct track *track, uint64_t start, uint64_t end, uint32_t owner)
{
    uint32_t lane = track->lanes.count == 1 ? 0 : lanes_take_own(&track->lanes, start, end, owner);
    return (struct row){track->pid, track->tids[lane]};
}

#endif
