/*
 * Puts the sentences together: who is late by how much, the reason, and the kernel or call that takes longer.
 */
#include "analysis/ranks/straggler_words.h"

#include <stdio.h>
#include <stdlib.h>

#include "trace/windows.h"
#include "analysis/base/cost_sum.h"
#include "analysis/engine/trace_known.h"
#include "analysis/ranks/slow_links.h"

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

/* --- the kernel or copy that takes longer --- */

struct named {
    int64_t own, own_count, others, others_count; /* ns */
};

struct named_all {
    struct dense_map ids; /* uint64_t: a text -> items */
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

/* Writes ", mostly gemm: 1.51 ms on average, 510 us on other ranks", or how often, if that is what differs. */
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

/* --- late ranks --- */

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

int straggler_describe(struct straggler *straggler, const struct ranks *ranks)
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

/* --- slow links --- */

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

void straggler_describe_link(struct straggler *straggler, const struct ranks *ranks, const struct slow_link *link)
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
