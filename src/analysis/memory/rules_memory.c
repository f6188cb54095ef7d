/* Rules about memory that is allocated, pinned or migrated while kernels run. */
#include <string.h>

#include "analysis/base/busy.h"
#include "analysis/base/cost_sum.h"
#include "analysis/engine/findings.h"
#include "analysis/names/name_facts.h"
#include "analysis/idle/stalls.h"

/* --- allocations and releases of device memory, and of pinned memory, between kernels --- */

struct churn {
    struct stalls stalls;
    struct offences idle, calls;
    int64_t allocations, releases;
    struct busy_sum time;    /* in these calls */
    uint32_t device, pinned; /* names + 1 of instants of allocations, to find call stacks; 0: none */
};

static int churn_event(void *state, const struct trace *trace, const struct event_fields *event)
{
    struct churn *churn = state;
    const char *name = trace_text(trace, event->name);
    if (strcmp(name, "Allocate Device") == 0)
        churn->device = event->name + 1;
    else if (strcmp(name, "Allocate Pinned") == 0)
        churn->pinned = event->name + 1;
    return 0;
}

static int churn_op(void *state, const struct trace *trace, const struct timeline_op *op)
{
    struct churn *churn = state;
    struct stall stall;
    int found = churn->stalls.count > 0 ? stalls_op(&churn->stalls, op, STALL_WITHIN, &stall) : 0;
    if (found > 0)
        offences_add_op(&churn->idle, op, stall.to - stall.from);
    return found < 0 ? -1 : 0;
}

static int add_call(void *context, const struct stall_call *call)
{
    struct churn *churn = context;
    bool allocates = call->kind == CALL_ALLOCATE || call->kind == CALL_ALLOCATE_HOST;
    churn->allocations += allocates;
    churn->releases += !allocates;
    busy_sum_add(&churn->time, call->start, call->end);
    const struct finding_place place = stall_place(call);
    offences_add(&churn->calls, &place, call->end - call->start);
    return 0;
}

static int churn_find(void *state, struct findings *findings)
{
    struct churn *churn = state;
    if (stalls_between_kernels(&churn->stalls, add_call, churn) < 0)
        return -1;
    if (churn->allocations < FINDING_CHURN_CALLS || churn->releases < FINDING_CHURN_CALLS)
        return 0;
    bool pinned = findings->rule == &rule_pinning_churn;
    struct finding_place place = churn->calls.worst;
    uint32_t name = pinned ? churn->pinned : churn->device;
    place.name = name ? name - 1 : EVENT_NO_TEXT;
    int64_t idle = offences_cost(&churn->idle);
    return finding_format(finding_add(findings, churn->time.total, idle, churn->calls.count, &place),
                          "%s memory is allocated %s times and released %s times between kernels; the longest call is "
                          "%s(), %s, and a GPU idles %s around these calls",
                          pinned ? "Pinned" : "Device", amount_count(churn->allocations).text,
                          amount_count(churn->releases).text,
                          finding_name(findings->trace, churn->calls.worst.name).text,
                          amount_time(churn->calls.worst_ns).text, amount_time(idle).text);
}

const struct rule rule_allocation_churn = {
    .of_host = true,
    .id = "allocation-churn",
    .advice = "Allocate once before the loop, or use cudaMallocAsync() and cudaFreeAsync(), whose memory pool keeps "
              "memory (cudaMemPoolAttrReleaseThreshold); cudaFree() waits for the GPU. In PyTorch: no "
              "torch.cuda.empty_cache() in the loop, and PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True.",
    .section = "api",
    .sources = {TRACE_API, TRACE_KERNEL},
    .state_size = sizeof(struct churn),
    .categories = CATEGORY_BIT(CATEGORY_MEMORY),
    .event = churn_event,
    .calls = CALL_KIND_BIT(CALL_ALLOCATE) | CALL_KIND_BIT(CALL_FREE),
    .call = stalls_call,
    .op = churn_op,
    .find = churn_find,
    .release = stalls_release,
};

