/*
 * Clocks that the program times events and counters by, and how their times become the trace's.
 */
#include "trace/meaning/nvtx/nvtx_clocks.h"

#include <math.h>

#include "common/clock.h"
#include "common/log.h"
#include "common/lookup.h"
#include "trace/meaning/nvtx/nvtx_data.h"

#define CHAIN_MAX 4                   /* clocks that lead from one to the trace's */
#define STEPS_MAX 1024                /* that are tried */
#define PAIRS_MAX 512                 /* of clocks that were read together; a program has a few */
#define EVICT_SYNCS ((size_t)1 << 17) /* are walked over before pages are given back */

/* NVTX_TIMESTAMP_TYPE_… */
enum {
    TYPE_REALTIME = 12,
    TYPE_REALTIME_COARSE = 13,
    TYPE_BOOTTIME = 17,
    TYPE_TIME = 40, /* seconds */
    TYPE_TIMESPEC_GET = 42,
    TYPE_STEADY = 50,
    TYPE_HIGH_RESOLUTION = 51, /* the system clock, in the C++ library of GNU */
    TYPE_SYSTEM = 52,
};
enum { START_UNIX_EPOCH = 3 };

/* --- pairs --- */

/* Clocks of the system are the same in all domains. */
static bool same_clock(uint64_t a, uint32_t domain_a, uint64_t b, uint32_t domain_b)
{
    return a == b && (a < PAYLOAD_FIRST_SCHEMA || domain_a == domain_b);
}

static struct nvtx_clock_pair *pair_of(struct nvtx_clocks *clocks, uint32_t domain, uint64_t from, uint64_t to)
{
    for (size_t i = 0; i < clocks->pairs.count; i++) {
        struct nvtx_clock_pair *pair = &clocks->pairs.items[i];
        if (same_clock(pair->from, pair->domain, from, domain) && same_clock(pair->to, pair->domain, to, domain))
            return pair;
    }
    struct nvtx_clock_pair *pair = clocks->pairs.count < PAIRS_MAX ? array_push(&clocks->pairs) : NULL;
    if (pair)
        *pair = (struct nvtx_clock_pair){
            .from = from, .to = to, .domain = domain, .points.memory.directory = clocks->directory};
    return pair;
}

static int add_point(struct nvtx_clocks *clocks, const struct spool_nvtx_sync *sync, bool reversed)
{
    struct nvtx_clock_pair *pair = reversed ? pair_of(clocks, sync->domain, sync->target, sync->source)
                                            : pair_of(clocks, sync->domain, sync->source, sync->target);
    if (!pair && clocks->pairs.count >= PAIRS_MAX)
        return 0;
    bool known = sync->head.flags == SPOOL_NVTX_SYNC_SLOPE && isfinite(sync->slope) && sync->slope != 0;
    struct nvtx_sync_point point = {.from = reversed ? sync->target_time : sync->source_time,
                                    .to = reversed ? sync->source_time : sync->target_time,
                                    .slope = !known     ? 0
                                             : reversed ? 1 / sync->slope
                                                        : sync->slope};
    return pair && ADD(file_vector_push, &pair->points, point) ? 0 : error_no_memory("clocks");
}

ORDER_BY(by_time, struct nvtx_sync_point, from)

int nvtx_clocks_close(struct nvtx_clocks *clocks)
{
    for (size_t i = 0; i < clocks->syncs.count; i++) {
        if (add_point(clocks, clocks->syncs.items[i], false) != 0 ||
            add_point(clocks, clocks->syncs.items[i], true) != 0)
            return -1;
        for (size_t k = 0; k < clocks->pairs.count && i % EVICT_SYNCS == 0; k++)
            file_vector_evict(&clocks->pairs.items[k].points);
        if (i % EVICT_SYNCS == 0)
            file_vector_evict(&clocks->syncs);
    }
    file_vector_release(&clocks->syncs);
    for (size_t i = 0; i < clocks->pairs.count; i++)
        if (file_vector_sort(&clocks->pairs.items[i].points, by_time) != 0)
            return error_no_memory("clocks");
    return 0;
}

/* --- one step --- */

static const struct spool_nvtx_time_domain *time_domain(const struct nvtx_clocks *clocks, uint32_t domain, uint64_t id)
{
    for (size_t i = clocks->domains.count; i > 0; i--)
        if (clocks->domains.items[i - 1]->id == id && clocks->domains.items[i - 1]->domain == domain)
            return clocks->domains.items[i - 1];
    return NULL;
}

/* Ticks of a clock in a second; 0: not known. */
static double rate(const struct nvtx_clocks *clocks, uint32_t domain, uint64_t clock)
{
    const struct spool_nvtx_time_domain *said = time_domain(clocks, domain, clock);
    if (said && said->resolution > 0)
        return (double)said->resolution;
    uint64_t type = said ? said->type : clock;
    bool counts_ns =
        (type >= TYPE_REALTIME && type <= TYPE_BOOTTIME) || type == TYPE_STEADY || type == NVTX_CLOCKS_OURS;
    return counts_ns ? (double)NS_PER_S : 0;
}

