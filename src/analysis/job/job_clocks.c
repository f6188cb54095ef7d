/*
 * Combines the ranks of an operation by host, and adds the operation to the pair of its first host and each other host.
 * In the end, the pairs are the edges of a graph whose lengths are uncertainties, and Dijkstra's algorithm finds the
 * shortest way from host 0 to each host.
 */
#include "analysis/job/job_clocks.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/comm/collective.h"
#include "common/buffer.h"
#include "common/log.h"
#include "common/array.h"
#include "common/text.h"

int job_clocks_init(struct job_clocks *clocks, uint32_t hosts)
{
    *clocks = (struct job_clocks){.host_count = hosts, .buckets = JOB_CLOCK_BUCKETS};
    clocks->hosts = calloc(hosts > 0 ? hosts : 1, sizeof(*clocks->hosts));
    if (!clocks->hosts)
        return error_no_memory("the clocks of hosts");
    for (uint32_t host = 0; host < hosts; host++)
        clocks->hosts[host].joined = host;
    return 0;
}

void job_clocks_release(struct job_clocks *clocks)
{
    for (size_t i = 0; i < clocks->pairs.count; i++)
        array_release(&clocks->pairs.items[i].buckets);
    array_release(&clocks->pairs);
    array_release(&clocks->entries);
    array_release(&clocks->items);
    dense_map_release(&clocks->pair_ids);
    free(clocks->hosts);
    *clocks = (struct job_clocks){0};
}

/* --- operations --- */

/* Returns whether REST, which follows the operation's name, means a variant that waits as the operation does:
 * "_allgather_base", "allreduce_coalesced". */
static bool is_variant(const char *rest)
{
    static const char *const variants[] = {"", "base", "coalesced", "oop", "tensor", "tensorcoalesced", "intotensor"};
    for (size_t i = 0; i < sizeof(variants) / sizeof(*variants); i++)
        if (strcmp(rest, variants[i]) == 0)
            return true;
    return false;
}

unsigned job_clock_roles(const char *operation, bool root)
{
    enum { BOTH = JOB_CLOCK_SENDS | JOB_CLOCK_RECEIVES };
    /* Operations that return at once (MPI_Iallreduce), or whose sizes each rank chooses and may be 0 (MPI_Alltoallv),
     * are missing on purpose. */
    static const struct {
        const char *word;
        unsigned root, others;
    } operations[] = {
        {"allreduce", BOTH, BOTH},
        {"allgather", BOTH, BOTH},
        {"reducescatter", BOTH, BOTH},
        {"alltoall", BOTH, BOTH},
        {"barrier", BOTH, BOTH},
        {"broadcast", JOB_CLOCK_SENDS, JOB_CLOCK_RECEIVES},
        {"bcast", JOB_CLOCK_SENDS, JOB_CLOCK_RECEIVES},
        {"scatter", JOB_CLOCK_SENDS, JOB_CLOCK_RECEIVES},
        {"reduce", JOB_CLOCK_RECEIVES, JOB_CLOCK_SENDS},
        {"gather", JOB_CLOCK_RECEIVES, JOB_CLOCK_SENDS},
        {"send", JOB_CLOCK_SENDS, JOB_CLOCK_SENDS},
        {"isend", JOB_CLOCK_SENDS, JOB_CLOCK_SENDS},
        {"recv", JOB_CLOCK_RECEIVES, JOB_CLOCK_RECEIVES},
    };
    char letters[COLLECTIVE_WORD];
    const char *word = collective_plain_name(operation, letters);
    for (size_t i = 0; i < sizeof(operations) / sizeof(*operations); i++) {
        size_t length = strlen(operations[i].word);
        if (strncmp(word, operations[i].word, length) == 0 && is_variant(word + length))
            return root ? operations[i].root : operations[i].others;
    }
    return 0;
}

void job_clocks_begin(struct job_clocks *clocks)
{
    for (size_t i = 0; i < clocks->entries.count; i++)
        clocks->hosts[clocks->entries.items[i].host].entry = 0;
    clocks->entries.count = 0;
}

