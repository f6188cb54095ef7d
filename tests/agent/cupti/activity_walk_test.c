#include "agent/cupti/activity_buffers.h"

#include "agent/cupti/cupti_library.h"
#include "agent/dispatch/registry.h"
#include "tests/unit.h"
#include "common/cupti.h"

static char published[256];

static void hear(void *data, const struct gputrace_pointer_name *event)
{
    (void)data;
    strncat(published, event->text.bytes, event->text.length);
    strcat(published, " ");
}

static struct gputrace_jit jits[4];
static char cache_path[64];
static unsigned jit_count;

static void hear_jit(void *data, const struct gputrace_jit *jit)
{
    (void)data;
    jits[jit_count++] = *jit;
    snprintf(cache_path, sizeof(cache_path), "%s", jit->cache_path ? jit->cache_path : "none");
}

UNIT_FIXTURE(subscribe)
{
    return registry_pointer_name_register(hear, NULL) | registry_jit_register(hear_jit, NULL);
}

static CUpti_ActivityKernel10 *put_kernel(uint8_t *at, const char *name, bool in_flight)
{
    CUpti_ActivityKernel10 *kernel = (CUpti_ActivityKernel10 *)at;
    kernel->kind = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
    if (in_flight)
        *(uint32_t *)at |= SPOOL_IN_FLIGHT;
    kernel->name = name;
    return kernel;
}

static CUptiResult no_answer(uint8_t *buffer, size_t valid, CUpti_Activity **record)
{
    (void)buffer, (void)valid, (void)record;
    return CUPTI_ERROR_INVALID_KIND;
}

/* The table's sizes alone. */
static void init(struct spool_header *header, uint32_t version)
{
    activity_walk_init(header, &(struct cupti){.cuptiActivityGetNextRecord = no_answer, .version = version});
}

/* Kernels that are longer than the headers know, calls, and nothing else. */
static CUptiResult next_of_13_2(uint8_t *buffer, size_t valid, CUpti_Activity **record)
{
    uint32_t kind = *(const uint32_t *)(const void *)buffer;
    size_t bytes = kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL ? 224 : kind == CUPTI_ACTIVITY_KIND_DRIVER ? 40 : 0;
    uint8_t *at = *record ? (uint8_t *)*record + bytes : buffer;
    assert_true(bytes == 0 || (size_t)(at - buffer) + bytes <= valid);
    *record = (CUpti_Activity *)at;
    return bytes > 0 ? CUPTI_SUCCESS : CUPTI_ERROR_INVALID_KIND;
}

UNIT_TEST(cupti_is_asked_for_the_sizes_of_its_records)
{
    struct spool_header header = {0};
    activity_walk_init(&header, &(struct cupti){.cuptiActivityGetNextRecord = next_of_13_2, .version = 130200});
    assert_int_equal(header.cupti_version, 130200);
    assert_int_equal(header.record_bytes[CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL], 224);
    assert_int_equal(header.record_bytes[CUPTI_ACTIVITY_KIND_DRIVER], 40);
    assert_int_equal(header.record_bytes[CUPTI_ACTIVITY_KIND_DEVICE], 0); /* nobody knows it */
}

UNIT_TEST(sizes_without_an_answer_are_those_of_the_version)
{
    struct spool_header header = {0};
    init(&header, 24);
    assert_int_equal(header.cupti_version, 24);
    assert_int_equal(header.record_bytes[CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL], sizeof(CUpti_ActivityKernel9));
    assert_int_equal(header.record_bytes[CUPTI_ACTIVITY_KIND_MEMCPY], sizeof(CUpti_ActivityMemcpy5));
    init(&header, CUPTI_API_VERSION);
    assert_int_equal(header.record_bytes[CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL], sizeof(CUpti_ActivityKernel10));
}

/* The toolkit's own library, which answers on a machine without a GPU. */
UNIT_TEST(a_real_cupti_answers_as_the_table_says)
{
    struct spool_header header = {0};
    char why[1024];
    const struct cupti *cupti = cupti_load(NULL, why, sizeof(why));
    if (!cupti)
        skip();
    activity_walk_init(&header, cupti);
    assert_true(header.record_bytes[CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL] > 0);
    for (uint32_t kind = 1; kind < SPOOL_CUPTI_KINDS; kind++)
        if (cupti_record_bytes(kind, cupti->version) > 0)
            assert_int_equal(header.record_bytes[kind], cupti_record_bytes(kind, cupti->version));
}

