/*
 * The rule about the time before a program's steps are as fast as usual, in which it loads, compiles and allocates.
 * Other rules are about the rest of the run, which is what a program that runs for days consists of.
 */
#include "analysis/steps/rules_warm_up.h"

#include <inttypes.h>

#include "common/settings.h"
#include "analysis/base/cost_sum.h"
#include "analysis/engine/findings.h"
#include "analysis/engine/section.h"
#include "analysis/steps/steps.h"

static int64_t period(const struct steps_process *process, size_t step)
{
    return process->items.items[step + 1].from - process->items.items[step].from;
}

/* The median time from the begin of a step to that of the next; ns. */
static int64_t median_period(struct findings *findings, const struct steps_process *process)
{
    struct series periods = {0};
    for (size_t i = 0; i + 1 < process->items.count && !findings->no_memory; i++)
        findings->no_memory = series_add(&periods, period(process, i)) < 0;
    int64_t median = whole_of(series_summary(&periods).median);
    series_release(&periods);
    return median;
}

static struct warm_up warm_up_in(struct findings *findings, const struct steps_process *process)
{
    struct warm_up warm_up = {.process = process, .usual = median_period(findings, process)};
    size_t last = process->items.count - 1;
    while (warm_up.steps < last && period(process, warm_up.steps) >= warm_up.usual / 100 * FINDING_WARM_UP_PERCENT)
        warm_up.steps++;
    warm_up.until = process->items.items[warm_up.steps].from;
    warm_up.time = warm_up.until - findings->from - (int64_t)warm_up.steps * warm_up.usual;
    bool long_enough = warm_up.usual >= FINDING_STEPS * FINDING_STEP_NS / (int64_t)process->items.count;
    bool matters = long_enough && warm_up.time >= FINDING_WARM_UP_NS &&
                   warm_up.time >= findings->run / 100 * FINDING_WARM_UP_RUN_PERCENT && warm_up.time <= findings->run;
    return matters ? warm_up : (struct warm_up){0};
}

/* Makes the usual steps of PROCESS the window if they are most of the run and longer than those of the processes
 * before: the host of a rank may be ahead of its GPU, which waits for another rank. */
static void use_steps(struct findings *findings, const struct steps_process *process)
{
    const struct step *items = process->items.items;
    size_t first = 0;
    while (first < process->items.count && findings_in_warm_up(findings, items[first].from))
        first++;
    if (process->items.count < STEPS_LEAST || first == process->items.count)
        return;
    struct findings_window window = {items[first].from, items[process->items.count - 1].to,
                                     (int64_t)(process->items.count - first)};
    bool most = window.to - window.from > (findings->run - findings->warm_up.time) / 2;
    if (most && window.to - window.from > findings->window.to - findings->window.from)
        findings->window = window;
}

void warm_up_find_time(struct findings *findings)
{
    const struct steps *steps = section_state(findings->trace, REPORT_STEPS);
    for (size_t i = 0; steps && i < steps->processes.count; i++) {
        const struct steps_process *process = &steps->processes.items[i];
        if (process->items.count < FINDING_STEPS || findings->from == FIELD_ABSENT)
            continue;
        struct warm_up one = warm_up_in(findings, process);
        findings->warm_up = one.time > findings->warm_up.time ? one : findings->warm_up;
    }
    findings->steady = findings->run - findings->warm_up.time;
}

void warm_up_find_window(struct findings *findings)
{
    const struct steps *steps = section_state(findings->trace, REPORT_STEPS);
    findings->window = (struct findings_window){0};
    for (size_t i = 0; steps && i < steps->processes.count && findings->from != FIELD_ABSENT; i++)
        use_steps(findings, &steps->processes.items[i]);
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
    if (finding) /* a finding about a cause of most of it comes first */
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
