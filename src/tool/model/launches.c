#include "tool/model/launches.h"

#include <stdlib.h>

#include "base/log.h"

void launches_release(struct launches *launches)
{
    for (size_t i = 0; i < launches->pages.count; i++)
        free(launches->pages.items[i].launches);
    array_release(&launches->pages);
    map_release(&launches->pages_by_number);
    launches->recent = (struct launches_page){0};
}

static struct launch *in_page(struct launches *launches, const struct launches_page *page, uint32_t correlation)
{
    launches->recent = *page;
    return &page->launches[correlation % LAUNCHES_PAGE];
}

static struct launch *add_page(struct launches *launches, uint64_t *index, uint32_t correlation)
{
    struct launch *entries = calloc(LAUNCHES_PAGE, sizeof(*entries));
    struct launches_page *page = entries ? array_push(&launches->pages) : NULL;
    if (!page) {
        free(entries);
        error_no_memory("the table of launches");
        return NULL;
    }
    *page = (struct launches_page){.number = correlation / LAUNCHES_PAGE, .launches = entries};
    *index = launches->pages.count;
    return in_page(launches, page, correlation);
}

struct launch *launches_put(struct launches *launches, uint32_t correlation)
{
    if (correlation > launches->highest)
        launches->highest = correlation;
    if (launches->recent.launches && launches->recent.number == correlation / LAUNCHES_PAGE)
        return &launches->recent.launches[correlation % LAUNCHES_PAGE];
    uint64_t *index = map_put(&launches->pages_by_number, correlation / LAUNCHES_PAGE, NULL);
    if (!index) {
        error_no_memory("the table of launches");
        return NULL;
    }
    if (*index == 0)
        return add_page(launches, index, correlation);
    return in_page(launches, &launches->pages.items[*index - 1], correlation);
}

struct launch *launches_get(struct launches *launches, uint32_t correlation)
{
    if (launches->recent.launches && launches->recent.number == correlation / LAUNCHES_PAGE)
        return &launches->recent.launches[correlation % LAUNCHES_PAGE];
    const uint64_t *index = map_get(&launches->pages_by_number, correlation / LAUNCHES_PAGE);
    if (!index || *index == 0)
        return NULL;
    return in_page(launches, &launches->pages.items[*index - 1], correlation);
}

static enum launch_from from_domain(const struct event *api)
{
    return api->api.domain == EVENT_API_RUNTIME ? LAUNCH_RUNTIME : LAUNCH_DRIVER;
}

int launches_call(struct launches *launches, const struct event *api)
{
    struct launch *launch = launches_put(launches, api->correlation);
    if (!launch)
        return -1;
    enum launch_from from = from_domain(api);
    enum launch_from known = (enum launch_from)launch->from;
    if (from < known || (from == known && api->start <= launch->start))
        return 0;
    uint64_t duration = api->end - api->start;
    launch->from = (uint8_t)from;
    launch->start = api->start;
    launch->duration = duration < UINT32_MAX ? (uint32_t)duration : UINT32_MAX;
    launch->thread = api->thread;
    return 0;
}

int launches_aside(struct launches *launches, const struct event *api)
{
    struct launch *launch = launches_put(launches, api->correlation);
    if (launch)
        launch->aside = true;
    return launch ? 0 : -1;
}

int launches_starts(struct launches *launches, uint32_t correlation, unsigned sorts)
{
    struct launch *launch = launches_put(launches, correlation);
    if (launch)
        launch->sorts |= (uint8_t)(sorts & LAUNCH_ANYTHING);
    return launch ? 0 : -1;
}

static unsigned sort_of(enum event_type type)
{
    switch (type) {
    case EVENT_KERNEL: return LAUNCH_KERNELS;
    case EVENT_MEMCPY: return LAUNCH_COPIES;
    case EVENT_MEMSET: return LAUNCH_SETS;
    case EVENT_GRAPH: return LAUNCH_GRAPHS;
    case EVENT_CUDA_EVENT: return LAUNCH_CUDA_EVENTS;
    default: return 0;
    }
}

bool launch_is_aside(const struct launch *launch, enum event_type type)
{
    return launch->aside && (launch->from == LAUNCH_UNKNOWN || !(launch->sorts & sort_of(type)));
}

bool launch_is_call(const struct launch *launch, const struct event *api)
{
    return (enum launch_from)launch->from == from_domain(api) && launch->start == api->start;
}

void launches_number(struct launches *launches, uint64_t *next)
{
    for (size_t page = 0; page < launches->pages.count; page++) {
        for (size_t i = 0; i < LAUNCHES_PAGE; i++) {
            struct launch *launch = &launches->pages.items[page].launches[i];
            uint32_t more = launch->works > 1 ? launch->works - 1 : 0;
            if (more == 0 || launch->from == LAUNCH_UNKNOWN || *next + more > UINT32_MAX)
                continue;
            launch->extra = (uint32_t)*next;
            *next += more;
        }
    }
}
