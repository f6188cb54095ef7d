/*
 * nvtx_deferred: events of NVTX's payload extension that bring their own times, by clocks of every sort. Needs no GPU
 * and no CUDA driver.
 *
 * A correct trace holds: the ranges and marks below at the times at which they were, in spite of being handed over
 * later: each one within the range "all" of the first thread, on a row of the scope that it comes from.
 */
#include <time.h>

#include "nvtx_payload.h"
#include <nvtx3/nvToolsExtSemanticsScope.h>
#include <nvtx3/nvToolsExtSemanticsTime.h>

#define NS_PER_S 1000000000

struct range {
    int64_t begin, end;
    nvtxStringHandle_t message;
};

static uint64_t register_scope(const char *path, uint64_t parent)
{
    const nvtxScopeAttr_t attributes = {.structSize = sizeof(attributes), .path = path, .parentScope = parent};
    return nvtxScopeRegister(domain, &attributes);
}

/* A schema of ranges or marks whose times are of CLOCK, and which come from SCOPE. */
static uint64_t register_events(const char *name, uint64_t flags, uint64_t clock, uint64_t scope)
{
    const nvtxSemanticsScope_t from = {{sizeof(from), NVTX_SEMANTIC_ID_SCOPE_V1, 1, NULL}, scope};
    const nvtxSemanticsTime_t by = {{sizeof(by), NVTX_SEMANTIC_ID_TIME_V1, NVTX_TIME_SEMANTIC_VERSION, &from.header},
                                    clock};
    const bool is_mark = flags == NVTX_PAYLOAD_SCHEMA_FLAG_MARK;
    const nvtxPayloadSchemaEntry_t entries[] = {
        {NVTX_PAYLOAD_ENTRY_FLAG_TIMESTAMP |
             (is_mark ? NVTX_PAYLOAD_ENTRY_FLAG_MARK : NVTX_PAYLOAD_ENTRY_FLAG_RANGE_BEGIN),
         NVTX_PAYLOAD_ENTRY_TYPE_INT64, "begin", NULL, 0, 0, &by.header},
        {is_mark ? NVTX_PAYLOAD_ENTRY_FLAG_HIDE : NVTX_PAYLOAD_ENTRY_FLAG_TIMESTAMP | NVTX_PAYLOAD_ENTRY_FLAG_RANGE_END,
         NVTX_PAYLOAD_ENTRY_TYPE_INT64, "end", NULL, 0, 0, &by.header},
        {NVTX_PAYLOAD_ENTRY_FLAG_EVENT_MESSAGE, NVTX_PAYLOAD_ENTRY_TYPE_NVTX_REGISTERED_STRING_HANDLE, "message"},
    };
    return register_schema(name, NVTX_PAYLOAD_SCHEMA_TYPE_STATIC, flags, entries, 3, sizeof(struct range));
}

static nvtxStringHandle_t text(const char *message)
{
    return nvtxDomainRegisterStringA(domain, message);
}

/* --- clocks --- */

static int64_t read_clock(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (int64_t)now.tv_sec * NS_PER_S + now.tv_nsec;
}

/* A clock of the program's own: a tick each 100 ns, from some time on. */
static int64_t own_clock(void)
{
    return read_clock(CLOCK_MONOTONIC) / 100 + 12345;
}

static int64_t other_clock(void *shift)
{
    return own_clock() * 2 + *(int64_t *)shift;
}

static uint64_t register_clock(uint64_t type, int64_t resolution)
{
    const nvtxTimeDomainAttr_t attributes = {.timestampTypeId = type,
                                             .timerFlags =
                                                 NVTX_TIMER_FLAG_CLOCK_MONOTONIC | NVTX_TIMER_FLAG_CLOCK_STEADY,
                                             .timerResolution = resolution,
                                             .timerStart = NVTX_TIMER_START_UNKNOWN};
    return nvtxTimeDomainRegister(domain, &attributes);
}

static void rest(void)
{
    const struct timespec time = {.tv_nsec = 300000};
    nanosleep(&time, NULL);
}

/* One range by a clock, which READ reads, after the fact. */
static void submit_range(const char *message, uint64_t schema, int64_t (*read)(void))
{
    struct range range = {.begin = read(), .message = text(message)};
    rest();
    range.end = read();
    rest();
    const nvtxPayloadData_t payload = {schema, sizeof(range), &range};
    nvtxEventSubmit(domain, &payload, 1);
    did("push", message);
}

static int64_t read_monotonic(void)
{
    return read_clock(CLOCK_MONOTONIC);
}

static int64_t read_boot(void)
{
    return read_clock(CLOCK_BOOTTIME);
}

static int64_t read_tool(void)
{
    return nvtxTimestampGet();
}

static int64_t shift = 777;
static int64_t read_other(void)
{
    return other_clock(&shift);
}

