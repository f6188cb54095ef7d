/*
 * Compares each rank with typical ranks of its stage, finds what the rank does longer, and joins ranks that are late
 * for one reason. The sentences name the ranks, how late they are, the reason, and the kernel or call that takes
 * longer.
 */
#include "analysis/ranks/stragglers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "common/map.h"
#include "analysis/base/cost_sum.h"
#include "analysis/idle/idle.h"
#include "analysis/ranks/slow_links.h"
#include "analysis/ranks/stages.h"
#include "trace/windows.h"
#include "analysis/engine/trace_known.h"

/* --- sentences --- */

static const struct {
    const char *does, *advice; /* does: "its kernels take longer, …" */
} reasons[STRAGGLER_REASON_COUNT] = {
    [STRAGGLER_KERNELS] = {"kernels take longer,",
                           "Compare clocks and temperature of its GPU with the others (nvidia-smi -q), and the sizes "
                           "of its work: all ranks should get the same."},
    [STRAGGLER_COPIES] = {"copies take longer,",
                          "Compare its link to the host with the others (nvidia-smi topo -m, PCIe generation and "
                          "width), bind the process to the nearest processors, and use pinned memory."},
    [STRAGGLER_LOADING] = {"DataLoader is late, the GPU waits for it",
                           "Give its DataLoader more workers and processors, and look at where its data lie; give all "
                           "ranks batches of the same size."},
    [STRAGGLER_HOST] = {"host launches late, the GPU waits",
                        "Look at what its host does in these times, and whether other programs use its processors."},
    [STRAGGLER_UNKNOWN] = {NULL, "Compare its trace with that of another rank: gputrace diff."},
    [STRAGGLER_LINK] = {NULL,
                        "Compare its network adapter, cable and switch port with the others (ethtool, ibstat; inside a "
                        "host nvidia-smi nvlink -s and nvidia-smi topo -m), and look at which transport and adapter "
                        "NCCL chose (NCCL_DEBUG=INFO)."},
};

struct named {
    int64_t own, own_count, others, others_count; /* ns */
};

struct named_all {
    struct dense_map ids; /* text (uint64_t) -> items */
    ARRAY(struct named) items;
};

static int add_names(struct named_all *names, const struct ranks *ranks, const struct straggler *straggler)
{
    uint32_t rank = straggler->index;
    bool copies = straggler->reason == STRAGGLER_COPIES;
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
        if (number == DENSE_MAP_NONE || straggler_has(straggler, one->rank))
            continue;
        sum_add(&names->items.items[number].others, one->total);
        names->items.items[number].others_count += one->count;
    }
    return 0;
}

/* Writes which kernel or copy takes longer: ", mostly gemm: 1.51 ms on average, 510 us on other ranks", or how often,
 * if that is what differs. */
static void write_name(char *text, size_t size, const struct ranks *ranks, const struct named_all *names,
                       int64_t others)
{
    int64_t most = 0;
    size_t found = SIZE_MAX;
    for (size_t i = 0; i < names->items.count && others > 0; i++) {
        const struct named *named = &names->items.items[i];
        if (difference_of(named->own, named->others / others) > most) {
            most = difference_of(named->own, named->others / others);
            found = i;
        }
    }
    *text = '\0';
    if (found == SIZE_MAX)
        return;
    const struct named *named = &names->items.items[found];
    uint32_t name = (uint32_t)*(const uint64_t *)dense_map_row(&names->ids, found);
    const struct finding_name shown =
        finding_name_of(interned(&ranks->texts, pretty_names_shown(&ranks->pretty, name)));
    int64_t own = named->own / named->own_count, other = named->others_count ? named->others / named->others_count : 0;
    if (named->others_count > 0 && named->own_count > named->others_count / others + named->own_count / 10)
        snprintf(text, size, ", mostly %s: %s time%s, %s on other ranks", shown.text,
                 amount_count(named->own_count).text, amount_word(named->own_count, "", "s"),
                 amount_count(named->others_count / others).text);
    else if (named->others_count > 0)
        snprintf(text, size, ", mostly %s: %s on average, %s on other ranks", shown.text, amount_time(own).text,
                 amount_time(other).text);
    else
        snprintf(text, size, ", mostly %s, which other ranks do not run", shown.text);
}

