#include "trace/build/nvtx_scopes.h"

#include <stddef.h>

#include "common/log.h"
#include "common/sink.h"
#include "trace/build/payload_schemas.h"

#define PARENTS_MAX 16 /* a scope that is its own parent ends here */

void nvtx_scopes_release(struct nvtx_scopes *scopes)
{
    array_release(&scopes->items);
    map_release(&scopes->by_id);
}

int nvtx_scopes_see(struct nvtx_scopes *scopes, const struct event *event)
{
    const struct spool_nvtx_scope *record = event->record;
    if (record->head.type != SPOOL_RECORD_NVTX_SCOPE)
        return 0;
    uint64_t *index = map_put(&scopes->by_id, payload_key(record->domain, record->id), NULL);
    const struct spool_nvtx_scope **item = index ? array_push(&scopes->items) : NULL;
    if (!item)
        return error_no_memory("scopes");
    *item = record;
    *index = scopes->items.count;
    return 0;
}

static const struct spool_nvtx_scope *find(const struct nvtx_scopes *scopes, uint32_t domain, uint64_t id)
{
    const uint64_t *index = map_get(&scopes->by_id, payload_key(domain, id));
    const struct spool_nvtx_scope *found = index && *index ? scopes->items.items[*index - 1] : NULL;
    return found && found->id == id && found->domain == domain ? found : NULL;
}

static const char *predefined(uint64_t id)
{
    static const struct {
        uint64_t id;
        const char *name;
    } names[] = {{NVTX_SCOPES_ROOT, "root"},
                 {2, "machine"},
                 {3, "socket"},
                 {4, "physical CPU"},
                 {5, "logical CPU"},
                 {15, "CPU"},
                 {16, "hypervisor"},
                 {17, "virtual machine"},
                 {18, "kernel"},
                 {19, "container"},
                 {20, "operating system"},
                 {NVTX_SCOPES_PROCESS, "process"},
                 {NVTX_SCOPES_THREAD, "thread"},
                 {NVTX_SCOPES_INNERMOST, "thread"}};
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
        if (names[i].id == id)
            return names[i].name;
    return NULL;
}

static void put_path(struct sink *sink, const struct spool_nvtx_scope *scope)
{
    uint32_t slashes = 0;
    while (slashes < scope->length && scope->text[slashes] == '/')
        slashes++;
    sink_bytes(sink, scope->text + slashes, scope->length - slashes);
}

/* The root, and none, are above all paths and not part of them. */
void nvtx_scopes_put(const struct nvtx_scopes *scopes, struct sink *sink, uint32_t domain, uint64_t id)
{
    const struct spool_nvtx_scope *path[PARENTS_MAX];
    size_t count = 0;
    const struct spool_nvtx_scope *scope = find(scopes, domain, id);
    for (; scope && count < PARENTS_MAX; scope = find(scopes, domain, scope->parent))
        path[count++] = scope;
    uint64_t above = count ? path[count - 1]->parent : id;
    const char *name = predefined(above);
    bool told = above != NVTX_SCOPES_NONE && (count == 0 || above != NVTX_SCOPES_ROOT) && count < PARENTS_MAX;
    if (told && name)
        sink_text(sink, name);
    else if (told)
        sink_u64(sink, above);
    for (size_t i = count; i > 0; i--) {
        if (i < count || told)
            sink_char(sink, '/');
        put_path(sink, path[i - 1]);
    }
}