int job_clocks_member(struct job_clocks *clocks, const struct job_clock_member *member)
{
    if (member->roles == 0 || member->leave < member->enter || member->host >= clocks->host_count)
        return 0;
    struct clock_host *host = &clocks->hosts[member->host];
    const struct clock_entry none = {member->host, .all = true, .enter = INT64_MIN, .leave = INT64_MAX,
                                     .last_enter = INT64_MIN};
    if (host->entry == 0 && !ADD(array_push, &clocks->entries, none))
        return error_no_memory("the clocks of hosts");
    host->entry = host->entry > 0 ? host->entry : (uint32_t)clocks->entries.count;
    struct clock_entry *entry = &clocks->entries.items[host->entry - 1];
    bool sends = member->roles & JOB_CLOCK_SENDS, receives = member->roles & JOB_CLOCK_RECEIVES;
    if (sends && member->enter > entry->enter)
        entry->enter = member->enter;
    if (receives && member->leave < entry->leave)
        entry->leave = member->leave;
    if (member->enter > entry->last_enter)
        entry->last_enter = member->enter;
    entry->sends |= sends;
    entry->receives |= receives;
    entry->all &= sends && receives;
    return 0;
}

static uint32_t standing_for(struct job_clocks *clocks, uint32_t host)
{
    while (clocks->hosts[host].joined != host)
        host = clocks->hosts[host].joined = clocks->hosts[clocks->hosts[host].joined].joined;
    return host;
}

static int add_pair(struct job_clocks *clocks, const struct clock_entry *a, const struct clock_entry *b)
{
    if (!(a->sends && b->receives) && !(b->sends && a->receives))
        return 0;
    const uint64_t key = (uint64_t)a->host << 32 | b->host;
    const size_t all = JOB_CLOCK_BYTES / sizeof(struct clock_bucket);
    uint32_t of_a = standing_for(clocks, a->host), of_b = standing_for(clocks, b->host);
    /* If there are too many pairs, a new pair is only added if it joins hosts that no pairs join yet. */
    if (clocks->pairs.count >= all / JOB_CLOCK_BUCKETS_LEAST && of_a == of_b &&
        dense_map_lookup(&clocks->pair_ids, &key, sizeof(key)) == DENSE_MAP_NONE) {
        clocks->left_out++;
        return 0;
    }
    size_t count = clocks->pairs.count;
    struct clock_pair *pair = dense_map_item(&clocks->pair_ids, &key, &clocks->pairs);
    if (pair && clocks->pairs.count > count) {
        pair->a = a->host;
        pair->b = b->host;
        clocks->hosts[of_a].joined = of_b;
        /* Halves the buckets of all pairs if all of them together may need more than JOB_CLOCK_BYTES. */
        bool more = clocks->buckets > JOB_CLOCK_BUCKETS_LEAST && clocks->pairs.count * clocks->buckets > all;
        clocks->buckets /= more ? 2 : 1;
        for (size_t i = 0; more && i < clocks->pairs.count; i++)
            clock_pair_shrink(&clocks->pairs.items[i], clocks->buckets);
    }
    if (!pair || clock_pair_add(pair, a, b, clocks->buckets) < 0)
        return error_no_memory("the clocks of hosts");
    return 0;
}

int job_clocks_end(struct job_clocks *clocks)
{
    size_t count = clocks->entries.count, first = 0;
    int status = 0;
    if (count < 2)
        return 0;
    clocks->operations++;
    for (size_t i = 0; i < count; i++) {
        /* Make times relative to the first time of the host. */
        struct clock_entry *entry = &clocks->entries.items[i];
        struct clock_host *host = &clocks->hosts[entry->host];
        int64_t last = entry->receives ? entry->leave : entry->last_enter;
        if (!host->seen)
            host->origin = entry->last_enter;
        host->seen = true;
        entry->enter -= entry->sends ? host->origin : 0;
        entry->leave -= entry->receives ? host->origin : 0;
        entry->last_enter -= host->origin;
        host->last = last - host->origin > host->last ? last - host->origin : host->last;
        first = clocks->entries.items[i].host < clocks->entries.items[first].host ? i : first;
    }
    for (size_t i = 0; i < count && status == 0; i++)
        if (i != first)
            status = add_pair(clocks, &clocks->entries.items[first], &clocks->entries.items[i]);
    return status;
}

/* --- solution --- */

struct solving {
    struct job_clocks *clocks;
    struct clock_region *regions; /* by pair */
    double *lengths;              /* by pair: the uncertainty that it adds, ns; below 0: it cannot be used */
    /* By host: its time T is T + START + FAST * T on host 0, both relative to the origin of their host. */
    struct clock_map {
        double start, fast;
        double distance; /* the sum of the lengths from host 0; below 0: not joined */
    } *maps;
};

