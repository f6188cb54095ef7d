#include "analysis/findings/stragglers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/base/order.h"

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

/* The value that a third of the ranks do not exceed. VALUES: space for all. */
static int64_t typical(const struct ranks *ranks, rank_value *value, int64_t *values)
{
    for (size_t i = 0; i < ranks->items.count; i++)
        values[i] = value(&ranks->items.items[i]);
    qsort(values, ranks->items.count, sizeof(*values), compare_times);
    return values[(ranks->items.count - 1) / 3];
}

/* What explains at least this part of being late is the reason. */
#define REASON_PART 4

static void find_reason(struct straggler *straggler, const int64_t *typicals)
{
    int64_t most = straggler->cost / REASON_PART;
    straggler->reason = STRAGGLER_UNKNOWN;
    for (unsigned i = 0; i < STRAGGLER_UNKNOWN; i++) {
        int64_t own = reasons[i].value(straggler->rank), more = own - typicals[i];
        if (more <= most)
            continue;
        most = more;
        straggler->reason = (enum straggler_reason)i;
        straggler->own = own;
        straggler->typical = typicals[i];
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
    const struct dense_layout layout = {1, 1, false};
    for (size_t i = 0; i < ranks->names.count; i++) {
        const struct rank_name *one = &ranks->names.items[i];
        const uint64_t key = one->name;
        if (one->rank != rank || one->copy != copies)
            continue;
        struct named *named = dense_map_item(&names->ids, &key, &names->items);
        if (!named)
            return -1;
        named->own += one->total;
        named->own_count += one->count;
    }
    for (size_t i = 0; i < ranks->names.count; i++) {
        const struct rank_name *one = &ranks->names.items[i];
        const uint64_t key = one->name;
        uint32_t number = dense_map_find(&names->ids, &key, layout, dense_map_hash(&key, 1));
        if (one->rank == rank || number == DENSE_MAP_NONE)
            continue;
        names->items.items[number].others += one->total;
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

static int write_longest(char *text, size_t size, const struct ranks *ranks, const struct straggler *straggler)
{
    struct named_all names = {0};
    int status = add_names(&names, ranks, straggler->index, straggler->reason == STRAGGLER_COPIES);
    if (status == 0)
        write_name(text, size, ranks, &names);
    dense_map_release(&names.ids);
    array_release(&names.items);
    return status;
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
        snprintf(text, size, ": %s", idle_cause_words[cause].text);
    else
        snprintf(text, size, ": %s, mostly %s", idle_cause_words[cause].text,
                 finding_name_of(interned(&ranks->texts, mostly)).text);
}

static int write_reason(char *text, size_t size, const struct ranks *ranks, const struct straggler *straggler)
{
    char more[FINDING_TEXT / 2] = "";
    int status = 0;
    if (straggler->reason == STRAGGLER_KERNELS || straggler->reason == STRAGGLER_COPIES)
        status = write_longest(more, sizeof(more), ranks, straggler);
    else if (straggler->reason == STRAGGLER_HOST)
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
    default: snprintf(text, size, "the trace does not show why"); break;
    }
    return status;
}

static int describe(const struct ranks *ranks, struct straggler *straggler)
{
    const struct rank *rank = straggler->rank;
    char why[FINDING_TEXT - 170];
    int status = write_reason(why, sizeof(why), ranks, straggler);
    snprintf(straggler->text, sizeof(straggler->text),
             "Rank %lld is late in %s of %s operations, and other ranks wait for it: %s", (long long)rank->rank,
             amount_count(rank->late_operations).text, amount_count(rank->operations).text, why);
    snprintf(straggler->advice, sizeof(straggler->advice), "%s", reasons[straggler->reason].advice);
    return status;
}

int stragglers_each(const struct ranks *ranks, int64_t least,
                    int (*each)(void *context, const struct straggler *straggler), void *context)
{
    int64_t typicals[STRAGGLER_UNKNOWN], *values = calloc(ranks->items.count + 1, sizeof(*values));
    int status = values ? 0 : -1;
    int64_t late = values && ranks->items.count > 1 ? typical(ranks, late_of, values) : 0;
    for (unsigned i = 0; values && ranks->items.count > 1 && i < STRAGGLER_UNKNOWN; i++)
        typicals[i] = typical(ranks, reasons[i].value, values);
    for (uint32_t i = 0; i < ranks->items.count && ranks->items.count > 1 && status == 0; i++) {
        struct straggler straggler = {.rank = &ranks->items.items[i], .index = i};
        straggler.cost = straggler.rank->late - late;
        if (straggler.cost < least)
            continue;
        find_reason(&straggler, typicals);
        if (straggler.cost >= least)
            status = describe(ranks, &straggler) ?: each(context, &straggler);
    }
    free(values);
    return status;
}
