/*
 * Rules about a GPU that waits for the host, and about kernels that could be launched together.
 */
#include <string.h>

#include "common/settings.h"
#include "analysis/findings.h"
#include "analysis/idle.h"
#include "analysis/section.h"
#include "analysis/steps.h"

static const struct idle *idle_of(const struct findings *findings)
{
    return section_state(findings->trace, REPORT_IDLE);
}

/* Nowhere but on a GPU. */
static struct finding_place on_device(size_t device)
{
    struct finding_place place = finding_nowhere();
    place.device = (int64_t)device;
    return place;
}

/* At the largest gap of DEVICE whose main cause is CAUSE, else on DEVICE alone. */
static struct finding_place at_gap(const struct idle *idle, size_t device, enum idle_cause cause)
{
    const struct idle_gap *largest = NULL;
    struct finding_place place = on_device(device);
    for (size_t i = 0; i < idle->largest_count; i++) {
        const struct idle_gap *gap = &idle->largest[i];
        bool fits = gap->device == device && idle_main_part(gap)->what.cause == cause;
        if (fits && (!largest || gap->end - gap->start > largest->end - largest->start))
            largest = gap;
    }
    if (largest) {
        place.time = place.called = largest->start;
        place.until = largest->end;
        place.thread = largest->thread;
    }
    return place;
}

/* --- launches that are slower than the kernels, or work between them --- */

struct launches {
    int64_t count, time; /* GPU operations with a call, and ns that they ran */
    int64_t of_graphs;   /* of these */
};

static int launches_op(void *state, const struct trace *trace, const struct timeline_op *op)
{
    struct launches *launches = state;
    (void)trace;
    if (op->thread == LAUNCHED_NO_THREAD)
        return 0;
    launches->count++;
    launches->of_graphs += op->kind == CALL_GRAPH_LAUNCH;
    launches->time += op->end - op->start;
    return 0;
}

/* What a GPU waits at least between two kernels of a graph. */
#define GRAPH_GAP_NS 1000

static int64_t late_of(const struct idle_device *device)
{
    return device->causes[IDLE_OUTSIDE].total + device->causes[IDLE_CALL].total + device->causes[IDLE_LAUNCH].total;
}

/* Gaps that the host made: every one has the launch overhead at least. */
static int64_t gaps_of(const struct idle_device *device)
{
    int64_t most = 0;
    const enum idle_cause causes[] = {IDLE_OUTSIDE, IDLE_CALL, IDLE_LAUNCH};
    for (size_t i = 0; i < sizeof(causes) / sizeof(*causes); i++)
        most = device->causes[causes[i]].count > most ? device->causes[causes[i]].count : most;
    return most;
}

static bool are_short(const struct idle_device *device)
{
    int64_t gaps = gaps_of(device);
    return gaps > 0 && late_of(device) / gaps <= FINDING_LAUNCH_GAP_NS;
}

static int bound_find(void *state, struct findings *findings)
{
    const struct launches *launches = state;
    const struct idle *idle = idle_of(findings);
    for (size_t i = 0; idle && i < idle->devices.count; i++) {
        const struct idle_device *device = &idle->devices.items[i];
        int64_t gaps = gaps_of(device), late = late_of(device);
        bool matters = late >= findings->run / 100 * FINDING_LAUNCH_PERCENT && late >= FINDING_LAUNCH_NS;
        if (gaps < FINDING_LAUNCHES || !matters || !are_short(device) || launches->count == 0)
            continue;
        struct finding_place place = at_gap(idle, i, IDLE_OUTSIDE);
        int64_t gain = late - gaps * GRAPH_GAP_NS;
        struct finding *finding = finding_add(findings, late, gain > 0 ? gain : 0, &place);
        if (!finding)
            continue;
        finding->count = gaps;
        if (launches->of_graphs * 2 > launches->count)
            finding_advise(finding,
                           "Put more into each graph: several iterations in one, or the host's decision into a "
                           "conditional node.");
        finding_say(finding,
                    "The GPU waits for the host to launch: it is idle before %s of %s operations, %s on average, "
                    "and an operation takes %s on average",
                    amount_count(gaps).text, amount_count(launches->count).text, amount_time(late / gaps).text,
                    amount_time(launches->time / launches->count).text);
    }
    return 0;
}

const struct rule rule_launch_bound = {
    .id = "launch-bound",
    .advice = "Launch less often or more at once: a CUDA graph (in PyTorch torch.compile(mode=\"reduce-overhead\") or "
              "torch.cuda.graph), a larger batch, or fused kernels.",
    .section = "idle",
    .sources = {TRACE_GPU_WORK, TRACE_API},
    .state_size = sizeof(struct launches),
    .op = launches_op,
    .find = bound_find,
};

static const struct idle_row *worst_row(const struct idle *idle, size_t device, enum idle_cause cause)
{
    const struct idle_row *worst = NULL;
    for (size_t i = 0; i < idle->rows.count; i++) {
        const struct idle_row *row = &idle->rows.items[i];
        if (row->what.device == device && row->what.cause == cause && (!worst || row->sum.total > worst->sum.total))
            worst = row;
    }
    return worst;
}