/* A way to HOST by PAIR, whose other host THROUGH is already joined. */
struct join {
    double distance; /* distance of HOST from host 0 */
    uint32_t host, through, pair;
};

/* Sets *FOUND to the host nearest to host 0 that is not joined yet. Returns false if pairs join no further host. */
static bool find_join(const struct solving *solving, struct join *found)
{
    bool any = false;
    for (uint32_t i = 0; i < solving->clocks->pairs.count; i++) {
        const struct clock_pair *pair = &solving->clocks->pairs.items[i];
        bool from_a = solving->maps[pair->a].distance >= 0, from_b = solving->maps[pair->b].distance >= 0;
        if (solving->lengths[i] < 0 || from_a == from_b)
            continue;
        uint32_t through = from_a ? pair->a : pair->b;
        const struct join join = {solving->maps[through].distance + solving->lengths[i], from_a ? pair->b : pair->a,
                                  through, i};
        int order = ORDER(join.distance, found->distance) ?: ORDER(join.host, found->host);
        if (!any || (order ?: ORDER(join.through, found->through)) < 0)
            *found = join;
        any = true;
    }
    return any;
}

/* Joins a host by a pair, where A's time T is T + START + DRIFT * T on B, all relative, and sets the host's clock. */
static void join_host(const struct solving *solving, const struct join *join)
{
    const struct clock_pair *pair = &solving->clocks->pairs.items[join->pair];
    const struct clock_region *region = &solving->regions[join->pair];
    struct job_clock *clock = &solving->clocks->items.items[join->host];
    const struct job_clock *through = &solving->clocks->items.items[join->through];
    const struct clock_host *host = &solving->clocks->hosts[join->host];
    bool is_a = join->host == pair->a;
    double start = is_a ? region->start : -region->start / (1 + region->drift);
    double fast = is_a ? region->drift : -region->drift / (1 + region->drift);
    struct clock_map outer = solving->maps[join->through], *map = &solving->maps[join->host];
    /* The times of the pair's first and last bound, on A and on B. */
    int64_t first[2] = {region->first, region->first + llround(region->start + region->drift * (double)region->first)};
    int64_t last[2] = {region->last, region->last + llround(region->start + region->drift * (double)region->last)};
    *map = (struct clock_map){outer.start + start + outer.fast * start, outer.fast + fast + outer.fast * fast,
                              join->distance};
    clock->state = JOB_CLOCK_KNOWN;
    clock->first = clock->origin = host->origin + first[!is_a];
    clock->offset_ns =
        host->origin - solving->clocks->hosts[0].origin - llround(map->start + map->fast * (double)first[!is_a]);
    clock->drift_ppm = -map->fast * 1e6;
    clock->last = host->origin + last[!is_a];
    const int64_t outer_origin = solving->clocks->hosts[join->through].origin;
    clock->uncertainty_ns = region->uncertainty + fmax(job_clock_uncertainty(through, outer_origin + first[is_a]),
                                                       job_clock_uncertainty(through, outer_origin + last[is_a]));
    clock->uncertainty_ppm = through->uncertainty_ppm + region->drift_uncertainty * 1e6;
    clock->through = join->through;
    clock->steps = through->steps + 1;
    clock->operations = pair->operations;
    clock->bounds = region->bounds;
    clock->outliers = region->outliers;
}

static int solve(struct solving *solving)
{
    struct job_clocks *clocks = solving->clocks;
    struct join join = {0};
    for (size_t i = 0; i < clocks->pairs.count; i++) {
        const struct clock_pair *pair = &clocks->pairs.items[i];
        struct clock_region *region = &solving->regions[i];
        if (clock_pair_solve(pair, region) < 0)
            return -1;
        /* Take the largest uncertainty in the time in which host A was seen. */
        double before = (double)region->first, after = (double)(clocks->hosts[pair->a].last - region->last);
        bool joins = region->any && !region->contradicting;
        solving->lengths[i] =
            joins ? region->uncertainty + region->drift_uncertainty * fmax(0, fmax(before, after)) : -1;
    }
    for (uint32_t host = 1; host < clocks->host_count; host++)
        solving->maps[host].distance = -1;
    clocks->items.items[0].state = JOB_CLOCK_REFERENCE;
    clocks->items.items[0].origin = clocks->items.items[0].first = clocks->hosts[0].origin;
    clocks->items.items[0].last = clocks->hosts[0].origin + clocks->hosts[0].last;
    while (find_join(solving, &join))
        join_host(solving, &join);
    /* Find hosts that are not joined because the bounds of a pair contradict each other. */
    for (size_t i = 0; i < solving->clocks->pairs.count; i++) {
        const struct clock_pair *pair = &solving->clocks->pairs.items[i];
        const struct clock_region *region = &solving->regions[i];
        for (int side = 0; side < 2 && region->contradicting; side++) {
            struct job_clock *clock = &solving->clocks->items.items[side ? pair->b : pair->a];
            if (clock->state != JOB_CLOCK_NO_EVIDENCE)
                continue;
            clock->state = JOB_CLOCK_CONTRADICTING;
            clock->operations = pair->operations;
            clock->bounds = region->bounds;
            clock->outliers = region->outliers;
        }
    }
    return 0;
}

