/* Rules about copies and sets. */
#include "analysis/base/cost_sum.h"
#include "analysis/engine/findings.h"
#include "analysis/names/name_facts.h"

/* Sums over the copies or sets that the host waited for. */
struct blocked {
    struct name_facts names;
    struct offences calls;
    int64_t bytes, pageable; /* pageable: number of copies of pageable memory */
    int64_t gpu;             /* ns that they ran */
    int64_t host;            /* ns that their calls blocked the host */
    int64_t pinned;          /* ns of `host` in which copies of memory other than pageable memory ran */
    uint32_t device;         /* of the last operation */
    int64_t until;           /* the latest end of all operations so far */
    int64_t counted;         /* blocked time before this is in `host` already: calls of several threads overlap */
    int64_t first, last;     /* when the first of the calls began and the last one returned */
    int64_t outside;         /* ns that other operations ran before the first call and after the last one */
    int64_t after;           /* ns of `outside` after the last call so far */
    bool any;
};

/* Returns when the GPU had finished all operations before OP. The host's wait up to then is not caused by OP. */
static int64_t ready_time(struct blocked *blocked, const struct timeline_op *op)
{
    bool follows = blocked->any && blocked->device == op->device;
    int64_t until = follows && blocked->until < op->start ? blocked->until : op->start;
    blocked->until = follows && blocked->until > op->end ? blocked->until : op->end;
    blocked->counted = follows ? blocked->counted : INT64_MIN;
    blocked->device = op->device;
    blocked->any = true;
    return follows ? until : INT64_MIN;
}

static void add_blocked(struct blocked *blocked, const struct timeline_op *op, int64_t ready, bool pageable)
{
    int64_t from = ready > op->called ? ready : op->called;
    from = from > blocked->counted ? from : blocked->counted;
    int64_t ns = op->returned > from ? op->returned - from : 0;
    blocked->counted = from + ns;
    bool is_first = blocked->calls.count == 0;
    blocked->first = is_first || op->called < blocked->first ? op->called : blocked->first;
    blocked->last = is_first || op->returned > blocked->last ? op->returned : blocked->last;
    blocked->bytes = sum_of(blocked->bytes, op->size);
    blocked->gpu = sum_of(blocked->gpu, op->end - op->start);
    blocked->host = sum_of(blocked->host, ns);
    blocked->pageable += pageable;
    int64_t ran = op->end - op->start < ns ? op->end - op->start : ns;
    blocked->pinned = sum_of(blocked->pinned, pageable ? 0 : ran);
    offences_add_op(&blocked->calls, op, ns);
}

/* Returns NULL if the calls are too few or too short for a finding. */
static struct finding *add_finding(struct findings *findings, const struct blocked *blocked, int64_t gain)
{
    bool enough = blocked->calls.count >= FINDING_COPY_CALLS || blocked->gpu >= FINDING_COPY_NS;
    return enough ? finding_of(findings, &blocked->calls, gain) : NULL;
}

/* --- asynchronous copies of pageable memory: the driver copies the memory to pinned memory first, and the call waits.
 * Small copies to the GPU do not wait; small copies to the host are waits for a result (rules_launches.c) --- */

static int pageable_op(void *state, const struct trace *trace, const struct timeline_op *op)
{
    struct blocked *blocked = state;
    int64_t ready = ready_time(blocked, op);
    bool waits =
        op->category == CATEGORY_GPU_MEMCPY && op->kind == CALL_COPY_ASYNC && op->size > FINDING_SMALL_COPY_BYTES;
    if (waits && (name_facts_find(&blocked->names, &trace->strings, op->name) & NAME_PAGEABLE))
        add_blocked(blocked, op, ready, true);
    return 0;
}

static int pageable_find(void *state, struct findings *findings)
{
    const struct blocked *blocked = state;
    return finding_format(add_finding(findings, blocked, blocked->host),
                          "%s asynchronous cop%s of pageable memory (%s) block%s the host, %s each on average",
                          amount_count(blocked->calls.count).text, amount_word(blocked->calls.count, "y", "ies"),
                          amount_size(blocked->bytes).text, amount_word(blocked->calls.count, "s", ""),
                          amount_mean(blocked->host, blocked->calls.count).text);
}