UNIT_TEST(names_come_once_and_from_records_in_flight_too)
{
    static uint8_t data[4096] __attribute__((aligned(64)));
    struct spool_header header = {0};
    init(&header, CUPTI_API_VERSION);
    const size_t kernel = sizeof(CUpti_ActivityKernel10);
    static const char one[] = "one", two[] = "two", three[] = "three";
    put_kernel(data, one, false);
    put_kernel(data + kernel, one, true);
    put_kernel(data + 2 * kernel, two, true);
    size_t walked = 0;
    published[0] = '\0';
    assert_int_equal(activity_walk_in_use(&header, data, sizeof(data), 0, &walked), 2);
    assert_string_equal(published, "one two ");
    assert_int_equal(walked, 3 * kernel);

    CUpti_ActivityKernel10 *late = put_kernel(data + 3 * kernel, NULL, true); /* CUPTI is still writing it */
    assert_int_equal(activity_walk_in_use(&header, data, sizeof(data), 0, &walked), 3);
    assert_int_equal(walked, 3 * kernel);
    late->name = three;
    assert_int_equal(activity_walk_in_use(&header, data, sizeof(data), 0, &walked), 3);
    assert_string_equal(published, "one two three ");
    assert_int_equal(walked, 4 * kernel);
}

UNIT_TEST(an_unknown_kind_ends_the_walk)
{
    static uint8_t data[1024] __attribute__((aligned(64)));
    struct spool_header header = {0};
    init(&header, CUPTI_API_VERSION);
    *(uint32_t *)data = 62;
    size_t walked = 0;
    assert_int_equal(activity_walk_in_use(&header, data, sizeof(data), 0, &walked), 0);
    assert_int_equal(walked, 0);
    *(uint32_t *)data = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL; /* cut by the buffer's end */
    assert_int_equal(activity_walk_in_use(&header, data, 100, 0, &walked), 0);
    assert_int_equal(walked, 0);
}

/* An iterator as CUPTI's, over records of 40 (API) and 208 bytes (kernels of 12.9). */
static CUptiResult next_record(uint8_t *buffer, size_t valid, CUpti_Activity **record)
{
    uint8_t *at = buffer;
    if (*record)
        at = (uint8_t *)*record + ((*record)->kind == CUPTI_ACTIVITY_KIND_RUNTIME ? 40 : 208);
    if (at >= buffer + valid)
        return CUPTI_ERROR_MAX_LIMIT_REACHED;
    *record = (CUpti_Activity *)at;
    return CUPTI_SUCCESS;
}

UNIT_TEST(sizes_are_learnt_from_complete_buffers)
{
    static uint8_t data[1024] __attribute__((aligned(64)));
    struct spool_header header = {0};
    init(&header, 28);
    put_kernel(data, "four", false);
    *(uint32_t *)(data + 208) = CUPTI_ACTIVITY_KIND_RUNTIME;
    put_kernel(data + 248, "five", false);
    struct cupti cupti = {.cuptiActivityGetNextRecord = next_record};
    published[0] = '\0';
    activity_walk_complete(&cupti, &header, data, 456);
    assert_string_equal(published, "four five ");
    assert_int_equal(header.record_bytes[CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL], 208);
    assert_int_equal(header.record_bytes[CUPTI_ACTIVITY_KIND_RUNTIME], 40);
}

static CUptiResult next_of_calls_alone(uint8_t *buffer, size_t valid, CUpti_Activity **record)
{
    CUptiResult result = next_record(buffer, valid, record);
    return result == CUPTI_SUCCESS && (*record)->kind != CUPTI_ACTIVITY_KIND_RUNTIME ? CUPTI_ERROR_INVALID_KIND
                                                                                     : result;
}

/* The caller throws away buffers of calls alone, and readers go by the sizes. */
UNIT_TEST(where_cupti_cannot_read_on_nothing_is_learnt)
{
    static uint8_t data[1024] __attribute__((aligned(64)));
    struct spool_header header = {0};
    struct cupti cupti = {.cuptiActivityGetNextRecord = next_of_calls_alone};
    init(&header, CUPTI_API_VERSION);
    *(uint32_t *)data = *(uint32_t *)(data + 40) = CUPTI_ACTIVITY_KIND_RUNTIME;
    assert_true(activity_walk_complete(&cupti, &header, data, 80));
    *(uint32_t *)(data + 80) = 999;
    assert_false(activity_walk_complete(&cupti, &header, data, 480));
    assert_int_equal(header.record_bytes[CUPTI_ACTIVITY_KIND_RUNTIME], 40);
}

