#include "analysis/model/call_kind.h"

#include <string.h>

/* The beginnings of names behind "cuda" or "cu", the first that fits. ASYNC: the kind where the name has "Async". */
static const struct beginning {
    const char *text;
    enum call_kind kind, async;
} beginnings[] = {
    {"LaunchKernel", CALL_LAUNCH, CALL_LAUNCH},
    {"LaunchCooperativeKernel", CALL_LAUNCH, CALL_LAUNCH},
    {"LaunchGrid", CALL_LAUNCH, CALL_LAUNCH},
    {"LaunchHostFunc", CALL_OTHER, CALL_OTHER},
    {"Launch", CALL_LAUNCH, CALL_LAUNCH},
    {"GraphLaunch", CALL_GRAPH_LAUNCH, CALL_GRAPH_LAUNCH},
    {"GraphUpload", CALL_GRAPH, CALL_GRAPH},
    {"Graph", CALL_GRAPH, CALL_GRAPH},
    {"StreamBeginCapture", CALL_GRAPH, CALL_GRAPH},
    {"StreamEndCapture", CALL_GRAPH, CALL_GRAPH},
    {"MemcpyBatch", CALL_COPY_ASYNC, CALL_COPY_ASYNC},
    {"Memcpy", CALL_COPY, CALL_COPY_ASYNC},
    {"MemPrefetch", CALL_COPY_ASYNC, CALL_COPY_ASYNC},
    {"Memset", CALL_SET, CALL_SET_ASYNC},
    {"DeviceSynchronize", CALL_SYNC_DEVICE, CALL_SYNC_DEVICE},
    {"ThreadSynchronize", CALL_SYNC_DEVICE, CALL_SYNC_DEVICE},
    {"CtxSynchronize", CALL_SYNC_DEVICE, CALL_SYNC_DEVICE},
    {"StreamSynchronize", CALL_SYNC_STREAM, CALL_SYNC_STREAM},
    {"EventSynchronize", CALL_SYNC_EVENT, CALL_SYNC_EVENT},
    {"StreamWaitEvent", CALL_WAIT_EVENT, CALL_WAIT_EVENT},
    {"EventRecord", CALL_RECORD_EVENT, CALL_RECORD_EVENT},
    {"StreamQuery", CALL_QUERY, CALL_QUERY},
    {"EventQuery", CALL_QUERY, CALL_QUERY},
    {"MallocHost", CALL_ALLOCATE_HOST, CALL_ALLOCATE_HOST},
    {"HostAlloc", CALL_ALLOCATE_HOST, CALL_ALLOCATE_HOST},
    {"HostRegister", CALL_ALLOCATE_HOST, CALL_ALLOCATE_HOST},
    {"MemAllocHost", CALL_ALLOCATE_HOST, CALL_ALLOCATE_HOST},
    {"MemHostAlloc", CALL_ALLOCATE_HOST, CALL_ALLOCATE_HOST},
    {"MemHostRegister", CALL_ALLOCATE_HOST, CALL_ALLOCATE_HOST},
    {"FreeHost", CALL_FREE_HOST, CALL_FREE_HOST},
    {"HostUnregister", CALL_FREE_HOST, CALL_FREE_HOST},
    {"MemFreeHost", CALL_FREE_HOST, CALL_FREE_HOST},
    {"MemHostUnregister", CALL_FREE_HOST, CALL_FREE_HOST},
    {"MallocFromPoolAsync", CALL_ALLOCATE_ASYNC, CALL_ALLOCATE_ASYNC},
    {"Malloc", CALL_ALLOCATE, CALL_ALLOCATE_ASYNC},
    {"MemAlloc", CALL_ALLOCATE, CALL_ALLOCATE_ASYNC},
    {"MemCreate", CALL_ALLOCATE, CALL_ALLOCATE},
    {"MemMap", CALL_ALLOCATE, CALL_ALLOCATE},
    {"MemUnmap", CALL_FREE, CALL_FREE},
    {"MemRelease", CALL_FREE, CALL_FREE},
    {"MemFree", CALL_FREE, CALL_FREE_ASYNC},
    {"Free", CALL_FREE, CALL_FREE_ASYNC},
    {"Module", CALL_MODULE, CALL_MODULE},
    {"Library", CALL_MODULE, CALL_MODULE},
    {"Link", CALL_MODULE, CALL_MODULE},
    {"Init", CALL_CONTEXT, CALL_CONTEXT},
    {"CtxCreate", CALL_CONTEXT, CALL_CONTEXT},
    {"CtxDestroy", CALL_CONTEXT, CALL_CONTEXT},
    {"DevicePrimaryCtx", CALL_CONTEXT, CALL_CONTEXT},
    {"DeviceReset", CALL_CONTEXT, CALL_CONTEXT},
};

static const char *behind_prefix(const char *name)
{
    if (strncmp(name, "cuda", 4) == 0)
        return name + 4;
    return strncmp(name, "cu", 2) == 0 ? name + 2 : NULL;
}

enum call_kind call_kind_of(const char *name)
{
    const char *text = behind_prefix(name);
    for (size_t i = 0; text && i < sizeof(beginnings) / sizeof(*beginnings); i++)
        if (strncmp(text, beginnings[i].text, strlen(beginnings[i].text)) == 0)
            return strstr(text, "Async") ? beginnings[i].async : beginnings[i].kind;
    return CALL_OTHER;
}

enum call_kind call_kinds_find(struct call_kinds *kinds, const struct interner *strings, uint32_t name)
{
    while (kinds->items.count <= name)
        if (!array_push(&kinds->items))
            return CALL_OTHER;
    char *known = &kinds->items.items[name];
    if (!*known)
        *known = (char)(call_kind_of(interned(strings, name)) + 1);
    return (enum call_kind)(*known - 1);
}
