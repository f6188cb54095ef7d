/* Rules about the ranks of a job. */
#include <stdio.h>

#include "common/settings.h"
#include "analysis/findings/findings.h"
#include "analysis/findings/imbalance.h"
#include "analysis/findings/stragglers.h"
#include "analysis/model/section.h"
#include "analysis/ranks/ranks.h"

static struct finding_place place_of(const struct trace *trace, const struct rank *rank)
{
    struct finding_place place = finding_nowhere();
    place.time = rank->worst_at;
    for (size_t i = 0; rank->device != EVENT_NONE && i < trace->devices.count; i++)
        if (trace_device_id(trace, i) == rank->device)
            place.device = (int64_t)i;
    return place;
}

static int add_straggler(void *context, const struct straggler *straggler)
{
    struct findings *findings = context;
    const struct finding_place place = place_of(findings->trace, straggler->rank);
    struct finding *finding = finding_add(findings, straggler->cost, straggler->cost, straggler->count, &place);
    finding_say(finding, "%s", straggler->text);
    return finding_advise(finding, "%s", straggler->advice);
}

static int straggler_find(void *state, struct findings *findings)
{
    struct ranks ranks = {0};
    (void)state;
    int status = ranks_of_trace(&ranks, findings->trace);
    if (status == 0)
        status = stragglers_each(&ranks, FINDING_COST_NS, add_straggler, findings);
    ranks_release(&ranks);
    return status;
}

const struct rule rule_straggler = {
    .id = "straggler",
    .section = "ranks",
    .sources = {TRACE_KERNEL},
    .find = straggler_find,
};

static int imbalance_of_trace(void *state, struct findings *findings)
{
    struct ranks ranks = {0};
    struct imbalance imbalance = {0};
    (void)state;
    int status = ranks_of_trace(&ranks, findings->trace) ?: imbalance_find(&imbalance, &ranks);
    if (status == 0 && imbalance.cost > 0) {
        struct finding_place place = place_of(findings->trace, &ranks.items.items[imbalance.index]);
        place.time = EVENT_NONE;
        finding_say(finding_add(findings, imbalance.cost, imbalance.cost, imbalance.steps, &place), "%s",
                    imbalance.text);
    }
    ranks_release(&ranks);
    return status;
}

const struct rule rule_pipeline_imbalance = {
    .id = "pipeline-imbalance",
    .advice = imbalance_advice,
    .section = "stages",
    .sources = {TRACE_KERNEL},
    .find = imbalance_of_trace,
};
