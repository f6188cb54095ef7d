/*
 * NVTX of one process: ranges, marks, names, and its extensions.
 */
#ifndef GPUTRACE_TRACE_MEANING_NVTX_NVTX_H
#define GPUTRACE_TRACE_MEANING_NVTX_NVTX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/array.h"
#include "common/extents.h"
#include "common/file_vector.h"
#include "common/lookup.h"
#include "common/map.h"
#include "trace/event.h"
#include "trace/meaning/base/capture_intervals.h"
#include "trace/meaning/base/nvtx_places.h"
#include "trace/meaning/nvtx/payloads.h"
#include "trace/spool/event_record.h"

struct buffer;
struct conversion;
struct json_out;
struct piece_writer;
struct process;

/* --- resources: nvtx_names.c --- */

/* What the program gave a name beside threads and CUDA's objects, among it synchronisation objects. */
struct nvtx_resource {
    uint64_t identifier;
    uint64_t created, destroyed; /* ns; 0: it was not */
    uint32_t type, domain;
    struct nvtx_text name;
};

struct nvtx_resources {
    ARRAY(struct nvtx_resource) items;
    struct map by_number; /* -> index + 1 */
};

/* NULL: not known. */
const struct nvtx_resource *nvtx_resource(const struct nvtx_resources *resources, uint64_t number);

/* --- scopes: nvtx_names.c --- */

/* Where events and counters come from, by paths. These predefined ones have a meaning here. */
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

/* Writes the path of a scope, "device/queue"; the number of an unknown one, nothing for none. */
void nvtx_scopes_put(const struct nvtx_scopes *scopes, struct buffer *buffer, uint32_t domain, uint64_t id);

/* --- synchronisation objects: nvtx_syncs.c --- */

/*
 * Which threads waited for an object, and which held it. Threads write for themselves, so their steps are collected,
 * sorted by time and matched. A wait ends on its own thread. Another thread may release what is held, as it does with a
 * semaphore: then the oldest hold ends.
 */

struct nvtx_sync_step {
    uint64_t time, object;
    uint32_t thread;
    uint16_t what; /* SPOOL_NVTX_ACQUIRE … SPOOL_NVTX_RELEASE */
};

/* A wait or a hold. */
struct nvtx_sync_span {
    uint64_t object, start, end;
    uint32_t thread, end_thread;
    uint32_t next; /* of a hold: index + 1 of the one that was taken before and is still held */
    bool failed, open_at_end;
};

struct nvtx_syncs {
    FILE_VECTOR(struct nvtx_sync_step) steps;
    FILE_VECTOR(struct nvtx_sync_span) waits; /* after nvtx_syncs_match() */
    FILE_VECTOR(struct nvtx_sync_span) holds;
    struct map waiting; /* thread, object -> index + 1 */
    struct map held;    /* object -> index + 1 of the last that was taken and is held */
    uint64_t unmatched; /* steps without the step before them */
};

/* An EVENT_NVTX of such a step. Returns 0, or -1 after error(). */
int nvtx_syncs_index(struct nvtx_syncs *syncs, const struct event *event);
/* After the last. What is open ends at TIME, or with its capture interval. Returns 0, or -1 after error(). */
int nvtx_syncs_match(struct nvtx_syncs *syncs, const struct capture_intervals *capture_intervals, uint64_t time);
int write_nvtx_syncs(struct piece_writer *out, struct process *process);

/* --- clocks: nvtx_clocks.c --- */

/*
 * Clocks other than the trace's, and how their times become the trace's: by times at which two clocks were read
 * together, by what a clock says of itself, and through a third clock.
 */

#define NVTX_CLOCKS_OURS 1  /* the clock of nvtxTimestampGet(): the trace's */
#define NVTX_CLOCKS_MAX 512 /* time domains; further ones are not kept */

/* Times at which two clocks were read, by the time of the first. */
struct nvtx_clock_pair {
    uint64_t from, to; /* ids */
    uint32_t domain;
    FILE_VECTOR(struct nvtx_sync_point {
        int64_t from;
        int64_t to;
        double slope; /* ticks of `to` in one of `from`; 0: not known */
    })
    points;
};

