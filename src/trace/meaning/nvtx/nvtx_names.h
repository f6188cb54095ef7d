/*
 * Names of NVTX's domains, strings, categories and CUDA events; resources, which the program only names; scopes.
 */
#ifndef GPUTRACE_TRACE_MEANING_NVTX_NVTX_NAMES_H
#define GPUTRACE_TRACE_MEANING_NVTX_NVTX_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/meaning/nvtx/payload_schemas.h"

struct conversion;
struct json_out;
struct nvtx;
struct nvtx_resources;
struct nvtx_scopes;
struct process;

/* Returns the resource of this number, or NULL. */
const struct nvtx_resource *nvtx_resource(const struct nvtx_resources *resources, uint64_t number);

/* Writes the path of a scope, such as "device/queue"; the number of an unknown scope; nothing for no scope. */
void nvtx_scopes_put(const struct nvtx_scopes *scopes, struct buffer *buffer, uint32_t domain, uint64_t id);

/* Index a name or resource, and a scope; nvtx_close_names() follows the last. Return 0, or -1 after error(). */
int nvtx_index_name(struct nvtx *nvtx, const struct event *event);
int nvtx_index_scope(struct nvtx_scopes *scopes, const struct spool_nvtx_scope *record);
int nvtx_close_names(struct nvtx *nvtx);

/* Returns the message of an EVENT_NVTX, with length 0 if it has none or its registered string is missing. */
struct nvtx_text nvtx_message(const struct nvtx *nvtx, const struct event *event);
/* Returns the name of the domain, with text NULL if it has none. */
struct nvtx_text nvtx_domain_name(const struct nvtx *nvtx, uint32_t domain);
struct nvtx_text nvtx_category_name(const struct nvtx *nvtx, uint32_t domain, uint32_t category);
/* Returns the name of the CUDA event that the call of this correlation id recorded, with text NULL if it has none. */
struct nvtx_text nvtx_event_name(const struct nvtx *nvtx, uint32_t correlation);
/* Writes KEY with an array of objects, one for each item of each process, by PUT; nothing if there are no items. COUNT
 * is the offset in struct nvtx of the number of items. */
void put_nvtx_items(const struct conversion *conversion, struct json_out *json, const char *key, size_t count,
                    void (*put)(struct json_out *json, const struct conversion *conversion,
                                const struct process *process, size_t i));
/* Writes "nvtx_resources", an array of all resources, as a key of the object that JSON is in. */
void write_nvtx_resources(const struct conversion *conversion, struct json_out *json);

#endif