static int host_find(void *state, struct findings *findings)
{
    const struct idle *idle = idle_of(findings);
    (void)state;
    for (size_t i = 0; idle && i < idle->devices.count; i++) {
        const struct idle_sum *outside = &idle->devices.items[i].causes[IDLE_OUTSIDE];
        if (are_short(&idle->devices.items[i]) || outside->count < FINDING_HOST_GAPS ||
            outside->total < FINDING_HOST_NS || outside->total < findings->run / 100 * FINDING_HOST_GAPS_PERCENT)
            continue;
        struct finding_place place = at_gap(idle, i, IDLE_OUTSIDE);
        struct finding *finding = finding_add(findings, outside->total, outside->total, &place);
        const struct idle_row *worst = worst_row(idle, i, IDLE_OUTSIDE);
        if (!finding)
            continue;
        bool named = worst && worst->what.range != EVENT_NO_TEXT;
        finding->count = outside->count;
        finding_say(finding, "The GPU waits while the host works outside CUDA: %s times, %s at most%s%s",
                    amount_count(outside->count).text, amount_time(outside->longest).text,
                    named ? ", mostly in the range " : "",
                    named ? finding_name(findings->trace, worst->what.range).text : "");
    }
    return 0;
}

const struct rule rule_host_work = {
    .id = "host-work",
    .advice =
        "Look at what the host does there (NVTX ranges or a CPU profiler show it), and do it while the GPU is busy: "
        "prepare the next work, in another thread or process, before waiting for the last.",
    .section = "gaps",
    .sources = {TRACE_GPU_WORK, TRACE_API},
    .find = host_find,
};

/* --- large gaps --- */

static int gaps_find(void *state, struct findings *findings)
{
    const struct idle *idle = idle_of(findings);
    (void)state;
    for (size_t device = 0; idle && device < idle->devices.count; device++) {
        const struct idle_gap *largest = NULL;
        int64_t total = 0, count = 0;
        for (size_t i = 0; i < idle->largest_count; i++) {
            const struct idle_gap *gap = &idle->largest[i];
            bool inside = gap->before.name != EVENT_NO_TEXT && gap->after.name != EVENT_NO_TEXT;
            if (gap->device != device || !inside || gap->end - gap->start < FINDING_GAP_NS)
                continue;
            total += gap->end - gap->start;
            count++;
            largest = !largest || gap->end - gap->start > largest->end - largest->start ? gap : largest;
        }
        struct finding_place place = on_device(device);
        if (!largest)
            continue;
        place.time = place.called = largest->start;
        place.until = largest->end;
        place.thread = largest->thread;
        struct finding *finding = finding_add(findings, total, total, &place);
        if (!finding)
            continue;
        finding->count = count;
        finding_say(finding, "The GPU does nothing for longer than %s, %s time%s; the longest takes %s: %s",
                    amount_time(FINDING_GAP_NS).text, amount_count(count).text, count == 1 ? "" : "s",
                    amount_time(largest->end - largest->start).text,
                    idle_cause_words[idle_main_part(largest)->what.cause].text);
    }
    return 0;
}

const struct rule rule_gpu_gaps = {
    .id = "gpu-gaps",
    .advice = "Look at what the host does in that time: NVTX ranges, operators or a CPU profiler show it.",
    .section = "gaps",
    .sources = {TRACE_GPU_WORK},
    .find = gaps_find,
};

/* --- parts of the run in which the GPU is hardly used --- */

struct use_of_device {
    int64_t until;                /* what was counted ends there */
    int64_t busy[FINDING_CHUNKS]; /* ns */
};

struct use {
    ARRAY(struct use_of_device) devices;
};

static void add_busy(struct use_of_device *use, const struct trace *trace, int64_t start, int64_t end)
{
    int64_t span = trace_span(trace), chunk = span / FINDING_CHUNKS + 1;
    start = start < use->until ? use->until : start;
    use->until = end > use->until ? end : use->until;
    while (start < end) {
        int64_t index = (start - trace->start) / chunk, next = trace->start + (index + 1) * chunk;
        int64_t stop = end < next ? end : next;
        if (index < 0 || index >= FINDING_CHUNKS)
            return;
        use->busy[index] += stop - start;
        start = stop;
    }
}

static int use_op(void *state, const struct trace *trace, const struct timeline_op *op)
{
    struct use *use = state;
    while (use->devices.count <= op->device) {
        struct use_of_device *added = array_push(&use->devices);
        if (!added)
            return -1;
        added->until = trace->start;
    }
    add_busy(&use->devices.items[op->device], trace, op->start, op->end);
    return 0;
}

