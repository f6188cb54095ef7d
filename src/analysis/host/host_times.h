/* Sums of what threads of the host did, by the samples and thread states of the trace, and the words for it. */
#ifndef GPUTRACE_ANALYSIS_HOST_HOST_TIMES_H
#define GPUTRACE_ANALYSIS_HOST_HOST_TIMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/array.h"
#include "analysis/host/host_activity.h"

/* SUMS has the ns of each of COUNT activities, by their numbers. Finds the doing that took *MOST ns, over all threads
 * that were waited for meanwhile. Returns the activity that took most of it, or EVENT_NO_TEXT if none took LEAST ns. */
uint32_t host_activity_most(const struct host_activities *host, const int64_t *sums, size_t count, int64_t least,
                            int64_t *most);

/* An activity in a sentence, shortened; "" for EVENT_NO_TEXT, then HOST may be NULL. */
struct host_phrase {
    char text[208];
};
struct host_phrase host_phrase(const struct host_activities *host, uint32_t activity);

/* The advice for an activity; NULL for EVENT_NO_TEXT. */
const char *host_advice(const struct host_activities *host, uint32_t activity);

/* What threads did in stretches of time that a rule chooses, by the CPU samples and thread states of the trace. All
 * zero is empty. */
struct host_times {
    struct host_activities host;
    ARRAY(struct host_time {
        int64_t here;   /* ns in the stretches that the finding is about */
        int64_t others; /* ns in the stretches that they are compared with */
    })
    sums;      /* by number of activity */
    bool made; /* HOST was initialised, unless there are no samples */
};

void host_times_release(struct host_times *times);

/* Whether the trace has samples or states. */
bool host_times_known(const struct trace *trace);

enum host_stretch { HOST_HERE, HOST_OTHER };

/* Adds what THREAD (index in trace.threads) did from FROM to TO, after the last event. Returns 0, or -1: no memory. */
int host_times_add(struct host_times *times, const struct trace *trace, uint32_t thread, int64_t from, int64_t to,
                   enum host_stretch stretch);

/* The activity that took most time here, beyond its time in the other stretches divided by OTHERS (0: they do not
 * count). Returns EVENT_NO_TEXT if it took less than LEAST ns, or none is known. */
uint32_t host_times_most(const struct host_times *times, int64_t others, int64_t least);

#endif
