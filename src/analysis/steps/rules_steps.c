/*
 * Rules about steps that are slower than others, and about the warm-up: the time until the steps of a program are as
 * fast as usual, in which it loads, compiles and allocates. Other rules are about the rest of the run, because a
 * program that runs for days consists of it.
 */
#include "analysis/steps/rules_steps.h"

#include <inttypes.h>
#include <stdio.h>

#include "analysis/base/cost_sum.h"
#include "analysis/engine/findings.h"
#include "analysis/engine/section.h"
#include "analysis/steps/steps.h"
#include "analysis/base/busy.h"
#include "analysis/engine/trace_known.h"
#include "analysis/host/host_activity.h"

void warm_up_find_time(struct findings *findings)
{
    const struct steps *steps = section_state(findings->trace, REPORT_STEPS);
    for (size_t i = 0; steps && i < steps->processes.count; i++) {
        const struct steps_process *process = &steps->processes.items[i];
        if (process->items.count < FINDING_STEPS || findings->from == FIELD_ABSENT)
            continue;
        const struct step *items = process->items.items;
        struct series periods = {0}; /* ns from the beginning of a step to the next */
        size_t last = process->items.count - 1;
        for (size_t k = 0; k < last && !findings->no_memory; k++)
            findings->no_memory = series_add(&periods, items[k + 1].from - items[k].from) < 0;
        struct warm_up warm_up = {.process = process, .usual = whole_of(series_summary(&periods).median)};
        series_release(&periods);
        int64_t slow = warm_up.usual / 100 * FINDING_WARM_UP_PERCENT;
        while (warm_up.steps < last && items[warm_up.steps + 1].from - items[warm_up.steps].from >= slow)
            warm_up.steps++;
        warm_up.until = items[warm_up.steps].from;
        warm_up.time = warm_up.until - findings->from - (int64_t)warm_up.steps * warm_up.usual;
        bool long_enough = warm_up.usual >= FINDING_STEPS * FINDING_STEP_NS / (int64_t)process->items.count;
        bool matters = long_enough && warm_up.time >= FINDING_WARM_UP_NS &&
                       warm_up.time >= findings->run / 100 * FINDING_WARM_UP_RUN_PERCENT &&
                       warm_up.time <= findings->run;
        findings->warm_up = matters && warm_up.time > findings->warm_up.time ? warm_up : findings->warm_up;
    }
    findings->steady = findings->run - findings->warm_up.time;
}

void warm_up_find_window(struct findings *findings)
{
    const struct steps *steps = section_state(findings->trace, REPORT_STEPS);
    findings->window = (struct findings_window){0};
    for (size_t i = 0; steps && i < steps->processes.count && findings->from != FIELD_ABSENT; i++) {
        const struct steps_process *process = &steps->processes.items[i];
        /* The usual steps are the window if they take most of the run, and longer than those of earlier processes,
         * because the host of a rank may be ahead of its GPU, which waits for another rank. */
        const struct step *items = process->items.items;
        size_t first = 0;
        while (first < process->items.count && findings_in_warm_up(findings, items[first].from))
            first++;
        if (process->items.count < STEPS_LEAST || first == process->items.count)
            continue;
        struct findings_window window = {items[first].from, items[process->items.count - 1].to,
                                         (int64_t)(process->items.count - first)};
        bool most = window.to - window.from > (findings->run - findings->warm_up.time) / 2;
        if (most && window.to - window.from > findings->window.to - findings->window.from)
            findings->window = window;
    }
    if (findings->window.steps == 0)
        findings->window =
            (struct findings_window){findings->warm_up.process ? findings->warm_up.until : INT64_MIN, INT64_MAX, 0};
}

