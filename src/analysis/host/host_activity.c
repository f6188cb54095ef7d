/*
 * Finds what a thread did at a time from its recorded states, else from the samples around that time. For a wait, it
 * follows the threads that woke each other, or searches the thread that ran most during the wait. Sums of times by
 * activity find the doing that took most time.
 */
#include "analysis/host/host_activity.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/buffer.h"
#include "common/text.h"
#include "analysis/base/cost_sum.h"
#include "analysis/engine/trace.h"
#include "analysis/engine/trace_known.h"

/* A sample shows what a running thread did up to REACH_PERIODS periods before and after the sample. */
#define REACH_PERIODS 2
/* Without recorded states: a thread did not run if it has no sample for OFF_PERIODS periods. */
#define OFF_PERIODS 5
/* If the waker is not known, a thread that ran for MEANWHILE_PERCENT of the wait is named. */
#define MEANWHILE_PERCENT 50
/* The percentage without recorded states, when a wait may be several waits with work between them. */
#define MEANWHILE_PERCENT_OFF 20
/* The number of queries after which samples and states are evicted from memory. */
#define EVICT_AFTER (1 << 16)
/* Shorter waits are skipped, because one sample would make a thread seem to have run all the time. */
#define MEANWHILE_PERIODS 2
/* The number of wakers that are followed from a waiting thread. */
#define CHAIN 3

int host_activities_init(struct host_activities *all, const struct trace *trace)
{
    all->trace = trace;
    return host_sites_make(&all->sites, trace);
}

void host_activities_release(struct host_activities *all)
{
    host_sites_release(&all->sites);
    dense_map_release(&all->known);
    dense_map_release(&all->places);
    array_release(&all->times);
    array_release(&all->sums);
    array_release(&all->touched);
}

/* --- what a thread mostly did in an interval --- */

struct mostly {
    uint32_t site, doing; /* EVENT_NO_TEXT: not known */
    int64_t ran, waited;  /* ns; waiting for a processor counts as running */
    int64_t waker;        /* id of the thread that ended the longest wait; FIELD_ABSENT: not known, or it ran longer */
};

/* The doing that took most time so far, and a site of it. */
struct most {
    int64_t ns;
    uint32_t site, doing;
};

static int add_doing(struct host_activities *all, struct most *most, uint32_t site, uint32_t doing, int64_t ns)
{
    if (doing == EVENT_NO_TEXT)
        return 0;
    int64_t *sum = array_at(&all->sums, doing);
    if (!sum || (*sum == 0 && !ADD(array_push, &all->touched, doing)))
        return -1;
    sum_add(sum, ns);
    if (*sum > most->ns)
        *most = (struct most){*sum, site, doing};
    return 0;
}

static void clear_sums(struct host_activities *all)
{
    for (size_t i = 0; i < all->touched.count; i++)
        all->sums.items[all->touched.items[i]] = 0;
    all->touched.count = 0;
}

/* Adds the doings of a thread from START to END by its states: to READY if it waited for a processor, else to MOST.
 * Returns 0, or -1: no memory. */
static int add_states(struct host_activities *all, uint32_t thread, int64_t start, int64_t end, struct mostly *mostly,
                      struct most *most, struct most *ready)
{
    const struct host_samples *samples = &all->trace->samples;
    const struct host_thread own = host_samples_thread(samples, thread);
    int64_t longest = 0;
    int status = 0;
    for (size_t i = host_samples_state_from(samples, &own, start);
         status == 0 && i < own.first_state + own.states && samples->states.items[i].start < end; i++) {
        const struct host_state *state = &samples->states.items[i];
        int64_t from = state->start > start ? state->start : start, to = state->end < end ? state->end : end;
        bool off = state->kind != HOST_RUNNABLE;
        sum_add(off ? &mostly->waited : &mostly->ran, to - from);
        if (off && to - from > longest) {
            longest = to - from;
            mostly->waker = state->waker;
        }
        status = add_doing(all, off ? most : ready, state->site, host_sites_of_state(&all->sites, state), to - from);
    }
    clear_sums(all);
    return status;
}

