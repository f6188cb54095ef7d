/*
 * Compares each rank with typical ranks of its stage, finds what it does longer, and joins ranks that are late for the
 * same reason.
 */
#include "analysis/ranks/stragglers.h"

#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "common/map.h"
#include "analysis/base/cost_sum.h"
#include "analysis/idle/idle.h"
#include "analysis/ranks/slow_links.h"
#include "analysis/ranks/stages.h"
#include "analysis/summary/section_findings.h"

static int compare_times(const void *left, const void *right)
{
    return ORDER(*(const int64_t *)left, *(const int64_t *)right);
}

/* --- typical ranks --- */

/* The values of a rank that are compared with those of a typical rank: a time for each reason, and these. */
enum rank_value { VALUE_LATE = STRAGGLER_UNKNOWN, VALUE_BLOCKED, VALUE_COUNT };

static int64_t value_of(const struct rank *rank, unsigned value)
{
    switch (value) {
    case STRAGGLER_KERNELS: return rank->compute;
    case STRAGGLER_COPIES: return rank->copies;
    case STRAGGLER_LOADING: return rank->loading;
    case STRAGGLER_HOST: return rank_host_idle(rank);
    case VALUE_LATE: return rank->late;
    default: return rank->blocked;
    }
}

/* The values of typical ranks among peers: the ranks of a stage of a pipeline, else all ranks. */
struct peers {
    struct stages stages;
    int64_t (*of_stage)[VALUE_COUNT]; /* by stage; then for ranks in no stage, and for all ranks */
};

static size_t stage_of(const struct peers *peers, size_t rank)
{
    uint32_t stage = peers->stages.of_rank[rank];
    return stage == STAGE_NONE ? peers->stages.items.count : stage;
}

/* The value that a third of the ranks of STAGE do not exceed. For VALUE_BLOCKED, which is least for late ranks, it is
 * the value that a third reach. VALUES: space for all ranks. */
static int64_t typical(const struct ranks *ranks, const struct peers *peers, size_t stage, unsigned value,
                       int64_t *values)
{
    size_t count = 0;
    for (size_t i = 0; i < ranks->items.count; i++)
        if (stage_of(peers, i) == stage || stage > peers->stages.items.count)
            values[count++] = value_of(&ranks->items.items[i], value);
    if (count == 0)
        return 0;
    qsort(values, count, sizeof(*values), compare_times);
    return values[value == VALUE_BLOCKED ? count - 1 - (count - 1) / 3 : (count - 1) / 3];
}

/* --- reasons --- */

/* A reason explains at least this part (a quarter) of the cost. */
#define REASON_PART 4

/* Sets the reason that explains most of the cost. TYPICALS: the values of its peers. FIRST: the first reason to try. */
static void find_reason(struct straggler *straggler, const int64_t *typicals, enum straggler_reason first)
{
    int64_t most = straggler->cost / REASON_PART;
    straggler->reason = STRAGGLER_UNKNOWN;
    for (unsigned i = first; i < STRAGGLER_UNKNOWN; i++) {
        int64_t own = value_of(straggler->rank, i), more = difference_of(own, typicals[i]);
        if (more <= most)
            continue;
        most = more;
        straggler->reason = (enum straggler_reason)i;
        straggler->own = own;
        straggler->typical = typicals[i];
    }
    if (straggler->reason != STRAGGLER_UNKNOWN && straggler->cost > most)
        straggler->cost = most;
}

#define RULE_BIT(rule) (UINT64_C(1) << FINDING_RULE_##rule)

bool straggler_explains(const struct straggler *straggler, unsigned rule)
{
    const uint64_t host = RULE_BIT(host_work) | RULE_BIT(host_blocked) | RULE_BIT(gpu_gaps) | RULE_BIT(low_use) |
                          RULE_BIT(launch_bound) | RULE_BIT(device_waits) | RULE_BIT(data_loading) |
                          RULE_BIT(slow_step);
    const uint64_t copies = RULE_BIT(pageable_copies) | RULE_BIT(blocking_copies) | RULE_BIT(serial_copies);
    bool is_host = straggler->reason == STRAGGLER_LOADING || straggler->reason == STRAGGLER_HOST;
    return (is_host ? host : straggler->reason == STRAGGLER_COPIES ? copies : 0) >> rule & 1;
}

