/*
 * What the passes keep of the NVTX of one process: ranges, marks, names, and what NVTX's extensions add. Each topic has
 * a .c file of its own.
 */
#ifndef GPUTRACE_TRACE_MEANING_NVTX_NVTX_DATA_H
#define GPUTRACE_TRACE_MEANING_NVTX_NVTX_DATA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/extents.h"
#include "trace/meaning/base/times.h"
#include "trace/meaning/base/process.h"
#include "trace/meaning/nvtx/payload_schemas.h"

/* --- resources --- */

/* What the program named other than threads and CUDA's objects; synchronisation objects are resources, too. */
struct nvtx_resource {
    uint64_t identifier;
    uint64_t created, destroyed; /* ns; 0: no record says when */
    uint32_t type, domain;
    struct nvtx_text name;
};

struct nvtx_resources {
    ARRAY(struct nvtx_resource) items;
    struct map by_number; /* -> index + 1 */
};

/* --- scopes --- */

/* Scopes say where events and counters come from, as paths. These predefined ones have a meaning here. */
enum {
    NVTX_SCOPES_NONE = 0,
    NVTX_SCOPES_ROOT = 1,
    NVTX_SCOPES_PROCESS = 21,
    NVTX_SCOPES_THREAD = 22,
    NVTX_SCOPES_INNERMOST = 31,
};

struct nvtx_scopes {
    ARRAY(const struct spool_nvtx_scope *) items;
    struct map by_id; /* domain and id -> index + 1 */
};

/* --- synchronisation objects --- */

struct nvtx_sync_step {
    uint64_t time, object;
    uint32_t thread;
    uint16_t what; /* SPOOL_NVTX_ACQUIRE to SPOOL_NVTX_RELEASE */
};

/* A thread waited for an object, or held it. */
struct nvtx_sync_span {
    uint64_t object, start, end;
    uint32_t thread, end_thread;
    uint32_t next; /* of a hold: index + 1 of the hold before it that is still open */
    bool failed, open_at_end;
};

struct nvtx_syncs {
    FILE_VECTOR(struct nvtx_sync_step) steps;
    FILE_VECTOR(struct nvtx_sync_span) waits; /* nvtx_syncs_match() fills waits and holds */
    FILE_VECTOR(struct nvtx_sync_span) holds;
    struct map waiting; /* thread and object -> index + 1 in waits */
    struct map held;    /* object -> index + 1 in holds of the last one that is open */
    uint64_t unmatched; /* steps without the step that must precede them */
};

/* --- clocks --- */

#define NVTX_CLOCKS_OURS 1  /* the clock of nvtxTimestampGet(), which is the trace's */
#define NVTX_CLOCKS_MAX 512 /* time domains; further ones are ignored */

/* Times at which two clocks were read together, sorted by the time of the first. */
struct nvtx_clock_pair {
    uint64_t from, to; /* ids */
    uint32_t domain;
    FILE_VECTOR(struct nvtx_sync_point {
        int64_t from;
        int64_t to;
        double slope; /* ticks of `to` for one of `from`; 0: unknown */
    })
    points;
};

struct nvtx_clocks {
    ARRAY(const struct spool_nvtx_time_domain *) domains;
    FILE_VECTOR(const struct spool_nvtx_sync *) syncs; /* nvtx_clocks_close() turns them into pairs */
    ARRAY(struct nvtx_clock_pair) pairs;               /* each pair of clocks in both directions */
    const char *directory;                             /* for files of what memory cannot hold; NULL: none */
};

/* --- counters --- */

struct nvtx_counter {
    const struct spool_nvtx_counter *record;
    struct nvtx_text name, description;
    const struct spool_nvtx_semantics *semantics; /* of all its values; NULL: none */
    /* For the write pass: */
    double total[PAYLOAD_SERIES_MAX];     /* sums of values that are differences */
    const struct spool_nvtx_sample *last; /* the last sample with values; NULL before the first */
    uint32_t last_index;                  /* its index, if `last` is a batch */
};

