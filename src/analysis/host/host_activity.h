/*
 * What a thread did at a time, in words, with what it waited for: "pthread_mutex_lock() in step (a.c:9), held by thread
 * saver, which ran update (a.c:30)". If the thread was off the processor, the thread that woke it is named; if the
 * waker waited for a third thread, the third thread. If the waker is not known, the thread that ran most during the
 * wait is named.
 */
#ifndef GPUTRACE_ANALYSIS_HOST_HOST_ACTIVITY_H
#define GPUTRACE_ANALYSIS_HOST_HOST_ACTIVITY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/array.h"
#include "common/map.h"
#include "analysis/host/host_sites.h"

struct buffer;
struct trace;

/* The relation to another thread, which HELD the lock, WOKE the waiting thread, or ran MEANWHILE and may be the reason
 * of the wait. */
enum host_relation { HOST_ALONE, HOST_HELD, HOST_WOKE, HOST_MEANWHILE };

/* What a thread did. Activities are numbered; their numbers are equal if all fields are. */
struct host_activity {
    uint32_t doing;       /* number in sites.doings */
    uint32_t relation;    /* enum host_relation to the other thread */
    uint32_t other;       /* name of the other thread: number in sites.words */
    uint32_t other_doing; /* what the other thread did; EVENT_NO_TEXT: not known */
};

/* All zero is empty. */
struct host_activities {
    const struct trace *trace; /* NULL: not initialised, because the trace has no samples */
    uint64_t asked;            /* number of queries so far */
    struct host_sites sites;
    struct dense_map known;  /* struct host_activity */
    struct dense_map places; /* an activity and a frame -> times */
    ARRAY(struct host_place_time) times;
    ARRAY(int64_t) sums; /* by number of a doing; all 0 between two uses */
    ARRAY(uint32_t) touched;
    struct host_wait { /* a cache of the last wait */
        int64_t start, end;
        uint32_t thread, activity, site, other_site;
        bool any;
    } wait;
};

struct host_place_time {
    int64_t ns;
    uint32_t site; /* a site with this frame */
};

/* What a thread did at a time, and a time up to which it continued. */
struct host_moment {
    uint32_t activity;         /* number; EVENT_NO_TEXT: not known */
    uint32_t site, other_site; /* numbers; EVENT_NO_TEXT: not known */
    int64_t until;
};

/* Initialises ALL, after trace_finish(). Returns 0, or -1: no memory. */
int host_activities_init(struct host_activities *all, const struct trace *trace);
void host_activities_release(struct host_activities *all);

/* Sets *MOMENT to what THREAD, an index in trace.threads, did at TIME. Returns 0, or -1: no memory. */
int host_activities_at(struct host_activities *all, uint32_t thread, int64_t time, struct host_moment *moment);
/* Adds NS to the places of MOMENT. The place that takes longest is the line that an activity's words name. Returns 0,
 * or -1: no memory. */
int host_activities_weigh(struct host_activities *all, const struct host_moment *moment, int64_t ns);

static inline enum host_kind host_activity_kind(const struct host_activities *all, uint32_t activity)
{
    const struct host_activity *known = dense_map_row(&all->known, activity);
    return (enum host_kind)host_sites_doing(&all->sites, known->doing)->kind;
}

/* Writes an activity in words, with the line that took longest. */
void host_activity_write(struct buffer *out, const struct host_activities *all, uint32_t activity);
/* Returns the number of a call stack of the other thread, else of the thread itself, or FIELD_ABSENT. */
int64_t host_activity_stack(const struct host_activities *all, uint32_t activity);

/* SUMS has the ns of each of COUNT activities, by their numbers. Finds the doing that took most time, whatever other
 * threads it waited for, and sets *MOST to its ns. Returns the largest activity of that doing, or EVENT_NO_TEXT if no
 * doing took LEAST ns. */
uint32_t host_activity_most(const struct host_activities *host, const int64_t *sums, size_t count, int64_t least,
                            int64_t *most);

/* An activity in words, shortened for a sentence. host_phrase() returns "" if ACTIVITY is EVENT_NO_TEXT; HOST may then
 * be NULL. */
struct host_phrase {
    char text[208];
};
struct host_phrase host_phrase(const struct host_activities *host, uint32_t activity);

/* Returns the advice about ACTIVITY, or NULL if it is EVENT_NO_TEXT. */
const char *host_advice(const struct host_activities *host, uint32_t activity);

/* What threads did in the stretches of time that a rule chooses. All zero is empty. */
struct host_times {
    struct host_activities host;
    ARRAY(struct host_time {
        int64_t here;   /* ns in the stretches that the finding is about */
        int64_t others; /* ns in the stretches that these are compared with */
    })
    sums;      /* by number of activity */
    bool made; /* `host` was initialised, unless there are no samples */
};

void host_times_release(struct host_times *times);

/* Whether the trace has samples or states. */
bool host_times_known(const struct trace *trace);

enum host_stretch { HOST_HERE, HOST_OTHER };

/* Adds what THREAD, an index in trace.threads, did from FROM to TO, after the last event. Returns 0, or -1: no
 * memory. */
int host_times_add(struct host_times *times, const struct trace *trace, uint32_t thread, int64_t from, int64_t to,
                   enum host_stretch stretch);

/* Returns the activity that took most time in HOST_HERE stretches, less its time in the other stretches divided by
 * OTHERS (0: other stretches do not count). Returns EVENT_NO_TEXT if that is less than LEAST ns, or nothing is
 * known. */
uint32_t host_times_most(const struct host_times *times, int64_t others, int64_t least);

#endif
