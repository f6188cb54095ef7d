/*
 * Keeps the texts that name NVTX's objects, and writes resources and the paths of scopes.
 */
#include "trace/meaning/nvtx/nvtx_names.h"

#include "common/json_out.h"
#include "common/log.h"
#include "trace/meaning/nvtx/nvtx_data.h"

static int keep_text(struct nvtx *nvtx, struct map *map, uint64_t key, const struct event *event)
{
    struct nvtx_text *text = PUT_ITEM(&nvtx->texts, map, key);
    if (!text)
        return error_no_memory("NVTX names");
    *text = (struct nvtx_text){event->text, event->text_length};
    return 0;
}

static struct nvtx_text text_at(const struct nvtx *nvtx, const struct map *map, uint64_t key)
{
    const struct nvtx_text *text = FIND_ITEM(&nvtx->texts, map, key);
    return text ? *text : (struct nvtx_text){NULL, 0};
}

/* The record of a resource's destruction may be read first. */
static int index_resource(struct nvtx_resources *resources, const struct event *event)
{
    struct nvtx_resource *resource = PUT_ITEM(&resources->items, &resources->by_number, event->nvtx_resource.number);
    if (!resource)
        return error_no_memory("NVTX resources");
    if (event->nvtx_resource.destroyed) {
        resource->destroyed = event->start;
        return 0;
    }
    resource->created = event->start;
    resource->identifier = event->nvtx_resource.identifier;
    resource->type = event->nvtx_resource.type;
    resource->domain = event->nvtx_resource.domain;
    resource->name = (struct nvtx_text){event->text, event->text_length};
    return 0;
}

int nvtx_index_name(struct nvtx *nvtx, const struct event *event)
{
    uint64_t key = (uint64_t)event->nvtx_text.domain << 32 | event->nvtx_text.number;
    struct nvtx_recorded recorded;
    switch (event->type) {
    case EVENT_NVTX_DOMAIN: return keep_text(nvtx, &nvtx->domains, event->nvtx_text.domain, event);
    case EVENT_NVTX_STRING: return keep_text(nvtx, &nvtx->strings, key, event);
    case EVENT_NVTX_CATEGORY: return keep_text(nvtx, &nvtx->categories, key, event);
    case EVENT_NVTX_NAME:
        return event->nvtx_name.what != SPOOL_NVTX_CUDA_EVENT
                   ? 0
                   : keep_text(nvtx, &nvtx->event_names, event->nvtx_name.object, event);
    case EVENT_NVTX_RECORDED:
        recorded = (struct nvtx_recorded){.event = event->nvtx_name.object,
                                          .correlation = event->correlation,
                                          .order = (uint32_t)nvtx->recorded_events.count};
        return ADD(file_vector_push, &nvtx->recorded_events, recorded) ? 0 : error_no_memory("NVTX names");
    case EVENT_NVTX_RESOURCE: return index_resource(&nvtx->resources, event);
    default: return 0;
    }
}

ORDER_BY(by_correlation, struct nvtx_recorded, correlation, order)

int nvtx_close_names(struct nvtx *nvtx)
{
    return file_vector_sort(&nvtx->recorded_events, by_correlation) == 0 ? 0 : error_no_memory("NVTX names");
}

struct nvtx_text nvtx_message(const struct nvtx *nvtx, const struct event *event)
{
    if (event->nvtx.string != 0)
        return text_at(nvtx, &nvtx->strings, (uint64_t)event->nvtx.domain << 32 | event->nvtx.string);
    return (struct nvtx_text){event->text, event->text_length};
}

struct nvtx_text nvtx_domain_name(const struct nvtx *nvtx, uint32_t domain)
{
    return text_at(nvtx, &nvtx->domains, domain);
}

struct nvtx_text nvtx_category_name(const struct nvtx *nvtx, uint32_t domain, uint32_t category)
{
    return text_at(nvtx, &nvtx->categories, (uint64_t)domain << 32 | category);
}

struct nvtx_text nvtx_event_name(const struct nvtx *nvtx, uint32_t correlation)
{
    size_t count = COUNT_BEFORE(nvtx->recorded_events.count, i,
                                nvtx->recorded_events.items[i].correlation <= correlation); /* the last record counts */
    const struct nvtx_recorded *recorded = count > 0 ? &nvtx->recorded_events.items[count - 1] : NULL;
    return recorded && recorded->correlation == correlation ? text_at(nvtx, &nvtx->event_names, recorded->event)
                                                            : (struct nvtx_text){NULL, 0};
}

/* --- resources --- */

const struct nvtx_resource *nvtx_resource(const struct nvtx_resources *resources, uint64_t number)
{
    return FIND_ITEM(&resources->items, &resources->by_number, number);
}

/* Class, index and name of a type; NVTX_RESOURCE_MAKE_TYPE combines class and index. */
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

static const char *type_name(uint32_t type)
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

