/*
 * What NVTX's domains, strings, categories and CUDA events are called.
 */
#include "common/log.h"
#include "common/spool_records.h"
#include "trace/build/nvtx.h"

static uint64_t pair(uint32_t high, uint32_t low)
{
    return (uint64_t)high << 32 | low;
}

static int put_text(struct nvtx *nvtx, struct map *map, uint64_t key, const struct event *event)
{
    uint64_t *index = map_put(map, key, NULL);
    if (!index || (*index == 0 && !array_push(&nvtx->texts)))
        return error_no_memory("NVTX names");
    if (*index == 0)
        *index = nvtx->texts.count;
    nvtx->texts.items[*index - 1] = (struct nvtx_text){event->text, event->text_length};
    return 0;
}

static struct nvtx_text get_text(const struct nvtx *nvtx, const struct map *map, uint64_t key)
{
    const uint64_t *index = map_get(map, key);
    return index && *index ? nvtx->texts.items[*index - 1] : (struct nvtx_text){NULL, 0};
}

static int index_recorded(struct nvtx *nvtx, const struct event *event)
{
    struct nvtx_recorded *recorded = file_vector_push(&nvtx->recorded_events);
    if (!recorded)
        return error_no_memory("NVTX names");
    *recorded = (struct nvtx_recorded){.event = event->nvtx_name.object,
                                       .correlation = event->correlation,
                                       .order = (uint32_t)nvtx->recorded_events.count};
    return 0;
}

int nvtx_index_name(struct nvtx *nvtx, const struct event *event)
{
    uint64_t key = pair(event->nvtx_text.domain, event->nvtx_text.number);
    switch (event->type) {
    case EVENT_NVTX_DOMAIN: return put_text(nvtx, &nvtx->domains, event->nvtx_text.domain, event);
    case EVENT_NVTX_STRING: return put_text(nvtx, &nvtx->strings, key, event);
    case EVENT_NVTX_CATEGORY: return put_text(nvtx, &nvtx->categories, key, event);
    case EVENT_NVTX_NAME:
        return event->nvtx_name.what != SPOOL_NVTX_CUDA_EVENT
                   ? 0
                   : put_text(nvtx, &nvtx->event_names, event->nvtx_name.object, event);
    case EVENT_NVTX_RECORDED: return index_recorded(nvtx, event);
    default: return 0;
    }
}

static int by_correlation(const void *a, const void *b)
{
    const struct nvtx_recorded *left = a, *right = b;
    if (left->correlation != right->correlation)
        return left->correlation < right->correlation ? -1 : 1;
    return left->order < right->order ? -1 : left->order > right->order;
}

int nvtx_close_names(struct nvtx *nvtx)
{
    return file_vector_sort(&nvtx->recorded_events, by_correlation) == 0 ? 0 : error_no_memory("NVTX names");
}

struct nvtx_text nvtx_message(const struct nvtx *nvtx, const struct event *event)
{
    if (event->nvtx.string != 0)
        return get_text(nvtx, &nvtx->strings, pair(event->nvtx.domain, event->nvtx.string));
    return (struct nvtx_text){event->text, event->text_length};
}

struct nvtx_text nvtx_domain_name(const struct nvtx *nvtx, uint32_t domain)
{
    return get_text(nvtx, &nvtx->domains, domain);
}

struct nvtx_text nvtx_category_name(const struct nvtx *nvtx, uint32_t domain, uint32_t category)
{
    return get_text(nvtx, &nvtx->categories, pair(domain, category));
}

struct nvtx_text nvtx_event_name(const struct nvtx *nvtx, uint32_t correlation)
{
    size_t low = 0, high = nvtx->recorded_events.count; /* the last of them counts */
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (nvtx->recorded_events.items[middle].correlation <= correlation)
            low = middle + 1;
        else
            high = middle;
    }
    const struct nvtx_recorded *recorded = low > 0 ? &nvtx->recorded_events.items[low - 1] : NULL;
    return recorded && recorded->correlation == correlation ? get_text(nvtx, &nvtx->event_names, recorded->event)
                                                            : (struct nvtx_text){NULL, 0};
}

void nvtx_resources_release(struct nvtx_resources *resources)
{
    array_release(&resources->items);
    map_release(&resources->by_number);
}

int nvtx_resources_index(struct nvtx_resources *resources, const struct event *event)
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
