#include "analysis/called_works.h"

int called_works_order(const void *left, const void *right)
{
    const struct called_work *a = left, *b = right;
    if (a->thread != b->thread)
        return a->thread < b->thread ? -1 : 1;
    if (a->called != b->called)
        return a->called < b->called ? -1 : 1;
    return (a->start > b->start) - (a->start < b->start);
}

void called_works_init(struct called_works *called, struct sorter_room *room)
{
    called->wanted = false;
    sorter_init(&called->sorter, room, sizeof(struct called_work), called_works_order);
}

void called_works_release(struct called_works *called)
{
    sorter_release(&called->sorter);
}

static int add(void *context, const struct work *work, const struct call *call)
{
    struct called_works *called = context;
    struct called_work one = {.called = call ? call->start : 0,
                              .start = work->start,
                              .duration = work->duration,
                              .name = work->name,
                              .stream = work->stream,
                              .thread = call ? call->thread : CALLED_NO_THREAD,
                              .kernel = work->kernel};
    return sorter_add(&called->sorter, &one);
}

int called_works_gather(struct called_works *called, const struct works *works, const struct calls *calls)
{
    int status = works_each(works, calls, add, called);
    return status ? status : sorter_ready(&called->sorter);
}
