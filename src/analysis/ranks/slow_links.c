/*
 * Compares the transfers of equal operations. A host or rank that occurs only in slow rows is blamed for them. The one
 * in most slow rows comes first, until no slow row is left.
 */
#include "analysis/ranks/slow_links.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "common/map.h"
#include "analysis/base/cost_sum.h"

/* --- which rows are slow --- */

/* A row of ranks.transfers. Rows of equal operations are neighbours, the fastest first. */
struct judged {
    const struct transfer_key *key;
    const struct transfer_row *row;
    uint32_t hosts; /* number of different hosts of its ranks */
    double time, typical;
    int64_t excess;  /* ns that its operations took longer than typical ones, at most their exposed time */
    bool slow, open; /* open: slow, and no suspect is blamed for the row yet */
};

/* The hosts, or the ranks, that may be blamed. */
struct suspects {
    uint32_t *of_rank; /* by index in ranks.items: the suspect */
    size_t count;
    uint32_t *rows, *slow; /* by suspect: number of its rows, and of its slow rows */
    uint32_t *shared;      /* by suspect: number of open rows in count_open() */
    uint32_t *counted;     /* by suspect: number + 1 of the last row that was counted */
};

struct judging {
    const struct ranks *ranks;
    struct slow_links *links;
    double times;  /* an operation is slow if it takes this many times the typical time */
    int64_t least; /* least number of operations of a row that counts */
    struct judged *rows;
    size_t count;
};

static const uint32_t *members_of(const struct judging *judging, const struct judged *row)
{
    return judging->ranks->transfers.members.items + row->row->first_member;
}

static int compare_kinds(const struct judged *a, const struct judged *b)
{
    return ORDER(a->key->kind, b->key->kind)
               ?: ORDER(a->key->bytes, b->key->bytes)
               ?: ORDER(a->key->group_size, b->key->group_size) ?: ORDER(a->hosts, b->hosts);
}

static int by_kind(const void *left, const void *right)
{
    const struct judged *a = left, *b = right;
    return compare_kinds(a, b) ?: ORDER(a->time, b->time) ?: ORDER(a->row, b->row);
}

static size_t kind_end(const struct judging *judging, size_t from)
{
    size_t end = from + 1;
    while (end < judging->count && compare_kinds(&judging->rows[from], &judging->rows[end]) == 0)
        end++;
    return end;
}

/* Marks the slow rows among the rows of one kind from FROM to END. Returns the ns that they lose. */
static int64_t mark_slow(const struct judging *judging, size_t from, size_t end)
{
    double typical = judging->rows[from + (end - from - 1) / 3].time;
    int64_t excess = 0;
    for (size_t i = from; i < end; i++) {
        struct judged *row = &judging->rows[i];
        row->typical = typical;
        row->slow = row->time >= judging->times * typical;
        row->excess = row->slow ? (int64_t)((row->time - typical) * (double)row->row->count + 0.5) : 0;
        if (row->row->unexposed_count == 0 && row->excess > row->row->exposed)
            row->excess = row->row->exposed;
        row->open = row->slow;
        sum_add(&excess, row->excess);
    }
    return excess;
}

/* --- suspects --- */

static int suspects_init(struct suspects *suspects, const struct ranks *ranks, bool hosts)
{
    size_t most = ranks->items.count;
    for (size_t i = 0; i < ranks->items.count && hosts; i++)
        most = ranks->items.items[i].host != EVENT_NO_TEXT && ranks->items.items[i].host >= most
                   ? (size_t)ranks->items.items[i].host + 1
                   : most;
    *suspects = (struct suspects){.count = most + 1}; /* the last suspect is the host without a name */
    suspects->of_rank = calloc(ranks->items.count + 1, sizeof(uint32_t));
    suspects->rows = calloc(suspects->count, 4 * sizeof(uint32_t));
    if (!suspects->of_rank || !suspects->rows)
        return -1;
    suspects->slow = suspects->rows + suspects->count;
    suspects->shared = suspects->slow + suspects->count;
    suspects->counted = suspects->shared + suspects->count;
    for (size_t i = 0; i < ranks->items.count; i++)
        suspects->of_rank[i] = !hosts                                        ? (uint32_t)i
                               : ranks->items.items[i].host == EVENT_NO_TEXT ? (uint32_t)most
                                                                             : ranks->items.items[i].host;
    return 0;
}