struct nvtx_counters {
    ARRAY(struct nvtx_counter) items; /* nvtx_counters_close() sorts by number */
    ARRAY(const struct spool_nvtx_semantics *) semantics;
    FILE_VECTOR(const struct spool_nvtx_sample *) samplings; /* in the order of reading */
    FILE_VECTOR(struct nvtx_sample {
        const struct spool_nvtx_sample *record;
        uint64_t time;
        uint32_t index; /* within a batch */
        uint32_t order; /* of reading, for samples of one time */
    })
    samples;          /* by time, after resolve_counters() */
    struct map by_id; /* domain and id -> index + 1 of the latest counter */
};

/* --- deferred events --- */

struct nvtx_deferred_event {
    const struct spool_nvtx_deferred *record;
    uint64_t start, end; /* ns */
    uint32_t index;      /* in the record */
    uint32_t row;        /* index + 1 in rows; 0: the row of the thread */
    uint32_t thread;
    enum { NVTX_DEFERRED_MARK, NVTX_DEFERRED_NESTED, NVTX_DEFERRED_STARTED } kind;
};

struct nvtx_deferred {
    FILE_VECTOR(struct nvtx_submission {
        const struct spool_nvtx_deferred *record;
        uint32_t thread; /* which submitted the events */
    })
    submissions;
    FILE_VECTOR(struct nvtx_deferred_event) events; /* filled by resolve_deferred(), enclosing ones first */
    ARRAY(struct nvtx_deferred_row {
        uint64_t scope;
        uint32_t domain;
    })
    rows;
    struct map row_of; /* domain and scope -> index + 1 */
    uint64_t started;  /* how many events are started ranges */
};

/* --- memory that the program annotates --- */

/* Regions that are gone are forgotten when so many more came than were live last time: a program that never uses a
 * handle twice has no end of them. */
#define NVTX_HEAPS_GONE ((size_t)1 << 18)

struct nvtx_heap {
    uint64_t handle; /* 0: the heap is the process */
    uint32_t domain;
    struct nvtx_text name;
    uint64_t size, regions;  /* bytes of the heap, and of its live regions */
    ARRAY(uint32_t) members; /* regions that entered it since it was empty; some may be gone */
};

struct nvtx_region {
    uint64_t handle, size;
    uint32_t heap; /* index */
    bool live;
    struct nvtx_text name;
};

struct nvtx_heaps {
    FILE_VECTOR(struct nvtx_heap_step {
        const struct spool_nvtx_memory *record;
        uint64_t time;
        uint32_t thread;
        uint32_t order;
    })
    steps;
    ARRAY(struct nvtx_heap) items;
    ARRAY(struct nvtx_region) regions;
    size_t lived;        /* how many regions were live when gone ones were last forgotten */
    size_t registered;   /* how many were registered since then */
    uint32_t changed[2]; /* heaps that the last step changed: a region that moves leaves one and enters another */
    unsigned changed_count;
    struct map heap_of;   /* domain and handle -> index + 1 */
    struct map region_of; /* domain and handle -> index + 1 */
};

/* --- ranges on the GPU --- */

struct projection {
    uint32_t range;      /* number: nvtx_range() */
    uint32_t track;      /* index of the stream's track */
    uint64_t start, end; /* ns */
};

/* Calls of a thread between which no range begins or ends are in the same ranges: they form one piece, identified by
 * its start. So memory does not grow with the launches, nor with the number of ranges that are open meanwhile. */
struct projections {
    FILE_VECTOR(struct projection) items;
    FILE_VECTOR(struct projection) of_two; /* ranges that one thread started and another ended: one for each thread */
    struct extents extents;
    struct map threads; /* -> index + 1 in pieces */
    ARRAY(struct projection_pieces {
        FILE_VECTOR(uint64_t) starts; /* sorted */
    })
    pieces;
};

/* Started ranges by thread and start, for open_ranges_at(), with a tree over their ends: node 1 is the root, node n has
 * the children 2n and 2n + 1 and holds the latest end below it. */
struct nvtx_started_spans {
    FILE_VECTOR(struct nvtx_started_span {
        uint64_t start;
        uint64_t end;
        uint32_t thread;
        uint32_t number; /* nvtx_range() */
    })
    items;
    FILE_VECTOR(uint64_t) latest;
    size_t leaves;
};

