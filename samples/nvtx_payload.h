/*
 * What samples of NVTX's payload extension share.
 */
#ifndef SAMPLES_NVTX_PAYLOAD_H
#define SAMPLES_NVTX_PAYLOAD_H

#include <stddef.h>
#include <stdint.h>

/* nvToolsExtPayload.h of CUDA 13.0 lacks a bracket in this macro. */
#define NVTX_POINTER_AS_PAYLOAD_ULLVALUE(p) ((uint64_t)(uintptr_t)(p))
#include <nvtx3/nvToolsExtPayload.h>
#include <nvtx3/nvToolsExtPayloadHelper.h>

#include "statement.h"

/* NVTX's macros, and its way to write schemas, leave fields out that are 0. */
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"
#pragma GCC diagnostic ignored "-Wsign-conversion"

static nvtxDomainHandle_t domain; /* named "payloads" */

static inline void did(const char *what, const char *name)
{
    state("nvtx %s \"%s\" domain \"payloads\"", what, name);
    state_count(what[0] == 'p' ? "pushes" : what[0] == 's' ? "starts" : "marks", 1);
}

/* A value of the payload of NAME, as it is in the trace. */
static inline void holds(const char *what, const char *name, const char *path_and_value)
{
    state("nvtx %s \"%s\" arg \"payload%s", what, name, path_and_value);
}

static inline nvtxEventAttributes_t event_of(const char *message)
{
    return (nvtxEventAttributes_t){.version = NVTX_VERSION,
                                   .size = NVTX_EVENT_ATTRIB_STRUCT_SIZE,
                                   .messageType = NVTX_MESSAGE_TYPE_ASCII,
                                   .message = {.ascii = message}};
}

static inline uint64_t register_schema(const char *name, uint64_t type, uint64_t flags,
                                       const nvtxPayloadSchemaEntry_t *entries, size_t count, size_t size)
{
    const nvtxPayloadSchemaAttr_t attributes = {
        .fieldMask = NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_NAME | NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_TYPE |
                     NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_FLAGS | NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_ENTRIES |
                     NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_NUM_ENTRIES | NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_STATIC_SIZE,
        .name = name,
        .type = type,
        .flags = flags,
        .entries = entries,
        .numEntries = count,
        .payloadStaticSize = size,
    };
    return nvtxPayloadSchemaRegister(domain, &attributes);
}
#define REGISTER(name, type, flags, entries, size) \
    register_schema(name, NVTX_PAYLOAD_SCHEMA_TYPE_##type, flags, entries, sizeof(entries) / sizeof(*(entries)), size)

static inline void mark_with(const char *message, uint64_t schema, const void *payload, size_t size)
{
    nvtxEventAttributes_t event = event_of(message);
    nvtxPayloadMark(domain, &event, schema, payload, size);
    did("mark", message);
}

#endif