void straggler_sum_add(struct straggler_sum *sum, const struct straggler *straggler, uint32_t rank)
{
    sum->own |= straggler_has(straggler, rank);
    sum_add(straggler->reason == STRAGGLER_LINK ? &sum->linked : &sum->late, straggler->gain);
}

int64_t straggler_rest(const struct straggler_sum *sum, const struct rank *rank, int64_t cost)
{
    int64_t waited = rank->neighbours + (sum->own ? 0 : sum->late);
    if (sum->late == 0 && sum->linked == 0 && !sum->imbalance)
        return cost;
    int64_t rest = difference_of(difference_of(cost, waited < rank->waited ? waited : rank->waited), sum->linked);
    return rest > 0 ? rest : 0;
}

/* --- what the host does outside CUDA --- */

static bool is_outside(const struct idle_gap *gap, const struct trace *trace, const struct rank *rank)
{
    const struct idle_what *what = &idle_main_cause(gap)->what;
    return trace_device_id(trace, gap->device) == rank->device && what->cause == IDLE_OUTSIDE &&
           gap->before.name != EVENT_NO_TEXT && gap->after.name != EVENT_NO_TEXT && !idle_is_loading(trace, what);
}

/* Among the largest gaps in which the host of RANK was outside CUDA, those between the same two operations that take
 * most time together. Returns one of them, or NULL. */
static const struct idle_gap *usual_gap(const struct idle *idle, const struct trace *trace, const struct rank *rank)
{
    const struct idle_gap *found = NULL;
    int64_t most = 0;
    for (size_t i = 0; i < idle->largest_count; i++) {
        const struct idle_gap *one = &idle->largest[i];
        int64_t total = 0;
        for (size_t k = 0; k < idle->largest_count && is_outside(one, trace, rank); k++) {
            const struct idle_gap *other = &idle->largest[k];
            bool same = other->before.name == one->before.name && other->after.name == one->after.name;
            sum_add(&total, same && is_outside(other, trace, rank) ? other->end - other->start : 0);
        }
        found = total > most ? one : found;
        most = total > most ? total : most;
    }
    return found;
}

int stragglers_describe_gaps(struct ranks *ranks, const struct trace *trace)
{
    const struct findings *findings = findings_of(trace); /* only gaps in the steps count */
    const struct idle *idle = findings ? findings->idle : NULL;
    for (size_t i = 0; i < ranks->items.count && idle && !idle->host.trace; i++) {
        struct rank *rank = &ranks->items.items[i];
        const struct idle_gap *gap = usual_gap(idle, trace, rank);
        const struct host_between between = gap ? host_between(trace, gap) : (struct host_between){.text = ""};
        if (!*between.text)
            continue;
        rank->between = intern(&ranks->texts, between.text, strlen(between.text));
        if (rank->between == INTERN_NO_MEMORY)
            return -1;
    }
    return 0;
}

/* --- ranks that are late --- */

struct late {
    const struct ranks *ranks;
    struct peers peers;
    int64_t least;
    struct straggler *found; /* by index in ranks.items; a cost of 0: not a straggler */
    uint32_t *members;       /* space for the members of a group */
};

/* How much later than typical ranks the rank begins operations. In a pipeline delays propagate, so the latest rank of
 * each stage counts. */
static int64_t effect_of(const struct late *late, uint32_t index)
{
    int64_t sum = 0;
    size_t own = stage_of(&late->peers, index), stages = late->peers.stages.items.count;
    for (size_t stage = 0; stage <= stages; stage++) {
        int64_t most = 0;
        for (uint32_t i = 0; i < late->ranks->items.count; i++) {
            int64_t more = difference_of(late->ranks->items.items[i].late, late->peers.of_stage[stage][VALUE_LATE]);
            bool counts = own == stages ? i == index : stage_of(&late->peers, i) == stage;
            most = counts && more > most ? more : most;
        }
        sum_add(&sum, most);
    }
    return sum;
}

/* Decides whether a rank is a straggler: it works longer than its peers, so that it is blocked for less time. A rank
 * that only waits for a late rank, and so makes others wait, is blocked as long as its peers. */
