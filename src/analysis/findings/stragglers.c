#include "analysis/findings/stragglers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/base/cost_sum.h"
#include "analysis/base/order.h"
#include "analysis/findings/slow_link_words.h"
#include "analysis/ranks/stages.h"

static int compare_times(const void *left, const void *right)
{
    return ORDER(*(const int64_t *)left, *(const int64_t *)right);
}

typedef int64_t rank_value(const struct rank *rank);

static int64_t late_of(const struct rank *rank)
{
    return rank->late;
}

static int64_t compute_of(const struct rank *rank)
{
    return rank->compute;
}

static int64_t copies_of(const struct rank *rank)
{
    return rank->copies;
}

static int64_t loading_of(const struct rank *rank)
{
    return rank->loading;
}

static int64_t waited_of(const struct rank *rank)
{
    return rank->waited;
}

static int64_t neighbours_of(const struct rank *rank)
{
    return rank->neighbours;
}

static const struct {
    rank_value *value;
    const char *advice;
} reasons[STRAGGLER_REASON_COUNT] = {
    [STRAGGLER_KERNELS] = {compute_of, "Compare clocks and temperature of its GPU with the others (nvidia-smi -q), and "
                                       "the sizes of its work: all ranks should get the same."},
    [STRAGGLER_COPIES] = {copies_of,
                          "Compare its link to the host with the others (nvidia-smi topo -m, PCIe generation "
                          "and width), bind the process to the nearest processors, and use pinned memory."},
    [STRAGGLER_LOADING] = {loading_of, "Give its DataLoader more workers and processors, and look at where its data "
                                       "lie; give all ranks batches of the same size."},
    [STRAGGLER_HOST] = {rank_host_idle, "Look at what its host does in these times, and whether other programs use its "
                                        "processors."},
    [STRAGGLER_UNKNOWN] = {NULL, "Compare its trace with that of another rank: gputrace diff."},
};

/* --- typical ranks --- */

enum typical_value {
    TYPICAL_LATE,
    TYPICAL_WAITED,
    TYPICAL_NEIGHBOURS,
    TYPICAL_REASONS,
    TYPICAL_COUNT = TYPICAL_REASONS + STRAGGLER_UNKNOWN
};

static rank_value *const typical_values[TYPICAL_REASONS] = {late_of, waited_of, neighbours_of};

/* What a typical rank is, of all ranks that do the same: those of a stage of a pipeline, else all. */
struct peers {
    struct stages stages;
    int64_t (*of_stage)[TYPICAL_COUNT]; /* by stage; the last: of ranks that are in none */
};

static size_t stage_of(const struct peers *peers, size_t rank)
{
    uint32_t stage = peers->stages.of_rank[rank];
    return stage == STAGE_NONE ? peers->stages.items.count : stage;
}

/* The value that a third of the ranks of STAGE do not exceed. VALUES: space for all. */
static int64_t typical(const struct ranks *ranks, const struct peers *peers, size_t stage, rank_value *value,
                       int64_t *values)
{
    size_t count = 0;
    for (size_t i = 0; i < ranks->items.count; i++)
        if (stage_of(peers, i) == stage)
            values[count++] = value(&ranks->items.items[i]);
    if (count == 0)
        return 0;
    qsort(values, count, sizeof(*values), compare_times);
    return values[(count - 1) / 3];
}

static int peers_find(struct peers *peers, const struct ranks *ranks)
{
    int64_t *values = calloc(ranks->items.count + 1, sizeof(*values));
    int status = values ? stages_find(&peers->stages, ranks) : -1;
    size_t stages = peers->stages.items.count + 1;
    peers->of_stage = status == 0 ? calloc(stages, sizeof(*peers->of_stage)) : NULL;
    status = peers->of_stage ? 0 : -1;
    for (size_t stage = 0; stage < stages && status == 0; stage++)
        for (unsigned i = 0; i < TYPICAL_COUNT; i++) {
            rank_value *value = i < TYPICAL_REASONS ? typical_values[i] : reasons[i - TYPICAL_REASONS].value;
            peers->of_stage[stage][i] = typical(ranks, peers, stage, value, values);
        }
    free(values);
    return status;
}

/* --- reasons --- */

/* What explains at least this part of being late is the reason. */
#define REASON_PART 4

