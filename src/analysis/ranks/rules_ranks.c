/* Rules about the ranks of a job. */
#include "common/settings.h"
#include "analysis/base/cost_sum.h"
#include "analysis/engine/findings.h"
#include "analysis/ranks/stragglers.h"
#include "analysis/ranks/rank_times.h"
#include "analysis/ranks/ranks.h"

static struct finding_place place_of(const struct trace *trace, const struct rank *rank)
{
    struct finding_place place = place_none();
    place.time = rank->worst_at;
    for (size_t i = 0; rank->device != FIELD_ABSENT && i < trace->devices.count; i++)
        if (trace_device_id(trace, i) == rank->device)
            place.device = (int64_t)i;
    return place;
}

/* The findings of a trace of several ranks, while stragglers are added to them. */
struct adding {
    struct findings *findings;
    const struct ranks *ranks;
    struct straggler_sum sum;
    size_t before;    /* findings of other rules */
    uint32_t exposed; /* index of the rank whose communication is exposed; RANK_NONE: none */
};

/* The index of the rank on whose GPU FINDING was seen. RANK_NONE: not known. */
static uint32_t rank_of(const struct adding *adding, const struct finding *finding)
{
    int64_t device = finding->place.device;
    for (uint32_t i = 0; device != FIELD_ABSENT && i < adding->ranks->items.count; i++)
        if (adding->ranks->items.items[i].device == trace_device_id(adding->findings->trace, (size_t)device))
            return i;
    return RANK_NONE;
}

static bool is_rule(const struct finding *finding, unsigned rule)
{
    return finding->rule == finding_rules[rule];
}

/* A finding that says the same of one of these ranks becomes a part of this one: what to do, and where. */
static int add_straggler(void *context, const struct straggler *straggler)
{
    struct adding *adding = context;
    struct findings *findings = adding->findings;
    struct finding_place place = place_of(findings->trace, straggler->rank);
    size_t same = SIZE_MAX; /* the last that says the same */
    straggler_sum_add(&adding->sum, straggler, adding->exposed);
    for (size_t i = 0; i < adding->before; i++) {
        struct finding *one = &findings->items.items[i];
        unsigned rule = 0;
        while (!is_rule(one, rule))
            rule++;
        if (one->cost < straggler->cost / 2 || !straggler_explains(straggler, rule) ||
            !straggler_has(straggler, rank_of(adding, one)))
            continue;
        place = one->place;
        one->cost = 0;
        same = i;
    }
    struct finding *finding = finding_add(findings, straggler->cost, straggler->gain, straggler->count, &place);
    finding_format(finding, "%s", straggler->text);
    if (same == SIZE_MAX)
        return finding_advise(finding, "%s", straggler->advice);
    const struct finding *one = &findings->items.items[same];
    return finding_advise(finding, "%s", *one->advice ? one->advice : one->rule->advice);
}

/* Takes out findings that are a part of others, and from exposed communication what ranks wait for late ones, who come
 * before what is left of it. */
static void take_out(struct adding *adding)
{
    struct findings *findings = adding->findings;
    const struct rank *rank = adding->exposed != RANK_NONE ? &adding->ranks->items.items[adding->exposed] : NULL;
    int64_t rest = 0;
    size_t kept = 0;
    for (size_t i = 0; i < findings->items.count; i++) {
        struct finding *one = &findings->items.items[i];
        bool exposed = rank && is_rule(one, FINDING_RULE_exposed_communication);
        if (exposed && (rest = straggler_rest(&adding->sum, rank, one->cost)) < one->cost) {
            straggler_say_rest(one->text, sizeof(one->text), rank, rest);
            one->cost = one->gain = one->weight = rest < findings->steady / 100 * FINDING_EXPOSED_PERCENT ? 0 : rest;
        }
        if (is_rule(one, FINDING_RULE_straggler) && one->weight < rest)
            one->weight = sum_of(rest, 1);
        if (one->cost > 0 || one->rule->without_cost)
            findings->items.items[kept++] = *one;
    }
    findings->items.count = kept;
}

static int straggler_find(void *state, struct findings *findings)
{
    struct ranks ranks = {0};
    struct adding adding = {findings, &ranks, .before = findings->items.count, .exposed = RANK_NONE};
    int status = findings->trace->options->of_job ? 0 : ranks_of_trace(&ranks, findings->trace);
    for (size_t i = 0; i < adding.before; i++)
        if (is_rule(&findings->items.items[i], FINDING_RULE_exposed_communication))
            adding.exposed = rank_of(&adding, &findings->items.items[i]);
    status = status ?: stragglers_say_gaps(&ranks, findings->trace);
    if (status == 0)
        status = stragglers_each(&ranks, FINDING_COST_NS, add_straggler, &adding);
    take_out(&adding);
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
    if (findings->trace->options->of_job)
        return 0;
    int status = ranks_of_trace(&ranks, findings->trace) ?: imbalance_find(&imbalance, &ranks);
    if (status == 0 && imbalance.cost > 0) {
        struct finding_place place = place_of(findings->trace, &ranks.items.items[imbalance.index]);
        place.time = FIELD_ABSENT;
        finding_format(finding_add(findings, imbalance.cost, imbalance.cost, imbalance.steps, &place), "%s",
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
