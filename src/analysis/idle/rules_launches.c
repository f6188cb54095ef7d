/* Rules about launches: GPUs that wait for launches, many small kernels, and waits of the host before the next
 * launch. */
#include "common/settings.h"
#include "analysis/base/cost_sum.h"
#include "analysis/engine/findings.h"
#include "analysis/idle/idle.h"
#include "analysis/idle/idle_gaps.h"
#include "analysis/idle/stalls.h"
#include "analysis/names/name_facts.h"

/* --- launches that are slower than the kernels, or that the host interrupts by other work --- */

_Static_assert((int)FINDING_LAUNCH_GAP_NS == (int)IDLE_BRIEF, "idle time in brief gaps is that of the launches");

/* The gaps before the operations of one name. */
struct late_name {
    int64_t gaps, idle;
    struct finding_place place; /* of a gap in the second half, because the beginning of a training differs */
};

struct launches_of_device {
    int64_t count;     /* GPU operations with a call */
    int64_t of_graphs; /* GPU operations of graphs */
    int64_t until;     /* the latest end of the operations so far, ns */
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
    if ((late->gaps & (late->gaps - 1)) == 0) /* the last power of two is in the second half of the gaps */
        late->place = finding_at_op(op);
    return 0;
}

/* Returns the name for whose operations the GPU waited longest, or NULL if it never waited. Prefers names with a place
 * after the warm-up. */
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

static int add_launch_bound(struct findings *findings, const struct launches *launches,
                            const struct launches_of_device *device)
{
    size_t number = (size_t)(device - launches->devices.items);
    const struct idle_device *idle = &findings->idle->devices.items[number];
    const struct idle_sum *late = &idle->causes[IDLE_LAUNCH];
    /* The sentence names what the host does between launches if that takes most of the time. */
    const struct host_query query = {.device = number, .launching = true};
    struct host_idle_found found = host_idle_find(findings->trace, findings->idle, &query);
    struct host_phrase between =
        host_phrase(&findings->idle->host, found.total > late->total / 2 ? found.activity : EVENT_NO_TEXT);
    int64_t gain = late->total - late->count * GRAPH_GAP_NS;
    int64_t launched = idle->launched > late->count ? idle->launched : late->count; /* the last may not have ended */
    struct finding *finding =
        finding_add(findings, late->total, gain > 0 ? gain : 0, late->count, &waited_for_most(findings, device)->place);
    if (device->of_graphs * 2 > device->count)
        finding_advise(finding, "Put more into each graph: several iterations in one, or the host's decision into a "
                                "conditional node.");
    return finding_format(finding,
                          "The GPU waits for the host to launch: it is idle before %s of %s operations, %s on average, "
                          "and an operation takes %s on average%s%s",
                          amount_count(late->count).text, amount_count(launched).text,
                          amount_mean(late->total, late->count).text,
                          amount_mean(idle->launched_time, idle->launched).text,
                          *between.text ? "; between launches it is in " : "", between.text);
}

