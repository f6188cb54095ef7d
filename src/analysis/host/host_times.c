/* Sums times by activity, finds the doing that took most time, and formats it for a finding. */
#include "analysis/host/host_times.h"

#include <stdlib.h>
#include <string.h>

#include "common/buffer.h"
#include "analysis/base/cost_sum.h"
#include "analysis/engine/trace.h"

uint32_t host_activity_most(const struct host_activities *host, const int64_t *sums, size_t count, int64_t least,
                            int64_t *most)
{
    int64_t *doings = calloc(host->sites.doings.count + 1, sizeof(*doings));
    uint32_t found = EVENT_NO_TEXT;
    *most = 0;
    for (size_t i = 0; doings && i < count; i++) {
        const struct host_activity *activity = dense_map_row(&host->known, i);
        sum_add(&doings[activity->doing], sums[i]);
    }
    for (uint32_t i = 0; doings && i < count; i++) {
        const struct host_activity *activity = dense_map_row(&host->known, i);
        int64_t sum = doings[activity->doing];
        bool more = sum > *most || (sum == *most && found != EVENT_NO_TEXT && sums[i] > sums[found]);
        if (sums[i] <= 0 || sum < least || !more)
            continue;
        *most = sum;
        found = i;
    }
    free(doings);
    return found;
}

/* Copies TEXT to the SIZE bytes of TO, shortened between two characters if it is longer. */
static void copy_shortened(char *to, size_t size, const char *text)
{
    static const char mark[] = "…";
    size_t length = strlen(text);
    if (length < size) {
        memcpy(to, text, length + 1);
        return;
    }
    length = size - sizeof(mark);
    while (length > 0 && ((unsigned char)text[length] & 0xc0) == 0x80)
        length--;
    memcpy(to, text, length);
    memcpy(to + length, mark, sizeof(mark));
}

struct host_phrase host_phrase(const struct host_activities *host, uint32_t activity)
{
    struct host_phrase phrase = {""};
    struct buffer text;
    if (activity == EVENT_NO_TEXT)
        return phrase;
    buffer_init_memory(&text);
    host_activity_write(&text, host, activity);
    buffer_char(&text, '\0');
    if (buffer_finish(&text) == 0)
        copy_shortened(phrase.text, sizeof(phrase.text), text.data);
    buffer_release(&text);
    return phrase;
}

const char *host_advice(const struct host_activities *host, uint32_t activity)
{
    if (activity == EVENT_NO_TEXT)
        return NULL;
    const struct host_activity *known = dense_map_row(&host->known, activity);
    enum host_kind kind = host_activity_kind(host, activity);
    bool pipe = kind == HOST_IO && known->relation == HOST_WOKE; /* another thread wrote to the pipe that was read */
    return host_kind_advice[pipe ? HOST_WAIT : kind];
}

void host_times_release(struct host_times *times)
{
    host_activities_release(&times->host);
    array_release(&times->sums);
}

bool host_times_known(const struct trace *trace)
{
    return trace->samples.samples.count > 0 || trace->samples.states.count > 0;
}

int host_times_add(struct host_times *times, const struct trace *trace, uint32_t thread, int64_t from, int64_t to,
                   enum host_stretch stretch)
{
    struct host_moment moment;
    bool made = times->made;
    times->made = true;
    if (!made && host_times_known(trace) && host_activities_init(&times->host, trace) < 0)
        return -1;
    for (int64_t time = from; times->host.trace && time < to; time = moment.until) {
        if (host_activities_at(&times->host, thread, time, &moment) < 0)
            return -1;
        moment.until = moment.until < to ? moment.until : to;
        if (moment.activity == EVENT_NO_TEXT)
            continue;
        struct host_time *sum = array_at(&times->sums, moment.activity);
        if (!sum)
            return -1;
        sum_add(stretch == HOST_HERE ? &sum->here : &sum->others, moment.until - time);
        if (stretch == HOST_HERE && host_activities_weigh(&times->host, &moment, moment.until - time) < 0)
            return -1;
    }
    return 0;
}

uint32_t host_times_most(const struct host_times *times, int64_t others, int64_t least)
{
    size_t count = times->sums.count;
    int64_t *growth = count > 0 ? calloc(count, sizeof(*growth)) : NULL, most;
    for (size_t i = 0; growth && i < count; i++)
        growth[i] = times->sums.items[i].here - (others > 0 ? times->sums.items[i].others / others : 0);
    uint32_t found = growth ? host_activity_most(&times->host, growth, count, least, &most) : EVENT_NO_TEXT;
    free(growth);
    return found;
}
