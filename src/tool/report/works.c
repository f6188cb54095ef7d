#include "tool/report/works.h"

#include "tool/report/event.h"

static int by_correlation(const void *left, const void *right)
{
    const struct work *a = left, *b = right;
    if (a->is_correlated != b->is_correlated)
        return a->is_correlated ? 1 : -1;
    if (a->correlation != b->correlation)
        return a->correlation < b->correlation ? -1 : 1;
    return (a->order > b->order) - (a->order < b->order);
}

void works_init(struct works *works, struct sorter_room *room)
{
    *works = (struct works){.in_time = true};
    sorter_init(&works->sorter, room, sizeof(struct work), by_correlation);
}

void works_release(struct works *works)
{
    sorter_release(&works->sorter);
    if (works->by_start)
        sorter_release(&works->joined);
}

int works_add(struct works *works, const struct trace_event *event, uint32_t stream)
{
    struct work work = {
        .start = event->start,
        .duration = event->duration,
        .name = event->name,
        .stream = stream,
        .order = (uint32_t)works->sorter.count,
        .is_correlated = event->correlation >= 0 && event->correlation <= UINT32_MAX,
        .kernel = event->category == EVENT_KERNEL || event->category == EVENT_GRAPH,
    };
    if (work.is_correlated)
        work.correlation = (uint32_t)event->correlation;
    works->in_time &= work.order == 0 || (by_correlation(&works->last, &work) <= 0 && works->last.start <= work.start);
    works->last = work;
    return sorter_add(&works->sorter, &work);
}

/* Calls EACH by correlation. */
static int join(const struct works *works, const struct calls *calls,
                int (*each)(void *context, const struct work *work, const struct call *call), void *context)
{
    struct calls_join found;
    struct sorter_walk walk;
    const struct work *work;
    int status = 0;
    calls_join_begin(&found, calls);
    sorter_walk_begin(&walk, &works->sorter);
    while (status == 0 && (work = sorter_next(&walk))) {
        int64_t correlation = work->is_correlated ? (int64_t)work->correlation : -1;
        status = each(context, work, calls_join_find(&found, correlation, work->start));
    }
    int walked = sorter_walk_end(&walk), joined = calls_join_end(&found);
    return status ? status : walked ? walked : joined;
}

struct joined {
    struct work work;
    struct call call;
    bool has_call;
};

static int by_start(const void *left, const void *right)
{
    const struct joined *a = left, *b = right;
    if (a->work.start != b->work.start)
        return a->work.start < b->work.start ? -1 : 1;
    return (a->work.order > b->work.order) - (a->work.order < b->work.order);
}

static int keep(void *context, const struct work *work, const struct call *call)
{
    struct joined joined = {.work = *work, .has_call = call != NULL};
    if (call)
        joined.call = *call;
    struct sorter *sorter = context;
    return sorter_add(sorter, &joined);
}

int works_ready(struct works *works)
{
    return sorter_ready(&works->sorter);
}

int works_order_by_start(struct works *works, const struct calls *calls)
{
    if (works->in_time || works->by_start)
        return 0;
    sorter_init(&works->joined, works->sorter.room, sizeof(struct joined), by_start);
    works->by_start = true;
    int status = join(works, calls, keep, &works->joined);
    sorter_release(&works->sorter);
    return status ? status : sorter_ready(&works->joined);
}

int works_each(const struct works *works, const struct calls *calls,
               int (*each)(void *context, const struct work *work, const struct call *call), void *context)
{
    struct sorter_walk walk;
    const struct joined *joined;
    int status = 0;
    if (!works->by_start)
        return join(works, calls, each, context);
    sorter_walk_begin(&walk, &works->joined);
    while (status == 0 && (joined = sorter_next(&walk)))
        status = each(context, &joined->work, joined->has_call ? &joined->call : NULL);
    int walked = sorter_walk_end(&walk);
    return status ? status : walked;
}
