/*
 * Rules about launches: GPUs that wait for the host to launch, and kernels that could be launched together.
 */
#include "common/settings.h"
#include "analysis/base/cost_sum.h"
#include "analysis/engine/findings.h"
#include "analysis/idle/host_findings.h"
#include "analysis/idle/idle.h"
#include "analysis/idle/idle_gaps.h"

/* --- launches that are slower than the kernels, or work between them --- */

_Static_assert((int)FINDING_LAUNCH_GAP_NS == (int)IDLE_BRIEF, "idle time in brief gaps is that of the launches");

/* The gaps before the operations of one name. */
struct late_name {
    int64_t gaps, idle;
    struct finding_place place; /* one of the second half of them: a program that trains starts in another way */
};

struct launches_of_device {
    int64_t count;     /* GPU operations with a call */
    int64_t of_graphs; /* GPU operations of graphs */
    int64_t until;     /* the last to end so far ended then */
    struct dense_map name_ids;
    ARRAY(struct late_name) names;
};

struct launches {
    ARRAY(struct launches_of_device) devices;
};

static int note_late(struct launches_of_device *launches, const struct timeline_op *op)
{
    int64_t idle = op->start - launches->until;
    uint64_t name = op->name;
    if (idle <= 0 || idle > FINDING_LAUNCH_GAP_NS || op->called < launches->until - IDLE_LATENCY)
        return 0;
    struct late_name *late = dense_map_item(&launches->name_ids, &name, &launches->names);
    if (!late)
        return -1;
    late->gaps++;
    sum_add(&late->idle, idle);
    if ((late->gaps & (late->gaps - 1)) == 0) /* the last power of two is in the second half */
        late->place = finding_at_op(op);
    return 0;
}

/* The name whose operations the GPU waited for longest, after the warm-up if there is one. NULL: it never waited. */
static const struct late_name *waited_for_most(const struct findings *findings,
                                               const struct launches_of_device *launches)
{
    const struct late_name *most = NULL, *later = NULL;
    for (size_t i = 0; i < launches->names.count; i++) {
        const struct late_name *late = &launches->names.items[i];
        if (!most || late->idle > most->idle)
            most = late;
        if (!findings_in_warm_up(findings, late->place.time) && (!later || late->idle > later->idle))
            later = late;
    }
    return later ? later : most;
}

static int launches_op(void *state, const struct trace *trace, const struct timeline_op *op)
{
    struct launches *launches = state;
    struct launches_of_device *device = array_at(&launches->devices, op->device);
    if (!device)
        return -1;
    if (op->thread != LAUNCHED_NO_THREAD) {
        if (device->count > 0 && note_late(device, op) < 0)
            return -1;
        device->count++;
        device->of_graphs += op->kind == CALL_GRAPH_LAUNCH;
    }
    device->until = op->end > device->until ? op->end : device->until;
    return 0;
}

static void launches_release(void *state)
{
    struct launches *launches = state;
    for (size_t i = 0; i < launches->devices.count; i++) {
        dense_map_release(&launches->devices.items[i].name_ids);
        array_release(&launches->devices.items[i].names);
    }
    array_release(&launches->devices);
}

/* The shortest time between two kernels of a graph on a GPU. */
#define GRAPH_GAP_NS 1000

/* How long, and in how many gaps, the GPU waited for launches. */
struct late {
    int64_t time, gaps;
};

/* Returns the words for what the host does between launches, if that takes most of the time. */
static struct host_phrase between_launches(const struct findings *findings, const struct late *late, size_t device)
{
    const struct idle *idle = findings->idle;
    const struct host_query query = {.device = device, .launching = true};
    struct host_idle_found found = host_idle_find(findings->trace, idle, &query);
    return host_phrase(&idle->host, found.total > late->time / 2 ? found.activity : EVENT_NO_TEXT);
}

static int add_launch_bound(struct findings *findings, const struct launches *launches,
                            const struct launches_of_device *device, const struct late *late)
{
    size_t number = (size_t)(device - launches->devices.items);
    const struct idle_device *idle = &findings->idle->devices.items[number];
    struct host_phrase between = between_launches(findings, late, number);
    int64_t gain = late->time - late->gaps * GRAPH_GAP_NS;
    int64_t launched = idle->launched > late->gaps ? idle->launched : late->gaps; /* the last one may not have ended */
    struct finding *finding =
        finding_add(findings, late->time, gain > 0 ? gain : 0, late->gaps, &waited_for_most(findings, device)->place);
    if (device->of_graphs * 2 > device->count)
        finding_advise(finding, "Put more into each graph: several iterations in one, or the host's decision into a "
                                "conditional node.");
    return finding_format(finding,
                          "The GPU waits for the host to launch: it is idle before %s of %s operations, %s on average, "
                          "and an operation takes %s on average%s%s",
                          amount_count(late->gaps).text, amount_count(launched).text,
                          amount_mean(late->time, late->gaps).text,
                          amount_mean(idle->launched_time, idle->launched).text,
                          *between.text ? "; between launches it is in " : "", between.text);
}

