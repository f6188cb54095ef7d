/*
 * NVTX ranges, the names that its events use, and its resources.
 */
#ifndef GPUTRACE_TRACE_BUILD_NVTX_H
#define GPUTRACE_TRACE_BUILD_NVTX_H

#include <stdbool.h>
#include <stdint.h>

#include "common/array.h"
#include "common/file_vector.h"
#include "common/map.h"
#include "trace/build/capture_intervals.h"
#include "trace/build/nvtx_syncs.h"
#include "trace/spool/event_record.h"

/*
 * Resources of NVTX: what the program gave a name beside threads and CUDA's objects, among it synchronisation objects.
 */

struct nvtx_resource {
    uint64_t identifier;
    uint64_t created, destroyed; /* ns; 0: it was not */
    uint32_t type, domain;
    uint32_t length;
    const char *text; /* in the spool */
};

struct nvtx_resources {
    ARRAY(struct nvtx_resource) items;
    struct map by_number; /* -> index + 1 */
};

void nvtx_resources_release(struct nvtx_resources *resources);

/* An EVENT_NVTX_RESOURCE. Its end may be read before it. Returns 0, or -1 after error(). */
int nvtx_resources_index(struct nvtx_resources *resources, const struct event *event);

/* NULL: not known. */
const struct nvtx_resource *nvtx_resource(const struct nvtx_resources *resources, uint64_t number);

/* What a type is called; NULL: it is none of NVTX's headers. */
const char *nvtx_resource_type(uint32_t type);

/*
 * NVTX of one process: which push belongs to which pop, what started and ended, and the names that were registered.
 *
 * Ranges of push and pop are matched for each thread and domain. Events of one thread come in order. A range that was
 * open when recording went off ends there, for its end was not recorded.
 */

struct nvtx_range {
    const void *record;     /* of the push or start */
    const void *end_record; /* of a pop or end that told more than that it ended; NULL */
    uint64_t start, end;    /* ns; end is 0 while it is open */
    uint32_t thread, end_thread;
    uint32_t parent; /* index + 1 of the range around it in its domain, 0: none; not of start and end */
    bool open_at_end;
};

/* The ranges of one thread and domain. */
struct nvtx_track {
    uint32_t thread;
    uint32_t innermost;           /* index + 1 of the open range */
    uint32_t next;                /* index + 1 of the next track of this thread */
    FILE_VECTOR(uint32_t) ranges; /* in order of their start */
};

struct nvtx_text {
    const char *text;
    uint32_t length;
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
    struct nvtx_syncs syncs;
    struct nvtx_resources resources;
    struct map event_names; /* CUevent -> index + 1 in texts */
    FILE_VECTOR(struct nvtx_recorded {
        uint64_t event;       /* CUevent, which has a name … */
        uint32_t correlation; /* … and was recorded by the call of this id */
        uint32_t order;       /* in which it was read */
    })
    recorded_events;    /* once closed: by correlation and order */
    uint64_t unmatched; /* pops and ends without a start */
    uint64_t marks;
};

/* DIRECTORY is for what memory cannot hold. One that is all zero, too, can be used. */
void nvtx_init(struct nvtx *nvtx, const char *directory);
void nvtx_release(struct nvtx *nvtx);

/* What is known of ranges need not stay in memory for now. */
void nvtx_evict(const struct nvtx *nvtx);

/* An EVENT_NVTX or one of the names. Returns 0, or -1 after error(). */
int nvtx_index(struct nvtx *nvtx, const struct capture_intervals *capture_intervals, const struct event *event);

/* Ends what is still open. Returns 0, or -1 after error(). */
int nvtx_close(struct nvtx *nvtx, const struct capture_intervals *capture_intervals, uint64_t time);

/* nvtx_names.c: a name; and after the last, which the two above call. Return 0, or -1 after error(). */
int nvtx_index_name(struct nvtx *nvtx, const struct event *event);
int nvtx_close_names(struct nvtx *nvtx);

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

/* The message of an EVENT_NVTX; of length 0 when it has none or its string is not known. */
struct nvtx_text nvtx_message(const struct nvtx *nvtx, const struct event *event);
/* NULL text: not named. */
struct nvtx_text nvtx_domain_name(const struct nvtx *nvtx, uint32_t domain);
struct nvtx_text nvtx_category_name(const struct nvtx *nvtx, uint32_t domain, uint32_t category);
/* Of the CUDA event that the call of this correlation id recorded. */
struct nvtx_text nvtx_event_name(const struct nvtx *nvtx, uint32_t correlation);

/* The first track of a thread, or of no thread at all: NULL. */
const struct nvtx_track *nvtx_first_track(const struct nvtx *nvtx, uint32_t thread);
static inline const struct nvtx_track *nvtx_next_track(const struct nvtx *nvtx, const struct nvtx_track *track)
{
    return track->next ? &nvtx->tracks.items[track->next - 1] : NULL;
}

/* Where one thread's last searches ended, in some of the tracks: the next begin there. Starts as zeros. */
struct nvtx_places {
    struct nvtx_place {
        uint32_t track; /* index + 1 */
        uint32_t open;  /* the last that was found: index + 1 of the innermost range that had not ended … */
        size_t started; /* … of so many that had started … */
        uint64_t ended; /* … and when the last of those within it had ended; 0: there were none */
    } of_track[16];
};

/* Whether a slice of THREAD can stand on one row with its ranges of push and pop: none of them begins or ends within
 * it. Before nvtx_close(), when all were read. */
bool nvtx_fits(const struct nvtx *nvtx, struct nvtx_places *places, uint32_t thread, uint64_t start, uint64_t end);

/* Whether all ranges of push and pop of a thread nest: calls UNFIT for a thread of which they do not, at least once.
 * After nvtx_close(). Returns 0, or -1 after error(). */
int nvtx_check_nesting(const struct nvtx *nvtx, void (*unfit)(void *context, uint32_t thread), void *context);

#endif
