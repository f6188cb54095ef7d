/*
 * Rules about the steps of a program that trains or serves a model, or computes again and again.
 */
#include <stdio.h>
#include <string.h>

#include "common/settings.h"
#include "analysis/busy.h"
#include "analysis/findings.h"
#include "analysis/section.h"
#include "analysis/steps.h"

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

static void write_grown(const struct findings *findings, const struct step_part_key *key, int64_t difference,
                        char *text, size_t size)
{
    static const char *const words[] = {
        [STEP_KERNEL] = "kernel ", [STEP_COPY] = "", [STEP_CALL] = "call ", [STEP_OUTSIDE] = "the host outside CUDA"};
    *text = '\0';
    if (key)
        snprintf(text, size, "; most of the difference: %s%s, %s more", words[key->kind],
                 key->kind == STEP_OUTSIDE ? "" : finding_name(findings->trace, (uint32_t)key->name).text,
                 amount_time(difference).text);
}

static int slow_in(struct findings *findings, const struct steps *steps, size_t number)
{
    const struct steps_process *process = &steps->processes.items[number];
    struct series copy = process->times;
    int64_t median = (int64_t)series_summary(&copy).median, difference = 0, excess = 0, slow = 0;
    if (process->items.count < FINDING_STEPS || median < FINDING_STEP_NS)
        return 0;
    for (size_t i = 1; i < process->items.count; i++) { /* the first loads code and allocates */
        int64_t time = process->items.items[i].end - process->items.items[i].start;
        if (time < median / 100 * FINDING_SLOW_STEP_PERCENT)
            continue;
        excess += time - median;
        slow++;
    }
    int64_t others = (int64_t)process->items.count - 1;
    if (slow * 100 > others * FINDING_SLOW_STEPS_PERCENT || excess < FINDING_SLOW_STEPS_NS)
        return 0;
    const struct step *slowest = &process->items.items[process->slowest];
    struct finding_place place = finding_nowhere();
    place.time = place.called = slowest->from;
    place.until = slowest->to;
    place.thread = process->thread;
    struct finding *finding = slow > 0 ? finding_add(findings, excess, excess, &place) : NULL;
    char grown[FINDING_NAME + 80];
    if (!finding)
        return 0;
    finding->count = slow;
    const struct step_part_key *key = grown_part(steps, number, &difference);
    write_grown(findings, key, difference, grown, sizeof(grown));
    return finding_say(finding, "%s of %s steps are slower than the others: step %s takes %s, the median %s%s",
                       amount_count(slow).text, amount_count((int64_t)process->items.count).text,
                       amount_count(slowest->number).text, amount_time(slowest->end - slowest->start).text,
                       amount_time(median).text, grown);
}

static int slow_find(void *state, struct findings *findings)
{
    const struct steps *steps = section_state(findings->trace, REPORT_STEPS);
    (void)state;
    for (size_t i = 0; steps && i < steps->processes.count; i++)
        slow_in(findings, steps, i);
    return 0;
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
    ARRAY(char) is_communication; /* by name: 1 it is not, 2 it is, 0 not asked yet */
    ARRAY(struct exposed_device) devices;
};

/* What communicates, what computes, and both together: what overlaps is the difference. */
struct exposed_device {
    struct busy_sum communication, computation, both;
    int64_t count, longest;
    struct finding_place place;
};

static int exposed_op(void *state, const struct trace *trace, const struct timeline_op *op)
{
    struct exposed *exposed = state;
    if (op->category != CATEGORY_KERNEL && op->category != CATEGORY_GPU_GRAPH)
        return 0;
    while (exposed->is_communication.count <= op->name)
        if (!array_push(&exposed->is_communication))
            return -1;
    while (exposed->devices.count <= op->device)
        if (!array_push(&exposed->devices))
            return -1;
    char *known = &exposed->is_communication.items[op->name];
    struct exposed_device *device = &exposed->devices.items[op->device];
    if (!*known)
        *known = timeline_is_communication(interned(&trace->strings, op->name)) ? 2 : 1;
    bool communicates = *known == 2;
    busy_sum_add(communicates ? &device->communication : &device->computation, op->start, op->end);
    busy_sum_add(&device->both, op->start, op->end);
    device->count += communicates;
    if (communicates && op->end - op->start > device->longest) {
        device->longest = op->end - op->start;
        device->place = finding_at_op(op);
    }
    return 0;
}

static int exposed_find(void *state, struct findings *findings)
{
    const struct exposed *exposed = state;
    for (size_t i = 0; i < exposed->devices.count; i++) {
        const struct exposed_device *device = &exposed->devices.items[i];
        int64_t alone = device->both.total - device->computation.total, all = device->communication.total;
        if (device->count == 0 || alone < findings->run / 100 * FINDING_EXPOSED_PERCENT)
            continue;
        struct finding *finding = finding_add(findings, alone, alone, &device->place);
        if (!finding)
            continue;
        finding->count = device->count;
        finding_say(finding, "%s of the communication of %s kernels (%s) runs while nothing is computed",
                    amount_share(alone, all).text, amount_count(device->count).text, amount_time(all).text);
    }
    return 0;
}

static void exposed_release(void *state)
{
    struct exposed *exposed = state;
    array_release(&exposed->is_communication);
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
    int64_t count, time, longest, at;
    bool single;
    uint32_t checked; /* the name asked about last … */
    bool is_loader;   /* … and what it is */
};

static int loading_event(void *state, const struct trace *trace, const struct event_fields *event)
{
    struct loading *loading = state;
    if (event->phase != 'X' || event->name == EVENT_NO_TEXT)
        return 0;
    if (loading->checked != event->name + 1) {
        const char *name = interned(&trace->strings, event->name);
        loading->is_loader = strstr(name, "DataLoader") && strstr(name, "__next__");
        loading->checked = event->name + 1;
        loading->single |= loading->is_loader && strstr(name, "_SingleProcess");
    }
    if (!loading->is_loader)
        return 0;
    loading->count++;
    loading->time += event->duration;
    if (event->duration > loading->longest) {
        loading->longest = event->duration;
        loading->at = event->start;
    }
    return 0;
}

static int loading_find(void *state, struct findings *findings)
{
    const struct loading *loading = state;
    struct finding_place place = finding_nowhere();
    place.time = loading->at;
    bool enough = loading->count > 0 && loading->time >= findings->run / 100 * FINDING_LOADING_STEPS_PERCENT;
    struct finding *finding = enough ? finding_add(findings, loading->time, loading->time, &place) : NULL;
    if (!finding)
        return 0;
    finding->count = loading->count;
    finding_advise(finding, "%s",
                   loading->single ? "Load data in processes of its own: DataLoader(num_workers=4, pin_memory=True)."
                                   : "Use more workers (num_workers), prefetch more (prefetch_factor), or make loading "
                                     "cheaper: decode once, augment on the GPU.");
    return finding_say(finding, "The program waits for its DataLoader %s times%s", amount_count(loading->count).text,
                       loading->single ? ", which loads in the same process" : "");
}

const struct rule rule_data_loading = {
    .id = "data-loading",
    .section = "nvtx",
    .state_size = sizeof(struct loading),
    .categories = CATEGORY_BIT(CATEGORY_USER_ANNOTATION) | CATEGORY_BIT(CATEGORY_CPU_OP),
    .event = loading_event,
    .find = loading_find,
};