struct nvtx_clocks {
    ARRAY(const struct spool_nvtx_time_domain *) domains;
    FILE_VECTOR(const struct spool_nvtx_sync *) syncs; /* until they are closed */
    ARRAY(struct nvtx_clock_pair) pairs;               /* once closed; each both ways round */
    const char *directory;                             /* for what memory cannot hold; NULL: none */
};

/* After the last. Returns 0, or -1 after error(). */
int nvtx_clocks_close(struct nvtx_clocks *clocks);
/* The trace's time of a clock's TICKS. False: how the clock goes is not known. */
bool nvtx_clocks_convert(const struct nvtx_clocks *clocks, uint32_t domain, uint64_t clock, int64_t ticks,
                         uint64_t *time);
/* The clock that the program said a scope is timed by; NVTX_CLOCKS_OURS: none. */
uint64_t nvtx_clocks_of_scope(const struct nvtx_clocks *clocks, uint32_t domain, uint64_t scope);

/* --- counters: nvtx_counters.c --- */

struct nvtx_counter {
    const struct spool_nvtx_counter *record;
    struct nvtx_text name, description;
    const struct spool_nvtx_semantics *semantics; /* of all its values; NULL: none */
    /* While its samples are written: */
    double total[PAYLOAD_SERIES_MAX];     /* of values that are differences */
    const struct spool_nvtx_sample *last; /* the sample before; NULL: there was none */
    uint32_t last_index;
};

struct nvtx_counters {
    ARRAY(struct nvtx_counter) items; /* once closed: by number */
    ARRAY(const struct spool_nvtx_semantics *) semantics;
    FILE_VECTOR(const struct spool_nvtx_sample *) samplings; /* records, as they were read */
    FILE_VECTOR(struct nvtx_sample {
        const struct spool_nvtx_sample *record;
        uint64_t time;
        uint32_t index; /* of a batch */
        uint32_t order; /* of samples of one time: as they were read */
    })
    samples;          /* by time, after resolve_counters() */
    struct map by_id; /* domain and id -> index + 1 of the latest */
};

int nvtx_counters_index(struct nvtx_counters *counters, const struct event *event);
int nvtx_counters_close(struct nvtx_counters *counters);
/* Times of samples. Returns 0, or -1 after error(). */
int resolve_counters(struct process *process);
int write_nvtx_counters(struct piece_writer *out, struct process *process);
/* Within an object: "nvtx_counters" is an array of what is known of each counter. */
void put_nvtx_counters(const struct conversion *conversion, struct json_out *json);

/* --- deferred events: nvtx_deferred.c --- */

struct nvtx_deferred_event {
    const struct spool_nvtx_deferred *record;
    uint64_t start, end; /* ns */
    uint32_t index;      /* in the record */
    uint32_t row;        /* index + 1 in rows; 0: that of the thread */
    uint32_t thread;
    enum { NVTX_DEFERRED_MARK, NVTX_DEFERRED_NESTED, NVTX_DEFERRED_STARTED } kind;
};

struct nvtx_deferred {
    FILE_VECTOR(struct nvtx_submission {
        const struct spool_nvtx_deferred *record;
        uint32_t thread; /* that handed them over */
    })
    submissions;
    FILE_VECTOR(struct nvtx_deferred_event) events; /* after resolve_deferred(), what encloses first */
    ARRAY(struct nvtx_deferred_row {
        uint64_t scope;
        uint32_t domain;
    })
    rows;
    struct map row_of; /* domain and scope -> index + 1 */
    uint64_t started;  /* events that are started ranges */
};

/* Times and rows of deferred events. Returns 0, or -1 after error(). */
int resolve_deferred(struct process *process);
int write_deferred(struct piece_writer *out, struct process *process);
/* The name of a row; to be freed, NULL after error(). */
char *deferred_row_name(const struct process *process, uint32_t number);

/* --- memory that the program annotates: nvtx_memory.c --- */

/* After so many more than lived last regions that are gone are forgotten: a program that never gives the same handle
 * again has no end of them. */
#define NVTX_HEAPS_GONE ((size_t)1 << 18)

