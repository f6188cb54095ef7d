/*
 * NVTX's resources in the metadata: what the program gave a name that has no row.
 */
#include <stdio.h>

#include "common/json_out.h"
#include "trace/build/conversion.h"

static void put_text(struct json_out *json, const char *key, const char *text, size_t length)
{
    json_key(json, key);
    json_string_n(json, text, length);
}

static void put_hex(struct json_out *json, const char *key, uint64_t value)
{
    char text[24];
    int length = snprintf(text, sizeof(text), "0x%llx", (unsigned long long)value);
    put_text(json, key, text, (size_t)length);
}

static void put_type(struct json_out *json, uint32_t type)
{
    const char *name = nvtx_resource_type(type);
    json_key(json, "type");
    if (name)
        json_string(json, name);
    else
        json_u64(json, type);
}

/* A time in microseconds, as events have it. */
static void put_time(struct json_out *json, const char *key, uint64_t time, uint64_t base)
{
    if (time == 0)
        return;
    json_key(json, key);
    json_us(json, (int64_t)(time - base));
}

static void put_resource(struct json_out *json, const struct process *process, const struct nvtx_resource *resource,
                         uint64_t base)
{
    struct nvtx_text domain = nvtx_domain_name(&process->nvtx, resource->domain);
    json_begin_object(json);
    json_key(json, "pid");
    json_u64(json, process->pid);
    put_type(json, resource->type);
    if (resource->identifier)
        put_hex(json, "identifier", resource->identifier);
    if (resource->text)
        put_text(json, "name", resource->text, resource->length);
    if (domain.text)
        put_text(json, "domain", domain.text, domain.length);
    put_time(json, "created", resource->created, base);
    put_time(json, "destroyed", resource->destroyed, base);
    json_end(json);
}

static bool any(const struct conversion *conversion)
{
    for (size_t i = 0; i < conversion->processes.count; i++)
        if (conversion_process(conversion, i)->nvtx.resources.items.count > 0)
            return true;
    return false;
}

void put_nvtx_resources(const struct conversion *conversion, struct json_out *json)
{
    if (!any(conversion))
        return;
    json_key(json, "nvtx_resources");
    json_begin_array(json);
    for (size_t i = 0; i < conversion->processes.count; i++) {
        const struct process *process = conversion_process(conversion, i);
        for (size_t k = 0; k < process->nvtx.resources.items.count; k++)
            put_resource(json, process, &process->nvtx.resources.items.items[k], conversion->base);
    }
    json_end(json);
}
