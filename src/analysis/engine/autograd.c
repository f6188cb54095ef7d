/*
 * Sorts the ends of links by key and joins them, then walks over links, ranges and operations by thread and time. A
 * second walk places the operations that moved to another thread in that thread's ranges.
 */
#include "analysis/engine/autograd.h"

#include "common/array.h"

/* One end of a link: an operator of the forward pass, or an operator of the backward pass that it caused. Both ends
 * have the same key. */
struct end {
    uint64_t key;
    int64_t time; /* when the operator began */
    uint32_t process, thread;
    bool backward;
};

struct link {
    int64_t time, forward_time; /* when the operators began */
    uint32_t thread, forward_thread;
};

/* A GPU operation that was moved to the thread of the forward pass. */
struct moved_op {
    struct launched_op op;
    int64_t forward_time;
};

ORDER_BY(by_key, struct end, process, key, time, backward, thread)

ORDER_BY(by_thread_and_time, struct link, thread, time, forward_time)

void autograd_init(struct autograd *autograd, struct sorter_space *space)
{
    sorter_init(&autograd->flows, space, sizeof(struct end), by_key);
    sorter_init(&autograd->operators, space, sizeof(struct end), by_key);
    sorter_init(&autograd->links, space, sizeof(struct link), by_thread_and_time);
}

void autograd_release(struct autograd *autograd)
{
    sorter_release(&autograd->flows);
    sorter_release(&autograd->operators);
    sorter_release(&autograd->links);
}

int autograd_flow(struct autograd *autograd, const struct event_fields *event, uint32_t process, uint32_t thread)
{
    struct end end = {
        .key = event->id, .time = event->start, .process = process, .thread = thread, .backward = event->phase == 'f'};
    return sorter_add(&autograd->flows, &end);
}

int autograd_operator(struct autograd *autograd, const struct event_fields *event, uint32_t process, uint32_t thread)
{
    struct end end = {.key = (uint64_t)event_operator(event)->sequence,
                      .time = event->start,
                      .process = process,
                      .thread = thread,
                      .backward = event_operator(event)->forward_thread > 0};
    return sorter_add(&autograd->operators, &end);
}

/* --- links --- */

/* The latest operator of the forward pass with the key that is being read. */
struct forward {
    struct end end;
    bool any, ambiguous; /* ambiguous: several threads counted from 0 and had this number */
};

static int read_end(struct autograd *autograd, struct forward *forward, const struct end *end, bool numbers)
{
    if (forward->end.process != end->process || forward->end.key != end->key)
        *forward = (struct forward){.end = {.process = end->process, .key = end->key}};
    if (!end->backward) {
        bool another = forward->any && forward->end.thread != end->thread;
        *forward = (struct forward){.end = *end, .any = true, .ambiguous = forward->ambiguous || (numbers && another)};
        return 0;
    }
    if (!forward->any || forward->ambiguous || forward->end.thread == end->thread)
        return 0;
    struct link link = {.time = end->time,
                        .forward_time = forward->end.time,
                        .thread = end->thread,
                        .forward_thread = forward->end.thread};
    return sorter_add(&autograd->links, &link);
}

/* --- GPU operations --- */

struct attribution {
    struct sorter_walk links;
    const struct link *next; /* NULL: there is none */
    struct link last;
    bool any;
    struct sorter moved; /* struct moved_op */
    struct sorter placed;
};

static bool is_in_range(struct range_walk *ranges, const struct launched_op *op)
{
    while (range_walk_open(ranges, op->thread, op->called))
        ;
    return range_walk_innermost(ranges, op->thread, op->called);
}

/* Moves OP to the thread of the forward pass if an autograd thread launched it outside of ranges; else leaves it. */
static int move(void *context, struct range_walk *ranges, const struct launched_op *op)
{
    struct attribution *to = context;
    /* Advance to the thread's last link that began before the launch. */
    while (to->next &&
           (to->next->thread < op->thread || (to->next->thread == op->thread && to->next->time <= op->called))) {
        to->last = *to->next;
        to->any = true;
        to->next = sorter_next(&to->links);
    }
    const struct link *link = to->any && to->last.thread == op->thread ? &to->last : NULL;
    if (is_in_range(ranges, op) || !link)
        return sorter_add(&to->placed, op);
    struct moved_op moved = {.op = *op, .forward_time = link->forward_time};
    moved.op.thread = link->forward_thread;
    return sorter_add(&to->moved, &moved);
}

/* Places a moved operation: in the range that was open on its new thread at the launch, else in the range around the
 * forward operator. */
static int place(void *context, struct range_walk *ranges, const struct launched_op *op)
{
    struct attribution *to = context;
    const struct moved_op *moved = (const struct moved_op *)op;
    struct launched_op placed = moved->op;
    if (!is_in_range(ranges, op))
        placed.called = moved->forward_time;
    return sorter_add(&to->placed, &placed);
}

int autograd_attribute(struct autograd *autograd, const struct ranges *ranges, struct sorter *gpu_ops)
{
    struct attribution to = {0};
    bool numbers = autograd->flows.count == 0;
    struct sorter *ends = numbers ? &autograd->operators : &autograd->flows;
    struct forward forward = {0};
    const struct end *end;
    int status = sorter_ready(ends);
    status = status ?: SORTER_EACH(ends, end, read_end(autograd, &forward, end, numbers));
    sorter_release(&autograd->flows);
    sorter_release(&autograd->operators);
    status = status ?: sorter_ready(&autograd->links);
    if (status < 0 || autograd->links.count == 0)
        return status;
    sorter_init(&to.moved, gpu_ops->space, sizeof(struct moved_op), launched_ops_order);
    sorter_init(&to.placed, gpu_ops->space, sizeof(struct launched_op), launched_ops_order);
    sorter_walk_begin(&to.links, &autograd->links);
    to.next = sorter_next(&to.links);
    status = range_walk_ops(ranges, false, gpu_ops, move, NULL, &to);
    status = sorter_walk_end(&to.links) ?: status;
    status = status ?: sorter_ready(&to.moved);
    status = status ?: range_walk_ops(ranges, false, &to.moved, place, NULL, &to);
    status = status ?: sorter_ready(&to.placed);
    sorter_release(&to.moved);
    sorter_release(gpu_ops);
    *gpu_ops = to.placed;
    return status;
}
