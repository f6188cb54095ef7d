/* Joins operations with their calls by correlation id, where calls of several processes may have one id, sorts both, and
 * looks up the kinds of calls in a table of function names. */
#include "analysis/engine/timeline.h"

#include <stdlib.h>
#include <string.h>

#include "trace/event_fields.h"

ORDER_WITH(by_correlation_and_process, struct call, ORDER(a->correlation, b->correlation)
           ?: ORDER(a->process, b->process) ?: ORDER(a->start, b->start) ?: ORDER(b->end, a->end)
           ?: ORDER(a->name, b->name))

void calls_init(struct sorter *calls, struct sorter_space *space)
{
    sorter_init(calls, space, sizeof(struct call), by_correlation_and_process);
}

/* --- */

void calls_walk_begin(struct calls_walk *walk, const struct sorter *calls)
{
    walk->any = false;
    sorter_walk_begin(&walk->walk, calls);
}

const struct call *calls_next(struct calls_walk *walk)
{
    const struct call *call;
    while ((call = sorter_next(&walk->walk))) {
        if (walk->any && call->correlation == walk->correlation && call->process == walk->process)
            continue;
        walk->any = true;
        walk->correlation = call->correlation;
        walk->process = call->process;
        return call;
    }
    return NULL;
}

/* --- */

void calls_join_begin(struct calls_join *join, const struct sorter *calls)
{
    *join = (struct calls_join){.correlation = -1};
    calls_walk_begin(&join->walk, calls);
    join->next = calls_next(&join->walk);
}

static void miss(struct calls_join *join, const struct call *call)
{
    if (join->missed && join->missed(join->context, call) < 0)
        join->no_memory = true;
}

static void end_same(struct calls_join *join)
{
    for (size_t i = 0; i < join->same.count; i++)
        if (!join->same.items[i].found)
            miss(join, &join->same.items[i].call);
    join->same.count = join->by_time.count = 0;
}

/* Sorts by start. Of calls with one start, the call of the first process comes last. */
static int by_time(const void *left, const void *right, void *context)
{
    const struct calls_join_call *same = context;
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    return ORDER(same[a].call.start, same[b].call.start) ?: ORDER(b, a);
}

/* Returns the call of PROCESS among the calls of the last id, or NULL. For CALLS_ANY_PROCESS, returns the last call that
 * started by TIME, else the first call. */
static struct calls_join_call *find_of(struct calls_join *join, int64_t time, uint32_t process)
{
    struct calls_join_call *same = join->same.items;
    size_t at = COUNT_BEFORE(join->same.count, i, same[i].call.process < process);
    if (at < join->same.count && same[at].call.process == process)
        return &same[at];
    if (process != CALLS_ANY_PROCESS)
        return NULL;
    if (join->by_time.count == 0) {
        for (uint32_t i = 0; i < join->same.count; i++)
            join->no_memory |= !ADD(array_push, &join->by_time, i);
        qsort_r(join->by_time.items, join->by_time.count, sizeof(uint32_t), by_time, same);
    }
    size_t after = COUNT_BEFORE(join->by_time.count, i, same[join->by_time.items[i]].call.start <= time);
    return &same[after > 0 ? join->by_time.items[after - 1] : 0];
}

const struct call *calls_join_find(struct calls_join *join, int64_t correlation, int64_t time, uint32_t process)
{
    if (correlation < 0)
        return NULL;
    if (correlation != join->correlation) {
        end_same(join);
        join->correlation = correlation;
        for (; join->next && join->next->correlation < correlation; join->next = calls_next(&join->walk))
            miss(join, join->next);
        for (; join->next && join->next->correlation == correlation; join->next = calls_next(&join->walk)) {
            const struct calls_join_call added = {.call = *join->next};
            join->no_memory |= !ADD(array_push, &join->same, added);
        }
    }
    if (join->same.count == 0)
        return NULL;
    struct calls_join_call *found = join->same.items; /* usually the only call */
    if (join->same.count > 1 || process != CALLS_ANY_PROCESS)
        found = find_of(join, time, process);
    if (!found)
        return NULL;
    join->again = found->found;
    found->found = true;
    return &found->call;
}

