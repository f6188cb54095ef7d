/*
 * nvtx_payload: NVTX's payload extension: structs, arrays, unions, enumerations and texts beside ranges and marks.
 * Needs no GPU and no CUDA driver.
 *
 * A correct trace holds: each range and mark with its payload as an argument, in which every entry of its schema stands
 * under its name with the value that the program gave; nested structs as objects and arrays as arrays; of a union what
 * was selected; enumerations, categories and scopes by their names; what pointers led to.
 */
#include <stddef.h>
#include <stdint.h>

/* nvToolsExtPayload.h of CUDA 13.0 lacks a bracket in this macro. */
#define NVTX_POINTER_AS_PAYLOAD_ULLVALUE(p) ((uint64_t)(uintptr_t)(p))
#include <nvtx3/nvToolsExtPayload.h>
#include <nvtx3/nvToolsExtPayloadHelper.h>

#include "statement.h"

static nvtxDomainHandle_t domain;

static void did(const char *what, const char *name)
{
    state("nvtx %s \"%s\" domain \"payloads\"", what, name);
    state_count(what[0] == 'p' ? "pushes" : what[0] == 's' ? "starts" : "marks", 1);
}

/* A value of the payload of NAME, as it is in the trace. */
static void holds(const char *what, const char *name, const char *path_and_value)
{
    state("nvtx %s \"%s\" arg \"payload%s", what, name, path_and_value);
}

static nvtxEventAttributes_t event_of(const char *message)
{
    return (nvtxEventAttributes_t){.version = NVTX_VERSION,
                                   .size = NVTX_EVENT_ATTRIB_STRUCT_SIZE,
                                   .messageType = NVTX_MESSAGE_TYPE_ASCII,
                                   .message = {.ascii = message}};
}

