#include "trace/build/nvtx_resources.h"

#include "common/log.h"
#include "common/spool_records.h"

void nvtx_resources_release(struct nvtx_resources *resources)
{
    array_release(&resources->items);
    map_release(&resources->by_number);
}

int nvtx_resources_see(struct nvtx_resources *resources, const struct event *event)
{
    uint64_t *index = map_put(&resources->by_number, event->nvtx_resource.number, NULL);
    if (!index)
        return error_no_memory("NVTX resources");
    if (*index == 0 && !array_push(&resources->items))
        return error_no_memory("NVTX resources");
    if (*index == 0)
        *index = resources->items.count;
    struct nvtx_resource *resource = &resources->items.items[*index - 1];
    if (event->nvtx_resource.destroyed) {
        resource->destroyed = event->start;
        return 0;
    }
    resource->created = event->start;
    resource->identifier = event->nvtx_resource.identifier;
    resource->type = event->nvtx_resource.type;
    resource->domain = event->nvtx_resource.domain;
    resource->text = event->text;
    resource->length = event->text_length;
    return 0;
}

const struct nvtx_resource *nvtx_resource(const struct nvtx_resources *resources, uint64_t number)
{
    const uint64_t *index = map_get(&resources->by_number, number);
    return index && *index ? &resources->items.items[*index - 1] : NULL;
}

/*      class, index  what it is called; as NVTX_RESOURCE_MAKE_TYPE puts them together */
#define TYPES(X)                 \
    X(1, 1, "pointer")           \
    X(1, 2, "handle")            \
    X(1, 3, "thread")            \
    X(1, 4, "POSIX thread")      \
    X(2, 1, "mutex")             \
    X(2, 2, "futex")             \
    X(2, 3, "semaphore")         \
    X(2, 4, "completion")        \
    X(2, 5, "spinlock")          \
    X(2, 6, "seqlock")           \
    X(2, 7, "RCU")               \
    X(3, 1, "pthread mutex")     \
    X(3, 2, "pthread condition") \
    X(3, 3, "pthread rwlock")    \
    X(3, 4, "pthread barrier")   \
    X(3, 5, "pthread spinlock")  \
    X(3, 6, "pthread once")      \
    X(4, 1, "CUDA device")       \
    X(4, 2, "CUDA context")      \
    X(4, 3, "CUDA stream")       \
    X(4, 4, "CUDA event")        \
    X(5, 0, "CUDA device")       \
    X(5, 1, "CUDA stream")       \
    X(5, 2, "CUDA event")        \
    X(6, 1, "OpenCL device")     \
    X(6, 2, "OpenCL context")    \
    X(6, 3, "OpenCL queue")      \
    X(6, 4, "OpenCL memory")     \
    X(6, 5, "OpenCL sampler")    \
    X(6, 6, "OpenCL program")    \
    X(6, 7, "OpenCL event")

const char *nvtx_resource_type(uint32_t type)
{
    switch (type) {
#define TYPE(class, index, name) \
    case (class) << 16 | (index): return name;
        TYPES(TYPE)
#undef TYPE
    case SPOOL_NVTX_SYNC_USER: return "synchronisation object";
    default: return NULL;
    }
}