void calls_join_miss_rest(struct calls_join *join)
{
    end_same(join);
    for (; join->next; join->next = calls_next(&join->walk))
        miss(join, join->next);
}

int calls_join_end(struct calls_join *join)
{
    int status = sorter_walk_end(&join->walk.walk);
    array_release(&join->same);
    array_release(&join->by_time);
    return join->no_memory ? -1 : status;
}

ORDER_BY(by_correlation, struct gpu_op, is_correlated, correlation, order)

int64_t gpu_op_size(const int64_t size[3])
{
    int64_t all = 1;
    for (unsigned i = 0; i < 3; i++)
        if (size[i] <= 0 || __builtin_mul_overflow(all, size[i], &all) || all >= EVENT_NUMBER_LIMIT)
            return 0;
    return all;
}

static uint32_t stack_of(const struct event_fields *event)
{
    const struct launch_fields *launch = event_launch(event);
    if (launch->forward_at < GPU_OP_STACKS) /* EVENT_NO_TEXT is larger */
        return GPU_OP_FORWARD | launch->forward_at;
    if (launch->backward_at < GPU_OP_STACKS)
        return GPU_OP_BACKWARD | launch->backward_at;
    return event->stack > 0 && event->stack < GPU_OP_STACKS ? (uint32_t)event->stack : 0;
}

int gpu_ops_add(struct sorter *gpu_ops, const struct event_fields *event, uint32_t stream, uint32_t device,
                uint32_t captured)
{
    bool has_bytes = event->category == CATEGORY_GPU_MEMCPY || event->category == CATEGORY_GPU_MEMSET;
    int64_t bytes = event->bytes > 0 ? event->bytes : 0;
    struct gpu_op op = {
        .start = event->start,
        .duration = event->duration,
        .size = has_bytes ? bytes : gpu_op_size(event_kernel(event)->grid),
        .name = event->name,
        .stream = stream,
        .order = (uint32_t)gpu_ops->count,
        .is_correlated = event->correlation >= 0 && event->correlation <= UINT32_MAX,
        .kernel = event->category == CATEGORY_KERNEL || event->category == CATEGORY_GPU_GRAPH,
        .category = event->category,
        .device = device,
        .captured = captured,
        .stack = stack_of(event),
    };
    if (op.is_correlated)
        op.correlation = (uint32_t)event->correlation;
    return sorter_add(gpu_ops, &op);
}

int gpu_ops_each(const struct sorter *gpu_ops, const struct sorter *calls, const struct stream_owners *owners,
                 int (*each)(void *context, const struct gpu_op *op, const struct call *call), void *context)
{
    struct calls_join found;
    struct sorter_walk walk;
    const struct gpu_op *op;
    int status = 0;
    calls_join_begin(&found, calls);
    sorter_walk_begin(&walk, gpu_ops);
    while (status == 0 && (op = sorter_next(&walk))) {
        int64_t correlation = op->is_correlated ? (int64_t)op->correlation : -1;
        uint32_t owner = op->stream < owners->count ? owners->items[op->stream] : CALLS_ANY_PROCESS;
        status = each(context, op, calls_join_find(&found, correlation, op->start, owner));
    }
    int walked = sorter_walk_end(&walk), joined = calls_join_end(&found);
    return status ? status : walked ? walked : joined;
}

int launched_ops_order(const void *left, const void *right)
{
    const struct launched_op *a = left, *b = right;
    return ORDER(a->thread, b->thread) ?: ORDER(a->called, b->called) ?: ORDER(a->start, b->start);
}

void launched_ops_init(struct sorter *launched, struct sorter_space *space)
{
    sorter_init(launched, space, sizeof(struct launched_op), launched_ops_order);
}