static uint64_t register_schema(const char *name, uint64_t type, uint64_t flags,
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

static void mark_with(const char *message, uint64_t schema, const void *payload, size_t size)
{
    nvtxEventAttributes_t event = event_of(message);
    nvtxPayloadMark(domain, &event, schema, payload, size);
    did("mark", message);
}

/* --- the helpers of nvToolsExtPayloadHelper.h --- */

NVTX_DEFINE_STRUCT_WITH_SCHEMA(step, "step", static,
                               NVTX_PAYLOAD_ENTRIES((uint64_t, iteration, TYPE_UINT64, "iteration"),
                                                    (float, loss, TYPE_FLOAT, "loss"),
                                                    (char, (tag, 8), TYPE_CSTRING, "tag", NULL, 8)))

struct point {
    double x, y;
};
typedef struct point point;
NVTX_DEFINE_SCHEMA_FOR_STRUCT(point, "point", static, NVTX_PAYLOAD_SCHEMA_FLAG_NONE,
                              NVTX_PAYLOAD_SCHEMA_ID_STATIC_START + 1,
                              NVTX_PAYLOAD_ENTRIES((x, TYPE_DOUBLE, "x"), (y, TYPE_DOUBLE, "y")))

NVTX_DEFINE_STRUCT(grid, (uint32_t, width), (uint32_t, height))

static void helpers(void)
{
    uint64_t step_schema = NVTX_PAYLOAD_SCHEMA_REGISTER(domain, step);
    uint64_t point_schema = NVTX_PAYLOAD_SCHEMA_REGISTER(domain, point);
    NVTX_DEFINE_SCHEMA_FOR_STRUCT_AND_REGISTER(
        domain, grid, "grid", NVTX_PAYLOAD_ENTRIES((width, TYPE_UINT32, "width"), (height, TYPE_UINT32, "height")))
    NVTX_DEFINE_STRUCT_WITH_SCHEMA_AND_REGISTER(
        domain, path, "path",
        NVTX_PAYLOAD_ENTRIES((int16_t, id, TYPE_INT16, "id"),
                             (point, from, NESTED(NVTX_PAYLOAD_SCHEMA_ID_STATIC_START + 1), "from"),
                             (point, (over, 2), NESTED(NVTX_PAYLOAD_SCHEMA_ID_STATIC_START + 1), "over", "on the way",
                              2, ARRAY_FIXED_SIZE)))

    const step first = {42, 0.125f, "warm-up"};
    nvtxEventAttributes_t event = event_of("step");
    nvtxPayloadRangePush(domain, &event, step_schema, &first, sizeof(first));
    did("push", "step");
    nvtxDomainRangePop(domain);
    state("nvtx push \"step\" arg \"schema\" \"step\"");
    holds("push", "step", ".iteration\" 42");
    holds("push", "step", ".loss\" 0.125");
    holds("push", "step", ".tag\" \"warm-up\"");

    const path way = {-7, {1.5, 2}, {{3, 4}, {5, -6.25}}};
    mark_with("path", path_schemaId, &way, sizeof(way));
    holds("mark", "path", ".id\" -7");
    holds("mark", "path", ".from.x\" 1.5");
    holds("mark", "path", ".from.y\" 2");
    holds("mark", "path", ".over[0].x\" 3");
    holds("mark", "path", ".over[1].y\" -6.25");

    /* Two payloads of one event. */
    const grid size = {640, 480};
    const point at = {0.5, 0.25};
    nvtxPayloadData_t both[] = {{grid_schemaId, sizeof(size), &size}, {point_schema, sizeof(at), &at}}, one;
    event = event_of("two payloads");
    NVTX_PAYLOAD_EVTATTR_SET_MULTIPLE(event, both)
    nvtxDomainMarkEx(domain, &event);
    did("mark", "two payloads");
    holds("mark", "two payloads", "[0].height\" 480");
    holds("mark", "two payloads", "[1].x\" 0.5");
    event = event_of("one payload");
    NVTX_PAYLOAD_EVTATTR_SET_DATA(event, &one, grid_schemaId, &size, sizeof(size))
    nvtxRangeId_t range = nvtxDomainRangeStartEx(domain, &event);
    nvtxDomainRangeEnd(domain, range);
    did("start", "one payload");
    holds("start", "one payload", ".width\" 640");
}

/* --- every type --- */

static void numbers(void)
{
    static const struct all {
        char c;
        unsigned char uc;
        short s;
        unsigned short us;
        int i;
        unsigned int ui;
        long l;
        unsigned long ul;
        long long ll;
        unsigned long long ull;
        int8_t i8;
        uint8_t u8;
        int64_t i64;
        float f;
        double d;
        size_t size;
        const void *address;
        uint16_t half, brain;
        uint8_t bytes[3];
    } all = {'x',
             200,
             -2,
             60000,
             -4,
             5,
             -6,
             7,
             -8,
             9,
             -10,
             11,
             -1000,
             2.5f,
             1e-300,
             123456,
             (const void *)0x7f00,
             0x3e00,
             0xc0a0,
             {0xde, 0xad, 0x01}};
#define ENTRY(type, member)                                                                           \
    {                                                                                                 \
        0, NVTX_PAYLOAD_ENTRY_TYPE_##type, #member, NULL, 0, offsetof(struct all, member), NULL, NULL \
    }
    static const nvtxPayloadSchemaEntry_t entries[] = {
        ENTRY(CHAR, c),
        ENTRY(UCHAR, uc),
        ENTRY(SHORT, s),
        ENTRY(USHORT, us),
        ENTRY(INT, i),
        ENTRY(UINT, ui),
        ENTRY(LONG, l),
        ENTRY(ULONG, ul),
        ENTRY(LONGLONG, ll),
        ENTRY(ULONGLONG, ull),
        ENTRY(INT8, i8),
        ENTRY(UINT8, u8),
        ENTRY(INT64, i64),
        ENTRY(FLOAT, f),
        ENTRY(DOUBLE, d),
        ENTRY(SIZE, size),
        ENTRY(ADDRESS, address),
        ENTRY(FLOAT16, half),
        ENTRY(BF16, brain),
        {NVTX_PAYLOAD_ENTRY_FLAG_ARRAY_FIXED_SIZE, NVTX_PAYLOAD_ENTRY_TYPE_BYTE, "bytes", NULL, 3,
         offsetof(struct all, bytes), NULL, NULL},
    };
    static const char *const values[] = {
        ".c\" \"x\"",
        ".uc\" 200",
        ".s\" -2",
        ".us\" 60000",
        ".i\" -4",
        ".ui\" 5",
        ".l\" -6",
        ".ul\" 7",
        ".ll\" -8",
        ".ull\" 9",
        ".i8\" -10",
        ".u8\" 11",
        ".i64\" -1000",
        ".f\" 2.5",
        ".d\" 1e-300",
        ".size\" 123456",
        ".address\" \"0x7f00\"",
        ".half\" 1.5",
        ".brain\" -5",
        ".bytes\" \"dead01\"",
    };
    mark_with("numbers", REGISTER("numbers", STATIC, 0, entries, sizeof(all)), &all, sizeof(all));
    for (size_t i = 0; i < sizeof(values) / sizeof(*values); i++)
        holds("mark", "numbers", values[i]);
}

static void texts(void)
{
    const struct {
        const char *pointer;
        nvtxStringHandle_t registered;
        char fixed[6];
        uint16_t wide[4];
        const char *none;
    } all = {
        "pointed at", nvtxDomainRegisterStringA(domain, "registered"), "fixed!", {0x47, 0xfc, 0xd83d, 0xde00}, NULL};
    const nvtxPayloadSchemaEntry_t entries[] = {
        {NVTX_PAYLOAD_ENTRY_FLAG_POINTER | NVTX_PAYLOAD_ENTRY_FLAG_DEEP_COPY, NVTX_PAYLOAD_ENTRY_TYPE_CSTRING,
         "pointer", NULL, 0, 0, NULL, NULL},
        {0, NVTX_PAYLOAD_ENTRY_TYPE_NVTX_REGISTERED_STRING_HANDLE, "registered", NULL, 0, 0, NULL, NULL},
        {0, NVTX_PAYLOAD_ENTRY_TYPE_CSTRING_UTF8, "fixed", NULL, 6, 0, NULL, NULL},
        {0, NVTX_PAYLOAD_ENTRY_TYPE_CSTRING_UTF16, "wide", NULL, 4, 0, NULL, NULL},
        {0, NVTX_PAYLOAD_ENTRY_TYPE_CSTRING, "none", NULL, 0, 0, NULL, NULL},
    };
    mark_with("texts", REGISTER("texts", STATIC, NVTX_PAYLOAD_SCHEMA_FLAG_DEEP_COPY, entries, sizeof(all)), &all,
              sizeof(all));
    holds("mark", "texts", ".pointer\" \"pointed at\"");
    holds("mark", "texts", ".registered\" \"registered\"");
    holds("mark", "texts", ".fixed\" \"fixed!\"");
    holds("mark", "texts", ".wide\" \"Gü😀\"");
    holds("mark", "texts", ".none\" null");
    mark_with("plain text", NVTX_PAYLOAD_ENTRY_TYPE_CSTRING, "as it is", SIZE_MAX);
    state("nvtx mark \"plain text\" domain \"payloads\" payload \"as it is\"");
}