static int warm_up_find(void *state, struct findings *findings)
{
    const struct warm_up *warm_up = &findings->warm_up;
    if (!warm_up->process)
        return 0;
    const struct finding_place place = finding_at_time(warm_up->process->thread, findings->from, warm_up->until);
    struct finding *finding = finding_add(findings, warm_up->time, 0, (int64_t)warm_up->steps, &place);
    if (finding) /* a finding about its main cause comes first */
        finding->weight = warm_up->time / 2;
    size_t count = warm_up->process->items.count;
    const struct step *later = &warm_up->process->items.items[warm_up->steps + (count - warm_up->steps) / 2];
    finding_advise(finding,
                   "To see what its steps consist of, look at a later one: gputrace report --step=%" PRId64 ". To "
                   "record later steps only, use --delay or --capture-range=cudaProfilerApi.",
                   later->number);
    return finding_format(finding,
                          "The program takes %s until its steps are as fast as usual, %s, from step %s of %s on",
                          amount_time(warm_up->until - findings->from).text, amount_time(warm_up->usual).text,
                          amount_count((int64_t)warm_up->steps + 1).text, amount_count((int64_t)count).text);
}

const struct rule rule_warm_up = {
    .id = "warm-up",
    .section = "steps",
    .sources = {TRACE_GPU_WORK},
    .find = warm_up_find,
};

/* --- steps that are slower than the others --- */

/* Returns the work that grew most in the slowest step of process NUMBER, and sets *DIFFERENCE to its growth in ns.
 * Returns NULL if no work grew. */
static const struct step_work_key *grown_part(const struct steps *steps, size_t number, int64_t *difference)
{
    const struct step_work_key *found = NULL;
    *difference = 0;
    for (size_t i = 0; i < steps->works.count; i++) {
        const struct step_work_key *key = dense_map_row(&steps->work_keys, i);
        int64_t grown = step_work_difference(&steps->processes.items[number], &steps->works.items[i]);
        if (key->process == number && grown > *difference) {
            *difference = grown;
            found = key;
        }
    }
    return found;
}

/* --- what the host did in the slowest step but not in others --- */

/* A walk over the time of a thread outside of calls. */
struct outside_walk {
    struct host_times *times;
    const struct trace *trace;
    const struct steps_process *process;
    size_t step; /* the first step that has not ended by the time of the walk */
};

/* Adds the time from FROM to TO, in which no call was open, as far as it is in steps. Returns 0, or -1: no memory. */
static int add_outside(struct outside_walk *walk, int64_t from, int64_t to)
{
    const struct steps_process *process = walk->process;
    while (walk->step < process->items.count && process->items.items[walk->step].to <= from)
        walk->step++;
    for (size_t i = walk->step; i < process->items.count && process->items.items[i].from < to; i++) {
        const struct step *step = &process->items.items[i];
        int64_t begin = step->from > from ? step->from : from, end = step->to < to ? step->to : to;
        enum host_stretch stretch = i == process->slowest ? HOST_HERE : HOST_OTHER;
        if (host_times_add(walk->times, walk->trace, process->thread, begin, end, stretch) < 0)
            return -1;
    }
    return 0;
}

/* Adds what the thread of the steps did outside of calls to TIMES. Returns 0, or -1: no memory, or after warning(). */
static int add_host(struct host_times *times, const struct trace *trace, const struct steps_process *process)
{
    struct outside_walk outside = {.times = times, .trace = trace, .process = process};
    struct host_calls_walk walk;
    const struct host_call *call;
    int64_t until = INT64_MIN;
    int status = 0;
    host_calls_walk_begin(&walk, &trace->host_calls);
    while (status == 0 && (call = host_calls_next(&walk)) && call->thread <= process->thread) {
        if (call->thread < process->thread)
            continue;
        status = add_outside(&outside, until, call->start);
        until = call->end > until ? call->end : until;
    }
    if (status == 0)
        status = add_outside(&outside, until, INT64_MAX);
    return host_calls_walk_end(&walk) ?: status;
}

/* --- the finding --- */

/* The slow steps of a process. */
struct slow_steps {
    int64_t median, excess, count, longest; /* excess: sum over the steps, beyond the median. ns but for count */
    size_t worst;                           /* index of the longest step */
};

