#include "analysis/works.h"

#include "trace/trace_event.h"

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
    works->wanted = false;
    sorter_init(&works->sorter, room, sizeof(struct work), by_correlation);
}

void works_release(struct works *works)
{
    sorter_release(&works->sorter);
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
    return sorter_add(&works->sorter, &work);
}

int works_ready(struct works *works)
{
    return sorter_ready(&works->sorter);
}

int works_each(const struct works *works, const struct calls *calls,
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