struct nvtx_heap {
    uint64_t handle; /* 0: all of the process */
    uint32_t domain;
    struct nvtx_text name;
    uint64_t size, regions;  /* bytes */
    ARRAY(uint32_t) members; /* regions that came into it since it was empty, of which some may have gone */
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
    size_t lived;        /* of them, when some were forgotten … */
    size_t registered;   /* … and how many came since */
    uint32_t changed[2]; /* heaps that the last step changed: what moves leaves one and enters another */
    unsigned changed_count;
    struct map heap_of;   /* domain and handle -> index + 1 */
    struct map region_of; /* likewise */
};

int nvtx_heaps_index(struct nvtx_heaps *heaps, const struct event *event);
/* After the last. Returns 0, or -1 after error(). */
int nvtx_heaps_sort(struct nvtx_heaps *heaps);
/* Applies a step. *REGION and *HEAP are what it is about, NULL where it is about none; valid until the next step.
 * Returns 0, or -1 after error(). */
int nvtx_heaps_apply(struct nvtx_heaps *heaps, const struct spool_nvtx_memory *record, const struct nvtx_heap **heap,
                     const struct nvtx_region **region);
int write_nvtx_memory(struct piece_writer *out, struct process *process);

/* --- ranges on the GPU: nvtx_projections.c --- */

/*
 * For each range and stream the time from the first to the last GPU operation that was started within it. To a range of
 * push and pop belongs what its thread started. A range of start and end may be handed on: to it belongs what the
 * thread that started it and the thread that ended it have started meanwhile.
 */

struct projection {
    uint32_t range;      /* number: nvtx_range() */
    uint32_t track;      /* index of the stream's track */
    uint64_t start, end; /* ns */
};

/* Calls of a thread between which no range begins or ends are in the same ranges: they are one piece, known by the time
 * at which it begins. So memory does not grow with the launches, nor with the ranges that are open meanwhile. */
struct projections {
    FILE_VECTOR(struct projection) items;
    FILE_VECTOR(struct projection) of_two; /* of ranges that two threads have: one of each */
    struct extents extents;
    struct map threads; /* -> index + 1 in pieces */
    ARRAY(struct projection_pieces {
        FILE_VECTOR(uint64_t) starts; /* sorted */
    })
    pieces;
};

/* Started ranges of each thread, while it is asked which are open: by thread and start, and a tree over their ends,
 * from 1 on: those below node n are 2n and 2n + 1, and each has the latest end below it. */
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

/* --- ranges: nvtx.c --- */

/*
 * Ranges of push and pop are matched for each thread and domain; events of one thread come in order. A range that was
 * open when recording was switched off ends there, for its end was not recorded.
 */

/* PyTorch's operators and annotations are ranges like those of NVTX (operators.h): of a domain each. */
enum nvtx_range_kind { NVTX_RANGE, NVTX_OPERATOR, NVTX_ANNOTATION };
#define NVTX_DOMAIN_OF_KIND(kind) (UINT32_MAX - (uint32_t)(kind)) /* NVTX's own are counted from 0 */

struct nvtx_range {
    const void *record;     /* of the push or start */
    const void *end_record; /* of a pop or end that has payloads; NULL; of PyTorch's, of the inputs */
    uint64_t start, end;    /* ns; end is 0 while it is open */
    uint32_t thread, end_thread;
    uint32_t parent; /* index + 1 of the range around it in its domain, 0: none; not of start and end */
    bool open_at_end;
    uint8_t kind;         /* enum nvtx_range_kind */
    uint16_t to_backward; /* of an operator: the next one of its thread is so many ranges later, and of the backward
                             pass; 0: it is not */
};

/* The ranges of one thread and domain. */
struct nvtx_track {
    uint32_t thread;
    uint32_t domain;
    uint32_t innermost;           /* index + 1 of the open range */
    uint32_t next;                /* index + 1 of the next track of this thread */
    FILE_VECTOR(uint32_t) ranges; /* in order of their start */
};