static int bound_find(void *state, struct findings *findings)
{
    const struct launches *launches = state;
    const struct idle *idle = findings->idle;
    const struct launches_of_device *worst = NULL;
    int64_t most = 0, percent = findings->steady / 100;
    for (size_t i = 0; idle && i < idle->devices.count && i < launches->devices.count; i++) {
        const struct idle_sum *late = &idle->devices.items[i].causes[IDLE_LAUNCH];
        bool matters = late->count >= FINDING_LAUNCHES && late->total >= percent * FINDING_LAUNCH_PERCENT &&
                       late->total >= FINDING_LAUNCH_NS;
        matters |= late->count >= FINDING_SHORT_LAUNCHES && late->total >= percent * FINDING_SHORT_LAUNCH_PERCENT &&
                   late->total >= FINDING_SHORT_LAUNCH_NS;
        if (late->total <= most || !matters || !waited_for_most(findings, &launches->devices.items[i]))
            continue;
        most = late->total;
        worst = &launches->devices.items[i];
    }
    return worst ? add_launch_bound(findings, launches, worst) : 0;
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

/* --- rows of short kernels of one name --- */

struct repeated {
    uint32_t stream, name;
    int64_t count, busy, gaps, end; /* of the current row; gaps: ns between its kernels that a graph would save */
    struct finding_place first;
    struct offences rows; /* rows that are long enough */
    int64_t all;          /* the number of kernels in these rows */
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

/* --- waits of the host after which the GPU is idle, because no work was queued behind the awaited work --- */

struct waits {
    struct stalls stalls;
    struct name_facts names;
    struct offences waits;
    int64_t idle;           /* ns */
    struct host_times host; /* what the host did between the end of a wait and the next launch */
    int64_t host_time;      /* ns from the ends of waits to the next launches */
};

static void waits_release(void *state)
{
    struct waits *waits = state;
    stalls_release(&waits->stalls);
    array_release(&waits->names.items);
    host_times_release(&waits->host);
}

static int add_waiting_op(struct waits *waits, const struct trace *trace, const struct timeline_op *op)
{
    struct stall stall;
    int found = stalls_op(&waits->stalls, op, STALL_WAITED, &stall);
    if (found <= 0)
        return found;
    /* Without the wait, the host would be earlier by at most the wait, and the GPU idle for at most the gap less. */
    int64_t idle = stall.to - stall.from, wait = stall.call.end - stall.call.start;
    struct finding_place place = finding_at_op(op);
    place.time = stall.from;
    place.until = stall.to;
    place.called = stall.call.start;
    place.name = stall.call.name;
    offences_add(&waits->waits, &place, wait < idle ? wait : idle);
    waits->idle = sum_of(waits->idle, idle);
    if (op->called <= stall.call.end)
        return 0;
    waits->host_time = sum_of(waits->host_time, op->called - stall.call.end);
    return host_times_add(&waits->host, trace, op->thread, stall.call.end, op->called, HOST_HERE);
}

static int waits_find(void *state, struct findings *findings)
{
    const struct waits *waits = state;
    const struct offences *all = &waits->waits;
    bool of_device = findings->rule == &rule_device_waits;
    struct finding *finding = all->count >= FINDING_WAITS ? finding_of(findings, all, offences_cost(all)) : NULL;
    if (!finding)
        return 0;
    uint32_t activity = host_times_most(&waits->host, 0, waits->host_time / 100 * FINDING_HOST_NAMED_PERCENT);
    return finding_format(
        finding,
        "%s times the host waits %s (the longest in %s()), and then the GPU idles %s on average, as "
        "no work is queued%s%s",
        amount_count(all->count).text, of_device ? "for all work of a device" : "for a stream, an event or a result",
        finding_name(findings->trace, all->worst.name).text, amount_mean(waits->idle, all->count).text,
        activity != EVENT_NO_TEXT ? "; what the host does then: " : "", host_phrase(&waits->host.host, activity).text);
}

/* --- waits for all work of a device --- */

static int device_op(void *state, const struct trace *trace, const struct timeline_op *op)
{
    struct waits *waits = state;
    return waits->stalls.count > 0 ? add_waiting_op(waits, trace, op) : 0;
}

const struct rule rule_device_waits = {
    .of_host = true,
    .id = "device-waits",
    .advice = "Leave out the wait where the host needs no result: work of one stream runs in order anyway. Else wait "
              "for the one event that matters (cudaEventSynchronize()), or let a stream wait "
              "(cudaStreamWaitEvent()). In PyTorch: no torch.cuda.synchronize() in the loop.",
    .section = "sync",
    .sources = {TRACE_API, TRACE_GPU_WORK},
    .state_size = sizeof(struct waits),
    .calls = CALL_KIND_BIT(CALL_SYNC_DEVICE),
    .call = stalls_call,
    .op = device_op,
    .find = waits_find,
    .release = waits_release,
};

/* --- waits for a stream, an event, or a result that is copied to the host --- */

/* An asynchronous copy to pageable memory also waits for a result, such as that of PyTorch's item(). */
static int waits_op(void *state, const struct trace *trace, const struct timeline_op *op)
{
    struct waits *waits = state;
    unsigned wanted = NAME_PAGEABLE | NAME_DTOH;
    if (add_waiting_op(waits, trace, op) < 0)
        return -1;
    bool blocks = op->category == CATEGORY_GPU_MEMCPY && op->kind == CALL_COPY_ASYNC && op->returned >= op->end;
    if (!blocks || (name_facts_find(&waits->names, &trace->strings, op->name) & wanted) != wanted)
        return 0;
    return stalls_add_own_call(&waits->stalls, op);
}

const struct rule rule_repeated_waits = {
    .of_host = true,
    .id = "repeated-waits",
    .advice = "Launch the next work before waiting for the last (two buffers, an event each), or wait once after the "
              "loop. In PyTorch: no .item(), .cpu(), print(tensor), nonzero() or boolean mask in the loop; gather "
              "losses on the GPU and read them every 100 steps.",
    .section = "sync",
    .sources = {TRACE_API, TRACE_GPU_WORK},
    .state_size = sizeof(struct waits),
    .calls = CALL_KIND_BIT(CALL_SYNC_STREAM) | CALL_KIND_BIT(CALL_SYNC_EVENT),
    .call = stalls_call,
    .op = waits_op,
    .find = waits_find,
    .release = waits_release,
};