/* --- ranges --- */

/* PyTorch's operators and annotations (operators.h) are ranges as well, each kind in a domain of its own. */
enum nvtx_range_kind { NVTX_RANGE, NVTX_OPERATOR, NVTX_ANNOTATION };
#define NVTX_DOMAIN_OF_KIND(kind) (UINT32_MAX - (uint32_t)(kind)) /* NVTX numbers its own from 0 */

struct nvtx_range {
    const void *record;     /* of the push or start */
    const void *end_record; /* of a pop or end with payloads, else NULL; of PyTorch's ranges, of the inputs */
    uint64_t start, end;    /* ns; end is 0 while the range is open */
    uint32_t thread, end_thread;
    uint32_t parent; /* index + 1 of the range around it in its domain, 0: none; unused in `started` */
    bool open_at_end;
    uint8_t kind;         /* enum nvtx_range_kind */
    uint16_t to_backward; /* of an operator of the backward pass: the next one of its thread is so many ranges later; 0:
                             not of the backward pass */
};

/* The ranges of one thread and domain. */
struct nvtx_track {
    uint32_t thread;
    uint32_t domain;
    uint32_t innermost;           /* index + 1 of the innermost open range */
    uint32_t next;                /* index + 1 of another track of this thread */
    FILE_VECTOR(uint32_t) ranges; /* indexes of its ranges, in order of their start */
};

struct nvtx {
    const char *directory;                  /* for files of what memory cannot hold; NULL: none */
    FILE_VECTOR(struct nvtx_range) ranges;  /* of push and pop */
    FILE_VECTOR(struct nvtx_range) started; /* of start and end */
    struct map open_started;                /* id -> index + 1 in started */
    struct map early_ends;                  /* id -> index + 1 in ends, of ends that were read before their start */
    ARRAY(struct nvtx_end {
        uint64_t time;
        uint32_t thread;
        uint32_t next;      /* of an unused item: index + 1 of another one */
        const void *record; /* as nvtx_range.end_record */
    })
    ends;
    uint32_t free_ends;          /* index + 1 of an unused item of ends */
    struct map tracks_by_key;    /* thread, domain -> index + 1 */
    struct map tracks_by_thread; /* -> index + 1 of the first */
    ARRAY(struct nvtx_track) tracks;
    struct map domains;    /* -> index + 1 in texts */
    struct map strings;    /* domain, string -> index + 1 in texts */
    struct map categories; /* domain, category -> index + 1 in texts */
    ARRAY(struct nvtx_text) texts;
    struct map event_names; /* CUevent -> index + 1 in texts */
    FILE_VECTOR(struct nvtx_recorded {
        uint64_t event;       /* a CUevent with a name */
        uint32_t correlation; /* the call that recorded it */
        uint32_t order;       /* of reading */
    })
    recorded_events;    /* nvtx_close_names() sorts by correlation and order */
    uint64_t unmatched; /* pops and ends without a start */
    uint64_t marks;
    struct nvtx_resources resources;
    struct nvtx_syncs syncs;
    struct payload_schemas schemas;
    struct payload_copies copies;
    struct nvtx_scopes scopes;
    struct nvtx_clocks clocks;
    struct nvtx_counters counters;
    struct nvtx_deferred deferred;
    struct nvtx_heaps heaps;
    struct projections projections;
    struct nvtx_started_spans started_spans;
};

/* Ranges have one numbering: those of push and pop, then the started ones. */
static inline size_t nvtx_range_count(const struct nvtx *nvtx)
{
    return nvtx->ranges.count + nvtx->started.count;
}
static inline const struct nvtx_range *nvtx_range(const struct nvtx *nvtx, size_t number)
{
    size_t nested = nvtx->ranges.count;
    return number < nested ? &nvtx->ranges.items[number] : &nvtx->started.items[number - nested];
}
static inline const struct nvtx_track *nvtx_next_track(const struct nvtx *nvtx, const struct nvtx_track *track)
{
    return track->next ? &nvtx->tracks.items[track->next - 1] : NULL;
}

#endif
