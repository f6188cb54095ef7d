/*
 * The sections comm (comm.h), ranks (ranks.h), stages (stages.h) and hang (hang_table.h), whose tables other files
 * fill, and the rules about ranks. Section hang is empty if all operations were finished. Findings of other rules about
 * a late rank become part of the finding about this rank.
 */
#include <stdio.h>
#include <string.h>

#include "analysis/comm/collectives.h"
#include "analysis/hang/hang_facts.h"
#include "analysis/engine/section.h"
#include "analysis/ranks/comm.h"
#include "analysis/hang/hang_table.h"
#include "analysis/ranks/ranks.h"
#include "analysis/ranks/ranks_of_trace.h"
#include "analysis/ranks/stages.h"
#include "common/settings.h"
#include "analysis/base/cost_sum.h"
#include "analysis/engine/findings.h"
#include "analysis/ranks/stragglers.h"
#include "analysis/base/busy.h"
#include "analysis/gpu/temporal.h"

struct comm_state {
    struct collectives collectives; /* must be first: section_state() is used as a struct collectives */
    struct comm comm;
};

static void init_comm(void *context, const struct trace *trace)
{
    struct comm_state *state = context;
    collectives_init(&state->collectives, trace->space);
}

static void release_comm(void *context)
{
    struct comm_state *state = context;
    collectives_release(&state->collectives);
    comm_release(&state->comm);
}

static int event_comm(void *context, const struct trace *trace, const struct event_fields *event)
{
    struct comm_state *state = context;
    bool passes = event->category != CATEGORY_KERNEL && !event_communicates(event);
    return passes ? 0 : collectives_event(&state->collectives, trace, event);
}

static int gather_comm(void *context, const struct trace *trace)
{
    struct comm_state *state = context;
    return collectives_gather(&state->collectives, trace) ?: comm_gather(&state->comm, &state->collectives);
}

static void finish_comm(struct report_row *row)
{
    comm_fill(row, &((const struct comm_state *)row->state)->comm);
}

const struct section section_comm = {
    SECTION_COLUMNS(comm_columns),
    .state_size = sizeof(struct comm_state),
    .parts = TRACE_KERNEL,
    .sort = COMM_SORT,
    .categories = COLLECTIVE_CATEGORIES,
    .indexes = {.timeline = true},
    .init = init_comm,
    .event = event_comm,
    .gather = gather_comm,
    .finish = finish_comm,
    .release = release_comm,
};

static void finish_ranks(struct report_row *row)
{
    struct ranks ranks = {0};
    int status = ranks_of_trace(&ranks, row->trace);
    bool alone = row->trace->options->usual && ranks.items.count < 2; /* the first screen does not show a single rank */
    if (status == 0 && !alone)
        status = ranks_fill(row, &ranks);
    ranks_release(&ranks);
    row->table->no_memory |= status < 0;
}

const struct section section_ranks = {
    SECTION_COLUMNS(ranks_columns),
    .usual = 4,
    .state_size = sizeof(struct rank_times),
    .sources = {TRACE_GPU_WORK},
    .parts = TRACE_GPU_WORK | TRACE_API,
    .indexes = {.timeline = true},
    .needs = REPORT_BIT(REPORT_COMM) | REPORT_BIT(REPORT_STEPS) | REPORT_BIT(REPORT_IDLE),
    .gather = rank_times_gather,
    .finish = finish_ranks,
    .release = rank_times_release,
};

static void finish_stages(struct report_row *row)
{
    struct ranks ranks = {0};
    int status = ranks_of_trace(&ranks, row->trace) ?: stages_fill(row, &ranks);
    ranks_release(&ranks);
    row->table->no_memory |= status < 0;
}

const struct section section_stages = {
    SECTION_COLUMNS(stages_columns),
    .sources = {TRACE_GPU_WORK},
    .parts = TRACE_GPU_WORK | TRACE_API,
    .indexes = {.timeline = true},
    .needs = REPORT_BIT(REPORT_RANKS) | REPORT_BIT(REPORT_COMM) | REPORT_BIT(REPORT_STEPS) | REPORT_BIT(REPORT_IDLE),
    .finish = finish_stages,
};