static int format_slow(struct findings *findings, const struct steps *steps, size_t number,
                       const struct slow_steps *slow, struct host_times *host)
{
    const struct steps_process *process = &steps->processes.items[number];
    const struct step *slowest = &process->items.items[slow->worst];
    struct finding_place place = finding_at_time(process->thread, slowest->from, slowest->to);
    struct finding *finding = finding_add(findings, slow->excess, slow->excess, slow->count, &place);
    char grown[FINDING_NAME + 160];
    int64_t difference = 0;
    if (!finding)
        return 0;
    bool compared = slow->worst == process->slowest; /* work is only summed for the slowest step */
    const struct step_work_key *key = compared ? grown_part(steps, number, &difference) : NULL;
    bool outside = key && key->kind == STEP_OUTSIDE;
    if (outside && host_times_known(findings->trace) && add_host(host, findings->trace, process) < 0)
        return -1;
    uint32_t activity = outside ? host_times_most(host, (int64_t)process->items.count - 1,
                                                  difference / 100 * FINDING_HOST_NAMED_PERCENT)
                                : EVENT_NO_TEXT;
    if (activity != EVENT_NO_TEXT) {
        finding->place.stack = host_activity_stack(&host->host, activity);
        finding_advise(finding, "%s", host_advice(&host->host, activity));
    }
    static const char *const words[] = {
        [STEP_KERNEL] = "kernel ", [STEP_COPY] = "", [STEP_CALL] = "call ", [STEP_OUTSIDE] = "the host outside CUDA"};
    *grown = '\0';
    if (key)
        snprintf(grown, sizeof(grown), "; most of the difference: %.64s%s, %s more",
                 trace_phrase(findings->trace, words[key->kind]).text,
                 key->kind == STEP_OUTSIDE ? "" : finding_name(findings->trace, (uint32_t)key->name).text,
                 amount_time(difference).text);
    return finding_format(finding, "%s of %s steps %s slower than the others: step %s takes %s, the median %s%s%s%s",
                          amount_count(slow->count).text, amount_count((int64_t)process->items.count).text,
                          slow->count == 1 ? "is" : "are", amount_count(slowest->number).text,
                          amount_time(slowest->end - slowest->start).text, amount_time(slow->median).text, grown,
                          activity != EVENT_NO_TEXT ? ": " : "", host_phrase(&host->host, activity).text);
}

static int slow_find(void *state, struct findings *findings)
{
    const struct steps *steps = section_state(findings->trace, REPORT_STEPS);
    int status = 0;
    for (size_t i = 0; steps && i < steps->processes.count && status == 0; i++) {
        const struct steps_process *process = &steps->processes.items[i];
        /* Find the slow steps, except the first step, which loads code and allocates, and steps of the warm-up. */
        size_t warm_up = findings->warm_up.process == process ? findings->warm_up.steps : 0;
        struct series copy = process->times;
        struct slow_steps slow = {.median = whole_of(series_summary(&copy).median)};
        for (size_t k = warm_up > 1 ? warm_up : 1; k < process->items.count; k++) {
            int64_t time = process->items.items[k].end - process->items.items[k].start;
            if (time < slow.median / 100 * FINDING_SLOW_STEP_PERCENT)
                continue;
            slow.excess = sum_of(slow.excess, time - slow.median);
            slow.count++;
            slow.worst = time > slow.longest ? k : slow.worst;
            slow.longest = time > slow.longest ? time : slow.longest;
        }
        struct host_times host = {0};
        int64_t others = (int64_t)process->items.count - 1;
        if (process->items.count < FINDING_STEPS || slow.median < FINDING_STEP_NS || slow.count == 0 ||
            slow.count * 100 > others * FINDING_SLOW_STEPS_PERCENT || slow.excess < FINDING_SLOW_STEPS_NS)
            continue;
        status = format_slow(findings, steps, i, &slow, &host);
        host_times_release(&host);
    }
    return status;
}

const struct rule rule_slow_step = {
    .id = "slow-step",
    .advice =
        "Compare the slowest step with another one in the timeline. First steps load code and allocate: warm up, or "
        "leave them out of what is measured.",
    .section = "slowest-step",
    .sources = {TRACE_GPU_WORK},
    .find = slow_find,
};