/* TYPICALS: of its peers. */
static void find_reason(struct straggler *straggler, const int64_t *typicals)
{
    int64_t most = straggler->cost / REASON_PART;
    straggler->reason = STRAGGLER_UNKNOWN;
    for (unsigned i = 0; i < STRAGGLER_UNKNOWN; i++) {
        int64_t own = reasons[i].value(straggler->rank), more = own - typicals[TYPICAL_REASONS + i];
        if (more <= most)
            continue;
        most = more;
        straggler->reason = (enum straggler_reason)i;
        straggler->own = own;
        straggler->typical = typicals[TYPICAL_REASONS + i];
    }
    /* Where operations overlap, one delay makes several of them late. */
    if (straggler->reason != STRAGGLER_UNKNOWN && straggler->cost > most)
        straggler->cost = most;
}

/* --- the kernel or copy that takes longer --- */

struct named {
    int64_t own, own_count, others, others_count; /* ns */
};

struct named_all {
    struct dense_map ids; /* uint64_t: a text -> items */
    ARRAY(struct named) items;
};

static int add_names(struct named_all *names, const struct ranks *ranks, uint32_t rank, bool copies)
{
    for (size_t i = 0; i < ranks->names.count; i++) {
        const struct rank_name *one = &ranks->names.items[i];
        const uint64_t key = one->name;
        if (one->rank != rank || one->copy != copies)
            continue;
        struct named *named = dense_map_item(&names->ids, &key, &names->items);
        if (!named)
            return -1;
        sum_add(&named->own, one->total);
        named->own_count += one->count;
    }
    for (size_t i = 0; i < ranks->names.count; i++) {
        const struct rank_name *one = &ranks->names.items[i];
        const uint64_t key = one->name;
        uint32_t number = dense_map_lookup(&names->ids, &key, sizeof(key));
        if (one->rank == rank || number == DENSE_MAP_NONE)
            continue;
        sum_add(&names->items.items[number].others, one->total);
        names->items.items[number].others_count += one->count;
    }
    return 0;
}

/* ", mostly gemm: 1.51 ms on average, 510 us on other ranks", or how often, where that is what differs. */
static void write_name(char *text, size_t size, const struct ranks *ranks, const struct named_all *names)
{
    int64_t others = (int64_t)ranks->items.count - 1, most = 0;
    size_t found = SIZE_MAX;
    for (size_t i = 0; i < names->items.count && others > 0; i++) {
        const struct named *named = &names->items.items[i];
        if (named->own - named->others / others > most) {
            most = named->own - named->others / others;
            found = i;
        }
    }
    *text = '\0';
    if (found == SIZE_MAX)
        return;
    const struct named *named = &names->items.items[found];
    uint32_t name = (uint32_t) * (const uint64_t *)dense_map_row(&names->ids, found);
    const struct finding_name shown =
        finding_name_of(interned(&ranks->texts, pretty_names_shown(&ranks->pretty, name)));
    int64_t own = named->own / named->own_count, other = named->others_count ? named->others / named->others_count : 0;
    if (named->others_count > 0 && named->own_count > named->others_count / others + named->own_count / 10)
        snprintf(text, size, ", mostly %s: %s times, %s on other ranks", shown.text,
                 amount_count(named->own_count).text, amount_count(named->others_count / others).text);
    else if (named->others_count > 0)
        snprintf(text, size, ", mostly %s: %s on average, %s on other ranks", shown.text, amount_time(own).text,
                 amount_time(other).text);
    else
        snprintf(text, size, ", mostly %s, which other ranks do not run", shown.text);
}

/* --- sentences --- */

/* ": host outside CUDA, mostly sleep() in load (a.py:9)" */
static void write_host(char *text, size_t size, const struct ranks *ranks, const struct rank *rank)
{
    unsigned cause = rank_main_cause(rank);
    *text = '\0';
    if (cause == IDLE_CAUSE_COUNT)
        return;
    uint32_t mostly = rank->mostly[cause];
    if (mostly == EVENT_NO_TEXT)
        snprintf(text, size, ": %.128s", trace_said(ranks->trace, idle_cause_words[cause].text).text);
    else
        snprintf(text, size, ": %.128s, mostly %s", trace_said(ranks->trace, idle_cause_words[cause].text).text,
                 finding_name_of(interned(&ranks->texts, mostly)).text);
}

