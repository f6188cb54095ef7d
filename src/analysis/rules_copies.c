/*
 * Rules about copies and sets.
 */
#include <string.h>

#include "common/settings.h"
#include "analysis/findings.h"

/* What is added up of operations that are alike. */
struct sum {
    int64_t count, bytes;
    int64_t gpu;  /* ns that they ran */
    int64_t host; /* ns that their calls took */
    struct finding_place longest;
    int64_t longest_ns;
};

static int64_t call_time(const struct timeline_op *op)
{
    return op->called == EVENT_NONE ? 0 : op->returned - op->called;
}

static void add(struct sum *sum, const struct timeline_op *op)
{
    int64_t host = call_time(op);
    sum->count++;
    sum->bytes += op->size;
    sum->gpu += op->end - op->start;
    sum->host += host;
    if (sum->count > 1 && host <= sum->longest_ns)
        return;
    sum->longest_ns = host;
    sum->longest = finding_at_op(op);
}

static bool is_copy(const struct timeline_op *op)
{
    return op->category == CATEGORY_GPU_MEMCPY;
}

static bool is_pageable(const struct trace *trace, const struct timeline_op *op)
{
    return strstr(interned(&trace->strings, op->name), "Pageable");
}

/* A finding about SUM that costs COST, which another rule does not have: NULL if they are too few. */
static struct finding *add_finding(struct findings *findings, const struct sum *sum, int64_t cost, int64_t gain)
{
    if (sum->count < FINDING_COPY_CALLS)
        return NULL;
    struct finding *finding = finding_add(findings, cost, gain, &sum->longest);
    if (finding)
        finding->count = sum->count;
    return finding;
}

/* --- asynchronous copies of pageable memory: the driver copies it to pinned memory first, and the call waits --- */

static int pageable_op(void *state, const struct trace *trace, const struct timeline_op *op)
{
    if (is_copy(op) && op->kind == CALL_COPY_ASYNC && is_pageable(trace, op))
        add(state, op);
    return 0;
}

static int pageable_find(void *state, struct findings *findings)
{
    const struct sum *sum = state;
    struct finding *finding = add_finding(findings, sum, sum->host, sum->host);
    return finding ? finding_say(finding,
                                 "%s asynchronous copies of %s pageable memory are not asynchronous: their calls take "
                                 "%s on average",
                                 amount_count(sum->count).text, amount_bytes(sum->bytes).text,
                                 amount_time(sum->host / sum->count).text)
                   : 0;
}

const struct rule rule_pageable_copies = {
    .id = "pageable-copies",
    .advice = "Pin the host memory: cudaMallocHost() or cudaHostRegister(); in PyTorch DataLoader(pin_memory=True) "
              "with .to(device, non_blocking=True).",
    .section = "memtime",
    .sources = {TRACE_MEMCPY, TRACE_API},
    .state_size = sizeof(struct sum),
    .op = pageable_op,
    .find = pageable_find,
};

/* --- copies that block the host --- */

static int blocking_op(void *state, const struct trace *trace, const struct timeline_op *op)
{
    (void)trace;
    if (is_copy(op) && op->kind == CALL_COPY)
        add(state, op);
    return 0;
}

static int blocking_find(void *state, struct findings *findings)
{
    const struct sum *sum = state;
    struct finding *finding = add_finding(findings, sum, sum->host, sum->host);
    return finding ? finding_say(finding, "The host waits for %s synchronous copies of %s",
                                 amount_count(sum->count).text, amount_bytes(sum->bytes).text)
                   : 0;
}

const struct rule rule_blocking_copies = {
    .id = "blocking-copies",
    .advice = "Use cudaMemcpyAsync() with pinned memory and a stream, and wait only where the result is needed.",
    .section = "memtime",
    .sources = {TRACE_MEMCPY, TRACE_API},
    .state_size = sizeof(struct sum),
    .op = blocking_op,
    .find = blocking_find,
};

/* --- sets that block the host --- */

static int set_op(void *state, const struct trace *trace, const struct timeline_op *op)
{
    (void)trace;
    if (op->category == CATEGORY_GPU_MEMSET && op->kind == CALL_SET && op->returned != EVENT_NONE &&
        op->returned >= op->end)
        add(state, op);
    return 0;
}

static int set_find(void *state, struct findings *findings)
{
    const struct sum *sum = state;
    struct finding *finding = add_finding(findings, sum, sum->host, sum->host);
    return finding ? finding_say(finding, "The host waits for %s sets of pinned or managed memory",
                                 amount_count(sum->count).text)
                   : 0;
}

const struct rule rule_blocking_sets = {
    .id = "blocking-sets",
    .advice = "Use cudaMemsetAsync() with a stream; sets of memory of the host block otherwise.",
    .section = "memtime",
    .sources = {TRACE_MEMSET, TRACE_API},
    .state_size = sizeof(struct sum),
    .op = set_op,
    .find = set_find,
};

/* --- small copies one after another --- */

struct small {
    struct sum all;
    int64_t runs, bytes;
    struct small_run {
        uint32_t device, stream, name;
        int64_t count;
        struct sum sum;
    } run; /* of the copies that followed one another so far */
};

static void end_run(struct small *small)
{
    const struct sum *run = &small->run.sum;
    if (run->count >= FINDING_SMALL_COPY_RUN) {
        if (run->longest_ns >= small->all.longest_ns) {
            small->all.longest = run->longest;
            small->all.longest_ns = run->longest_ns;
        }
        small->all.count += run->count;
        small->all.bytes += run->bytes;
        small->all.gpu += run->gpu;
        small->all.host += run->host;
        small->runs++;
    }
    small->run = (struct small_run){0};
}

static int small_op(void *state, const struct trace *trace, const struct timeline_op *op)
{
    struct small *small = state;
    struct small_run *run = &small->run;
    (void)trace;
    bool fits = is_copy(op) && op->size > 0 && op->size <= FINDING_SMALL_COPY_BYTES;
    bool follows =
        run->sum.count > 0 && run->device == op->device && run->stream == op->stream && run->name == op->name;
    if (!fits || !follows)
        end_run(small);
    if (!fits)
        return 0;
    run->device = op->device;
    run->stream = op->stream;
    run->name = op->name;
    add(&run->sum, op);
    return 0;
}

static int small_find(void *state, struct findings *findings)
{
    struct small *small = state;
    end_run(small);
    const struct sum *sum = &small->all;
    if (sum->count == 0)
        return 0;
    int64_t time = sum->host > sum->gpu ? sum->host : sum->gpu;
    int64_t gain = time - time / sum->count * small->runs;
    struct finding *finding = add_finding(findings, sum, time, gain);
    return finding ? finding_say(finding, "%s copies of %s on average follow one another in %s sequences",
                                 amount_count(sum->count).text, amount_bytes(sum->bytes / sum->count).text,
                                 amount_count(small->runs).text)
                   : 0;
}

const struct rule rule_small_copies = {
    .id = "small-copies",
    .advice = "Put the data side by side and copy it at once (cudaMemcpyBatchAsync() or one buffer).",
    .section = "memsize",
    .sources = {TRACE_MEMCPY},
    .state_size = sizeof(struct small),
    .op = small_op,
    .find = small_find,
};