static size_t jit_bytes;

static CUptiResult next_jit(uint8_t *buffer, size_t valid, CUpti_Activity **record)
{
    uint8_t *at = *record ? (uint8_t *)*record + jit_bytes : buffer;
    if (at >= buffer + valid)
        return CUPTI_ERROR_MAX_LIMIT_REACHED;
    *record = (CUpti_Activity *)at;
    return CUPTI_SUCCESS;
}

static void put_jit(uint8_t *at, CUpti_ActivityJitOperationType operation, const char *path)
{
    CUpti_ActivityJit2 jit = {
        .kind = CUPTI_ACTIVITY_KIND_JIT,
        .jitEntryType = CUPTI_ACTIVITY_JIT_ENTRY_PTX_TO_CUBIN,
        .jitOperationType = operation,
        .deviceId = 2,
        .start = 100,
        .end = 200,
        .correlationId = 7,
        .jitOperationCorrelationId = 9,
        .cacheSize = 1 << 30,
        .cachePath = path,
        .threadId = 4321,
    };
    memcpy(at, &jit, jit_bytes);
}

UNIT_TEST(compilation_is_reported_when_its_buffer_is_complete)
{
    static uint8_t data[512] __attribute__((aligned(64)));
    struct spool_header header = {0};
    struct cupti cupti = {.cuptiActivityGetNextRecord = next_jit};
    init(&header, CUPTI_API_VERSION);
    assert_int_equal(header.record_bytes[CUPTI_ACTIVITY_KIND_JIT], sizeof(CUpti_ActivityJit2));
    jit_bytes = sizeof(CUpti_ActivityJit2);
    put_jit(data, CUPTI_ACTIVITY_JIT_OPERATION_COMPILE, NULL);
    put_jit(data + jit_bytes, CUPTI_ACTIVITY_JIT_OPERATION_CACHE_STORE, "/home/cache/1");
    size_t walked = 0;
    activity_walk_in_use(&header, data, sizeof(data), 0, &walked);
    assert_int_equal(jit_count, 0);
    activity_walk_complete(&cupti, &header, data, 2 * jit_bytes);
    assert_int_equal(jit_count, 2);
    assert_int_equal(jits[0].operation, GPUTRACE_JIT_COMPILE);
    assert_null(jits[0].cache_path);
    assert_int_equal(jits[0].call.start, 100);
    assert_int_equal(jits[0].call.end, 200);
    assert_int_equal(jits[0].call.correlation, 7);
    assert_int_equal(jits[0].call.thread, 4321);
    assert_int_equal(jits[0].call.device, 2);
    assert_int_equal(jits[0].from_ptx, 1);
    assert_int_equal(jits[0].group, 9);
    assert_int_equal(jits[0].cache_bytes, 1 << 30);
    assert_int_equal(jits[1].operation, GPUTRACE_JIT_CACHE_STORE);
    assert_string_equal(cache_path, "/home/cache/1");
}

UNIT_TEST(compilation_of_an_older_cupti_names_no_thread)
{
    static uint8_t data[512] __attribute__((aligned(64)));
    struct spool_header header = {0};
    struct cupti cupti = {.cuptiActivityGetNextRecord = next_jit};
    init(&header, 20);
    jit_bytes = offsetof(CUpti_ActivityJit2, processId);
    jit_count = 0;
    put_jit(data, CUPTI_ACTIVITY_JIT_OPERATION_CACHE_LOAD, "/home/cache/2");
    put_jit(data + jit_bytes, CUPTI_ACTIVITY_JIT_OPERATION_CACHE_LOAD, "/home/cache/2");
    activity_walk_complete(&cupti, &header, data, 2 * jit_bytes);
    assert_int_equal(jit_count, 2);
    assert_int_equal(jits[0].call.thread, 0);
    assert_int_equal(jits[1].call.thread, 0);
    assert_int_equal(jits[0].operation, GPUTRACE_JIT_CACHE_LOAD);
    assert_int_equal(header.record_bytes[CUPTI_ACTIVITY_KIND_JIT], jit_bytes);
}

UNIT_MAIN(subscribe, NULL)