const struct rule rule_pageable_copies = {
    .id = "pageable-copies",
    .advice = "Pin the host memory: cudaMallocHost() or cudaHostRegister(), once, before the loop. In PyTorch: "
              "DataLoader(pin_memory=True) and .to(device, non_blocking=True).",
    .section = "memtime",
    .sources = {TRACE_MEMCPY, TRACE_API},
    .state_size = sizeof(struct blocked),
    .op = pageable_op,
    .find = pageable_find,
    .release = finding_array_release,
};

/* --- copies that block the host --- */

static int blocking_op(void *state, const struct trace *trace, const struct timeline_op *op)
{
    struct blocked *blocked = state;
    int64_t ready = ready_time(blocked, op);
    if (op->category == CATEGORY_GPU_MEMCPY && op->kind == CALL_COPY) {
        unsigned facts = name_facts_find(&blocked->names, &trace->strings, op->name);
        add_blocked(blocked, op, ready, facts & NAME_PAGEABLE);
        blocked->outside -= blocked->after;
        blocked->after = 0;
    } else {
        sum_add(&blocked->outside, op->end - op->start);
        blocked->after = blocked->calls.count > 0 ? sum_of(blocked->after, op->end - op->start) : 0;
    }
    return 0;
}

/* Copies of pinned memory do not become faster. At best they run in the time between the calls and during other work of
 * the GPU; time that does not fit there is not gained. */
static int blocking_find(void *state, struct findings *findings)
{
    const struct blocked *blocked = state;
    int64_t cost = offences_cost(&blocked->calls), between = difference_of(blocked->last, blocked->first);
    int64_t other = sum_of(between > cost ? between - cost : 0, blocked->outside);
    long double share = blocked->host > 0 ? (long double)blocked->pinned / (long double)blocked->host : 0;
    int64_t pinned = (int64_t)((long double)cost * share), remains = other < pinned ? pinned - other : 0;
    struct finding *finding = add_finding(findings, blocked, cost - remains);
    if (blocked->pageable > 0)
        finding_advise(finding, "Pin the host memory (cudaMallocHost() or cudaHostRegister(), once), use "
                                "cudaMemcpyAsync() with a stream, and wait only where the data is needed. In PyTorch: "
                                "pin_memory=True and non_blocking=True.");
    return finding_format(finding, "The host waits for %s synchronous cop%s of %s, %s each on average%s%s",
                          amount_count(blocked->calls.count).text, amount_word(blocked->calls.count, "y", "ies"),
                          amount_size(blocked->bytes).text, amount_mean(blocked->host, blocked->calls.count).text,
                          blocked->pageable > 0 ? "; of pageable memory: " : "",
                          blocked->pageable > 0 ? amount_count(blocked->pageable).text : "");
}

const struct rule rule_blocking_copies = {
    .id = "blocking-copies",
    .advice = "Use cudaMemcpyAsync() with a stream, and wait only where the data is needed (cudaEventSynchronize()). "
              "In PyTorch: non_blocking=True.",
    .section = "memtime",
    .sources = {TRACE_MEMCPY, TRACE_API},
    .state_size = sizeof(struct blocked),
    .op = blocking_op,
    .find = blocking_find,
    .release = finding_array_release,
};

/* --- sets that block the host --- */

static int set_op(void *state, const struct trace *trace, const struct timeline_op *op)
{
    struct blocked *blocked = state;
    int64_t ready = ready_time(blocked, op);
    if (op->category == CATEGORY_GPU_MEMSET && op->kind == CALL_SET &&
        (name_facts_find(&blocked->names, &trace->strings, op->name) & NAME_OF_HOST))
        add_blocked(blocked, op, ready, false);
    return 0;
}

