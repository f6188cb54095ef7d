/*
 * nvtx_payload: NVTX's payload extension: structs beside ranges and marks, and events that have payloads
 * alone. Needs no GPU and no CUDA driver.
 *
 * A correct trace holds: each range and mark with its payload as an argument, in which every entry of its schema stands
 * under its name with the value that the program gave; nested structs as objects, arrays as arrays; messages,
 * categories and colours that stand in payloads as those of the events; what a pop or end said beside what the push or
 * start did.
 */
#include "nvtx_payload.h"

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

static void one_or_two_payloads(uint64_t grid_schema, uint64_t point_schema)
{
    const grid size = {640, 480};
    const point at = {0.5, 0.25};
    nvtxPayloadData_t both[] = {{grid_schema, sizeof(size), &size}, {point_schema, sizeof(at), &at}}, one;
    nvtxEventAttributes_t event = event_of("two payloads");
    NVTX_PAYLOAD_EVTATTR_SET_MULTIPLE(event, both)
    nvtxDomainMarkEx(domain, &event);
    did("mark", "two payloads");
    holds("mark", "two payloads", "[0].height\" 480");
    holds("mark", "two payloads", "[1].x\" 0.5");
    event = event_of("one payload");
    NVTX_PAYLOAD_EVTATTR_SET_DATA(event, &one, grid_schema, &size, sizeof(size))
    nvtxRangeId_t range = nvtxDomainRangeStartEx(domain, &event);
    nvtxDomainRangeEnd(domain, range);
    did("start", "one payload");
    holds("start", "one payload", ".width\" 640");
}

static void helpers(void)
{
    uint64_t step_schema = NVTX_PAYLOAD_SCHEMA_REGISTER(domain, step);
    uint64_t point_schema = NVTX_PAYLOAD_SCHEMA_REGISTER(domain, point);
    NVTX_DEFINE_SCHEMA_FOR_STRUCT_AND_REGISTER(
        domain, grid, "grid", NVTX_PAYLOAD_ENTRIES((width, TYPE_UINT32, "width"), (height, TYPE_UINT32, "height")))
    NVTX_DEFINE_STRUCT_WITH_SCHEMA_AND_REGISTER(
        domain, path, "path",
        NVTX_PAYLOAD_ENTRIES((int16_t, id, TYPE_INT16, "id"),
                             (point, from, NVTX_PAYLOAD_NESTED(NVTX_PAYLOAD_SCHEMA_ID_STATIC_START + 1), "from"),
                             (point, (over, 2), NVTX_PAYLOAD_NESTED(NVTX_PAYLOAD_SCHEMA_ID_STATIC_START + 1), "over",
                              "on the way", 2, ARRAY_FIXED_SIZE)))

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

    one_or_two_payloads(grid_schemaId, point_schema);
}

/* --- events that have payloads alone --- */

static void payload_events(void)
{
    enum { CATEGORY_IO = 3 };
    const nvtxScopeAttr_t scope = {
        .structSize = sizeof(scope), .path = "/node/disk[0]", .parentScope = NVTX_SCOPE_ROOT};
    static const nvtxPayloadSchemaEntry_t entries[] = {
        {NVTX_PAYLOAD_ENTRY_FLAG_EVENT_MESSAGE, NVTX_PAYLOAD_ENTRY_TYPE_CSTRING, "message"},
        {0, NVTX_PAYLOAD_ENTRY_TYPE_CATEGORY, "category"},
        {0, NVTX_PAYLOAD_ENTRY_TYPE_COLOR_ARGB, "color"},
        {0, NVTX_PAYLOAD_ENTRY_TYPE_SCOPE_ID, "from"}};
    struct {
        const char *message;
        uint32_t category, color;
        uint64_t scope;
    } all = {"read", CATEGORY_IO, 0xff00ff00, 0};
    nvtxDomainNameCategoryA(domain, CATEGORY_IO, "io");
    all.scope = nvtxScopeRegister(domain, &scope);
    const uint64_t schema = REGISTER("io", STATIC, 0, entries, sizeof(all));
    const nvtxPayloadData_t payload = {schema, sizeof(all), &all};
    const int32_t result = -5;
    const nvtxPayloadData_t end = {NVTX_PAYLOAD_ENTRY_TYPE_INT32, sizeof(result), &result};

    nvtxRangePushPayload(domain, &payload, 1);
    nvtxRangePopPayload(domain, &end, 1);
    state("nvtx push \"read\" domain \"payloads\" category \"io\" color \"#00ff00\"");
    state_count("pushes", 1);
    holds("push", "read", ".category\" \"io\"");
    holds("push", "read", ".color\" \"#00ff00\"");
    holds("push", "read", ".from\" \"node/disk[0]\"");
    state("nvtx push \"read\" arg \"end payload\" -5");

    nvtxRangeId_t range = nvtxRangeStartPayload(domain, &payload, 1);
    all.message = "read, and failed"; /* what the end says counts */
    all.color = 0xffff0000;
    nvtxRangeEndPayload(domain, range, &payload, 1);
    state("nvtx start \"read, and failed\" domain \"payloads\" category \"io\" color \"#ff0000\"");
    state_count("starts", 1);

    all.message = "done";
    nvtxMarkPayload(domain, &payload, 1);
    state("nvtx mark \"done\" domain \"payloads\" category \"io\" color \"#ff0000\"");
    state_count("marks", 1);
}

int main(void)
{
    domain = nvtxDomainCreateA("payloads");
    if (nvtxDomainIsEnabled(domain) == 0)
        fputs("nobody listens\n", stderr);
    helpers();
    payload_events();
    nvtxDomainDestroy(domain);
    puts("payloads of structs");
    state_print();
    return 0;
}
