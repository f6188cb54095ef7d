/*
 * Operations are put together by host, and each host of one gets a bound against the first. In the end the pairs of
 * hosts are the edges of a graph whose lengths are uncertainties: the shortest ways from host 0 (Dijkstra's algorithm)
 * say which are used.
 */
#include "analysis/job/job_clocks.h"

#include <math.h>
#include <stdlib.h>

#include "common/log.h"
#include "common/array.h"
#include "common/map.h"

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
        clock_pair_release(&clocks->pairs.items[i]);
    array_release(&clocks->pairs);
    array_release(&clocks->entries);
    array_release(&clocks->items);
    dense_map_release(&clocks->pair_ids);
    free(clocks->hosts);
    *clocks = (struct job_clocks){0};
}

/* --- operations --- */

void job_clocks_begin(struct job_clocks *clocks)
{
    for (size_t i = 0; i < clocks->entries.count; i++)
        clocks->hosts[clocks->entries.items[i].host].entry = 0;
    clocks->entries.count = 0;
}

static struct clock_entry *entry_of(struct job_clocks *clocks, uint32_t host)
{
    struct clock_host *known = &clocks->hosts[host];
    if (known->entry > 0)
        return &clocks->entries.items[known->entry - 1];
    const struct clock_entry entry = {host, .all = true, .enter = INT64_MIN, .leave = INT64_MAX,
                                      .last_enter = INT64_MIN};
    if (!ADD(array_push, &clocks->entries, entry))
        return NULL;
    known->entry = (uint32_t)clocks->entries.count;
    return &clocks->entries.items[known->entry - 1];
}

int job_clocks_member(struct job_clocks *clocks, const struct job_clock_member *member)
{
    if (member->roles == 0 || member->leave < member->enter || member->host >= clocks->host_count)
        return 0;
    struct clock_entry *entry = entry_of(clocks, member->host);
    if (!entry)
        return error_no_memory("the clocks of hosts");
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

/* Makes the memory of all pairs smaller once they need more than JOB_CLOCK_BYTES together. */
static void share_memory(struct job_clocks *clocks)
{
    size_t all = JOB_CLOCK_BYTES / sizeof(struct clock_bucket), buckets = clocks->buckets;
    while (buckets > JOB_CLOCK_BUCKETS_LEAST && clocks->pairs.count * buckets > all)
        buckets /= 2;
    if (buckets == clocks->buckets)
        return;
    clocks->buckets = buckets;
    for (size_t i = 0; i < clocks->pairs.count; i++)
        clock_pair_shrink(&clocks->pairs.items[i], buckets);
}

/* Whether a pair is left out: once there are too many pairs, a new one is of use only if it joins hosts that no pairs
 * join. */
static bool pair_is_left_out(struct job_clocks *clocks, uint64_t key, uint32_t a, uint32_t b)
{
    size_t most = JOB_CLOCK_BYTES / sizeof(struct clock_bucket) / JOB_CLOCK_BUCKETS_LEAST;
    return clocks->pairs.count >= most && standing_for(clocks, a) == standing_for(clocks, b) &&
           dense_map_lookup(&clocks->pair_ids, &key, sizeof(key)) == DENSE_MAP_NONE;
}

static int add_pair(struct job_clocks *clocks, const struct clock_entry *a, const struct clock_entry *b)
{
    if (!(a->sends && b->receives) && !(b->sends && a->receives))
        return 0;
    uint64_t key = (uint64_t)a->host << 32 | b->host;
    if (pair_is_left_out(clocks, key, a->host, b->host)) {
        clocks->left_out++;
        return 0;
    }
    size_t count = clocks->pairs.count;
    struct clock_pair *pair = dense_map_item(&clocks->pair_ids, &key, &clocks->pairs);
    if (pair && clocks->pairs.count > count) {
        pair->a = a->host;
        pair->b = b->host;
        clocks->hosts[standing_for(clocks, a->host)].joined = standing_for(clocks, b->host);
        share_memory(clocks);
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
        /* Times become relative to the first time of the host. */
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
    struct clock_region *regions; /* of each pair */
    double *lengths;              /* of each pair: the uncertainty that it adds; below 0: it joins no hosts */
    /* The map of each host: the time on host 0 is START + (1 + FAST) * the host's time, both relative. */
    struct clock_map {
        double start, fast;
        double distance; /* the sum of the lengths from host 0; below 0: it is not joined */
    } *maps;
};

/* The uncertainty of a pair over all that is known of its first host. */
static double length_of(const struct solving *solving, const struct clock_pair *pair, const struct clock_region *region)
{
    double before = (double)region->first, after = (double)(solving->clocks->hosts[pair->a].last - region->last);
    bool joins = region->any && !region->contradicting;
    return joins ? region->uncertainty + region->drift_uncertainty * fmax(0, fmax(before, after)) : -1;
}

/* The time of the host that a clock is joined by, from its own, both relative. */
static struct clock_map map_of(const struct clock_region *region, bool is_a)
{
    struct clock_line line = region->line;
    if (is_a)
        return (struct clock_map){line.start, line.drift, 0};
    return (struct clock_map){-line.start / (1 + line.drift), -line.drift / (1 + line.drift), 0};
}

static int64_t time_on_b(const struct clock_region *region, int64_t time)
{
    return time + llround(region->line.start + region->line.drift * (double)time);
}

/* A way to HOST by a PAIR of which the other host is joined. */
struct join {
    double distance; /* of HOST from host 0 */
    uint32_t host, through, pair;
};

static bool is_before(const struct join *left, const struct join *right)
{
    if (left->distance != right->distance)
        return left->distance < right->distance;
    return left->host != right->host ? left->host < right->host : left->through < right->through;
}

/* Finds the next host on the shortest ways from host 0. Returns whether there is one. */
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
        if (!any || is_before(&join, found))
            *found = join;
        any = true;
    }
    return any;
}