/* Writes a time in microseconds since BASE, as events have it; nothing if TIME is 0. */
static void put_time(struct json_out *json, const char *key, uint64_t time, uint64_t base)
{
    if (time == 0)
        return;
    json_key(json, key);
    json_us(json, (int64_t)(time - base));
}

void put_nvtx_items(const struct conversion *conversion, struct json_out *json, const char *key, size_t count,
                    void (*put)(struct json_out *json, const struct conversion *conversion,
                                const struct process *process, size_t i))
{
    bool any = false;
    for (size_t i = 0; i < conversion->processes.count; i++) {
        const struct process *process = conversion_process(conversion, i);
        size_t items = *(const size_t *)(const void *)((const char *)process->nvtx + count);
        if (items > 0 && !any) {
            json_key_array(json, key);
            any = true;
        }
        for (size_t k = 0; k < items; k++) {
            json_begin_object(json);
            json_key(json, "pid");
            json_u64(json, process->pid);
            put(json, conversion, process, k);
            json_end(json);
        }
    }
    if (any)
        json_end(json);
}

static void put_resource(struct json_out *json, const struct conversion *conversion, const struct process *process,
                         size_t i)
{
    const struct nvtx_resource *resource = &process->nvtx->resources.items.items[i];
    struct nvtx_text domain = nvtx_domain_name(process->nvtx, resource->domain);
    const char *type = type_name(resource->type);
    json_key(json, "type");
    if (type)
        json_string(json, type);
    else
        json_u64(json, resource->type);
    if (resource->identifier)
        json_put_hex(json, "identifier", resource->identifier);
    if (resource->name.text)
        json_put_text_n(json, "name", resource->name.text, resource->name.length);
    if (domain.text)
        json_put_text_n(json, "domain", domain.text, domain.length);
    put_time(json, "created", resource->created, conversion->base);
    put_time(json, "destroyed", resource->destroyed, conversion->base);
}

void write_nvtx_resources(const struct conversion *conversion, struct json_out *json)
{
    put_nvtx_items(conversion, json, "nvtx_resources", offsetof(struct nvtx, resources.items.count), put_resource);
}

/* --- scopes --- */

#define PARENTS_MAX 16 /* bounds the path of a scope that is its own ancestor */

int nvtx_index_scope(struct nvtx_scopes *scopes, const struct spool_nvtx_scope *record)
{
    uint64_t *index = map_put(&scopes->by_id, payload_key(record->domain, record->id), NULL);
    if (!index || !ADD(array_push, &scopes->items, record))
        return error_no_memory("scopes");
    *index = scopes->items.count;
    return 0;
}

static const struct spool_nvtx_scope *find_scope(const struct nvtx_scopes *scopes, uint32_t domain, uint64_t id)
{
    const struct spool_nvtx_scope **found = FIND_ITEM(&scopes->items, &scopes->by_id, payload_key(domain, id));
    return found && (*found)->id == id && (*found)->domain == domain ? *found : NULL;
}

/* The root, and NVTX_SCOPES_NONE, are no part of a path. */
void nvtx_scopes_put(const struct nvtx_scopes *scopes, struct buffer *buffer, uint32_t domain, uint64_t id)
{
    const struct spool_nvtx_scope *path[PARENTS_MAX];
    size_t count = 0;
    const struct spool_nvtx_scope *scope = find_scope(scopes, domain, id);
    for (; scope && count < PARENTS_MAX; scope = find_scope(scopes, domain, scope->parent))
        path[count++] = scope;
    uint64_t above = count ? path[count - 1]->parent : id;
    static const char *const names[] = {[NVTX_SCOPES_ROOT] = "root",
                                        [2] = "machine",
                                        [3] = "socket",
                                        [4] = "physical CPU",
                                        [5] = "logical CPU",
                                        [15] = "CPU",
                                        [16] = "hypervisor",
                                        [17] = "virtual machine",
                                        [18] = "kernel",
                                        [19] = "container",
                                        [20] = "operating system",
                                        [NVTX_SCOPES_PROCESS] = "process",
                                        [NVTX_SCOPES_THREAD] = "thread",
                                        [NVTX_SCOPES_INNERMOST] = "thread"};
    const char *name = above < sizeof(names) / sizeof(*names) ? names[above] : NULL;
    bool has_top = above != NVTX_SCOPES_NONE && (count == 0 || above != NVTX_SCOPES_ROOT) && count < PARENTS_MAX;
    if (has_top && name)
        buffer_text(buffer, name);
    else if (has_top)
        buffer_u64(buffer, above);
    for (size_t i = count; i > 0; i--) {
        if (i < count || has_top)
            buffer_char(buffer, '/');
        uint32_t slashes = 0;
        while (slashes < path[i - 1]->length && path[i - 1]->text[slashes] == '/')
            slashes++;
        buffer_bytes(buffer, path[i - 1]->text + slashes, path[i - 1]->length - slashes);
    }
}
