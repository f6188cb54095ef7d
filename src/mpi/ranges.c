/*
 * Pushes and pops the ranges through NVTX. A payload's schema is registered once for each set of facts that a call
 * has.
 */
#include "mpi/ranges.h"

#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

/* nvToolsExtPayload.h of CUDA 13.0 lacks a bracket in this macro. */
#define NVTX_POINTER_AS_PAYLOAD_ULLVALUE(p) ((uint64_t)(uintptr_t)(p))
#include <nvtx3/nvToolsExtPayload.h>

static nvtxDomainHandle_t domain;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void start(void)
{
    domain = nvtxDomainCreateA("MPI");
}

bool ranges_wanted(void)
{
    pthread_once(&once, start);
    return domain != NULL;
}

#define ENTRY(known, word, nvtx_type, field)                                                                         \
    {                                                                                                                \
        known,                                                                                                       \
        {                                                                                                            \
            .type = NVTX_PAYLOAD_ENTRY_TYPE_##nvtx_type, .name = word, .offset = offsetof(struct range_facts, field) \
        }                                                                                                            \
    }

/* The names are those that the tool reads (trace/meaning). */
static const struct {
    unsigned known;
    nvtxPayloadSchemaEntry_t entry;
} entries[] = {
    ENTRY(RANGE_COMMUNICATOR, "communicator", UINT64, communicator),
    ENTRY(RANGE_COMMUNICATOR, "name", NVTX_REGISTERED_STRING_HANDLE, name),
    ENTRY(RANGE_COMMUNICATOR, "ranks", INT32, ranks),
    ENTRY(RANGE_COMMUNICATOR, "rank", INT32, rank),
    ENTRY(RANGE_SEQUENCE, "sequence", UINT64, sequence),
    ENTRY(RANGE_BYTES, "bytes", UINT64, bytes),
    ENTRY(RANGE_SENT, "bytes sent", UINT64, sent),
    ENTRY(RANGE_RECEIVED, "bytes received", UINT64, received),
    ENTRY(RANGE_PEER, "peer", INT32, peer),
    ENTRY(RANGE_TAG, "tag", INT32, tag),
    ENTRY(RANGE_SOURCE, "source", INT32, source),
    ENTRY(RANGE_ROOT, "root", INT32, root),
    ENTRY(RANGE_REQUESTS, "requests", UINT32, requests),
    ENTRY(RANGE_CODE, "code", INT32, code),
};
#define ENTRIES (sizeof(entries) / sizeof(*entries))

static uint64_t schema_make(unsigned known)
{
    nvtxPayloadSchemaEntry_t chosen[ENTRIES];
    size_t count = 0;
    for (size_t i = 0; i < ENTRIES; i++)
        if (entries[i].known & known)
            chosen[count++] = entries[i].entry;
    const nvtxPayloadSchemaAttr_t attributes = {
        .fieldMask = NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_NAME | NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_TYPE |
                     NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_ENTRIES | NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_NUM_ENTRIES |
                     NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_STATIC_SIZE,
        .name = "MPI call",
        .type = NVTX_PAYLOAD_SCHEMA_TYPE_STATIC,
        .entries = chosen,
        .numEntries = count,
        .payloadStaticSize = sizeof(struct range_facts),
    };
    return nvtxPayloadSchemaRegister(domain, &attributes);
}

/* The schema with these members, one for each set of them. 0: there is none. */
static uint64_t schema_of(unsigned known)
{
    static uint64_t schemas[RANGE_MEMBERS];
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    uint64_t schema = __atomic_load_n(&schemas[known], __ATOMIC_ACQUIRE);
    if (schema || known == 0)
        return schema;
    pthread_mutex_lock(&lock);
    schema = schemas[known];
    if (!schema) {
        schema = schema_make(known);
        __atomic_store_n(&schemas[known], schema, __ATOMIC_RELEASE);
    }
    pthread_mutex_unlock(&lock);
    return schema;
}

const void *range_text(const char *text)
{
    return nvtxDomainRegisterStringA(domain, text);
}

void range_push(const void *function, const struct range_facts *facts)
{
    const nvtxPayloadData_t payload = {schema_of(facts->known), sizeof(*facts), facts};
    nvtxEventAttributes_t event = {.version = NVTX_VERSION,
                                   .size = NVTX_EVENT_ATTRIB_STRUCT_SIZE,
                                   .messageType = NVTX_MESSAGE_TYPE_REGISTERED,
                                   .message.registered = (nvtxStringHandle_t)(uintptr_t)function};
    if (payload.schemaId) {
        event.payloadType = NVTX_PAYLOAD_TYPE_EXT;
        event.reserved0 = 1; /* payloads */
        event.payload.ullValue = NVTX_POINTER_AS_PAYLOAD_ULLVALUE(&payload);
    }
    nvtxDomainRangePushEx(domain, &event);
}

void range_pop(void)
{
    nvtxDomainRangePop(domain);
}

void range_unrecorded(const char *names)
{
    char text[512];
    snprintf(text, sizeof(text), "not recorded: %s", names);
    const nvtxEventAttributes_t event = {.version = NVTX_VERSION,
                                         .size = NVTX_EVENT_ATTRIB_STRUCT_SIZE,
                                         .messageType = NVTX_MESSAGE_TYPE_ASCII,
                                         .message.ascii = text};
    nvtxDomainMarkEx(domain, &event);
}