/* The two points that TIME lies between, or the nearest two. */
static size_t segment(const struct nvtx_clock_pair *pair, int64_t time)
{
    size_t count = pair->points.count, low = COUNT_BEFORE(count, i, pair->points.items[i].from <= time);
    if (low > 0)
        low--;
    return low + 2 <= count ? low : count - 2;
}

static bool shift(const struct nvtx_sync_point *point, double slope, int64_t ticks, int64_t *result)
{
    double difference = (double)((__int128)ticks - point->from) * slope, value = (double)point->to + difference;
    if (!(fabs(value) < 9e18))
        return false;
    *result = point->to + (int64_t)llround(difference);
    return true;
}

static bool step(const struct nvtx_clocks *clocks, const struct nvtx_clock_pair *pair, int64_t ticks, int64_t *result)
{
    const struct nvtx_sync_point *points = pair->points.items;
    const struct nvtx_sync_point *last = &points[pair->points.count - 1];
    if (pair->points.count > 1 && points[0].from != last->from) {
        /* Within, between two neighbours; without, as it went over all. */
        bool within = ticks >= points[0].from && ticks <= last->from;
        const struct nvtx_sync_point *near = &points[within ? segment(pair, ticks) : 0], *next = near + 1;
        if (!within)
            near = ticks < points[0].from ? &points[0] : last;
        double run = within ? (double)(next->from - near->from) : (double)(last->from - points[0].from);
        double rise = within ? (double)(next->to - near->to) : (double)(last->to - points[0].to);
        if (run > 0)
            return shift(near, rise / run, ticks, result);
    }
    double from = rate(clocks, pair->domain, pair->from), to = rate(clocks, pair->domain, pair->to);
    double slope = last->slope != 0 ? last->slope : from > 0 && to > 0 ? to / from : 0;
    return slope != 0 && shift(last, slope, ticks, result);
}

/* --- chains --- */

/* Times of clocks that count from the epoch need no other clock. */
static bool from_epoch(const struct nvtx_clocks *clocks, uint32_t domain, uint64_t clock, int64_t ticks, int64_t *time)
{
    const struct spool_nvtx_time_domain *said = time_domain(clocks, domain, clock);
    switch (said ? said->type : clock) {
    case NVTX_CLOCKS_OURS:
    case TYPE_REALTIME:
    case TYPE_REALTIME_COARSE:
    case TYPE_TIMESPEC_GET:
    case TYPE_HIGH_RESOLUTION:
    case TYPE_SYSTEM: *time = ticks; break;
    case TYPE_TIME: *time = (int64_t)((double)ticks * (double)NS_PER_S); break;
    default:
        if (!said || said->start != START_UNIX_EPOCH || said->resolution <= 0)
            return false;
        *time = ticks;
    }
    if (said && said->resolution > 0 && (uint64_t)said->resolution != NS_PER_S)
        *time = (int64_t)((__int128)ticks * (__int128)NS_PER_S / said->resolution);
    return true;
}

struct chain {
    const struct nvtx_clocks *clocks;
    uint32_t domain;
    unsigned steps; /* that may still be tried */
};

static bool follow(struct chain *chain, uint64_t clock, int64_t ticks, unsigned left, int64_t *time)
{
    const struct nvtx_clocks *clocks = chain->clocks;
    uint32_t domain = chain->domain;
    for (size_t i = 0; i < clocks->pairs.count && left > 0 && chain->steps > 0; i++) {
        const struct nvtx_clock_pair *pair = &clocks->pairs.items[i];
        int64_t there;
        if (!same_clock(pair->from, pair->domain, clock, domain))
            continue;
        chain->steps--;
        if (step(clocks, pair, ticks, &there) &&
            (from_epoch(clocks, domain, pair->to, there, time) || follow(chain, pair->to, there, left - 1, time)))
            return true;
    }
    return false;
}

static bool convert(const struct nvtx_clocks *clocks, uint32_t domain, uint64_t clock, int64_t ticks, int64_t *time)
{
    struct chain chain = {clocks, domain, STEPS_MAX};
    if (clock < PAYLOAD_FIRST_SCHEMA && from_epoch(clocks, domain, clock, ticks, time))
        return true;
    return follow(&chain, clock, ticks, CHAIN_MAX, time);
}

bool nvtx_clocks_convert(const struct nvtx_clocks *clocks, uint32_t domain, uint64_t clock, int64_t ticks,
                         uint64_t *time)
{
    int64_t found;
    const struct spool_nvtx_time_domain *said = time_domain(clocks, domain, clock);
    uint64_t type = said ? said->type : clock; /* what the program says that its clock is */
    bool known = convert(clocks, domain, clock, ticks, &found) || from_epoch(clocks, domain, clock, ticks, &found) ||
                 (type != clock && convert(clocks, domain, type, ticks, &found));
    if (known && found > 0)
        *time = (uint64_t)found;
    return known && found > 0;
}

uint64_t nvtx_clocks_of_scope(const struct nvtx_clocks *clocks, uint32_t domain, uint64_t scope)
{
    for (size_t i = clocks->domains.count; i > 0 && scope != 0; i--)
        if (clocks->domains.items[i - 1]->scope == scope && clocks->domains.items[i - 1]->domain == domain)
            return clocks->domains.items[i - 1]->id;
    return NVTX_CLOCKS_OURS;
}