/* Writes ": host outside CUDA, mostly sleep() in load (a.py:9)". */
static void write_host(char *text, size_t size, const struct ranks *ranks, const struct rank *rank)
{
    unsigned cause = rank_main_cause(rank);
    *text = '\0';
    if (cause == IDLE_CAUSE_COUNT)
        return;
    uint32_t mostly = rank->mostly[cause];
    if (cause == IDLE_OUTSIDE && rank->between != EVENT_NO_TEXT)
        snprintf(text, size, ": %.40s, mostly between %.160s",
                 trace_phrase(ranks->trace, idle_cause_words[cause].text).text, interned(&ranks->texts, rank->between));
    else if (mostly == EVENT_NO_TEXT)
        snprintf(text, size, ": %.128s", trace_phrase(ranks->trace, idle_cause_words[cause].text).text);
    else
        snprintf(text, size, ": %.128s, mostly %s", trace_phrase(ranks->trace, idle_cause_words[cause].text).text,
                 finding_name_of(interned(&ranks->texts, mostly)).text);
}

/* Writes "4.0 of 25.0 ms of a step", or the time in the whole run if there are no steps. */
static void write_part(char *text, size_t size, const struct rank *rank, int64_t time)
{
    struct amount part =
        rank->steps > 0 ? amount_part(time / rank->steps, rank->step_total / rank->steps) : amount_time(time);
    snprintf(text, size, "%s%s", part.text, rank->steps > 0 ? " of a step" : "");
}

void straggler_write_rest(char *text, size_t size, const struct rank *rank, int64_t rest)
{
    char part[80];
    write_part(part, sizeof(part), rank, rest);
    snprintf(
        text, size,
        "Communication that nothing hides takes %s, once late ranks, slow links and other stages of a pipeline are "
        "taken out",
        part);
}

static int write_reason(char *text, size_t size, const struct ranks *ranks, const struct straggler *straggler)
{
    const char *its = straggler->ranks > 1 ? "their" : "its", *does = reasons[straggler->reason].does;
    char more[FINDING_TEXT / 2] = "";
    int status = 0;
    if (straggler->reason == STRAGGLER_KERNELS || straggler->reason == STRAGGLER_COPIES) {
        struct named_all names = {0};
        status = add_names(&names, ranks, straggler);
        if (status == 0)
            write_name(more, sizeof(more), ranks, &names, (int64_t)ranks->items.count - straggler->ranks);
        dense_map_release(&names.ids);
        array_release(&names.items);
    } else if (straggler->reason == STRAGGLER_HOST)
        write_host(more, sizeof(more), ranks, straggler->rank);
    int64_t steps = straggler->rank->steps;
    if (does)
        snprintf(text, size, "%s %s %s%s in place of %s%s", its, does, amount_time(straggler->own / (steps ?: 1)).text,
                 steps > 0 ? " of a step" : "", amount_time(straggler->typical / (steps ?: 1)).text, more);
    else
        snprintf(text, size, "%s",
                 straggler->rank->shares ? "it shares its GPU with another rank, whose kernels run at other times"
                                         : "the trace does not show why");
    return status;
}

static int describe(struct straggler *straggler, const struct ranks *ranks)
{
    const struct rank *rank = straggler->rank;
    char why[FINDING_TEXT - 244], who[44], time[80];
    bool several = straggler->ranks > 1;
    int64_t *numbers = calloc((size_t)straggler->ranks, sizeof(*numbers));
    int status = numbers ? write_reason(why, sizeof(why), ranks, straggler) : -1;
    for (int64_t i = 0; numbers && i < straggler->ranks; i++)
        numbers[i] = ranks->items.items[straggler->members[i]].rank;
    if (numbers)
        number_list_write(who, sizeof(who), numbers, (size_t)straggler->ranks);
    free(numbers);
    if (status < 0)
        return status;
    bool wait = straggler->gain >= straggler->cost / 2;
    const char *noun = several ? "Ranks" : "Rank", *s = several ? "" : "s";
    write_part(time, sizeof(time), rank, wait ? straggler->gain : straggler->cost);
    if (wait)
        snprintf(straggler->text, sizeof(straggler->text), "%s %s make%s the others wait %s: %s", noun, who, s, time,
                 why);
    else
        snprintf(straggler->text, sizeof(straggler->text),
                 "%s %s work%s longer than the others, by %s, of which these wait %s: %s", noun, who, s, time,
                 amount_time(straggler->gain / (rank->steps ?: 1)).text, why);
    bool shares = straggler->reason == STRAGGLER_UNKNOWN && rank->shares;
    snprintf(straggler->advice, sizeof(straggler->advice), "%s",
             shares ? "Give each rank a GPU of its own (CUDA_VISIBLE_DEVICES, LOCAL_RANK)."
                    : reasons[straggler->reason].advice);
    return 0;
}