static int use_find(void *state, struct findings *findings)
{
    const struct use *use = state;
    const struct trace *trace = findings->trace;
    int64_t chunk = trace_span(trace) / FINDING_CHUNKS + 1;
    for (size_t i = 0; i < use->devices.count; i++) {
        const int64_t *busy = use->devices.items[i].busy;
        int64_t low = 0, idle = 0, first = -1, from = trace->start, to = trace->end;
        int64_t begin = (findings->from - trace->start) / chunk, end = (findings->to - trace->start) / chunk;
        for (int64_t k = begin + 1; k < end && k < FINDING_CHUNKS; k++) {
            if (busy[k] * 100 >= chunk * FINDING_CHUNK_PERCENT)
                continue;
            first = first < 0 ? k : first;
            idle += chunk - busy[k];
            low++;
            to = trace->start + (k + 1) * chunk;
        }
        if (idle < findings->run / 100 * FINDING_LOW_USE_PERCENT || idle < FINDING_LOW_USE_NS ||
            low * 100 > (end - begin) * FINDING_CHUNKS_MOST_PERCENT)
            continue;
        from = trace->start + first * chunk;
        struct finding_place place = on_device(i);
        place.time = from;
        place.until = to;
        struct finding *finding = finding_add(findings, idle, idle, &place);
        if (finding)
            finding_say(finding, "The GPU is used less than %d %% in %s of %s parts of the run, between %s and %s",
                        FINDING_CHUNK_PERCENT, amount_count(low).text, amount_count(end - begin + 1).text,
                        amount_time(from - trace->start).text, amount_time(to - trace->start).text);
    }
    return 0;
}

static void use_release(void *state)
{
    array_release(&((struct use *)state)->devices);
}

const struct rule rule_low_use = {
    .id = "low-use",
    .advice = "Look at what the program does in that time, and whether it can be done while the GPU works on something "
              "else.",
    .section = "idle",
    .sources = {TRACE_GPU_WORK},
    .state_size = sizeof(struct use),
    .op = use_op,
    .find = use_find,
    .release = use_release,
};

/* --- short kernels of one name in a row --- */

struct repeated {
    uint32_t stream, name;
    int64_t count, busy, gaps, end; /* of the kernels in a row so far */
    struct finding_place first;
    int64_t all, rows, cost; /* of all rows that are long enough */
    uint32_t worst_name;
    int64_t worst_count, worst_gaps;
    struct finding_place worst;
};

static void end_row(struct repeated *repeated)
{
    bool is_short = repeated->count > 0 && repeated->busy / repeated->count <= FINDING_REPEATED_KERNEL_NS;
    if (repeated->count >= FINDING_REPEATED_KERNELS && is_short) {
        repeated->all += repeated->count;
        repeated->rows++;
        repeated->cost += repeated->gaps;
        if (repeated->gaps > repeated->worst_gaps) {
            repeated->worst_gaps = repeated->gaps;
            repeated->worst_count = repeated->count;
            repeated->worst_name = repeated->name;
            repeated->worst = repeated->first;
        }
    }
    repeated->count = 0;
}

static void begin_row(struct repeated *repeated, const struct timeline_op *op)
{
    repeated->first = finding_at_op(op);
    repeated->stream = op->stream;
    repeated->name = op->name;
    repeated->busy = repeated->gaps = 0;
    repeated->end = op->start;
}

static int repeated_op(void *state, const struct trace *trace, const struct timeline_op *op)
{
    struct repeated *repeated = state;
    (void)trace;
    bool fits = op->category == CATEGORY_KERNEL && op->kind != CALL_GRAPH_LAUNCH;
    if (repeated->count > 0 && (!fits || repeated->stream != op->stream || repeated->name != op->name))
        end_row(repeated);
    if (!fits)
        return 0;
    if (repeated->count == 0)
        begin_row(repeated, op);
    int64_t gap = op->start - repeated->end;
    repeated->gaps += gap > 0 && gap <= FINDING_REPEATED_GAP_NS ? gap : 0;
    repeated->count++;
    repeated->busy += op->end - op->start;
    repeated->end = op->end;
    return 0;
}

static int repeated_find(void *state, struct findings *findings)
{
    struct repeated *repeated = state;
    end_row(repeated);
    struct finding *finding = finding_add(findings, repeated->cost, repeated->cost, &repeated->worst);
    if (!finding)
        return 0;
    finding->count = repeated->all;
    return finding_say(finding, "%s short kernels of one name follow one another, in %s rows: the longest has %s of %s",
                       amount_count(repeated->all).text, amount_count(repeated->rows).text,
                       amount_count(repeated->worst_count).text,
                       finding_name(findings->trace, repeated->worst_name).text);
}

const struct rule rule_repeated_kernels = {
    .id = "repeated-kernels",
    .advice =
        "Do the work of a row in one launch: one kernel for all pieces, a CUDA graph, or in PyTorch an optimiser with "
        "fused=True or foreach=True, and torch.compile.",
    .section = "kernels",
    .sources = {TRACE_KERNEL},
    .state_size = sizeof(struct repeated),
    .op = repeated_op,
    .find = repeated_find,
};
