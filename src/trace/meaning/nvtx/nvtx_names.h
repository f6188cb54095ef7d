/*
 * Names of NVTX's domains, strings, categories and CUDA events; resources, which have nothing but a name; scopes.
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

/* NULL: not known. */
const struct nvtx_resource *nvtx_resource(const struct nvtx_resources *resources, uint64_t number);

/* Writes the path of a scope, "device/queue"; the number of an unknown one, nothing for none. */
void nvtx_scopes_put(const struct nvtx_scopes *scopes, struct buffer *buffer, uint32_t domain, uint64_t id);

/* A name, a resource or a scope; and after the last name. Return 0, or -1 after error(). */
int nvtx_index_name(struct nvtx *nvtx, const struct event *event);
int nvtx_index_scope(struct nvtx_scopes *scopes, const struct spool_nvtx_scope *record);
int nvtx_close_names(struct nvtx *nvtx);

/* The message of an EVENT_NVTX; of length 0 when it has none or its string is not known. */
struct nvtx_text nvtx_message(const struct nvtx *nvtx, const struct event *event);
/* NULL text: not named. */
struct nvtx_text nvtx_domain_name(const struct nvtx *nvtx, uint32_t domain);
/* Whether a domain of this name was recorded. */
bool nvtx_has_domain(const struct nvtx *nvtx, const char *name);
struct nvtx_text nvtx_category_name(const struct nvtx *nvtx, uint32_t domain, uint32_t category);
/* Of the CUDA event that the call of this correlation id recorded. */
struct nvtx_text nvtx_event_name(const struct nvtx *nvtx, uint32_t correlation);
/* Writes KEY and an array, with what PUT writes for each of the items of all processes, when there are any. COUNT is the
 * place in struct nvtx where the number of a process's is. */
void put_nvtx_items(const struct conversion *conversion, struct json_out *json, const char *key, size_t count,
                    void (*put)(struct json_out *json, const struct conversion *conversion,
                                const struct process *process, size_t i));
/* Within an object: "nvtx_resources" is an array of them, when there are any. */
void write_nvtx_resources(const struct conversion *conversion, struct json_out *json);

#endif