int job_clocks_solve(struct job_clocks *clocks)
{
    size_t pairs = clocks->pairs.count, hosts = clocks->host_count;
    struct solving solving = {.clocks = clocks};
    for (size_t host = 0; host < hosts; host++)
        if (!ADD(array_push, &clocks->items, (struct job_clock){.state = JOB_CLOCK_NO_EVIDENCE}))
            return error_no_memory("the clocks of hosts");
    solving.regions = calloc(pairs + 1, sizeof(*solving.regions));
    solving.lengths = calloc(pairs + 1, sizeof(*solving.lengths));
    solving.maps = calloc(hosts + 1, sizeof(*solving.maps));
    bool memory = solving.regions && solving.lengths && solving.maps;
    int status = !memory ? -1 : hosts > 0 ? solve(&solving) : 0;
    free(solving.regions);
    free(solving.lengths);
    free(solving.maps);
    return status < 0 ? error_no_memory("the clocks of hosts") : 0;
}

double job_clock_uncertainty(const struct job_clock *clock, int64_t time)
{
    if (clock->state != JOB_CLOCK_KNOWN)
        return 0;
    int64_t beyond = time < clock->first ? clock->first - time : time > clock->last ? time - clock->last : 0;
    return clock->uncertainty_ns + clock->uncertainty_ppm * 1e-6 * (double)beyond;
}

/* --- sentences --- */

/* Writes a time with the unit that suits it. */
static void put_time(struct buffer *text, double ns)
{
    static const struct {
        double from, ns;
        const char *unit;
    } units[] = {{1e9, 1e9, "s"}, {1e6, 1e6, "ms"}, {0, 1e3, "us"}};
    size_t i = 0;
    while (ns < units[i].from)
        i++;
    buffer_format(text, i == 2 ? "%.1f %s" : "%.3f %s", ns / units[i].ns, units[i].unit);
}

void job_clock_describe(struct buffer *text, const struct job_clock *clock, const char *host, const char *reference)
{
    buffer_format(text, "clock of %s: ", host);
    switch (clock->state) {
    case JOB_CLOCK_REFERENCE: buffer_text(text, "the times of all hosts are given by it"); return;
    case JOB_CLOCK_KNOWN: break;
    case JOB_CLOCK_CONTRADICTING:
        buffer_format(text, "not corrected, because the operations with other hosts contradict each other (%s of %s)",
                      text_count(clock->outliers, NULL).text, text_count(clock->bounds, "bound").text);
        return;
    case JOB_CLOCK_NO_EVIDENCE:
        buffer_format(text, "not corrected, because no operation joins it to %s", reference);
        return;
    }
    put_time(text, fabs((double)clock->offset_ns));
    buffer_format(text, " %s that of %s, drift %+.3f ppm; corrected, ± ", clock->offset_ns < 0 ? "behind" : "ahead of",
                  reference, clock->drift_ppm);
    put_time(text, clock->uncertainty_ns);
    buffer_format(text, " (%s", text_count(clock->operations, "operation").text);
    if (clock->steps > 1)
        buffer_format(text, ", joined through %s", text_count(clock->steps - 1, "host").text);
    if (clock->outliers > 0)
        buffer_format(text, ", %s of %s contradict and were left out", text_count(clock->outliers, NULL).text,
                      text_count(clock->bounds, "bound").text);
    buffer_text(text, ")");
}

void job_clock_describe_system(struct buffer *text, int64_t synchronised, int64_t error_us)
{
    if (synchronised < 0)
        return;
    buffer_format(text, "its system says that it is %ssynchronised", synchronised ? "" : "not ");
    if (!synchronised || error_us < 0)
        return;
    buffer_text(text, ", wrong by at most ");
    put_time(text, (double)error_us * 1e3);
}