static void join_host(const struct solving *solving, const struct join *join)
{
    const struct clock_pair *pair = &solving->clocks->pairs.items[join->pair];
    const struct clock_region *region = &solving->regions[join->pair];
    struct job_clock *clock = &solving->clocks->items.items[join->host];
    const struct job_clock *through = &solving->clocks->items.items[join->through];
    bool is_a = join->host == pair->a;
    struct clock_map own = map_of(region, is_a), outer = solving->maps[join->through];
    struct clock_map map = {outer.start + own.start + outer.fast * own.start,
                            outer.fast + own.fast + outer.fast * own.fast, join->distance};
    const struct clock_host *host = &solving->clocks->hosts[join->host];
    int64_t first[2] = {region->first, time_on_b(region, region->first)};
    int64_t last[2] = {region->last, time_on_b(region, region->last)};
    solving->maps[join->host] = map;
    clock->state = JOB_CLOCK_KNOWN;
    clock->first = clock->origin = host->origin + first[!is_a];
    clock->offset_ns =
        host->origin - solving->clocks->hosts[0].origin - llround(map.start + map.fast * (double)first[!is_a]);
    clock->drift_ppm = -map.fast * 1e6;
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
        if (clock_pair_solve(pair, &solving->regions[i]) < 0)
            return -1;
        solving->lengths[i] = length_of(solving, pair, &solving->regions[i]);
    }
    for (uint32_t host = 1; host < clocks->host_count; host++)
        solving->maps[host].distance = -1;
    clocks->items.items[0].state = JOB_CLOCK_REFERENCE;
    clocks->items.items[0].origin = clocks->items.items[0].first = clocks->hosts[0].origin;
    clocks->items.items[0].last = clocks->hosts[0].origin + clocks->hosts[0].last;
    while (find_join(solving, &join))
        join_host(solving, &join);
    /* Why a host is not joined: whether one of its pairs is contradicting. */
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