static int set_find(void *state, struct findings *findings)
{
    const struct blocked *blocked = state;
    return finding_format(
        add_finding(findings, blocked, blocked->host),
        "The host waits for %s synchronous set%s of pinned or managed memory (%s), %s each on average",
        amount_count(blocked->calls.count).text, amount_word(blocked->calls.count, "", "s"),
        amount_size(blocked->bytes).text, amount_mean(blocked->host, blocked->calls.count).text);
}

const struct rule rule_blocking_sets = {
    .id = "blocking-sets",
    .advice = "Use cudaMemsetAsync() with a stream: cudaMemset() of pinned or managed memory blocks the host. Memory "
              "that the GPU does not need yet is set faster by memset().",
    .section = "memtime",
    .sources = {TRACE_MEMSET, TRACE_API},
    .state_size = sizeof(struct blocked),
    .op = set_op,
    .find = set_find,
    .release = finding_array_release,
};

/* --- series of small copies --- */

struct small {
    struct offences all_series;
    int64_t count, bytes; /* of the copies in all series */
    int64_t gain;
    struct copy_series {
        int64_t count, bytes;
        int64_t from, to; /* from the first call (or copy) to the end of the last copy */
        struct timeline_op first, last;
    } series; /* the current series */
};

static void end_series(struct small *small)
{
    struct copy_series *series = &small->series;
    int64_t ns = series->to - series->from;
    if (series->count >= FINDING_SMALL_COPY_RUN) {
        small->count += series->count;
        sum_add(&small->bytes, series->bytes);
        small->gain = sum_of(small->gain, ns - ns / series->count);
        struct finding_place place = finding_at_op(&series->first);
        place.until = series->to;
        offences_add(&small->all_series, &place, ns);
    }
    series->count = 0;
}

static bool follows(const struct copy_series *series, const struct timeline_op *op)
{
    const struct timeline_op *last = &series->last;
    return series->count > 0 && last->device == op->device && last->stream == op->stream && last->name == op->name &&
           op->start - last->end <= FINDING_SMALL_COPY_GAP_NS;
}

/* Several copies of one call, such as cudaMemcpyBatchAsync() or the launch of a graph, are not a series, as they cannot
 * be joined further. */
static int small_op(void *state, const struct trace *trace, const struct timeline_op *op)
{
    struct small *small = state;
    struct copy_series *series = &small->series;
    bool fits = op->category == CATEGORY_GPU_MEMCPY && op->size > 0 && op->size <= FINDING_SMALL_COPY_BYTES;
    bool again = series->count > 0 && op->correlation != 0 && op->correlation == series->last.correlation;
    if (!fits || again || !follows(series, op))
        end_series(small);
    if (!fits || again)
        return 0;
    if (series->count == 0) {
        *series = (struct copy_series){.from = op->called == FIELD_ABSENT ? op->start : op->called, .first = *op};
        series->from = op->start - series->from > FINDING_SMALL_COPY_GAP_NS ? op->start : series->from;
    }
    series->count++;
    sum_add(&series->bytes, op->size);
    series->to = op->end;
    series->last = *op;
    return 0;
}

static int small_find(void *state, struct findings *findings)
{
    struct small *small = state;
    end_series(small);
    const struct offences *all_series = &small->all_series;
    struct finding *finding = finding_add(findings, offences_cost(all_series), small->gain, small->count,
                                          offences_place(findings, all_series));
    if (!finding)
        return 0;
    return finding_format(finding, "%s copies of %s on average follow one another, in %s sequence%s of %s on average",
                          amount_count(small->count).text, amount_bytes(small->bytes / small->count).text,
                          amount_count(all_series->count).text, amount_word(all_series->count, "", "s"),
                          amount_count(small->count / all_series->count).text);
}

const struct rule rule_small_copies = {
    .id = "small-copies",
    .advice = "Put the data side by side in one buffer and copy it at once, or use cudaMemcpyBatchAsync(). In PyTorch: "
              "torch.cat() or torch.stack() on the host, then one .to().",
    .section = "memsize",
    .sources = {TRACE_MEMCPY},
    .state_size = sizeof(struct small),
    .op = small_op,
    .find = small_find,
};
