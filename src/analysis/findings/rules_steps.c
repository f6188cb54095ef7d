/*
 * Rules about the steps of a program that trains or serves a model, or computes again and again.
 */
#include <stdio.h>
#include <string.h>

#include "common/settings.h"
#include "analysis/base/busy.h"
#include "analysis/base/cost_sum.h"
#include "analysis/findings/findings.h"
#include "analysis/findings/host_findings.h"
#include "analysis/idle/idle.h"
#include "analysis/model/names.h"
#include "analysis/model/section.h"
#include "analysis/model/steps.h"
#include "analysis/model/temporal.h"

/* --- steps that are slower than the others --- */

/* The part that grew most in the slowest step of process NUMBER; NULL: none. */
static const struct step_part_key *grown_part(const struct steps *steps, size_t number, int64_t *difference)
{
    const struct step_part_key *found = NULL;
    *difference = 0;
    for (size_t i = 0; i < steps->parts.count; i++) {
        const struct step_part_key *key = dense_map_row(&steps->part_keys, i);
        int64_t grown = step_part_difference(&steps->processes.items[number], &steps->parts.items[i]);
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

/* No call was open from FROM to TO. */
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

static void write_grown(const struct findings *findings, const struct step_part_key *key, int64_t difference,
                        char *text, size_t size)
{
    static const char *const words[] = {
        [STEP_KERNEL] = "kernel ", [STEP_COPY] = "", [STEP_CALL] = "call ", [STEP_OUTSIDE] = "the host outside CUDA"};
    *text = '\0';
    if (key)
        snprintf(text, size, "; most of the difference: %.64s%s, %s more",
                 trace_said(findings->trace, words[key->kind]).text,
                 key->kind == STEP_OUTSIDE ? "" : finding_name(findings->trace, (uint32_t)key->name).text,
                 amount_time(difference).text);
}

/* The steps that are slow. */
struct slow_steps {
    int64_t median, excess, count, longest; /* ns beyond the median; steps; ns */
    size_t worst;                           /* the longest */
};

/* The first loads code and allocates, and others that warm up are no exceptions either. */
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

static int say_slow(struct findings *findings, const struct steps *steps, size_t number, const struct slow_steps *slow,
                    struct host_times *host)
{
    const struct steps_process *process = &steps->processes.items[number];
    const struct step *slowest = &process->items.items[slow->worst];
    struct finding_place place = finding_at_time(process->thread, slowest->from, slowest->to);
    struct finding *finding = finding_add(findings, slow->excess, slow->excess, slow->count, &place);
    char grown[FINDING_NAME + 160];
    int64_t difference = 0;
    if (!finding)
        return 0;
    bool compared = slow->worst == process->slowest; /* what the steps consist of is known of the slowest */
    const struct step_part_key *key = compared ? grown_part(steps, number, &difference) : NULL;
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
    return finding_say(finding, "%s of %s steps %s slower than the others: step %s takes %s, the median %s%s%s%s",
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
    int status = say_slow(findings, steps, number, &slow, &host);
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

/* --- communication that nothing is computed during --- */

struct exposed {
    struct temporal_names names;
    ARRAY(struct exposed_device) devices;
};

/* What communicates, what computes, and both together: what overlaps is the difference. */
struct exposed_device {
    struct busy_sum communication, computation, both;
    struct offences kernels; /* that communicate */
};

static int exposed_op(void *state, const struct trace *trace, const struct timeline_op *op)
{
    struct exposed *exposed = state;
    if (op->category != CATEGORY_KERNEL && op->category != CATEGORY_GPU_GRAPH)
        return 0;
    struct exposed_device *device = array_at(&exposed->devices, op->device);
    if (!device)
        return -1;
    unsigned kind = temporal_kind(&exposed->names, trace, op);
    bool communicates = kind == TEMPORAL_COMMUNICATION;
    if (kind == 0)
        return -1;
    busy_sum_add(communicates ? &device->communication : &device->computation, op->start, op->end);
    busy_sum_add(&device->both, op->start, op->end);
    if (communicates)
        offences_add_op(&device->kernels, op, op->end - op->start);
    return 0;
}

static int64_t exposed_time(const struct exposed_device *device)
{
    return device->both.total - device->computation.total;
}

static int exposed_find(void *state, struct findings *findings)
{
    const struct exposed *exposed = state;
    const struct exposed_device *worst = NULL;
    for (size_t i = 0; i < exposed->devices.count; i++)
        if (!worst || exposed_time(&exposed->devices.items[i]) > exposed_time(worst))
            worst = &exposed->devices.items[i];
    int64_t alone = worst ? exposed_time(worst) : 0;
    int64_t count = worst ? worst->kernels.count : 0;
    if (count == 0 || alone < findings->steady / 100 * FINDING_EXPOSED_PERCENT)
        return 0;
    return finding_say(finding_add(findings, alone, alone, count, offences_place(findings, &worst->kernels)),
                       "%s of the time of %s communication kernel%s (%s) nothing is computed",
                       amount_share(alone, worst->communication.total).text, amount_count(count).text,
                       amount_word(count, "", "s"), amount_time(worst->communication.total).text);
}

static void exposed_release(void *state)
{
    struct exposed *exposed = state;
    array_release(&exposed->names.communication);
    array_release(&exposed->devices);
}

const struct rule rule_exposed_communication = {
    .id = "exposed-communication",
    .advice =
        "Start communication earlier and in a stream of its own: smaller buckets (bucket_cap_mb of "
        "DistributedDataParallel), prefetching in FSDP, or communicate less (larger batches, compression). If ranks "
        "wait for a slow one, look at that one.",
    .section = "overlap",
    .sources = {TRACE_KERNEL},
    .state_size = sizeof(struct exposed),
    .op = exposed_op,
    .find = exposed_find,
    .release = exposed_release,
};

/* --- waiting for PyTorch's DataLoader --- */

struct loading {
    ARRAY(char) is_loader; /* by name: 1 it is not, 2 it is, 0 not asked yet */
    int64_t count, time;   /* ns, of all threads */
    bool single;
};

static int loading_event(void *state, const struct trace *trace, const struct event_fields *event)
{
    struct loading *loading = state;
    if (event->phase != 'X' || event->name == EVENT_NO_TEXT)
        return 0;
    char *known = array_at(&loading->is_loader, event->name);
    if (!known)
        return -1;
    if (!*known) {
        const char *name = interned(&trace->strings, event->name);
        *known = name_is_data_loader(name) ? 2 : 1;
        loading->single |= *known == 2 && strstr(name, "_SingleProcess");
    }
    if (*known == 2) {
        loading->count++;
        loading->time = sum_of(loading->time, event->duration);
    }
    return 0;
}

/* How long DEVICE was idle because the launching thread was in the DataLoader, and the row with most of that. */
static int64_t loading_idle(const struct trace *trace, const struct idle *idle, size_t device,
                            const struct idle_row **worst)
{
    int64_t total = 0;
    for (const struct idle_row *row = idle_first_row(&idle->rows, device); row; row = idle_next_row(&idle->rows, row)) {
        if (!idle_is_loading(trace, &row->what))
            continue;
        total = sum_of(total, row->sum.total);
        *worst = !*worst || row->sum.total > (*worst)->sum.total ? row : *worst;
    }
    return total;
}

static int loading_find(void *state, struct findings *findings)
{
    const struct loading *loading = state;
    const struct idle *idle = findings->idle;
    const struct idle_row *worst = NULL;
    int64_t cost = 0;
    for (size_t i = 0; idle && i < idle->devices.count; i++) {
        const struct idle_row *row = NULL;
        int64_t one = loading_idle(findings->trace, idle, i, &row);
        if (one > cost) {
            cost = one;
            worst = row;
        }
    }
    if (!worst || cost < findings->steady / 100 * FINDING_LOADING_STEPS_PERCENT)
        return 0;
    const struct host_question question = {.device = worst->what.device, .loading = true};
    uint32_t activity = host_ask(findings->trace, idle, &question).activity;
    struct finding_place place = host_gap_place(worst->what.device, NULL);
    place.time = worst->sum.gap;
    place.until = worst->sum.gap + worst->sum.current;
    struct finding *finding = finding_add(findings, cost, cost, loading->count, &place);
    if (!finding)
        return 0;
    finding->range = worst->what.range;
    finding->operation = worst->what.operation;
    finding->place.stack = activity != EVENT_NO_TEXT ? host_activity_stack(&idle->host, activity) : FIELD_ABSENT;
    finding_advise(finding, "%s",
                   loading->single ? "Load data in processes of their own: DataLoader(num_workers=4, pin_memory=True)."
                                   : "Use more workers (num_workers), prefetch more (prefetch_factor), or make loading "
                                     "cheaper: decode once, augment on the GPU.");
    return finding_say(finding, "The GPU waits for the DataLoader, which takes %s for %s batch%s%s%s%s",
                       amount_time(loading->time).text, amount_count(loading->count).text,
                       amount_word(loading->count, "", "es"), loading->single ? " in the process that trains" : "",
                       activity != EVENT_NO_TEXT ? ": " : "", host_phrase(&idle->host, activity).text);
}

static void loading_release(void *state)
{
    array_release(&((struct loading *)state)->is_loader);
}

const struct rule rule_data_loading = {
    .id = "data-loading",
    .section = "idle",
    .of_idle = true,
    .sources = {TRACE_GPU_WORK, TRACE_API},
    .state_size = sizeof(struct loading),
    .categories = CATEGORY_BIT(CATEGORY_USER_ANNOTATION) | CATEGORY_BIT(CATEGORY_CPU_OP),
    .event = loading_event,
    .find = loading_find,
    .release = loading_release,
};