static int event_hang(void *context, const struct trace *trace, const struct event_fields *event)
{
    return hang_facts_event(&((struct hang_state *)context)->facts, &trace->strings, event);
}

static void release_hang(void *context)
{
    struct hang_state *state = context;
    hang_facts_release(&state->facts);
    hangs_release(&state->hangs);
}

static void finish_hang(struct report_row *row)
{
    const struct hangs *hangs = hangs_found(row->trace);
    row->table->no_memory |= !hangs;
    if (hangs)
        hang_fill(row, hangs);
}

const struct section section_hang = {
    SECTION_COLUMNS(hang_columns),
    .listing = true,
    .paragraphs = true,
    .categories = HANG_FACTS_CATEGORIES,
    .state_size = sizeof(struct hang_state),
    .indexes = {.stacks = true},
    .needs = REPORT_BIT(REPORT_COMM), /* all operations */
    .event = event_hang,
    .finish = finish_hang,
    .release = release_hang,
};

/* --- the rules straggler and pipeline-imbalance --- */

static struct finding_place place_of(const struct trace *trace, const struct rank *rank)
{
    struct finding_place place = place_none();
    place.time = rank->worst_at;
    for (size_t i = 0; rank->device != FIELD_ABSENT && i < trace->devices.count; i++)
        if (trace_device_id(trace, i) == rank->device)
            place.device = (int64_t)i;
    return place;
}

/* The state while stragglers are added to the findings. */
struct adding {
    struct findings *findings;
    const struct ranks *ranks;
    struct straggler_sum sum;
    size_t before;    /* number of findings of other rules */
    uint32_t exposed; /* rank of the finding exposed-communication; RANK_NONE: none */
};

/* Returns the index of the rank whose GPU FINDING is about, or RANK_NONE. */
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

/* Adds a finding. If an earlier finding explains why the rank is late, takes its advice and place and drops it. */
static int add_straggler(void *context, const struct straggler *straggler)
{
    struct adding *adding = context;
    struct findings *findings = adding->findings;
    struct finding_place place = place_of(findings->trace, straggler->rank);
    size_t same = SIZE_MAX; /* the last finding that explains the same rank */
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

/* Removes findings that became part of others, and takes the wait for late ranks out of exposed communication. Late
 * ranks come before what is left of exposed communication. */
static void remove_explained(struct adding *adding)
{
    struct findings *findings = adding->findings;
    const struct rank *rank = adding->exposed != RANK_NONE ? &adding->ranks->items.items[adding->exposed] : NULL;
    int64_t rest = 0;
    size_t kept = 0;
    for (size_t i = 0; i < findings->items.count; i++) {
        struct finding *one = &findings->items.items[i];
        bool exposed = rank && is_rule(one, FINDING_RULE_exposed_communication);
        if (exposed && (rest = straggler_rest(&adding->sum, rank, one->cost)) < one->cost) {
            straggler_write_rest(one->text, sizeof(one->text), rank, rest);
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
    status = status ?: ranks_describe_gaps(&ranks, findings->trace);
    if (status == 0)
        status = stragglers_each(&ranks, FINDING_COST_NS, add_straggler, &adding);
    remove_explained(&adding);
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
    int status = ranks_of_trace(&ranks, findings->trace) ?: stages_find_imbalance(&imbalance, &ranks);
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

/* --- the rule exposed-communication: communication kernels run while nothing is computed --- */

struct exposed {
    struct temporal_names names;
    ARRAY(struct exposed_device) devices;
};

/* Busy time of communication, of computation, and of their union. */
struct exposed_device {
    struct busy_sum communication, computation, both;
    struct offences kernels; /* costs of communication kernels */
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

static int exposed_find(void *state, struct findings *findings)
{
    const struct exposed *exposed = state;
    const struct exposed_device *worst = NULL;
    int64_t alone = 0;
    for (size_t i = 0; i < exposed->devices.count; i++) {
        const struct exposed_device *device = &exposed->devices.items[i];
        int64_t own = device->both.total - device->computation.total;
        worst = !worst || own > alone ? device : worst;
        alone = worst == device ? own : alone;
    }
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
