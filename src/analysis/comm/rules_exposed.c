/*
 * The rule exposed-communication: communication kernels run while nothing is computed.
 */
#include <stdio.h>
#include <string.h>

#include "common/settings.h"
#include "analysis/base/busy.h"
#include "analysis/base/cost_sum.h"
#include "analysis/engine/findings.h"
#include "analysis/engine/names.h"
#include "analysis/engine/section.h"
#include "analysis/gpu/temporal.h"

struct exposed {
    struct temporal_names names;
    ARRAY(struct exposed_device) devices;
};

/* Busy time of communication, of computation, and of their union. */
struct exposed_device {
    struct busy_sum communication, computation, both;
    struct offences kernels; /* communication kernels */
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
    return finding_format(finding_add(findings, alone, alone, count, offences_place(findings, &worst->kernels)),
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