struct nvtx {
    const char *directory;                  /* for what memory cannot hold; NULL: none */
    FILE_VECTOR(struct nvtx_range) ranges;  /* push and pop */
    FILE_VECTOR(struct nvtx_range) started; /* start and end */
    struct map open_started;                /* id -> index + 1 */
    struct map early_ends;                  /* id -> index + 1 in ends, whose start was not read yet */
    ARRAY(struct nvtx_end {
        uint64_t time;
        uint32_t thread;
        uint32_t next;      /* of those that were used up: index + 1 of another one */
        const void *record; /* as in nvtx_range */
    })
    ends;
    uint32_t free_ends;          /* index + 1 of the first that was used up */
    struct map tracks_by_key;    /* thread, domain -> index + 1 */
    struct map tracks_by_thread; /* -> index + 1 of the first */
    ARRAY(struct nvtx_track) tracks;
    struct map domains;    /* -> index + 1 in texts */
    struct map strings;    /* domain, string -> index + 1 in texts */
    struct map categories; /* domain, category -> index + 1 in texts */
    ARRAY(struct nvtx_text) texts;
    struct map event_names; /* CUevent -> index + 1 in texts */
    FILE_VECTOR(struct nvtx_recorded {
        uint64_t event;       /* CUevent, which has a name … */
        uint32_t correlation; /* … and was recorded by the call of this id */
        uint32_t order;       /* in which it was read */
    })
    recorded_events;    /* once closed: by correlation and order */
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

/* DIRECTORY is for what memory cannot hold. Only projections_begin() needs this: a struct that is all zero is empty. */
void nvtx_init(struct nvtx *nvtx, const char *directory);
void nvtx_release(struct nvtx *nvtx);
/* What is known need not stay in memory for now. */
void nvtx_evict(const struct nvtx *nvtx);

/* An EVENT_NVTX or one of the names. Returns 0, or -1 after error(). */
int nvtx_index(struct nvtx *nvtx, const struct capture_intervals *capture_intervals, const struct event *event);
/* After the last EVENT_NVTX_EXTENSION. Returns 0, or -1 after error(). */
int index_nvtx_extensions_end(struct process *process);
/* The track of event->thread in DOMAIN, made when it is new; what was open in a capture interval that was over before
 * the event has ended. NULL after error(). */
struct nvtx_track *nvtx_track_at(struct nvtx *nvtx, const struct capture_intervals *capture_intervals,
                                 const struct event *event, uint32_t domain);
/* A range begins with the event on the track. Returns 0, or -1 after error(). */
int nvtx_push(struct nvtx *nvtx, struct nvtx_track *track, const struct event *event, enum nvtx_range_kind kind);
/* Ends what is still open. Returns 0, or -1 after error(). */
int nvtx_close(struct nvtx *nvtx, const struct capture_intervals *capture_intervals, uint64_t time);

/* All ranges by one number: those of push and pop, then the started ones. */
static inline size_t nvtx_range_count(const struct nvtx *nvtx)
{
    return nvtx->ranges.count + nvtx->started.count;
}
static inline const struct nvtx_range *nvtx_range(const struct nvtx *nvtx, size_t number)
{
    size_t nested = nvtx->ranges.count;
    return number < nested ? &nvtx->ranges.items[number] : &nvtx->started.items[number - nested];
}

/* The first track of a thread, or of no thread at all: NULL. */
const struct nvtx_track *nvtx_first_track(const struct nvtx *nvtx, uint32_t thread);
static inline const struct nvtx_track *nvtx_next_track(const struct nvtx *nvtx, const struct nvtx_track *track)
{
    return track->next ? &nvtx->tracks.items[track->next - 1] : NULL;
}

/* Index + 1 of the innermost range of the THREAD and DOMAIN at TIME; 0: there is none. */
uint32_t nvtx_innermost(const struct nvtx *nvtx, struct nvtx_places *places, uint32_t thread, uint32_t domain,
                        uint64_t time);

/* Whether a slice of THREAD can stand on one row with its ranges of push and pop: none of them begins or ends within
 * it. False, too, if the thread has ranges of very many domains. Before nvtx_close(), when all were read. */
bool nvtx_fits(const struct nvtx *nvtx, struct nvtx_places *places, uint32_t thread, uint64_t start, uint64_t end);

/* Whether all ranges of push and pop of a thread nest: calls UNFIT for a thread of which they do not, at least once.
 * After nvtx_close(). Returns 0, or -1 after error(). */
int nvtx_check_nesting(const struct nvtx *nvtx, void (*unfit)(void *context, uint32_t thread), void *context);

/* --- names: nvtx_names.c --- */

/* A name, a resource or a scope; and after the last name. Return 0, or -1 after error(). */
int nvtx_index_name(struct nvtx *nvtx, const struct event *event);
int nvtx_index_scope(struct nvtx_scopes *scopes, const struct spool_nvtx_scope *record);
int nvtx_close_names(struct nvtx *nvtx);

/* The message of an EVENT_NVTX; of length 0 when it has none or its string is not known. */
struct nvtx_text nvtx_message(const struct nvtx *nvtx, const struct event *event);
/* NULL text: not named. */
struct nvtx_text nvtx_domain_name(const struct nvtx *nvtx, uint32_t domain);
/* Whether a domain of this name was recorded. */
bool nvtx_has_domain(const struct nvtx *nvtx, const char *name);
struct nvtx_text nvtx_category_name(const struct nvtx *nvtx, uint32_t domain, uint32_t category);
/* Of the CUDA event that the call of this correlation id recorded. */
struct nvtx_text nvtx_event_name(const struct nvtx *nvtx, uint32_t correlation);
/* Within an object: "nvtx_resources" is an array of them, when there are any. */
void write_nvtx_resources(const struct conversion *conversion, struct json_out *json);

/* --- ranges on the GPU --- */

/* Before the first GPU operation, when all ranges are known. Returns 0, or -1 after error(). */
int projections_begin(struct nvtx *nvtx);

#define PROJECTIONS_RECENT 64 /* a power of two */

/* What some of the GPU operations are projected to. Several threads may find it at once, each in a struct of its own,
 * which starts as zeros. */
struct projections_found {
    ARRAY(struct extents_point) items;
    uint32_t recent[PROJECTIONS_RECENT]; /* by thread and track: index + 1 of the last item … */
    size_t places[PROJECTIONS_RECENT];   /* … and by thread, where the last search ended */
};

/* A GPU operation on TRACK, whose call THREAD began at CALLED. Returns 0, or -1 after error(). */
int projections_find(struct projections_found *found, const struct projections *projections, uint32_t thread,
                     uint64_t called, uint32_t track, uint64_t start, uint64_t end);
/* Adds what was found, and makes FOUND empty. Returns 0, or -1 after error(). */
int projections_add(struct projections *projections, struct projections_found *found);
void projections_found_release(struct projections_found *found);

/* After the last: makes the items, in order of their start, outer ones first. Returns 0, or -1 after error(). */
int projections_finish(struct nvtx *nvtx);

/* --- what is written: nvtx_describe.c --- */

/* The domain's name. False: it has none. */
bool describe_nvtx_domain(struct args *args, const struct nvtx *nvtx, uint32_t domain);
/* The category's name; where it has none, its number if it IS_SET. */
void describe_nvtx_category(struct args *args, const struct nvtx *nvtx, uint32_t domain, uint32_t category,
                            bool is_set);
/* The payloads that PAYLOAD names (number, domain, stride and index) under KEY, and the name of their schema. */
void describe_nvtx_payload(struct args *args, const struct nvtx *nvtx, enum arg_key key,
                           const struct arg_json *payload);
struct name nvtx_message_name(struct nvtx_text message);
/* Adds what an EVENT_NVTX says. */
void describe_nvtx_event(struct args *args, const struct nvtx *nvtx, const struct event *event);
/* Arguments and name of a range. What the payloads of a pop or end say replaces what its push or start says; they are
 * an argument of their own where they are SHOWN. */
struct name describe_nvtx_range(struct args *args, const struct nvtx *nvtx, const struct nvtx_range *range, bool shown);
struct name nvtx_range_name(const struct nvtx *nvtx, const struct nvtx_range *range);
/* Writes KEY and an array, with what PUT writes for item I of COUNT(process) of each process, when there are any. */
void put_nvtx_items(const struct conversion *conversion, struct json_out *json, const char *key,
                    size_t (*count)(const struct nvtx *nvtx),
                    void (*put)(struct json_out *json, const struct conversion *conversion,
                                const struct process *process, size_t i));

/* The row of a thread for what is not a slice. */
struct row nvtx_thread_row(struct process *process, uint32_t thread);

#endif