static void judge(struct late *late, uint32_t index)
{
    const struct rank *rank = &late->ranks->items.items[index];
    const int64_t *typicals = late->peers.of_stage[stage_of(&late->peers, index)];
    struct straggler straggler = {.rank = rank, .index = index, .ranks = 1, .count = rank->late_operations};
    straggler.cost = straggler.gain = difference_of(typicals[VALUE_BLOCKED], rank->blocked);
    if (straggler.cost >= late->least) {
        find_reason(&straggler, typicals, STRAGGLER_KERNELS);
        straggler.gain = effect_of(late, index);
    } else {
        /* All ranks of a stage may be late. Other stages compute something else, but their hosts do the same. */
        typicals = late->peers.of_stage[late->peers.stages.items.count + 1];
        straggler.cost = straggler.gain = difference_of(typicals[VALUE_BLOCKED], rank->blocked);
        find_reason(&straggler, typicals, STRAGGLER_COPIES);
        if (straggler.reason == STRAGGLER_UNKNOWN)
            return;
    }
    if (straggler.gain > straggler.cost)
        straggler.gain = straggler.cost;
    if (straggler.reason == STRAGGLER_UNKNOWN)
        straggler.cost = straggler.gain;
    if (straggler.cost >= late->least)
        late->found[index] = straggler;
}

/* Removes the straggler with the largest cost, joined with the ranks that are late for the same reason by at least half
 * as much. Returns false if there is none. */
static bool next_group(struct late *late, struct straggler *straggler)
{
    struct straggler *most = &late->found[0];
    for (size_t i = 1; i < late->ranks->items.count; i++)
        most = late->found[i].cost > most->cost ? &late->found[i] : most;
    *straggler = *most;
    straggler->members = late->members;
    straggler->ranks = 0;
    for (uint32_t i = 0; most->cost > 0 && i < late->ranks->items.count; i++) {
        struct straggler *one = &late->found[i];
        if (one->cost == 0 || one->reason != straggler->reason || one->cost < straggler->cost / 2)
            continue;
        late->members[straggler->ranks++] = i;
        straggler->gain = one->gain > straggler->gain ? one->gain : straggler->gain;
        if (one != most)
            one->cost = 0;
    }
    most->cost = 0;
    return straggler->ranks > 0;
}

static int each_late(const struct ranks *ranks, int64_t least, straggler_each *each, void *context)
{
    struct late late = {.ranks = ranks, .least = least};
    struct straggler straggler;
    size_t count = ranks->items.count;
    late.found = calloc(count, sizeof(*late.found));
    late.members = calloc(count, sizeof(*late.members));
    int64_t *values = calloc(count + 1, sizeof(*values));
    int status = late.found && late.members && values ? stages_find(&late.peers.stages, ranks) : -1;
    size_t stages = late.peers.stages.items.count + 2;
    late.peers.of_stage = status == 0 ? calloc(stages, sizeof(*late.peers.of_stage)) : NULL;
    status = late.peers.of_stage ? 0 : -1;
    for (size_t stage = 0; stage < stages && status == 0; stage++)
        for (unsigned i = 0; i < VALUE_COUNT; i++)
            late.peers.of_stage[stage][i] = typical(ranks, &late.peers, stage, i, values);
    free(values);
    for (uint32_t i = 0; i < count && status == 0; i++)
        judge(&late, i);
    while (status == 0 && next_group(&late, &straggler))
        status = straggler_describe(&straggler, ranks) ?: each(context, &straggler);
    stages_release(&late.peers.stages);
    free(late.peers.of_stage);
    free(late.found);
    free(late.members);
    return status;
}

int stragglers_each(const struct ranks *ranks, int64_t least, straggler_each *each, void *context)
{
    struct slow_links links = {0};
    if (ranks->items.count < 2)
        return 0;
    int status = slow_links_find(&links, ranks, FINDING_LINK_PERCENT / 100.0, FINDING_LINK_OPERATIONS);
    status = status ?: each_late(ranks, least, each, context);
    for (size_t i = 0; i < links.items.count && status == 0; i++) {
        const struct slow_link *link = &links.items.items[i];
        struct straggler straggler = {.rank = &ranks->items.items[link->rank],
                                      .index = link->rank,
                                      .ranks = link->ranks,
                                      .count = link->count,
                                      .cost = link->cost,
                                      .gain = link->cost,
                                      .reason = STRAGGLER_LINK};
        straggler_describe_link(&straggler, ranks, link);
        if (link->cost >= least)
            status = each(context, &straggler);
    }
    array_release(&links.items);
    return status;
}
