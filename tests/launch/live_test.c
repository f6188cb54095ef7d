#include "tests/unit.h"

#include "common/clock.h"
#include "tests/trace/meaning/make_spool.h"
#include "launch/drain.h"

static struct live live;
static struct make_spool spool;

UNIT_FIXTURE(set_up)
{
    memset(&live, 0, sizeof(live));
    make_spool_init(&spool, 1, 130001);
    return 0;
}

UNIT_FIXTURE(tear_down)
{
    make_spool_release(&spool);
    return 0;
}

static void kernel(uint64_t start_us, uint64_t end_us, uint32_t device)
{
    make_kernel(&spool, (struct make_kernel){.start = NS_PER_S + start_us * NS_PER_US,
                                             .end = NS_PER_S + end_us * NS_PER_US,
                                             .device = device,
                                             .name = 1});
}

static struct spool_part part_of(enum spool_chunk_type type)
{
    size_t at = spool.chunk + sizeof(struct spool_chunk);
    return (struct spool_part){
        .data = spool.data + at, .size = spool.size - at, .type = (uint16_t)type, .state = SPOOL_DONE};
}

static void see_cupti(void)
{
    struct spool_part part = part_of(SPOOL_CUPTI);
    live_add_cupti(&live, &part, make_spool_header(&spool)->record_bytes);
}

static double busy(uint32_t gpu, uint64_t from_ms, uint64_t to_ms)
{
    return live_busy(&live, gpu, MAKE_SPOOL_START + NS_PER_S + from_ms * NS_PER_MS,
                     MAKE_SPOOL_START + NS_PER_S + to_ms * NS_PER_MS);
}

static bool is_about(double value, double expected)
{
    return value > expected - 1e-6 && value < expected + 1e-6;
}

UNIT_TEST_WITH(busy_is_the_share_of_time_with_work, set_up, tear_down)
{
    make_spool_chunk(&spool, SPOOL_CUPTI, 1);
    kernel(0, 5000, 0);      /* half of ten milliseconds */
    kernel(2000, 3000, 0);   /* beside it on another stream: not twice */
    kernel(10000, 10250, 0); /* a quarter of the eleventh */
    kernel(0, 1000, 2);
    see_cupti();
    assert_true(is_about(busy(0, 0, 10), 0.5));
    assert_true(is_about(busy(0, 10, 11), 0.25));
    assert_true(is_about(busy(0, 20, 30), 0));
    assert_true(is_about(busy(2, 0, 2), 0.5));
    assert_true(busy(1, 0, 10) < 0);
    assert_int_equal(live.events, 4);
    assert_int_equal(live.recorded, 4 * 216);
}

UNIT_TEST_WITH(times_of_all_kinds_do_no_harm, set_up, tear_down)
{
    make_spool_chunk(&spool, SPOOL_CUPTI, 1);
    kernel(0, 60 * 1000 * 1000, 0); /* longer than what is remembered */
    kernel(1000, 2000, LIVE_GPUS_MAX);
    kernel(3000, 1000, 1);
    make_kernel(&spool, (struct make_kernel){.start = 0, .end = 0, .in_flight = true, .device = 1});
    kernel(1000, 2000, 0); /* long ago */
    see_cupti();
    assert_true(is_about(busy(0, 59000, 60000), 1));
    assert_true(busy(1, 0, 10) < 0);
}

static void memory(uint64_t address, uint64_t size, uint64_t time, uint16_t operation, uint32_t device)
{
    struct spool_memory record = {.head = {.type = SPOOL_RECORD_MEMORY, .bytes = sizeof(record), .time = time},
                                  .address = address,
                                  .size = size,
                                  .device = device,
                                  .operation = operation,
                                  .kind = device == SPOOL_NO_DEVICE ? SPOOL_MEMORY_PINNED : SPOOL_MEMORY_DEVICE};
    memcpy(make_spool_bytes(&spool, sizeof(record)), &record, sizeof(record));
}

UNIT_TEST_WITH(memory_in_use_is_what_was_not_released, set_up, tear_down)
{
    struct live_process process = {0};
    make_spool_chunk(&spool, SPOOL_RECORDS, 1);
    memory(0x1000, 500, 10, SPOOL_MEMORY_ALLOCATE, 0);
    memory(0x2000, 700, 20, SPOOL_MEMORY_ALLOCATE, 1);
    memory(0x3000, 900, 25, SPOOL_MEMORY_ALLOCATE, SPOOL_NO_DEVICE); /* the host's */
    memory(0x1000, 0, 30, SPOOL_MEMORY_RELEASE, 0);
    memory(0x4000, 0, 50, SPOOL_MEMORY_RELEASE, 0); /* another thread's record of the allocation comes later … */
    memory(0x4000, 100, 40, SPOOL_MEMORY_ALLOCATE, 0);
    memory(0x4000, 100, 60, SPOOL_MEMORY_ALLOCATE, 0); /* … but this is another one */
    struct spool_part part = part_of(SPOOL_RECORDS);
    live_add_agent(&live, &process, &part);
    assert_int_equal(live.memory, 800);
    live_process_release(&process, &live);
    assert_int_equal(live.memory, 0);
}

UNIT_MAIN(NULL, NULL)