static int find_mostly(struct host_activities *all, uint32_t thread, int64_t start, int64_t end, struct mostly *mostly)
{
    const struct most none = {0, EVENT_NO_TEXT, EVENT_NO_TEXT};
    struct most ran = none, waited = none, ready = none;
    *mostly = (struct mostly){.waker = FIELD_ABSENT};
    const struct host_samples *samples = &all->trace->samples;
    const struct host_thread own = host_samples_thread(samples, thread);
    int status = 0;
    for (size_t i = host_samples_from(samples, &own, start);
         status == 0 && i < own.first_sample + own.samples && samples->samples.items[i].time < end; i++) {
        uint32_t site = samples->samples.items[i].site;
        sum_add(&mostly->ran, samples->period);
        status = add_doing(all, &ran, site, all->sites.sites.items[site].doing, samples->period);
    }
    clear_sums(all);
    status = status ?: add_states(all, thread, start, end, mostly, &waited, &ready);
    bool off = mostly->waited > mostly->ran;
    struct most most = off ? waited : ran.ns > 0 ? ran : ready;
    most = most.ns > 0 ? most : ran.ns > 0 ? ran : waited;
    mostly->site = most.site;
    mostly->doing = most.doing;
    mostly->waker = off ? mostly->waker : FIELD_ABSENT;
    return status;
}

/* --- what a thread waited for --- */

/* Returns words for THREAD in a text about ANOTHER, as a number of sites.words: its name, or its id if both have one
 * name. */
static uint32_t name_thread(struct host_activities *all, uint32_t thread, uint32_t another)
{
    const struct trace *trace = all->trace;
    size_t length, other_length;
    const char *name = trace_thread_comm(trace, thread, &length),
               *other = trace_thread_comm(trace, another, &other_length);
    char text[96];
    if (length > 0 && (length != other_length || strncmp(name, other, length) != 0)) {
        snprintf(text, sizeof(text), "thread %.*s", (int)(length < 64 ? length : 64), name);
    } else {
        const struct trace_thread_id *id = dense_map_row(&trace->thread_ids, thread);
        snprintf(text, sizeof(text), "thread %lld", (long long)event_id_value(id->thread));
    }
    return intern(&all->sites.words, text, strlen(text));
}

struct other {
    enum host_relation relation;
    uint32_t thread;      /* LAUNCHED_NO_THREAD: none */
    uint32_t site, doing; /* EVENT_NO_TEXT: not known */
};

/* Follows the wakers of THREAD to the thread that it waited for in STATE. Returns 0, or -1: no memory. */
static int follow(struct host_activities *all, uint32_t thread, const struct host_state *state, struct other *other)
{
    uint32_t next = trace_find_waker(all->trace, thread, state->waker);
    for (unsigned i = 0; i < CHAIN && next != LAUNCHED_NO_THREAD && next != thread; i++) {
        struct mostly mostly;
        if (find_mostly(all, next, state->start, state->end, &mostly) < 0)
            return -1;
        *other = (struct other){HOST_WOKE, next, mostly.site, mostly.doing};
        uint32_t waker = trace_find_waker(all->trace, next, mostly.waker);
        if (waker == next)
            break;
        next = waker;
    }
    return 0;
}

static int find_busiest(struct host_activities *all, uint32_t thread, int64_t start, int64_t end, struct other *other)
{
    const struct trace *trace = all->trace;
    bool states = all->trace->samples.states.count > 0;
    int64_t most = (end - start) / 100 * (states ? MEANWHILE_PERCENT : MEANWHILE_PERCENT_OFF);
    if (end - start < MEANWHILE_PERIODS * all->trace->samples.period)
        return 0;
    for (uint32_t i = 0; i < all->trace->samples.threads.count; i++) {
        struct mostly mostly;
        uint32_t process = trace->threads.items[i].process;
        /* THREAD may wait for threads of its process, or of a process that does not use CUDA, such as a worker. */
        bool waits =
            i != thread && (process == trace->threads.items[thread].process || !trace->processes.items[process].calls);
        if (trace->samples.threads.items[i].samples == 0 || !waits)
            continue;
        if (find_mostly(all, i, start, end, &mostly) < 0)
            return -1;
        if (mostly.ran < most || mostly.ran == 0)
            continue;
        most = mostly.ran;
        *other = (struct other){HOST_MEANWHILE, i, mostly.site, mostly.doing};
    }
    return 0;
}

/* --- activities --- */

static uint32_t add_activity(struct host_activities *all, uint32_t thread, uint32_t doing, const struct other *other)
{
    struct host_activity activity = {doing, HOST_ALONE, EVENT_NO_TEXT, EVENT_NO_TEXT};
    if (other->thread != LAUNCHED_NO_THREAD) {
        bool lock = host_sites_doing(&all->sites, doing)->kind == HOST_LOCK;
        activity.relation = other->relation == HOST_WOKE && lock ? HOST_HELD : other->relation;
        activity.other = name_thread(all, other->thread, thread);
        activity.other_doing = other->doing;
    }
    return dense_map_number(&all->known, &activity, sizeof(activity));
}