static void clocks(uint64_t scope)
{
    const uint64_t pushpop = NVTX_PAYLOAD_SCHEMA_FLAG_RANGE_PUSHPOP;
    submit_range("tool", register_events("tool", pushpop, NVTX_TIMESTAMP_TYPE_TOOL_PROVIDED, scope), read_tool);
    submit_range("monotonic",
                 register_events("monotonic", pushpop, NVTX_TIMESTAMP_TYPE_CPU_CLOCK_GETTIME_MONOTONIC, scope),
                 read_monotonic);
    const uint64_t boot = register_clock(NVTX_TIMESTAMP_TYPE_CPU_CLOCK_GETTIME_BOOTTIME, NS_PER_S);
    submit_range("boot", register_events("boot", pushpop, boot, scope), read_boot);

    /* The tool reads the program's clocks. */
    const uint64_t own = register_clock(NVTX_TIMESTAMP_TYPE_NONE, 0);
    nvtxTimerSource(domain, own, NVTX_TIMER_SOURCE_SAFE_CALL_AFTER_PROCESS_TEARDOWN, own_clock);
    submit_range("own", register_events("own", pushpop, own, scope), own_clock);
    const uint64_t other = register_clock(NVTX_TIMESTAMP_TYPE_NONE, 0);
    nvtxTimerSourceWithData(domain, other, NVTX_TIMER_SOURCE_SAFE_CALL_AFTER_PROCESS_TEARDOWN, other_clock, &shift);
    submit_range("other", register_events("other", pushpop, other, scope), read_other);

    /* The program says itself how its clocks go. */
    const uint64_t told = register_clock(NVTX_TIMESTAMP_TYPE_NONE, 0);
    nvtxTimeSyncPoint(domain, told, NVTX_TIMESTAMP_TYPE_CPU_CLOCK_GETTIME_MONOTONIC, own_clock(), read_monotonic());
    rest();
    nvtxTimeSyncPoint(domain, told, NVTX_TIMESTAMP_TYPE_CPU_CLOCK_GETTIME_MONOTONIC, own_clock(), read_monotonic());
    submit_range("told", register_events("told", pushpop, told, scope), own_clock);
    const uint64_t table = register_clock(NVTX_TIMESTAMP_TYPE_NONE, 0);
    const int64_t now = own_clock(), tool_now = nvtxTimestampGet();
    const nvtxSyncPoint_t points[] = {{now, tool_now}, {now + 10000, tool_now + 1000000}};
    nvtxTimeSyncPointTable(domain, table, NVTX_TIMESTAMP_TYPE_TOOL_PROVIDED, points, 2);
    submit_range("table", register_events("table", pushpop, table, scope), own_clock);
    const uint64_t factor = register_clock(NVTX_TIMESTAMP_TYPE_NONE, 0);
    nvtxTimestampConversionFactor(domain, factor, told, 1.0, own_clock(), own_clock());
    submit_range("factor", register_events("factor", pushpop, factor, scope), own_clock);
}

/* --- batches --- */

static void batch(void)
{
    enum { COUNT = 2000 }; /* more than one record of the recorder holds */
    const uint64_t queue = register_scope("device/queue[1]", NVTX_SCOPE_ROOT);
    static struct range ranges[COUNT];
    const nvtxStringHandle_t message = text("job");
    for (int i = 0; i < COUNT; i++) {
        ranges[i].begin = nvtxTimestampGet();
        ranges[i].end = ranges[i].begin;
        ranges[i].message = message;
    }
    const nvtxEventBatch_t all = {.eventSchemaId = register_events("job", NVTX_PAYLOAD_SCHEMA_FLAG_RANGE_PUSHPOP,
                                                                   NVTX_TIMESTAMP_TYPE_TOOL_PROVIDED, NVTX_SCOPE_NONE),
                                  .size = sizeof(ranges),
                                  .events = ranges,
                                  .scope = queue,
                                  .flags = NVTX_BATCH_FLAG_TIME_SORTED};
    nvtxEventBatchSubmit(domain, &all);
    state_count("nvtx push \"job\" domain \"payloads\"", COUNT);
    state_count("pushes", COUNT);
    did_name_row("NVTX payloads: device/queue[1]");
}

static void marks_and_started(uint64_t scope)
{
    struct range event = {.begin = nvtxTimestampGet(), .message = text("moment")};
    nvtxPayloadData_t payload = {
        register_events("moment", NVTX_PAYLOAD_SCHEMA_FLAG_MARK, NVTX_TIMESTAMP_TYPE_TOOL_PROVIDED, scope),
        sizeof(event), &event};
    nvtxEventSubmit(domain, &payload, 1);
    did("mark", "moment");
    event.end = nvtxTimestampGet();
    event.message = text("request");
    payload.schemaId = register_events("request", NVTX_PAYLOAD_SCHEMA_FLAG_RANGE_STARTEND,
                                       NVTX_TIMESTAMP_TYPE_TOOL_PROVIDED, NVTX_SCOPE_CURRENT_SW_THREAD);
    nvtxEventSubmit(domain, &payload, 1);
    did("start", "request");
}

int main(void)
{
    domain = nvtxDomainCreateA("payloads");
    const uint64_t node = register_scope("/node[0]", NVTX_SCOPE_ROOT), scope = register_scope("engine", node);
    nvtxRangePushA("all");
    did_range("all");
    clocks(scope);
    batch();
    marks_and_started(scope);
    nvtxRangePop();
    did_name_row("NVTX payloads: node[0]/engine");
    puts("deferred events by clocks of every sort");
    state_print();
    return 0;
}
