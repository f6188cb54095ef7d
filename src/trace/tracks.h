/*
 * The rows of a trace.
 *
 * A track is what a user thinks of as a row, such as a thread or a stream. A track has one lane, and further lanes if
 * its slices overlap without nesting. Each lane is a row of the file with a pid and a tid:
 *
 *   rows of threads       pid and tid are those of the system. Further lanes have tids from TRACKS_EXTRA_TID up.
 *   rows of GPUs          The pid is the device's number, as in Kineto's traces, for the first process of the trace
 *                         that uses the device. If the number is taken, also by the pid of a traced process, the pid is
 *                         TRACKS_GPU_PID + (process << 10) + device, which is beyond all pids of Linux.
 *                         The tid is the stream's number. Further lanes, and equal numbers of several contexts, have
 *                         tids from TRACKS_EXTRA_TID up.
 *   rows of a process     whose pid an earlier process had: the pid is TRACKS_PROCESS_PID + the process's index.
 *
 * All numbers are positive and have 31 bits, no tid is 0, and each tid of an extra lane is unique in the trace.
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
 * Lanes distribute the slices of a track, so that the slices of a lane nest or follow one another.
 *
 * Most tracks need only one lane, so the work is done in two steps. lanes_see() gets all slices in the order of the
 * records and stores nothing as long as one lane is certain to suffice. Otherwise it sets `collecting`: then
 * lanes_collect() gets all slices a second time, lanes_assign() sorts them, and lanes_take() returns the lane of each.
 * Several threads may watch parts of a track; lanes_append() joins their results.
 */

enum lanes_rule {
    LANES_NEST,   /* slices of a lane do not overlap, or one lies within the other */
    LANES_FOLLOW, /* slices of a lane do not overlap; only the owner of a slice calls lanes_take() for it */
    LANES_OWN,    /* as LANES_NEST, but a slice and those within it have the same owner */
};

struct lanes_span {
    uint64_t start, end; /* ns */
    uint32_t owner;      /* LANES_OWN: a thread; LANES_FOLLOW: a part of the spool; LANES_NEST: 0 */
    uint32_t lane : 31;
    uint32_t taken : 1;
};

#define LANES_RECENT 4

struct lanes {
    enum lanes_rule rule;
    bool collecting;
    uint32_t count; /* number of lanes, after lanes_assign(); at least 1 */
    /* For lanes_see(). A top-level slice is one that no later slice encloses so far. `recent` has the last of them, in
     * order; forgotten_end is the end of the one before these, 0 if there is none; `first` is the first of all, once it
     * left `recent`. others_start is the earliest start of all slices except that first one. */
    struct lanes_recent {
        uint64_t start, end;
    } recent[LANES_RECENT];
    unsigned recent_count;
    uint64_t forgotten_end;
    struct lanes_recent first;
    uint64_t others_start;
    /* The collected slices; after lanes_assign() only those beyond the first lane, by start and end. */
    FILE_VECTOR(struct lanes_span) spans;
};

void lanes_init(struct lanes *lanes, enum lanes_rule rule);
void lanes_release(struct lanes *lanes);

/* Requires the second step without watching. */
static inline void lanes_must_collect(struct lanes *lanes)
{
    lanes->collecting = true;
}

/* Watches a slice. Slices must come in the order of their ends (LANES_NEST) or starts (LANES_FOLLOW); any other order
 * sets `collecting`. */
void lanes_see(struct lanes *lanes, uint64_t start, uint64_t end);

/* Adds to LANES what MORE, of the same rule, has seen after it. `collecting` may be set needlessly if several nested
 * slices of MORE enclose slices of LANES. LANES must not be passed as MORE afterwards. */
void lanes_append(struct lanes *lanes, const struct lanes *more);

/* Adds a slice of the second step. Does nothing unless `collecting` is set. Returns 0, or -1 after error(). */
int lanes_collect(struct lanes *lanes, uint64_t start, uint64_t end);
int lanes_collect_own(struct lanes *lanes, uint64_t start, uint64_t end, uint32_t owner);

int lanes_assign(struct lanes *lanes);

/* Returns the lane of a collected slice, or 0 if it was not collected. Each of several equal slices gets a lane of one
 * of them. Several threads may call this at once for different owners, and for LANES_NEST in any case. */
uint32_t lanes_take(struct lanes *lanes, uint64_t start, uint64_t end, uint32_t owner);

/* --- tracks --- */

#define TRACKS_EXTRA_TID UINT32_C(0x20000000)
#define TRACKS_GPU_PID UINT32_C(0x40000000)
#define TRACKS_GPU_DEVICES 1024 /* devices of one process */
#define TRACKS_PROCESS_PID UINT32_C(0x10000000)

