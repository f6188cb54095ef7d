/* Joins operations with their calls, sorts both, and looks up the kinds of calls in a table of function names. */
#include "analysis/engine/timeline.h"

#include <string.h>

#include "trace/event_fields.h"

ORDER_BY(by_device_and_time, struct timeline_op, device, start, end, order)

void timeline_init(struct sorter *timeline, struct sorter_space *space)
{
    sorter_init(timeline, space, sizeof(struct timeline_op), by_device_and_time);
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

/* --- */

ORDER_WITH(by_thread_and_start, struct host_call, ORDER(a->thread, b->thread) ?: ORDER(a->start, b->start)
           ?: ORDER(b->end, a->end) ?: ORDER(a->name, b->name))

void host_calls_init(struct sorter *host_calls, struct sorter_space *space)
{
    sorter_init(host_calls, space, sizeof(struct host_call), by_thread_and_start);
}

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

static bool fits(const char *name, const char *beginning)
{
    if (*beginning == '*')
        return strstr(name, beginning + 1);
    return strncmp(name, beginning, strlen(beginning)) == 0;
}

enum call_kind call_kind_of(const char *name)
{
    /* Ascend's profiler writes the library before the function: "AscendCL@aclrtMalloc". */
    const char *at = strchr(name, '@'), *function = at ? at + 1 : name, *text = function;
    while (*text && !(*text >= 'A' && *text <= 'Z'))
        text++;
    if (strncmp(function, "aclnn", strlen("aclnn")) == 0) /* an operator, which launches kernels */
        return strstr(text, "GetWorkspaceSize") ? CALL_OTHER : CALL_LAUNCH;
    for (size_t i = 0; i < sizeof(beginnings) / sizeof(*beginnings); i++)
        if (fits(text, beginnings[i].text))
            return strstr(text, "Async") ? beginnings[i].async : beginnings[i].kind;
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
