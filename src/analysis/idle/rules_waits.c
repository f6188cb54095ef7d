/*
 * Rules about waits of the host that the GPU is idle after: no work was queued behind what was waited for.
 */
#include "common/settings.h"
#include "analysis/base/cost_sum.h"
#include "analysis/engine/findings.h"
#include "analysis/idle/host_findings.h"
#include "analysis/idle/stalls.h"
#include "analysis/names/name_facts.h"

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

static int add_op(struct waits *waits, const struct trace *trace, const struct timeline_op *op)
{
    struct stall stall;
    int found = stalls_op(&waits->stalls, op, STALL_WAITED, &stall);
    if (found <= 0)
        return found;
    /* Without the wait the host is at most its length earlier, and the GPU idles at most the gap less. */
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

static int find(void *state, struct findings *findings)
{
    const struct waits *waits = state;
    const struct offences *all = &waits->waits;
    bool of_device = findings->rule == &rule_device_waits;
    int64_t cost = offences_cost(all);
    struct finding *finding = all->count >= FINDING_WAITS
                                  ? finding_add(findings, cost, cost, all->count, offences_place(findings, all))
                                  : NULL;
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

static int add_call(void *state, const struct trace *trace, const struct host_call *call)
{
    return stalls_add(&((struct waits *)state)->stalls, trace, call);
}

static int device_op(void *state, const struct trace *trace, const struct timeline_op *op)
{
    struct waits *waits = state;
    return waits->stalls.count > 0 ? add_op(waits, trace, op) : 0;
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
    .call = add_call,
    .op = device_op,
    .find = find,
    .release = waits_release,
};

/* --- waits for a stream, an event, or a result that is copied to the host --- */

/* An asynchronous copy to pageable memory waits for the result, as PyTorch's item() does. */
static int repeated_op(void *state, const struct trace *trace, const struct timeline_op *op)
{
    struct waits *waits = state;
    unsigned wanted = NAME_PAGEABLE | NAME_DTOH;
    if (add_op(waits, trace, op) < 0)
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
    .call = add_call,
    .op = repeated_op,
    .find = find,
    .release = waits_release,
};
