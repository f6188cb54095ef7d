/* The NVTX ranges of NCCL 2.28, with the ids and entries of its schemas. */
#include <stddef.h>

#include "tests/nccl/nccl.h"

/* nvToolsExtPayload.h of CUDA 13.0 lacks a bracket in this macro. */
#define NVTX_POINTER_AS_PAYLOAD_ULLVALUE(p) ((uint64_t)(uintptr_t)(p))
#include <nvtx3/nvToolsExtPayload.h>
#include <nvtx3/nvToolsExtPayloadHelper.h>

#define COMMUNICATOR "NCCL communicator ID"
#define BYTES "Message size [bytes]"
#define STATIC_ID(n) (NVTX_PAYLOAD_SCHEMA_ID_STATIC_START + (uint64_t)(n))
#define REDUCTIONS STATIC_ID(20)

struct payload {
    uint64_t comm;
    size_t bytes;
    int number; /* root, peer or reduction */
    int reduction;
};

struct init_payload {
    uint64_t comm, parent;
    int ranks, rank, device, color, key;
};

#define ENTRY(type_, name_, struct_, field) \
    {.type = (type_), .name = (name_), .offset = offsetof(struct struct_, field)}
#define COMM ENTRY(NVTX_PAYLOAD_ENTRY_TYPE_UINT64, COMMUNICATOR, payload, comm)
#define SIZE ENTRY(NVTX_PAYLOAD_ENTRY_TYPE_SIZE, BYTES, payload, bytes)
#define ROOT ENTRY(NVTX_PAYLOAD_ENTRY_TYPE_INT, "Root", payload, number)
#define PEER ENTRY(NVTX_PAYLOAD_ENTRY_TYPE_INT, "Peer rank", payload, number)
#define REDUCTION(field) ENTRY(REDUCTIONS, "Reduction operation", payload, field)
#define INIT(type, name, field) ENTRY(NVTX_PAYLOAD_ENTRY_TYPE_##type, name, init_payload, field)
#define INIT_REST INIT(INT, "No. of ranks", ranks), INIT(INT, "Rank", rank), INIT(INT, "CUDA device", device)

static const nvtxPayloadSchemaEntry_t plain[] = {COMM, SIZE}, reduced[] = {COMM, SIZE, REDUCTION(number)},
                                      rooted[] = {COMM, SIZE, ROOT}, to_peer[] = {COMM, SIZE, PEER},
                                      rooted_reduced[] = {COMM, SIZE, ROOT, REDUCTION(reduction)},
                                      init[] = {INIT(UINT64, COMMUNICATOR, comm), INIT_REST},
                                      split[] = {INIT(UINT64, COMMUNICATOR, comm),
                                                 INIT(UINT64, "Parent NCCL communicator ID", parent), INIT_REST,
                                                 INIT(INT, "Color", color), INIT(INT, "Key", key)};

#define SCHEMA(entries, struct_) entries, sizeof(entries) / sizeof(*(entries)), sizeof(struct struct_)
static const struct schema {
    uint64_t id;
    const nvtxPayloadSchemaEntry_t *entries;
    size_t count, size;
} schemas[] = {
    {SCHEMA_INIT_RANK, SCHEMA(init, init_payload)},
    {SCHEMA_DESTROY, SCHEMA(init, init_payload)},
    {4, SCHEMA(plain, payload)},
    {5, SCHEMA(reduced, payload)},
    {6, SCHEMA(rooted, payload)},
    {7, SCHEMA(reduced, payload)},
    {8, SCHEMA(rooted_reduced, payload)},
    {9, SCHEMA(to_peer, payload)},
    {10, SCHEMA(to_peer, payload)},
    {SCHEMA_SPLIT, SCHEMA(split, init_payload)},
    {16, SCHEMA(plain, payload)},
    {17, SCHEMA(rooted, payload)},
    {18, SCHEMA(rooted, payload)},
};

static const struct call {
    const char *name;
    uint64_t schema;
    bool rooted; /* the number is a root or peer */
} calls[] = {
    [FUNCTION_ALL_GATHER] = {"ncclAllGather", 4, false},
    [FUNCTION_ALL_REDUCE] = {"ncclAllReduce", 5, false},
    [FUNCTION_ALL_TO_ALL] = {"ncclAlltoAll", 16, false},
    [FUNCTION_BROADCAST] = {"ncclBroadcast", 6, true},
    [FUNCTION_GATHER] = {"ncclGather", 17, true},
    [FUNCTION_REDUCE] = {"ncclReduce", 8, true},
    [FUNCTION_SCATTER] = {"ncclScatter", 18, true},
    [FUNCTION_REDUCE_SCATTER] = {"ncclReduceScatter", 7, false},
    [FUNCTION_SEND] = {"ncclSend", 9, true},
    [FUNCTION_RECV] = {"ncclRecv", 10, true},
};