static int write_reason(char *text, size_t size, const struct ranks *ranks, const struct straggler *straggler)
{
    char more[FINDING_TEXT / 2] = "";
    int status = 0;
    if (straggler->reason == STRAGGLER_KERNELS || straggler->reason == STRAGGLER_COPIES) {
        struct named_all names = {0};
        status = add_names(&names, ranks, straggler->index, straggler->reason == STRAGGLER_COPIES);
        if (status == 0)
            write_name(more, sizeof(more), ranks, &names);
        dense_map_release(&names.ids);
        array_release(&names.items);
    } else if (straggler->reason == STRAGGLER_HOST)
        write_host(more, sizeof(more), ranks, straggler->rank);
    struct amount own = amount_time(straggler->own), other = amount_time(straggler->typical);
    switch (straggler->reason) {
    case STRAGGLER_KERNELS:
        snprintf(text, size, "its kernels take longer, %s in place of %s%s", own.text, other.text, more);
        break;
    case STRAGGLER_COPIES:
        snprintf(text, size, "its copies take longer, %s in place of %s%s", own.text, other.text, more);
        break;
    case STRAGGLER_LOADING:
        snprintf(text, size, "its GPU waits longer for the DataLoader, %s in place of %s", own.text, other.text);
        break;
    case STRAGGLER_HOST:
        snprintf(text, size, "its host launches late, its GPU waits %s in place of %s%s", own.text, other.text, more);
        break;
    default:
        snprintf(text, size, "%s",
                 straggler->rank->shares ? "it shares its GPU with another rank, whose kernels run at other times"
                                         : "the trace does not show why");
        break;
    }
    return status;
}

static int describe(const struct ranks *ranks, struct straggler *straggler)
{
    const struct rank *late = straggler->late;
    long long rank = (long long)straggler->rank->rank;
    struct amount count = amount_count(late->late_operations), all = amount_count(late->operations);
    char why[FINDING_TEXT - 200];
    int status = write_reason(why, sizeof(why), ranks, straggler);
    if (late == straggler->rank)
        snprintf(straggler->text, sizeof(straggler->text),
                 "Rank %lld is late in %s of %s operations, and other ranks wait for it: %s", rank, count.text,
                 all.text, why);
    else
        snprintf(straggler->text, sizeof(straggler->text),
                 "Rank %lld makes rank %lld of its pipeline late in %s of %s operations, and other ranks wait: %s",
                 rank, (long long)late->rank, count.text, all.text, why);
    bool shares = straggler->reason == STRAGGLER_UNKNOWN && straggler->rank->shares;
    snprintf(straggler->advice, sizeof(straggler->advice), "%s",
             shares ? "Give each rank a GPU of its own (CUDA_VISIBLE_DEVICES, LOCAL_RANK)."
                    : reasons[straggler->reason].advice);
    return status;
}

/* The search for ranks that are late for another reason than a slow link, which is named by itself. */
struct late {
    const struct ranks *ranks;
    struct peers peers;
    int64_t least;
    int (*each)(void *context, const struct straggler *straggler);
    void *context;
    int64_t *passed; /* by rank: ns that it is late because it waited for others */
    bool *named;     /* likewise */
};

static const int64_t *typicals_of(const struct late *late, size_t rank)
{
    return late->peers.of_stage[stage_of(&late->peers, rank)];
}

static int name_rank(struct late *late, struct straggler *straggler)
{
    late->named[straggler->index] = true;
    return describe(late->ranks, straggler) ?: late->each(late->context, straggler);
}

static int name_late(struct late *late, const struct slow_links *links, uint32_t index)
{
    const struct rank *rank = &late->ranks->items.items[index];
    const int64_t *typicals = typicals_of(late, index);
    struct straggler straggler = {
        .rank = rank, .late = rank, .index = index, .ranks = 1, .count = rank->late_operations};
    straggler.cost = rank->late - typicals[TYPICAL_LATE] - links->excess[index];
    if (straggler.cost < late->least)
        return 0;
    find_reason(&straggler, typicals);
    /* Whether it is only late because it waited longer itself: for all others, or for those next to it in a pipeline.
     */
    int64_t waited = straggler.rank->waited - typicals[TYPICAL_WAITED];
    int64_t neighbours = straggler.rank->neighbours - typicals[TYPICAL_NEIGHBOURS];
    bool passes = straggler.reason == STRAGGLER_UNKNOWN &&
                  (waited > neighbours ? waited : neighbours) > straggler.cost / REASON_PART;
    late->passed[index] = passes ? straggler.cost : 0;
    return passes || straggler.cost < late->least ? 0 : name_rank(late, &straggler);
}