static int add_called(void *context, const struct gpu_op *op, const struct call *call)
{
    struct sorter *launched = context;
    struct launched_op one = {.called = call ? call->start : 0,
                              .start = op->start,
                              .duration = op->duration,
                              .name = op->name,
                              .stream = op->stream,
                              .thread = call ? call->thread : LAUNCHED_NO_THREAD,
                              .kernel = op->kernel,
                              .captured = op->captured,
                              .stack = op->stack,
                              .call = call ? call->name : EVENT_NO_TEXT};
    one.launcher = one.thread;
    one.launched = one.called;
    return sorter_add(launched, &one);
}

int launched_ops_gather(struct sorter *launched, const struct sorter *gpu_ops, const struct sorter *calls,
                        const struct stream_owners *owners)
{
    int status = gpu_ops_each(gpu_ops, calls, owners, add_called, launched);
    return status ?: sorter_ready(launched);
}

/* --- GPU operations by device and time --- */

ORDER_BY(by_device_and_time, struct timeline_op, device, start, end, order)

/* A call comes before the calls within it, such as the driver's within the runtime's. */
ORDER_WITH(by_thread_and_start, struct host_call, ORDER(a->thread, b->thread) ?: ORDER(a->start, b->start)
           ?: ORDER(b->end, a->end) ?: ORDER(a->name, b->name))

void timeline_init(struct sorter *gpu_ops, struct sorter *timeline, struct sorter *host_calls,
                   struct sorter_space *space)
{
    sorter_init(gpu_ops, space, sizeof(struct gpu_op), by_correlation);
    sorter_init(timeline, space, sizeof(struct timeline_op), by_device_and_time);
    sorter_init(host_calls, space, sizeof(struct host_call), by_thread_and_start);
}

struct gathering {
    struct sorter *timeline;
    const struct timeline_sources *parts;
};

static int add_op(void *context, const struct gpu_op *op, const struct call *call)
{
    struct gathering *gathering = context;
    const struct timeline_sources *parts = gathering->parts;
    struct timeline_op one = {
        .start = op->start,
        .end = op->start + op->duration,
        .called = call ? call->start : FIELD_ABSENT,
        .returned = call ? call->end : FIELD_ABSENT,
        .size = op->size,
        .device = op->device,
        .stream = op->stream,
        .thread = call ? call->thread : LAUNCHED_NO_THREAD,
        .call = call ? call->name : EVENT_NO_TEXT,
        .name = op->name,
        .correlation = op->is_correlated ? op->correlation : 0,
        .order = op->order,
        .category = op->category,
        .kind = call ? (uint8_t)call_kinds_find(parts->kinds, parts->strings, call->name) : CALL_OTHER,
    };
    return sorter_add(gathering->timeline, &one);
}

int timeline_gather(struct sorter *timeline, const struct timeline_sources *parts)
{
    struct gathering gathering = {timeline, parts};
    int status = gpu_ops_each(parts->gpu_ops, parts->calls, parts->owners, add_op, &gathering);
    return status ?: sorter_ready(timeline);
}

/* --- API calls by thread and time --- */

void host_calls_walk_begin(struct host_calls_walk *walk, const struct sorter *host_calls)
{
    *walk = (struct host_calls_walk){0};
    sorter_walk_begin(&walk->walk, host_calls);
}

const struct host_call *host_calls_next(struct host_calls_walk *walk)
{
    const struct host_call *call;
    while ((call = sorter_next(&walk->walk))) {
        if (walk->any && call->thread == walk->thread && call->end <= walk->end)
            continue;
        walk->any = true;
        walk->thread = call->thread;
        walk->end = call->end;
        return call;
    }
    return NULL;
}

/* --- kinds of calls --- */

/*
 * Beginnings of function names without their prefix; the first row that fits decides. A '*' matches the text anywhere
 * in the name. `async` is the kind of functions with "Async" in the name. The prefix is all text before the first
 * capital letter: "cuda", "cu", "hip", "musa", "ur" and "ze" of Intel, "aclrt" of Ascend. Most functions of these APIs
 * have the names of CUDA's; functions with other names have rows of their own.
 */