static bool reaches(const struct late *late, int64_t steady, int64_t gaps, int64_t percent, int64_t time)
{
    return late->gaps >= gaps && late->time >= steady / 100 * percent && late->time >= time;
}

static bool matters(const struct late *late, int64_t steady)
{
    return reaches(late, steady, FINDING_LAUNCHES, FINDING_LAUNCH_PERCENT, FINDING_LAUNCH_NS) ||
           reaches(late, steady, FINDING_SHORT_LAUNCHES, FINDING_SHORT_LAUNCH_PERCENT, FINDING_SHORT_LAUNCH_NS);
}

static int bound_find(void *state, struct findings *findings)
{
    const struct launches *launches = state;
    const struct idle *idle = findings->idle;
    const struct launches_of_device *worst = NULL;
    struct late most = {0};
    for (size_t i = 0; idle && i < idle->devices.count && i < launches->devices.count; i++) {
        const struct idle_sum *sum = &idle->devices.items[i].causes[IDLE_LAUNCH];
        const struct late late = {.time = sum->total, .gaps = sum->count};
        if (late.time <= most.time || !matters(&late, findings->steady) ||
            !waited_for_most(findings, &launches->devices.items[i]))
            continue;
        most = late;
        worst = &launches->devices.items[i];
    }
    return worst ? add_launch_bound(findings, launches, worst, &most) : 0;
}

const struct rule rule_launch_bound = {
    .id = "launch-bound",
    .advice = "Launch less often or more at once: a CUDA graph (in PyTorch torch.compile(mode=\"reduce-overhead\") or "
              "torch.cuda.graph), a larger batch, or fused kernels.",
    .section = "idle",
    .of_idle = true,
    .sources = {TRACE_GPU_WORK, TRACE_API},
    .state_size = sizeof(struct launches),
    .op = launches_op,
    .find = bound_find,
    .release = launches_release,
};

/* --- short kernels of one name in a row --- */

struct repeated {
    uint32_t stream, name;
    int64_t count, busy, gaps, end; /* of the kernels in a row so far; gaps: ns between them that a graph would save */
    struct finding_place first;
    struct offences rows; /* that are long enough */
    int64_t all;          /* kernels in these */
    uint32_t worst_name;
    int64_t worst_count;
};

static void end_row(struct repeated *repeated)
{
    bool is_short = repeated->count > 0 && repeated->busy / repeated->count <= FINDING_REPEATED_KERNEL_NS;
    if (repeated->count >= FINDING_REPEATED_KERNELS && is_short) {
        repeated->all += repeated->count;
        if (offences_add(&repeated->rows, &repeated->first, repeated->gaps)) {
            repeated->worst_count = repeated->count;
            repeated->worst_name = repeated->name;
        }
    }
    repeated->count = 0;
}

static int repeated_op(void *state, const struct trace *trace, const struct timeline_op *op)
{
    struct repeated *repeated = state;
    bool fits = op->category == CATEGORY_KERNEL && op->kind != CALL_GRAPH_LAUNCH;
    if (repeated->count > 0 && (!fits || repeated->stream != op->stream || repeated->name != op->name))
        end_row(repeated);
    if (!fits)
        return 0;
    if (repeated->count == 0) {
        repeated->first = finding_at_op(op);
        repeated->stream = op->stream;
        repeated->name = op->name;
        repeated->busy = repeated->gaps = 0;
        repeated->end = op->start;
    }
    int64_t gap = op->start - repeated->end;
    repeated->gaps += gap > GRAPH_GAP_NS && gap <= FINDING_REPEATED_GAP_NS ? gap - GRAPH_GAP_NS : 0;
    repeated->count++;
    sum_add(&repeated->busy, op->end - op->start);
    repeated->end = op->end;
    return 0;
}

static int repeated_find(void *state, struct findings *findings)
{
    struct repeated *repeated = state;
    end_row(repeated);
    const struct offences *rows = &repeated->rows;
    int64_t cost = offences_cost(rows);
    struct finding *finding = finding_add(findings, cost, cost, repeated->all, offences_place(findings, rows));
    if (!finding)
        return 0;
    return finding_format(
        finding, "Short kernels of one name follow one another, %s in %s row%s; the row that costs most has %s of %s",
        amount_count(repeated->all).text, amount_count(rows->count).text, amount_word(rows->count, "", "s"),
        amount_count(repeated->worst_count).text, finding_name(findings->trace, repeated->worst_name).text);
}

const struct rule rule_repeated_kernels = {
    .of_host = true,
    .part_of = &rule_launch_bound,
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
