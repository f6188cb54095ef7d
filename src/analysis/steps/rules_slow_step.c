/*
 * The rule about steps that are slower than the others.
 */
#include <stdio.h>
#include <string.h>

#include "common/settings.h"
#include "analysis/base/busy.h"
#include "analysis/base/cost_sum.h"
#include "analysis/engine/findings.h"
#include "analysis/engine/names.h"
#include "analysis/engine/section.h"
#include "analysis/engine/trace_known.h"
#include "analysis/host/host_times.h"
#include "analysis/steps/steps.h"

/* The work that grew most in the slowest step of process NUMBER, or NULL. */
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

/* --- what the host did in the slowest step, and not in others --- */

/* A walk over the time of a thread outside of calls, in and between its steps. */
struct outside_walk {
    struct host_times *times;
    const struct trace *trace;
    const struct steps_process *process;
    size_t step; /* the first that has not ended by the time */
};

/* Adds the time from FROM to TO, in which no call was open. */
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

/* Calls come by thread and start. */
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

static void write_grown(const struct findings *findings, const struct step_work_key *key, int64_t difference,
                        char *text, size_t size)
{
    static const char *const words[] = {
        [STEP_KERNEL] = "kernel ", [STEP_COPY] = "", [STEP_CALL] = "call ", [STEP_OUTSIDE] = "the host outside CUDA"};
    *text = '\0';
    if (key)
        snprintf(text, size, "; most of the difference: %.64s%s, %s more",
                 trace_phrase(findings->trace, words[key->kind]).text,
                 key->kind == STEP_OUTSIDE ? "" : finding_name(findings->trace, (uint32_t)key->name).text,
                 amount_time(difference).text);
}

/* The steps that are slow. */
struct slow_steps {
    int64_t median, excess, count, longest; /* ns beyond the median; steps; ns */
    size_t worst;                           /* the longest */
};

/* Finds the slow steps without the first, which loads code and allocates, and others of the warm-up. */
static struct slow_steps slow_of(const struct findings *findings, const struct steps_process *process)
{
    size_t warm_up = findings->warm_up.process == process ? findings->warm_up.steps : 0;
    struct series copy = process->times;
    struct slow_steps slow = {.median = whole_of(series_summary(&copy).median)};
    for (size_t i = warm_up > 1 ? warm_up : 1; i < process->items.count; i++) {
        int64_t time = process->items.items[i].end - process->items.items[i].start;
        if (time < slow.median / 100 * FINDING_SLOW_STEP_PERCENT)
            continue;
        slow.excess = sum_of(slow.excess, time - slow.median);
        slow.count++;
        slow.worst = time > slow.longest ? i : slow.worst;
        slow.longest = time > slow.longest ? time : slow.longest;
    }
    return slow;
}

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
    bool compared = slow->worst == process->slowest; /* the work of steps is only summed for the slowest step */
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
    write_grown(findings, key, difference, grown, sizeof(grown));
    return finding_format(finding, "%s of %s steps %s slower than the others: step %s takes %s, the median %s%s%s%s",
                          amount_count(slow->count).text, amount_count((int64_t)process->items.count).text,
                          slow->count == 1 ? "is" : "are", amount_count(slowest->number).text,
                          amount_time(slowest->end - slowest->start).text, amount_time(slow->median).text, grown,
                          activity != EVENT_NO_TEXT ? ": " : "", host_phrase(&host->host, activity).text);
}

static int slow_in(struct findings *findings, const struct steps *steps, size_t number)
{
    const struct steps_process *process = &steps->processes.items[number];
    struct slow_steps slow = slow_of(findings, process);
    struct host_times host = {0};
    int64_t others = (int64_t)process->items.count - 1;
    if (process->items.count < FINDING_STEPS || slow.median < FINDING_STEP_NS || slow.count == 0 ||
        slow.count * 100 > others * FINDING_SLOW_STEPS_PERCENT || slow.excess < FINDING_SLOW_STEPS_NS)
        return 0;
    int status = format_slow(findings, steps, number, &slow, &host);
    host_times_release(&host);
    return status;
}

static int slow_find(void *state, struct findings *findings)
{
    const struct steps *steps = section_state(findings->trace, REPORT_STEPS);
    int status = 0;
    for (size_t i = 0; steps && i < steps->processes.count && status == 0; i++)
        status = slow_in(findings, steps, i);
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