static int at_wait(struct host_activities *all, uint32_t thread, const struct host_state *state,
                   struct host_moment *moment)
{
    struct host_wait *wait = &all->wait;
    if (!wait->any || wait->thread != thread || wait->start != state->start || wait->end != state->end) {
        struct other other = {HOST_ALONE, LAUNCHED_NO_THREAD, EVENT_NO_TEXT, EVENT_NO_TEXT};
        uint32_t doing = host_sites_of_state(&all->sites, state);
        if (doing == EVENT_NO_TEXT)
            return -1;
        /* Find the thread for which this one waited, if any. */
        enum host_kind kind = (enum host_kind)host_sites_doing(&all->sites, doing)->kind;
        bool waits = kind != HOST_SLEEP && kind != HOST_READY && state->kind != HOST_DISK_WAIT;
        if (waits && (state->waker > 0 ? follow(all, thread, state, &other)
                                       : find_busiest(all, thread, state->start, state->end, &other)) < 0)
            return -1;
        *wait = (struct host_wait){.start = state->start,
                                   .end = state->end,
                                   .thread = thread,
                                   .activity = add_activity(all, thread, doing, &other),
                                   .site = state->site,
                                   .other_site = other.site,
                                   .any = true};
    }
    *moment = (struct host_moment){wait->activity, wait->site, wait->other_site, state->end};
    return wait->activity == DENSE_MAP_NONE ? -1 : 0;
}

/* Sets *MOMENT to what the thread did at SITE, up to UNTIL. The activity is EVENT_NO_TEXT if it is not known. */
static int at_sample(struct host_activities *all, uint32_t thread, uint32_t site, int64_t until,
                     struct host_moment *moment)
{
    uint32_t doing = all->sites.sites.items[site].doing;
    const struct other nobody = {HOST_ALONE, LAUNCHED_NO_THREAD, EVENT_NO_TEXT, EVENT_NO_TEXT};
    *moment = (struct host_moment){EVENT_NO_TEXT, site, EVENT_NO_TEXT, until};
    if (doing == EVENT_NO_TEXT)
        return 0;
    moment->activity = add_activity(all, thread, doing, &nobody);
    return moment->activity == DENSE_MAP_NONE ? -1 : 0;
}

static int at_run(struct host_activities *all, uint32_t thread, int64_t time, struct host_moment *moment)
{
    const struct host_samples *samples = &all->trace->samples;
    const struct host_thread own = host_samples_thread(samples, thread);
    size_t next = host_samples_from(samples, &own, time), end = own.first_sample + own.samples;
    const struct host_sample *after = next < end ? &samples->samples.items[next] : NULL;
    const struct host_sample *before = next > own.first_sample ? &samples->samples.items[next - 1] : NULL;
    int64_t reach = REACH_PERIODS * samples->period, off = OFF_PERIODS * samples->period;
    int64_t from_before = before ? time - before->time : INT64_MAX, to_after = after ? after->time - time : INT64_MAX;
    *moment = (struct host_moment){EVENT_NO_TEXT, EVENT_NO_TEXT, EVENT_NO_TEXT, INT64_MAX};
    if (own.samples == 0)
        return 0;
    if (before && from_before < reach && from_before <= to_after) {
        int64_t middle = after ? before->time + (after->time - before->time) / 2 + 1 : INT64_MAX;
        int64_t last = before->time + reach;
        return at_sample(all, thread, before->site, middle < last ? middle : last, moment);
    }
    if (after && to_after <= reach) {
        const struct host_sample *second = next + 1 < end ? after + 1 : NULL;
        int64_t middle = second ? after->time + (second->time - after->time) / 2 + 1 : INT64_MAX;
        int64_t last = after->time + reach;
        return at_sample(all, thread, after->site, middle < last ? middle : last, moment);
    }
    struct host_state gap = {.start = before ? before->time + reach : all->trace->start,
                             .end = after ? after->time - reach : all->trace->end,
                             .waker = FIELD_ABSENT,
                             .site = EVENT_NO_TEXT,
                             .kind = HOST_SLEEPING};
    if (samples->states.count == 0 && gap.end > time && gap.end - gap.start > off)
        return at_wait(all, thread, &gap, moment);
    moment->until = gap.end > time ? gap.end : INT64_MAX;
    return 0;
}

