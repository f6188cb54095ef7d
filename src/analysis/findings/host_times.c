#include "analysis/findings/host_times.h"

#include <stdlib.h>

#include "analysis/base/cost_sum.h"
#include "analysis/model/trace.h"

void host_times_release(struct host_times *times)
{
    host_activities_release(&times->host);
    array_release(&times->sums);
}

bool host_times_known(const struct trace *trace)
{
    return host_samples_any(&trace->samples) || host_samples_any_states(&trace->samples);
}

static int make(struct host_times *times, const struct trace *trace)
{
    bool made = times->made;
    times->made = true;
    return made || !host_times_known(trace) ? 0 : host_activities_init(&times->host, trace);
}

static int add_moment(struct host_times *times, const struct host_moment *moment, int64_t ns, enum host_stretch stretch)
{
    if (moment->activity == EVENT_NO_TEXT)
        return 0;
    struct host_time *time = array_at(&times->sums, moment->activity);
    if (!time)
        return -1;
    sum_add(stretch == HOST_HERE ? &time->here : &time->others, ns);
    return stretch == HOST_HERE ? host_activities_weigh(&times->host, moment, ns) : 0;
}

int host_times_add(struct host_times *times, const struct trace *trace, uint32_t thread, int64_t from, int64_t to,
                   enum host_stretch stretch)
{
    struct host_moment moment;
    if (make(times, trace) < 0)
        return -1;
    for (int64_t time = from; times->host.trace && time < to; time = moment.until) {
        if (host_activities_at(&times->host, thread, time, &moment) < 0)
            return -1;
        moment.until = moment.until < to ? moment.until : to;
        if (add_moment(times, &moment, moment.until - time, stretch) < 0)
            return -1;
    }
    return 0;
}

static uint32_t doing_of(const struct host_times *times, size_t activity)
{
    return ((const struct host_activity *)dense_map_row(&times->host.known, activity))->doing;
}

static int64_t growth_of(const struct host_time *time, int64_t others)
{
    return time->here - (others > 0 ? time->others / others : 0);
}

/* A doing may be several activities: for each thread that was waited for meanwhile. */
uint32_t host_times_most(const struct host_times *times, int64_t others, int64_t least)
{
    int64_t *doings = times->sums.count > 0 ? calloc(times->host.sites.doings.count, sizeof(*doings)) : NULL;
    uint32_t most = EVENT_NO_TEXT;
    for (size_t i = 0; doings && i < times->sums.count; i++)
        sum_add(&doings[doing_of(times, i)], growth_of(&times->sums.items[i], others));
    for (uint32_t i = 0; doings && i < times->sums.count; i++) {
        int64_t sum = doings[doing_of(times, i)], own = growth_of(&times->sums.items[i], others);
        int64_t best = most == EVENT_NO_TEXT ? 0 : doings[doing_of(times, most)];
        if (own <= 0 || sum < least || sum < best)
            continue;
        if (sum > best || own > growth_of(&times->sums.items[most], others))
            most = i;
    }
    free(doings);
    return most;
}