enum track_kind {
    TRACK_THREAD,         /* number: thread id */
    TRACK_OVERHEAD,       /* CUPTI's overhead; number: thread id, 0: of no thread */
    TRACK_STREAM,         /* GPU operations; number: stream id */
    TRACK_ANNOTATION,     /* NVTX ranges on a stream; number: stream id */
    TRACK_SYNC,           /* synchronisation with a stream, or with a whole context */
    TRACK_COMPILATION,    /* compilation in a process; number: 0 */
    TRACK_PLUGIN,         /* events of a plugin; number: the plugin's number */
    TRACK_DEFERRED,       /* NVTX's deferred events of one scope; number: the scope's row */
    TRACK_UNIFIED_MEMORY, /* managed memory of a GPU; number: 0 */
    TRACK_THREAD_STATE,   /* times in which a thread was off the processor; number: thread id */
    TRACK_KIND_COUNT
};

struct track {
    enum track_kind kind;
    uint32_t device, context; /* for streams, annotations and synchronisation */
    uint32_t number;
    uint32_t index; /* index among the tracks of the process */
    uint32_t pid;
    uint32_t *tids; /* for each lane its tid, after tracks_number() */
    bool joined;    /* annotations whose first lane is the stream's own row */
    bool apart;     /* annotations that do not nest with the stream's operations, so they are not joined */
    /* For streams: the graph that ran in the stream first; 0: none. */
    uint32_t graph;
    uint32_t last_graph;     /* graph of the last operation */
    bool has_others;         /* other operations ran in the stream, too */
    struct track *stands_in; /* the track that shows the slices of a stream without a row; NULL: its own */
    struct lanes lanes;
};

struct row {
    uint32_t pid, tid;
};

/* A thread's cache of the track that it found last, for each kind. All zero is empty. */
struct tracks_recent {
    const struct tracks *tracks;
    struct track *of_kind[TRACK_KIND_COUNT];
};

/* The tracks of one process. All zero but `directory` is empty. */
struct tracks {
    const char *directory; /* folder for temporary files of large indexes; NULL: memory only */
    struct map by_key;
    ARRAY(struct track *) items;
    struct tracks_recent recent; /* cache of tracks_put() */
};

/* The pids and tids in use in the whole trace. */
struct rows {
    struct map taken_pids;
    struct map taken_tids; /* set of pid << 32 | tid */
    uint32_t next_extra;
};

void tracks_release(struct tracks *tracks);

/* Returns a track, which is added if it is new; its address does not change. Sets *IS_NEW unless IS_NEW is NULL.
 * Returns NULL after error(). */
struct track *tracks_put(struct tracks *tracks, enum track_kind kind, uint32_t device, uint32_t context,
                         uint32_t number, bool *is_new);
/* Return a track or NULL; for a stream without a row the track that shows its slices. tracks_look() first tries the
 * cache RECENT. */
struct track *tracks_get(const struct tracks *tracks, enum track_kind kind, uint32_t device, uint32_t context,
                         uint32_t number);
struct track *tracks_look(struct tracks *tracks, struct tracks_recent *recent, enum track_kind kind, uint32_t device,
                          uint32_t context, uint32_t number);

/* Reserves a pid. Pids of traced processes must be reserved before rows_gpu_pid(). Returns 0, or -1 after error(). */
int rows_take_pid(struct rows *rows, uint32_t pid);

/* Sets *PID to the pid for a GPU's rows; PROCESS is the index of the process. *PID may be 0. Returns 0, or -1 after
 * error(). */
int rows_gpu_pid(struct rows *rows, uint32_t process, uint32_t device, uint32_t *pid);

/* Assigns lanes to the collected slices, and tids to the lanes. Returns 0, or -1 after error(). */
int tracks_number(struct tracks *tracks, struct rows *rows);

/* Returns the row of a slice, after tracks_number(). */
static inline struct row track_row(struct track *track, uint64_t start, uint64_t end)
{
    uint32_t lane = track->lanes.count == 1 ? 0 : lanes_take(&track->lanes, start, end, 0);
    return (struct row){track->pid, track->tids[lane]};
}

/* Returns the row of a slice of lanes_collect_own(), after tracks_number(). */
static inline struct row track_row_own(struct track *track, uint64_t start, uint64_t end, uint32_t owner)
{
    uint32_t lane = track->lanes.count == 1 ? 0 : lanes_take(&track->lanes, start, end, owner);
    return (struct row){track->pid, track->tids[lane]};
}

#endif