static const struct beginning {
    const char *text;
    enum call_kind kind, async;
} beginnings[] = {
    {"LaunchHostFunc", CALL_OTHER, CALL_OTHER},
    {"GraphLaunch", CALL_GRAPH_LAUNCH, CALL_GRAPH_LAUNCH},
    {"EnqueueCommandBuffer", CALL_GRAPH_LAUNCH, CALL_GRAPH_LAUNCH},
    {"Graph", CALL_GRAPH, CALL_GRAPH},
    {"DrvGraph", CALL_GRAPH, CALL_GRAPH},
    {"CommandBuffer", CALL_GRAPH, CALL_GRAPH},
    {"*Launch", CALL_LAUNCH, CALL_LAUNCH},
    {"CommandQueueExecute", CALL_LAUNCH, CALL_LAUNCH},
    {"Hccl", CALL_LAUNCH, CALL_LAUNCH},
    {"StreamBeginCapture", CALL_GRAPH, CALL_GRAPH},
    {"StreamEndCapture", CALL_GRAPH, CALL_GRAPH},
    {"MemcpyBatch", CALL_COPY_ASYNC, CALL_COPY_ASYNC},
    {"Memcpy", CALL_COPY, CALL_COPY_ASYNC},
    {"*Prefetch", CALL_COPY_ASYNC, CALL_COPY_ASYNC},
    {"Memset", CALL_SET, CALL_SET_ASYNC},
    {"EnqueueUSMMemcpy", CALL_COPY_ASYNC, CALL_COPY_ASYNC},
    {"*Fill", CALL_SET_ASYNC, CALL_SET_ASYNC},
    {"EnqueueMemBuffer", CALL_COPY_ASYNC, CALL_COPY_ASYNC},
    {"*MemoryCopy", CALL_COPY_ASYNC, CALL_COPY_ASYNC},
    {"StreamSynchronize", CALL_SYNC_STREAM, CALL_SYNC_STREAM},
    {"SynchronizeStream", CALL_SYNC_STREAM, CALL_SYNC_STREAM},
    {"CommandQueueSynchronize", CALL_SYNC_STREAM, CALL_SYNC_STREAM},
    {"CommandListHostSynchronize", CALL_SYNC_STREAM, CALL_SYNC_STREAM},
    {"QueueFinish", CALL_SYNC_STREAM, CALL_SYNC_STREAM},
    {"EventSynchronize", CALL_SYNC_EVENT, CALL_SYNC_EVENT},
    {"SynchronizeEvent", CALL_SYNC_EVENT, CALL_SYNC_EVENT},
    {"EventHostSynchronize", CALL_SYNC_EVENT, CALL_SYNC_EVENT},
    {"FenceHostSynchronize", CALL_SYNC_EVENT, CALL_SYNC_EVENT},
    {"EventWait", CALL_SYNC_EVENT, CALL_SYNC_EVENT},
    {"*Synchronize", CALL_SYNC_DEVICE, CALL_SYNC_DEVICE},
    {"StreamWaitEvent", CALL_WAIT_EVENT, CALL_WAIT_EVENT},
    {"EnqueueEventsWait", CALL_WAIT_EVENT, CALL_WAIT_EVENT},
    {"*WaitOnEvents", CALL_WAIT_EVENT, CALL_WAIT_EVENT},
    {"EventRecord", CALL_RECORD_EVENT, CALL_RECORD_EVENT},
    {"RecordEvent", CALL_RECORD_EVENT, CALL_RECORD_EVENT},
    {"StreamQuery", CALL_QUERY, CALL_QUERY},
    {"EventQuery", CALL_QUERY, CALL_QUERY},
    {"QueryEvent", CALL_QUERY, CALL_QUERY},
    {"*allocHost", CALL_ALLOCATE_HOST, CALL_ALLOCATE_HOST},
    {"*AllocHost", CALL_ALLOCATE_HOST, CALL_ALLOCATE_HOST},
    {"*HostAlloc", CALL_ALLOCATE_HOST, CALL_ALLOCATE_HOST},
    {"HostMalloc", CALL_ALLOCATE_HOST, CALL_ALLOCATE_HOST},
    {"*HostRegister", CALL_ALLOCATE_HOST, CALL_ALLOCATE_HOST},
    {"*FreeHost", CALL_FREE_HOST, CALL_FREE_HOST},
    {"HostFree", CALL_FREE_HOST, CALL_FREE_HOST},
    {"*HostUnregister", CALL_FREE_HOST, CALL_FREE_HOST},
    {"MallocFromPoolAsync", CALL_ALLOCATE_ASYNC, CALL_ALLOCATE_ASYNC},
    {"Malloc", CALL_ALLOCATE, CALL_ALLOCATE_ASYNC},
    {"ExtMalloc", CALL_ALLOCATE, CALL_ALLOCATE},
    {"USMDeviceAlloc", CALL_ALLOCATE, CALL_ALLOCATE},
    {"USMSharedAlloc", CALL_ALLOCATE, CALL_ALLOCATE},
    {"MemAlloc", CALL_ALLOCATE, CALL_ALLOCATE_ASYNC},
    {"MemCreate", CALL_ALLOCATE, CALL_ALLOCATE},
    {"MemMap", CALL_ALLOCATE, CALL_ALLOCATE},
    {"MemUnmap", CALL_FREE, CALL_FREE},
    {"MemRelease", CALL_FREE, CALL_FREE},
    {"MemFree", CALL_FREE, CALL_FREE_ASYNC},
    {"USMFree", CALL_FREE, CALL_FREE},
    {"Free", CALL_FREE, CALL_FREE_ASYNC},
    {"Module", CALL_MODULE, CALL_MODULE},
    {"Library", CALL_MODULE, CALL_MODULE},
    {"Link", CALL_MODULE, CALL_MODULE},
    {"Program", CALL_MODULE, CALL_MODULE},
    {"Compile", CALL_MODULE, CALL_MODULE},
    {"Init", CALL_CONTEXT, CALL_CONTEXT},
    {"ContextCreate", CALL_CONTEXT, CALL_CONTEXT},
    {"CreateContext", CALL_CONTEXT, CALL_CONTEXT},
    {"CtxCreate", CALL_CONTEXT, CALL_CONTEXT},
    {"CtxDestroy", CALL_CONTEXT, CALL_CONTEXT},
    {"DevicePrimaryCtx", CALL_CONTEXT, CALL_CONTEXT},
    {"DeviceReset", CALL_CONTEXT, CALL_CONTEXT},
};