/* Writes "14.7 GB/s". */
static void write_rate(char *text, size_t size, const struct slow_link *link, double time)
{
    double factor = collective_bus_factor((enum collective_kind)link->kind, link->group_size);
    double rate = (double)link->bytes * (factor > 0 ? factor : 1) / time;
    int decimals = rate >= 100 ? 0 : rate >= 10 ? 1 : 2;
    if (rate >= 0.1)
        snprintf(text, size, "%.*f GB/s", decimals, rate);
    else
        snprintf(text, size, "%.3g MB/s", rate * 1e3);
}

static void describe_link(struct straggler *straggler, const struct ranks *ranks, const struct slow_link *link)
{
    char owner[200], own[32], other[32], of[40] = "";
    bool pair = link->kind == COLLECTIVE_SEND;
    /* "host node1 (ranks 2, 3)", "rank 3" */
    long long rank = (long long)ranks->items.items[link->rank].rank;
    if (link->host == EVENT_NO_TEXT)
        snprintf(owner, sizeof(owner), "rank %lld", rank);
    else
        snprintf(owner, sizeof(owner), "host %s (%s of its ranks, such as rank %lld)",
                 finding_name_of(interned(&ranks->texts, link->host)).text, amount_count(link->ranks).text, rank);
    write_rate(own, sizeof(own), link, link->time);
    write_rate(other, sizeof(other), link, link->other_time);
    if (!pair)
        snprintf(of, sizeof(of), " by %lld ranks", (long long)link->group_size);
    snprintf(straggler->advice, sizeof(straggler->advice), "%s", reasons[STRAGGLER_LINK].advice);
    snprintf(straggler->text, sizeof(straggler->text),
             "The link of %s is slow: once all have entered, %s of %s%s runs at %s with it and at %s without it, in %s "
             "and %s operation%s",
             owner, pair ? "send/recv" : collective_words[link->kind], amount_bytes(link->bytes).text, of, own, other,
             amount_count(link->count).text, amount_count(link->other_count).text,
             amount_word(link->other_count, "", "s"));
}

/* --- ranks that are late --- */

static int compare_times(const void *left, const void *right)
{
    return ORDER(*(const int64_t *)left, *(const int64_t *)right);
}

/* --- typical ranks --- */

/* The values of a rank that are compared with a typical rank: a time for each reason, VALUE_LATE and VALUE_BLOCKED. */
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

/* The values of typical ranks. The peers of a rank are the ranks of its pipeline stage, or all ranks. */
struct peers {
    struct stages stages;
    int64_t (*of_stage)[VALUE_COUNT]; /* by stage; then for ranks without a stage, and for all ranks */
};

static size_t stage_of(const struct peers *peers, size_t rank)
{
    uint32_t stage = peers->stages.of_rank[rank];
    return stage == STAGE_NONE ? peers->stages.items.count : stage;
}

/* Returns the typical value in STAGE: the one that a third of the ranks do not exceed. VALUE_BLOCKED, which is small
 * for late ranks, is the value that a third of the ranks reach. VALUES: scratch memory for all ranks. */
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

/* A reason must explain at least a quarter of the cost. */
#define REASON_PART 4

/* Sets the reason that explains most of the cost. TYPICALS: the typical values of its peers. FIRST: the first reason to
 * try. */
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

/* --- ranks that are late --- */

struct late {
    const struct ranks *ranks;
    struct peers peers;
    int64_t least;
    struct straggler *found; /* by index in ranks.items; not a straggler if its cost is 0 */
    uint32_t *members;       /* scratch memory for the members of a group */
};

/* Returns how much later than typical ranks the rank begins operations. In a pipeline delays propagate, so the latest
 * ranks of all stages are summed. */
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

/* Decides whether a rank is a straggler: it works longer than its peers and so is blocked for less time. A rank that
 * only waits for a late rank, and thereby makes others wait, is blocked as long as its peers. */
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

/* Removes the straggler with the largest cost and joins it with the ranks that are late for this reason by at least
 * half as much. Returns false if no straggler is left. */
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
        status = describe(&straggler, ranks) ?: each(context, &straggler);
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
        describe_link(&straggler, ranks, link);
        if (link->cost >= least)
            status = each(context, &straggler);
    }
    array_release(&links.items);
    return status;
}