static bool has(const struct judging *judging, const struct judged *row, const struct suspects *suspects,
                uint32_t suspect)
{
    const uint32_t *members = members_of(judging, row);
    for (size_t i = 0; i < row->row->member_count; i++)
        if (suspects->of_rank[members[i]] == suspect)
            return true;
    return false;
}

/* Adds one to COUNTS of each suspect that has a rank in row NUMBER. */
static void count_row(const struct judging *judging, size_t number, const struct suspects *suspects, uint32_t *counts)
{
    const struct judged *row = &judging->rows[number];
    const uint32_t *members = members_of(judging, row);
    for (size_t i = 0; i < row->row->member_count; i++) {
        uint32_t suspect = suspects->of_rank[members[i]];
        counts[suspect] += suspects->counted[suspect] != number + 1;
        suspects->counted[suspect] = (uint32_t)number + 1;
    }
}

/* Counts in `shared` the open rows that each suspect shares with SUSPECT; UINT32_MAX: all its open rows. */
static void count_open(const struct judging *judging, const struct suspects *suspects, uint32_t suspect)
{
    memset(suspects->shared, 0, suspects->count * sizeof(*suspects->shared));
    memset(suspects->counted, 0, suspects->count * sizeof(*suspects->counted));
    for (size_t i = 0; i < judging->count; i++)
        if (judging->rows[i].open && (suspect == UINT32_MAX || has(judging, &judging->rows[i], suspects, suspect)))
            count_row(judging, i, suspects, suspects->shared);
}

static bool is_suspect(const struct suspects *suspects, size_t number)
{
    return suspects->rows[number] > 0 && suspects->rows[number] == suspects->slow[number];
}

/* Returns the suspect with the most open rows of those whose rows are all slow, or UINT32_MAX. Sets *ALONE to false if
 * another such suspect is in all of these rows, too. */
static uint32_t find_worst(const struct judging *judging, const struct suspects *suspects, bool *alone)
{
    uint32_t worst = UINT32_MAX, most = 0;
    count_open(judging, suspects, UINT32_MAX);
    for (size_t i = 0; i < suspects->count; i++)
        if (is_suspect(suspects, i) && suspects->shared[i] > most) {
            most = suspects->shared[i];
            worst = (uint32_t)i;
        }
    *alone = true;
    if (worst != UINT32_MAX)
        count_open(judging, suspects, worst);
    for (size_t i = 0; i < suspects->count && worst != UINT32_MAX; i++)
        *alone &= i == worst || !is_suspect(suspects, i) || suspects->shared[i] < most;
    return worst;
}

/* --- the link to blame --- */

/* Sets in FOUND the kind of operation whose open rows with SUSPECT lose most, and its times with and without
 * SUSPECT. */
static void set_evidence(const struct judging *judging, const struct suspects *suspects, uint32_t suspect,
                         struct slow_link *found)
{
    int64_t most = -1;
    for (size_t i = 0, end; i < judging->count; i = end) {
        int64_t excess = 0, count[2] = {0};
        double time[2] = {0};
        end = kind_end(judging, i);
        for (size_t k = i; k < end; k++) {
            const struct judged *row = &judging->rows[k];
            bool own = row->open && has(judging, row, suspects, suspect);
            excess += own ? row->excess : 0;
            count[own] += own || !row->slow ? row->row->count : 0;
            time[own] += own || !row->slow ? row->time * (double)row->row->count : 0;
        }
        if (count[1] == 0 || excess <= most)
            continue;
        most = excess;
        found->kind = judging->rows[i].key->kind;
        found->bytes = judging->rows[i].key->bytes;
        found->group_size = judging->rows[i].key->group_size;
        found->count = count[1];
        found->other_count = count[0];
        found->time = time[1] / (double)count[1];
        found->other_time = time[0] / (double)count[0];
    }
}

/* Closes the open rows of SUSPECT. Adds the ns that each rank lost in them to OWN, by index in ranks.items, unless OWN
 * is NULL. */
static void close_rows(const struct judging *judging, const struct suspects *suspects, uint32_t suspect, int64_t *own)
{
    for (size_t i = 0; i < judging->count; i++) {
        struct judged *row = &judging->rows[i];
        const uint32_t *members = members_of(judging, row);
        if (!row->open || !has(judging, row, suspects, suspect))
            continue;
        for (size_t k = 0; k < row->row->member_count && own; k++)
            own[members[k]] += row->excess;
        row->open = false;
    }
}

