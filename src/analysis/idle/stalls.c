/* Walks over the rule's calls by start while the operations of each GPU are read, and remembers the last calls of each
 * thread. */
#include "analysis/idle/stalls.h"

ORDER_BY(by_start, struct stall_call, start, thread)

static void end_walk(struct stalls *stalls)
{
    if (stalls->walking)
        sorter_walk_end(&stalls->walk);
    stalls->walking = false;
}

void stalls_release(void *state)
{
    struct stalls *stalls = state;
    end_walk(stalls);
    if (stalls->count > 0)
        sorter_release(&stalls->calls);
    array_release(&stalls->threads);
}

int stalls_call(void *state, const struct trace *trace, const struct host_call *call)
{
    struct stalls *stalls = state;
    if (stalls->count++ == 0)
        sorter_init(&stalls->calls, trace->space, sizeof(struct stall_call), by_start);
    const struct stall_call added = {call->start, call->end, call->thread, call->name, call->kind};
    return sorter_add(&stalls->calls, &added);
}

static int make_ready(struct stalls *stalls)
{
    if (stalls->ready || stalls->count == 0)
        return 0;
    stalls->ready = true;
    return sorter_ready(&stalls->calls);
}

/* --- the calls of each thread before an operation --- */

static int remember(struct stalls *stalls, const struct stall_call *call)
{
    struct stall_thread *thread = array_at(&stalls->threads, call->thread);
    if (!thread)
        return -1;
    thread->calls[thread->next++ % STALL_CALLS] = *call;
    thread->count += thread->count < STALL_CALLS;
    return 0;
}

/* Returns the last call of OP's thread that explains idle time from FROM to OP's start, or NULL. */
static const struct stall_call *find_call(const struct stalls *stalls, const struct timeline_op *op, int64_t from,
                                          enum stall_kind kind)
{
    if (op->thread >= stalls->threads.count)
        return NULL;
    const struct stall_thread *thread = &stalls->threads.items[op->thread];
    for (unsigned i = 1; i <= thread->count; i++) {
        const struct stall_call *call = &thread->calls[(thread->next - i) % STALL_CALLS];
        bool fits = call->end > from && call->end <= op->start && (kind == STALL_WITHIN || call->start < from);
        if (fits)
            return call;
    }
    return NULL;
}

int stalls_op(struct stalls *stalls, const struct timeline_op *op, enum stall_kind kind, struct stall *stall)
{
    bool begins = !stalls->any || op->device != stalls->device;
    if (begins) {
        stalls->device = op->device;
        stalls->any = false;
        stalls->threads.count = 0;
        end_walk(stalls);
        if (stalls->count > 0) {
            if (make_ready(stalls) < 0)
                return -1;
            sorter_walk_begin(&stalls->walk, &stalls->calls);
            stalls->walking = true;
            stalls->next = sorter_next(&stalls->walk);
        }
    }
    if (op->category == CATEGORY_KERNEL || op->category == CATEGORY_GPU_GRAPH) {
        struct kernels_time *kernels = &stalls->kernels;
        int64_t launched = op->called == FIELD_ABSENT ? op->start : op->called;
        kernels->from = !kernels->any || launched < kernels->from ? launched : kernels->from;
        kernels->to = !kernels->any || op->start > kernels->to ? op->start : kernels->to;
        kernels->any = true;
    }
    bool idle = !begins && op->start > stalls->until && op->called != FIELD_ABSENT;
    int64_t from = stalls->until;
    if (begins || op->end > stalls->until)
        stalls->until = op->end;
    stalls->any = true;
    for (; stalls->next && op->called != FIELD_ABSENT && stalls->next->start <= op->called;
         stalls->next = sorter_next(&stalls->walk))
        if (remember(stalls, stalls->next) < 0)
            return -1;
    const struct stall_call *call = idle ? find_call(stalls, op, from, kind) : NULL;
    if (call)
        *stall = (struct stall){from, op->start, *call};
    return call != NULL;
}

int stalls_add_own_call(struct stalls *stalls, const struct timeline_op *op)
{
    const struct stall_call call = {op->called, op->returned, op->thread, op->call, op->kind};
    return remember(stalls, &call);
}

struct finding_place stall_place(const struct stall_call *call)
{
    struct finding_place place = finding_at_time(call->thread, call->start, call->end);
    place.name = call->name;
    return place;
}

int stalls_between_kernels(struct stalls *stalls, int (*each)(void *context, const struct stall_call *call),
                           void *context)
{
    const int64_t from = stalls->kernels.from, to = stalls->kernels.to;
    const struct stall_call *call;
    if (stalls->count == 0 || !stalls->kernels.any)
        return 0;
    return make_ready(stalls)
               ?: SORTER_EACH(&stalls->calls, call, call->start >= from && call->start < to ? each(context, call) : 0);
}
