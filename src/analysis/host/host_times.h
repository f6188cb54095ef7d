/* Sums what threads of the host did, from the samples and thread states of the trace, and formats it for findings. */
#ifndef GPUTRACE_ANALYSIS_HOST_HOST_TIMES_H
#define GPUTRACE_ANALYSIS_HOST_HOST_TIMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/array.h"
#include "analysis/host/host_activity.h"

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