static int blame(const struct judging *judging, const struct suspects *suspects, uint32_t suspect, bool hosts)
{
    const struct ranks *ranks = judging->ranks;
    struct slow_link *found = array_push(&judging->links->items);
    int64_t *own = calloc(ranks->items.count + 1, sizeof(*own));
    if (!found || !own) {
        free(own);
        return -1;
    }
    *found = (struct slow_link){.rank = UINT32_MAX, .host = EVENT_NO_TEXT};
    set_evidence(judging, suspects, suspect, found);
    close_rows(judging, suspects, suspect, own);
    for (uint32_t i = 0; i < ranks->items.count; i++) {
        if (own[i] <= 0 || suspects->of_rank[i] != suspect)
            continue;
        found->cost = own[i] > found->cost ? own[i] : found->cost;
        found->rank = found->rank == UINT32_MAX || ranks->items.items[i].rank < ranks->items.items[found->rank].rank
                          ? i
                          : found->rank;
        found->ranks++;
    }
    if (hosts && found->ranks > 1)
        found->host = suspect;
    judging->links->items.count -= found->ranks == 0; /* computation hid the whole loss */
    free(own);
    return 0;
}

static int find(const struct judging *judging, bool hosts)
{
    struct suspects suspects = {0};
    int status = suspects_init(&suspects, judging->ranks, hosts);
    uint32_t worst = UINT32_MAX;
    bool alone;
    for (size_t i = 0; i < judging->count && status == 0; i++)
        count_row(judging, i, &suspects, suspects.rows);
    if (status == 0)
        memset(suspects.counted, 0, suspects.count * sizeof(*suspects.counted));
    for (size_t i = 0; i < judging->count && status == 0; i++)
        if (judging->rows[i].slow)
            count_row(judging, i, &suspects, suspects.slow);
    for (unsigned i = 0; i < SLOW_LINKS_MOST && status == 0; i++) {
        worst = find_worst(judging, &suspects, &alone);
        if (worst == UINT32_MAX)
            break;
        if (alone && (!hosts || worst + 1 < suspects.count))
            status = blame(judging, &suspects, worst, hosts);
        else
            close_rows(judging, &suspects, worst, NULL);
    }
    free(suspects.of_rank);
    free(suspects.rows);
    return status;
}

int slow_links_find(struct slow_links *links, const struct ranks *ranks, double times, int64_t least)
{
    struct judging judging = {.ranks = ranks, .links = links, .times = times, .least = least};
    struct suspects hosts = {0};
    judging.rows = calloc(ranks->transfers.rows.count + 1, sizeof(*judging.rows));
    int status = judging.rows ? suspects_init(&hosts, ranks, true) : -1;
    if (status == 0) {
        const struct transfers *transfers = &judging.ranks->transfers;
        for (size_t i = 0; i < transfers->rows.count; i++) {
            const struct transfer_row *row = &transfers->rows.items[i];
            if (row->count < judging.least)
                continue;
            struct judged *judged = &judging.rows[judging.count++];
            *judged = (struct judged){
                .key = dense_map_row(&transfers->keys, i), .row = row, .time = exp(row->log_sum / (double)row->count)};
            for (size_t k = 0; k < row->member_count; k++) {
                uint32_t host = hosts.of_rank[members_of(&judging, judged)[k]];
                judged->hosts += hosts.counted[host] != judging.count;
                hosts.counted[host] = (uint32_t)judging.count;
            }
        }
        if (judging.count > 1)
            qsort(judging.rows, judging.count, sizeof(*judging.rows), by_kind);
        /* Keep only kinds of operations that lose much. */
        int64_t most = 0;
        size_t kept = 0;
        for (size_t i = 0, end; i < judging.count; i = end) {
            end = kind_end(&judging, i);
            int64_t excess = mark_slow(&judging, i, end);
            most = excess > most ? excess : most;
        }
        for (size_t i = 0, end; i < judging.count; i = end) {
            end = kind_end(&judging, i);
            if (most > 0 && mark_slow(&judging, i, end) >= most / SLOW_LINK_PART) {
                memmove(&judging.rows[kept], &judging.rows[i], (end - i) * sizeof(*judging.rows));
                kept += end - i;
            }
        }
        judging.count = kept;
        status = find(&judging, true) ?: find(&judging, false);
    }
    free(hosts.of_rank);
    free(hosts.rows);
    free(judging.rows);
    return status;
}