enum call_kind call_kind_of(const char *name)
{
    /* Ascend's profiler writes the library before the function: "AscendCL@aclrtMalloc". */
    const char *at = strchr(name, '@'), *function = at ? at + 1 : name, *text = function;
    while (*text && !(*text >= 'A' && *text <= 'Z'))
        text++;
    if (strncmp(function, "aclnn", strlen("aclnn")) == 0) /* an operator, which launches kernels */
        return strstr(text, "GetWorkspaceSize") ? CALL_OTHER : CALL_LAUNCH;
    for (size_t i = 0; i < sizeof(beginnings) / sizeof(*beginnings); i++) {
        const char *beginning = beginnings[i].text;
        bool anywhere = *beginning == '*';
        if (anywhere ? strstr(text, beginning + 1) != NULL : strncmp(text, beginning, strlen(beginning)) == 0)
            return strstr(text, "Async") ? beginnings[i].async : beginnings[i].kind;
    }
    return CALL_OTHER;
}

enum call_kind call_kinds_find(struct call_kinds *kinds, const struct interner *strings, uint32_t name)
{
    char *known = array_at(&kinds->items, name);
    if (!known)
        return CALL_OTHER;
    if (!*known)
        *known = (char)(call_kind_of(interned(strings, name)) + 1);
    return (enum call_kind)(*known - 1);
}