const struct rule rule_pinning_churn = {
    .of_host = true,
    .id = "pinning-churn",
    .advice = "Pin memory once and use it again: cudaMallocHost() and cudaHostRegister() take longer than most copies. "
              "In PyTorch: no .pin_memory() in the loop; let DataLoader(pin_memory=True) keep the memory.",
    .section = "api",
    .sources = {TRACE_API, TRACE_KERNEL},
    .state_size = sizeof(struct churn),
    .categories = CATEGORY_BIT(CATEGORY_MEMORY),
    .event = churn_event,
    .calls = CALL_KIND_BIT(CALL_ALLOCATE_HOST) | CALL_KIND_BIT(CALL_FREE_HOST),
    .call = stalls_call,
    .op = churn_op,
    .find = churn_find,
    .release = stalls_release,
};

/* --- managed memory that migrates to the GPU and back, without migrations by cudaMemPrefetchAsync() --- */

struct managed {
    struct busy busy; /* of all migrations and faults, as one thing */
    struct busy_sum time;
    struct name_facts names;
    bool begun;
    int64_t faults, to_device, to_host; /* numbers of events */
    int64_t bytes;
    struct finding_place longest;
    int64_t longest_ns;
};

static void managed_release(void *state)
{
    struct managed *managed = state;
    if (managed->begun)
        busy_release(&managed->busy);
    array_release(&managed->names.items);
}

#define PREFETCHED "user" /* the reason of migrations by cudaMemPrefetchAsync() */

static int managed_event(void *state, const struct trace *trace, const struct event_fields *event)
{
    struct managed *managed = state;
    unsigned facts = name_facts_find(&managed->names, &trace->strings, event->name);
    bool migrates = facts & NAME_MIGRATION,
         prefetched = migrates && event->label != EVENT_NO_TEXT &&
                      strcmp(interned(&trace->strings, event->label), PREFETCHED) == 0;
    if ((!migrates && !(facts & NAME_FAULT)) || prefetched)
        return 0;
    managed->faults += !migrates;
    managed->to_device += (facts & NAME_HTOD) != 0;
    managed->to_host += (facts & NAME_DTOH) != 0;
    managed->bytes = sum_of(managed->bytes, migrates && event->bytes > 0 ? event->bytes : 0);
    if (event->phase != 'X')
        return 0;
    if (!managed->begun)
        busy_init(&managed->busy, trace->space);
    managed->begun = true;
    if (event->duration >= managed->longest_ns) {
        managed->longest_ns = event->duration;
        managed->longest = place_none();
        managed->longest.time = event->start;
        managed->longest.until = event->start + event->duration;
    }
    return busy_add(&managed->busy, 0, event->start, event->start + event->duration);
}

static int managed_find(void *state, struct findings *findings)
{
    struct managed *managed = state;
    const struct busy_interval *one;
    if (!managed->begun)
        return 0;
    if (BUSY_EACH(&managed->busy, one, busy_sum_add(&managed->time, one->start, one->end)) < 0)
        return -1;
    managed->begun = false;
    if (managed->to_device < FINDING_MIGRATIONS || managed->to_host < FINDING_MIGRATIONS)
        return 0;
    int64_t cost = managed->time.total, count = managed->faults + managed->to_device + managed->to_host;
    return finding_format(
        finding_add(findings, cost, cost, count, &managed->longest),
        "Managed memory moves when it is touched: %s migrations to the GPU, %s to the host (%s), %s page "
        "fault%s",
        amount_count(managed->to_device).text, amount_count(managed->to_host).text, amount_bytes(managed->bytes).text,
        amount_count(managed->faults).text, amount_word(managed->faults, "", "s"));
}

const struct rule rule_managed_memory = {
    .id = "managed-memory",
    .advice = "Move it before it is used with cudaMemPrefetchAsync(); say who uses it with cudaMemAdvise() "
              "(cudaMemAdviseSetPreferredLocation, cudaMemAdviseSetReadMostly); or use cudaMalloc() and copies.",
    .state_size = sizeof(struct managed),
    .categories = CATEGORY_BIT(CATEGORY_UNIFIED_MEMORY),
    .event = managed_event,
    .find = managed_find,
    .release = managed_release,
};