/* Names the rank of the pipeline of INDEX that does most longer than its peers. */
static int name_cause(struct late *late, uint32_t index)
{
    const struct stages *stages = &late->peers.stages;
    const struct rank *rank = &late->ranks->items.items[index];
    struct straggler cause = {.cost = 0};
    for (uint32_t i = 0; i < late->ranks->items.count; i++) {
        struct straggler one = {.rank = &late->ranks->items.items[i], .late = rank, .index = i, .ranks = 1};
        if (stages->of_rank[i] == STAGE_NONE || stages->chain[i] != stages->chain[index] || i == index)
            continue;
        one.count = rank->late_operations;
        one.cost = late->passed[index];
        find_reason(&one, typicals_of(late, i));
        if (one.reason != STRAGGLER_UNKNOWN && one.cost > cause.cost)
            cause = one;
    }
    return cause.cost < late->least || late->named[cause.index] ? 0 : name_rank(late, &cause);
}

/* Whether of all ranks of its pipeline it is the one that is late by most because of others. */
static bool is_latest(const struct late *late, uint32_t index)
{
    const uint32_t *chain = late->peers.stages.chain;
    for (uint32_t i = 0; i < late->ranks->items.count; i++)
        if (i != index && chain[i] == chain[index] && late->peers.stages.of_rank[i] != STAGE_NONE &&
            (late->passed[i] > late->passed[index] || (late->passed[i] == late->passed[index] && i < index)))
            return false;
    return true;
}

static int each_late(struct late *late, const struct slow_links *links)
{
    size_t count = late->ranks->items.count;
    late->passed = calloc(count + 1, sizeof(*late->passed));
    late->named = calloc(count + 1, sizeof(*late->named));
    int status = late->passed && late->named ? peers_find(&late->peers, late->ranks) : -1;
    for (uint32_t i = 0; i < count && status == 0; i++)
        status = name_late(late, links, i);
    for (uint32_t i = 0; i < count && status == 0; i++)
        if (late->passed[i] > 0 && late->peers.stages.of_rank[i] != STAGE_NONE && is_latest(late, i))
            status = name_cause(late, i);
    stages_release(&late->peers.stages);
    free(late->peers.of_stage);
    free(late->passed);
    free(late->named);
    return status;
}

static int each_link(const struct ranks *ranks, const struct slow_links *links, int64_t least,
                     int (*each)(void *context, const struct straggler *straggler), void *context)
{
    int status = 0;
    for (size_t i = 0; i < links->items.count && status == 0; i++) {
        const struct slow_link *link = &links->items.items[i];
        struct straggler straggler = {.rank = &ranks->items.items[link->rank],
                                      .index = link->rank,
                                      .ranks = link->ranks,
                                      .count = link->count,
                                      .cost = link->cost,
                                      .reason = STRAGGLER_LINK};
        slow_link_describe(straggler.text, sizeof(straggler.text), ranks, link);
        snprintf(straggler.advice, sizeof(straggler.advice), "%s", slow_link_advice);
        if (link->cost >= least)
            status = each(context, &straggler);
    }
    return status;
}

int stragglers_each(const struct ranks *ranks, int64_t least,
                    int (*each)(void *context, const struct straggler *straggler), void *context)
{
    struct slow_links links = {0};
    struct late late = {.ranks = ranks, .least = least, .each = each, .context = context};
    int status = ranks->items.count > 1
                     ? slow_links_find(&links, ranks, FINDING_LINK_PERCENT / 100.0, FINDING_LINK_OPERATIONS)
                     : 0;
    if (status == 0 && ranks->items.count > 1)
        status = each_late(&late, &links) ?: each_link(ranks, &links, least, each, context);
    slow_links_release(&links);
    return status;
}