static nvtxDomainHandle_t domain(void)
{
    static nvtxDomainHandle_t made;
    static const nvtxPayloadEnum_t reductions[] = {
        {"Sum", ncclSum, 0}, {"Product", ncclProd, 0}, {"Max", ncclMax, 0}, {"Min", ncclMin, 0}, {"Avg", ncclAvg, 0}};
    if (made)
        return made;
    made = nvtxDomainCreateA("NCCL");
    const nvtxPayloadEnumAttr_t named = {
        .fieldMask = NVTX_PAYLOAD_ENUM_ATTR_FIELD_ENTRIES | NVTX_PAYLOAD_ENUM_ATTR_FIELD_NUM_ENTRIES |
                     NVTX_PAYLOAD_ENUM_ATTR_FIELD_SIZE | NVTX_PAYLOAD_ENUM_ATTR_FIELD_SCHEMA_ID,
        .entries = reductions,
        .numEntries = sizeof(reductions) / sizeof(*reductions),
        .sizeOfEnum = sizeof(ncclRedOp_t),
        .schemaId = REDUCTIONS,
    };
    nvtxPayloadEnumRegister(made, &named);
    for (size_t i = 0; i < sizeof(schemas) / sizeof(*schemas); i++) {
        const nvtxPayloadSchemaAttr_t attributes = {
            .fieldMask = NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_TYPE | NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_ENTRIES |
                         NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_NUM_ENTRIES | NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_STATIC_SIZE |
                         NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_SCHEMA_ID,
            .type = NVTX_PAYLOAD_SCHEMA_TYPE_STATIC,
            .entries = schemas[i].entries,
            .numEntries = schemas[i].count,
            .payloadStaticSize = schemas[i].size,
            .schemaId = STATIC_ID(schemas[i].id),
        };
        nvtxPayloadSchemaRegister(made, &attributes);
    }
    return made;
}

static void push(const char *name, uint64_t schema, const void *payload, size_t size)
{
    nvtxPayloadData_t data = {STATIC_ID(schema), size, payload};
    nvtxEventAttributes_t event = {.version = NVTX_VERSION,
                                   .size = NVTX_EVENT_ATTRIB_STRUCT_SIZE,
                                   .messageType = NVTX_MESSAGE_TYPE_REGISTERED,
                                   .message = {.registered = nvtxDomainRegisterStringA(domain(), name)}};
    if (payload) {
        event.payloadType = NVTX_PAYLOAD_TYPE_EXT;
        event.reserved0 = 1;
        event.payload.ullValue = (uint64_t)(uintptr_t)&data;
    }
    nvtxDomainRangePushEx(domain(), &event);
}

void nvtx_call(const struct task *task)
{
    const struct call *call = &calls[task->function];
    const struct payload payload = {.comm = task->comm->hash,
                                    .bytes = task->count * type_size(task->type),
                                    .number = call->rooted ? task->peer : (int)task->op,
                                    .reduction = (int)task->op};
    push(call->name, call->schema, &payload, sizeof(payload));
}

void nvtx_plain(const char *name)
{
    push(name, 0, NULL, 0);
}

void nvtx_pop(void)
{
    nvtxDomainRangePop(domain());
}

void nvtx_init_pop(uint64_t schema, uint64_t hash, uint64_t parent, int ranks, int rank, int device)
{
    const struct init_payload payload = {
        .comm = hash, .parent = parent, .ranks = ranks, .rank = rank, .device = device};
    const nvtxPayloadData_t data = {STATIC_ID(schema), sizeof(payload), &payload};
    nvtxRangePopPayload(domain(), &data, 1);
}

void nvtx_destroy(ncclComm_t comm)
{
    const struct init_payload payload = {
        .comm = comm->hash, .ranks = comm->ranks, .rank = comm->rank, .device = comm->device};
    push("ncclCommDestroy", SCHEMA_DESTROY, &payload, sizeof(payload));
}