int host_activities_at(struct host_activities *all, uint32_t thread, int64_t time, struct host_moment *moment)
{
    const struct host_samples *samples = &all->trace->samples;
    if (++all->asked % EVICT_AFTER == 0)
        host_samples_evict(samples);
    const struct host_thread own = host_samples_thread(samples, thread);
    size_t next = host_samples_state_from(samples, &own, time);
    const struct host_state *state = next < own.first_state + own.states ? &samples->states.items[next] : NULL;
    if (state && state->start <= time)
        return at_wait(all, thread, state, moment);
    int status = at_run(all, thread, time, moment);
    if (state && moment->until > state->start)
        moment->until = state->start;
    if (moment->until <= time)
        moment->until = time + 1;
    return status;
}

/* --- words of activities, which name the line that took longest --- */

/* A frame of an activity's thread, or of the other thread. */
struct place_key {
    uint64_t activity; /* number of the activity * 2, + 1 for the other thread */
    uint64_t frame;
};

static int weigh(struct host_activities *all, uint64_t activity, uint32_t site, int64_t ns)
{
    if (site == EVENT_NO_TEXT || all->sites.sites.items[site].frame == EVENT_NO_TEXT)
        return 0;
    const struct place_key key = {activity, all->sites.sites.items[site].frame};
    struct host_place_time *time = dense_map_item(&all->places, &key, &all->times);
    if (!time)
        return -1;
    sum_add(&time->ns, ns);
    time->site = site;
    return 0;
}

int host_activities_weigh(struct host_activities *all, const struct host_moment *moment, int64_t ns)
{
    uint64_t number = 2 * (uint64_t)moment->activity;
    if (moment->activity == EVENT_NO_TEXT)
        return 0;
    return weigh(all, number, moment->site, ns) ?: weigh(all, number + 1, moment->other_site, ns);
}

/* Returns the place that took longest in an activity (2 * number, + 1 for the other thread), or NULL. */
static const struct host_place_time *main_place(const struct host_activities *all, uint64_t activity)
{
    const struct host_place_time *most = NULL;
    for (size_t i = 0; i < all->times.count; i++) {
        const struct place_key *key = dense_map_row(&all->places, i);
        if (key->activity == activity && (!most || all->times.items[i].ns > most->ns))
            most = &all->times.items[i];
    }
    return most;
}

void host_activity_write(struct buffer *out, const struct host_activities *all, uint32_t activity)
{
    static const char *const before[] = {
        [HOST_HELD] = ", held by ", [HOST_WOKE] = " for ", [HOST_MEANWHILE] = "; meanwhile "};
    const struct host_activity *known = dense_map_row(&all->known, activity);
    uint32_t frames[2]; /* of the thread and of the other thread */
    for (unsigned i = 0; i < 2; i++) {
        const struct host_place_time *most = main_place(all, 2 * (uint64_t)activity + i);
        frames[i] = most ? all->sites.sites.items[most->site].frame : EVENT_NO_TEXT;
    }
    host_sites_write(out, &all->sites, all->trace, known->doing, frames[0]);
    if (known->relation == HOST_ALONE)
        return;
    buffer_format(out, "%s%s", before[known->relation], interned(&all->sites.words, known->other));
    if (known->other_doing == EVENT_NO_TEXT)
        return;
    enum host_kind kind = (enum host_kind)host_sites_doing(&all->sites, known->other_doing)->kind;
    bool is_state = kind == HOST_GIL || kind == HOST_READY || kind == HOST_OFF; /* "waiting for a processor" */
    buffer_text(out, known->relation == HOST_MEANWHILE ? "" : ", which");
    buffer_text(out, !host_kind_is_off(kind) ? " ran " : is_state ? " was " : " was in ");
    host_sites_write(out, &all->sites, all->trace, known->other_doing, frames[1]);
}

int64_t host_activity_stack(const struct host_activities *all, uint32_t activity)
{
    const struct host_place_time *place = main_place(all, 2 * (uint64_t)activity + 1);
    place = place ? place : main_place(all, 2 * (uint64_t)activity);
    return place ? ((const struct host_site *)dense_map_row(&all->trace->samples.sites, place->site))->stack
                 : FIELD_ABSENT;
}

/* --- sums of times by activity --- */

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

struct host_phrase host_phrase(const struct host_activities *host, uint32_t activity)
{
    struct host_phrase phrase = {""};
    struct buffer text;
    if (activity == EVENT_NO_TEXT)
        return phrase;
    buffer_init_memory(&text);
    host_activity_write(&text, host, activity);
    buffer_char(&text, '\0');
    if (buffer_finish(&text) == 0) {
        static const char mark[] = "…";
        bool whole = text.length <= sizeof(phrase.text);
        size_t length = whole ? text.length : utf8_cut(text.data, text.length, sizeof(phrase.text) - sizeof(mark));
        snprintf(phrase.text, sizeof(phrase.text), "%.*s%s", (int)length, text.data, whole ? "" : mark);
    }
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
