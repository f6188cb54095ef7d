#include "analysis/findings/host_findings.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/buffer.h"
#include "analysis/base/cost_sum.h"
#include "analysis/model/names.h"
#include "analysis/model/section.h"
#include "analysis/names/pretty_name.h"

static bool is_wanted(const struct trace *trace, const struct idle *idle, const struct idle_row *row,
                      const struct host_question *question)
{
    const struct idle_what *what = &row->what;
    if (what->cause != (question->launching ? IDLE_LAUNCH : IDLE_OUTSIDE) || what->activity == EVENT_NO_TEXT ||
        idle_is_loading(trace, what) != question->loading)
        return false;
    bool off = host_kind_is_off(host_activity_kind(&idle->host, what->activity));
    return question->wanted == HOST_ANY || off == (question->wanted == HOST_OFF_PROCESSOR);
}

static uint32_t doing_of(const struct host_activities *host, size_t activity)
{
    return ((const struct host_activity *)dense_map_row(&host->known, activity))->doing;
}

/* The doing that took *MOST, over all threads that were waited for meanwhile. Returns the activity that took most of
 * it; EVENT_NO_TEXT: none took LEAST ns. SUMS: of COUNT activities, by their numbers. */
static uint32_t find_most(const struct host_activities *host, const int64_t *sums, size_t count, int64_t least,
                          int64_t *most)
{
    int64_t *doings = calloc(host->sites.doings.count + 1, sizeof(*doings));
    uint32_t found = EVENT_NO_TEXT;
    *most = 0;
    for (size_t i = 0; doings && i < count; i++)
        sum_add(&doings[doing_of(host, i)], sums[i]);
    for (uint32_t i = 0; doings && i < count; i++) {
        int64_t sum = doings[doing_of(host, i)];
        bool more = sum > *most || (sum == *most && found != EVENT_NO_TEXT && sums[i] > sums[found]);
        if (sums[i] <= 0 || sum < least || !more)
            continue;
        *most = sum;
        found = i;
    }
    free(doings);
    return found;
}

struct host_answer host_ask(const struct trace *trace, const struct idle *idle, const struct host_question *question)
{
    struct host_answer answer = {.activity = EVENT_NO_TEXT};
    const struct idle_row *row = idle_first_row(&idle->active, question->device);
    int64_t *sums = row ? calloc(idle->host.known.count + 1, sizeof(*sums)) : NULL;
    for (; sums && row; row = idle_next_row(&idle->active, row)) {
        if (!is_wanted(trace, idle, row, question))
            continue;
        sum_add(&answer.total, row->sum.total);
        answer.gaps += row->sum.count;
        sum_add(&sums[row->what.activity], row->sum.total);
    }
    if (sums)
        answer.activity = find_most(&idle->host, sums, idle->host.known.count, 0, &answer.most);
    free(sums);
    return answer;
}

/* Shortens TEXT to SIZE bytes, at a whole character. */
static void put_short(char *to, size_t size, const char *text)
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
        put_short(phrase.text, sizeof(phrase.text), text.data);
    buffer_release(&text);
    return phrase;
}

const char *host_advice(const struct host_activities *host, uint32_t activity)
{
    if (activity == EVENT_NO_TEXT)
        return NULL;
    const struct host_activity *known = dense_map_row(&host->known, activity);
    enum host_kind kind = host_activity_kind(host, activity);
    bool pipe = kind == HOST_IO && known->relation == HOST_WOKE; /* a thread wrote what was read */
    return host_kind_advice[pipe ? HOST_WAIT : kind];
}

bool host_gets_batch(const struct trace *trace, int64_t stack)
{
    static const char *const movers[] = {"batch_to_device", "send_to_device", "_prepare_inputs"};
    const struct trace_frame *frames[TRACE_STACK_FRAMES];
    size_t count = trace_stack(trace, stack, frames, TRACE_STACK_FRAMES);
    for (size_t i = 0; i < count * 3; i++) {
        const char *place = trace_text(trace, frames[i / 3]->place);
        if (name_is_data_loader(place) || strstr(place, movers[i % 3]))
            return true;
    }
    return false;
}

/* Where operations called NAME are launched, or its pretty form: those of a trace of a job are made later. */
static struct finding_name launch_of(const struct trace *trace, uint32_t name, const struct trace_frame *place)
{
    struct buffer text;
    if (place)
        return finding_name_of(trace_text(trace, place->place));
    if (!trace->options->of_job)
        return finding_name(trace, name);
    buffer_init_memory(&text);
    pretty_name_write(&text, trace_text(trace, name), strlen(trace_text(trace, name)), 0, NULL);
    buffer_char(&text, '\0');
    struct finding_name shown = finding_name_of(text.failure ? "" : text.data);
    buffer_release(&text);
    return shown;
}

struct host_between host_between(const struct trace *trace, const struct idle_gap *gap)
{
    const uint32_t names[] = {gap->before.name, gap->after.name};
    const struct trace_frame *places[2], *inner;
    struct host_between between;
    int64_t stacks[2];
    for (unsigned i = 0; i < 2; i++) {
        stacks[i] = findings_stack(section_state(trace, REPORT_FINDINGS), names[i]);
        places[i] = trace_stack_place(trace, stacks[i]);
    }
    bool same = places[0] && places[1] && places[0]->place == places[1]->place;
    for (unsigned i = 0; i < 2; i++)
        places[i] = same && trace_program_frames(trace, stacks[i], &inner, 1) > 0 ? inner : places[i];
    between.loads = host_gets_batch(trace, stacks[1]);
    const struct finding_name from = launch_of(trace, names[0], places[0]), to = launch_of(trace, names[1], places[1]);
    snprintf(between.text, sizeof(between.text), "%s and %s%s", from.text, to.text,
             between.loads ? ", where it gets the next batch" : "");
    if (!between.loads && strcmp(from.text, to.text) == 0)
        *between.text = '\0';
    return between;
}

const struct idle_gap *host_gap(const struct idle *idle, size_t device, uint32_t activity)
{
    const struct idle_gap *found = NULL;
    for (size_t i = 0; activity != EVENT_NO_TEXT && i < idle->largest_count; i++) {
        const struct idle_gap *gap = &idle->largest[i];
        if (gap->device == device && gap->activity == activity &&
            (!found || gap->end - gap->start > found->end - found->start))
            found = gap;
    }
    return found;
}

struct finding_place host_gap_place(size_t device, const struct idle_gap *gap)
{
    struct finding_place place = gap ? finding_at_time(gap->thread, gap->start, gap->end) : finding_nowhere();
    place.device = (int64_t)device;
    return place;
}

/* --- times that a rule chooses --- */

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

uint32_t host_times_most(const struct host_times *times, int64_t others, int64_t least)
{
    size_t count = times->sums.count;
    int64_t *growth = count > 0 ? calloc(count, sizeof(*growth)) : NULL, most;
    for (size_t i = 0; growth && i < count; i++)
        growth[i] = times->sums.items[i].here - (others > 0 ? times->sums.items[i].others / others : 0);
    uint32_t found = growth ? find_most(&times->host, growth, count, least, &most) : EVENT_NO_TEXT;
    free(growth);
    return found;
}
