/* What the plugin leaks reports of allocations and frees. */
#include "tests/unit.h"

#include "samples/plugins/address_map.h"
#include "tests/samples/plugins/fake_host.h"

#define BUFFER UINT64_C(0x7f0000000000)
enum { SIZE = 4096 };

UNIT_FIXTURE(each)
{
    fake.stack = 1;
    assert_int_equal(fake_start(NULL), 0);
    FAKE(process_fork, .parent = 1);
    return 0;
}

static void allocate(uint64_t address, uint64_t bytes, uint32_t kind)
{
    FAKE(memory_allocation, .address = address, .bytes = bytes, .kind = kind, .stream_id = GPUTRACE_NO_STREAM);
}

static void release(uint64_t address, uint32_t kind)
{
    FAKE(memory_deallocation, .address = address, .kind = kind, .stream_id = GPUTRACE_NO_STREAM);
}

static void end(void)
{
    fake_process_end(&(struct gputrace_process_end){.call = fake_call(NULL)});
}

static void assert_reported(const char *text)
{
    if (fake_find(text))
        return;
    fake_show();
    fail_msg("nothing was reported of '%s'", text);
}

UNIT_TEST_WITH(freed_memory_is_not_a_leak, each, NULL)
{
    allocate(BUFFER, SIZE, GPUTRACE_MEMORY_DEVICE);
    allocate(BUFFER, 1, GPUTRACE_MEMORY_ARRAY); /* a handle with the same number */
    release(BUFFER, GPUTRACE_MEMORY_ARRAY);
    release(BUFFER, GPUTRACE_MEMORY_UNKNOWN);
    end();
    assert_int_equal(fake.line_count, 1);
    assert_reported("nothing was left allocated, of 2 allocations");
}

UNIT_TEST_WITH(places_with_most_bytes_come_first, each, NULL)
{
    allocate(BUFFER, SIZE, GPUTRACE_MEMORY_DEVICE);
    allocate(BUFFER + SIZE, SIZE, GPUTRACE_MEMORY_DEVICE);
    fake.stack = 2;
    allocate(BUFFER + 2 * SIZE, 3 * SIZE, GPUTRACE_MEMORY_DEVICE);
    fake.stack = 1;
    allocate(BUFFER + 8 * SIZE, 1, GPUTRACE_MEMORY_PINNED);
    end();
    assert_int_equal(fake.line_count, 4);
    assert_string_equal(
        fake.lines[0].text,
        "12.0 KiB (12288 bytes) of device memory in 1 allocation on device 0, after 0.0 ms, by thread 100");
    assert_int_equal(fake.lines[0].stack, 2);
    assert_string_equal(
        fake.lines[1].text,
        "8.00 KiB (8192 bytes) of device memory in 2 allocations on device 0, first after 0.0 ms, by thread 100");
    assert_int_equal(fake.lines[1].stack, 1);
    assert_string_equal(fake.lines[3].text,
                        "in all 20.0 KiB (20481 bytes) in 4 allocations: device 20.0 KiB in 3, pinned 1 byte in 1");
}

UNIT_TEST_WITH(least_and_top_leave_out_and_say_so, each, NULL)
{
    assert_int_equal(fake_start("least=1K,top=1"), 0);
    allocate(BUFFER, 1023, GPUTRACE_MEMORY_DEVICE);
    fake.stack = 2;
    allocate(BUFFER + SIZE, SIZE, GPUTRACE_MEMORY_DEVICE);
    fake.stack = 3;
    allocate(BUFFER + 4 * SIZE, 1024, GPUTRACE_MEMORY_DEVICE);
    end();
    assert_int_equal(fake.line_count, 3);
    assert_reported("4.00 KiB (4096 bytes) of device memory in 1 allocation");
    assert_reported("2.00 KiB (2047 bytes) in 2 allocations from 2 more places are not listed above");
    assert_reported("in all 6.00 KiB (6143 bytes) in 3 allocations");
}

UNIT_TEST_WITH(wrong_settings_are_rejected, each, NULL)
{
    static const char *const odd[] = {
        "least=",      "least=big", "least=4KB", "top=-1", "top=99999999999999999999", "top=99999999999999999G",
        "stacks=maybe"};
    for (size_t i = 0; i < sizeof(odd) / sizeof(*odd); i++) {
        assert_int_not_equal(fake_start(odd[i]), 0);
        assert_int_equal(fake.line_count, 1);
        assert_int_equal(fake.registered_count, 0);
    }
}

UNIT_TEST_WITH(without_stacks_a_kind_is_one_place, each, NULL)
{
    assert_int_equal(fake_start("stacks=no"), 0);
    allocate(BUFFER, SIZE, GPUTRACE_MEMORY_DEVICE);
    fake.stack = 2;
    allocate(BUFFER + SIZE, SIZE, GPUTRACE_MEMORY_DEVICE);
    end();
    assert_reported("8.00 KiB (8192 bytes) of device memory in 2 allocations");
    assert_int_equal(fake.lines[0].stack, 0);
}

UNIT_TEST_WITH(a_failed_call_changes_nothing, each, NULL)
{
    allocate(BUFFER, SIZE, GPUTRACE_MEMORY_DEVICE);
    struct gputrace_memory_deallocation failed = {.call = fake_call("cuMemFree_v2"), .address = BUFFER};
    failed.call.result = 1;
    fake_memory_deallocation(&failed);
    end();
    assert_reported("4.00 KiB (4096 bytes) of device memory");
    assert_null(fake_find("not seen allocated"));
}

UNIT_TEST_WITH(a_free_of_unknown_memory_is_counted, each, NULL)
{
    release(BUFFER, GPUTRACE_MEMORY_UNKNOWN);
    end();
    assert_reported("1 free of memory that was not seen allocated");
}

/* One thread frees, another gets the address again, and its callback comes first. */
UNIT_TEST_WITH(a_late_callback_of_a_free_frees_the_older, each, NULL)
{
    allocate(BUFFER, SIZE, GPUTRACE_MEMORY_DEVICE);
    struct gputrace_memory_deallocation late = {.call = fake_call("cuMemFree_v2"), .address = BUFFER};
    late.stream_id = GPUTRACE_NO_STREAM;
    fake.stack = 2;
    allocate(BUFFER, 5, GPUTRACE_MEMORY_DEVICE);
    fake_memory_deallocation(&late);
    end();
    assert_reported("in all 5 bytes in 1 allocation");
    assert_null(fake_find("not seen allocated"));
}

/* The other has freed it again by then. */
UNIT_TEST_WITH(a_very_late_callback_of_a_free_is_not_an_unknown_free, each, NULL)
{
    allocate(BUFFER, SIZE, GPUTRACE_MEMORY_DEVICE);
    struct gputrace_memory_deallocation late = {.call = fake_call("cuMemFree_v2"), .address = BUFFER};
    late.stream_id = GPUTRACE_NO_STREAM;
    allocate(BUFFER, 5, GPUTRACE_MEMORY_DEVICE);
    struct gputrace_memory_deallocation next = {.call = fake_call("cuMemFree_v2"), .address = BUFFER};
    next.stream_id = GPUTRACE_NO_STREAM;
    fake_memory_deallocation(&next);
    fake_memory_deallocation(&late);
    end();
    assert_reported("nothing was left allocated");
    assert_null(fake_find("not seen allocated"));
}

UNIT_TEST_WITH(a_context_takes_its_memory_along, each, NULL)
{
    allocate(BUFFER, SIZE, GPUTRACE_MEMORY_DEVICE);
    allocate(BUFFER + SIZE, 1, GPUTRACE_MEMORY_POOL);
    struct gputrace_context_deletion other = {.call = fake_call("cuCtxDestroy_v2")};
    other.call.context = (struct CUctx_st *)0x2000;
    fake_context_deletion(&other);
    assert_int_equal(fake.line_count, 0);
    fake_context_deletion(&(struct gputrace_context_deletion){.call = fake_call("cuCtxDestroy_v2")});
    assert_reported("no leak: 4.00 KiB (4096 bytes) in 1 allocation went with context 1");
    end();
    assert_reported("in all 1 byte in 1 allocation: stream-ordered 1 byte in 1");
}

UNIT_TEST_WITH(physical_memory_lives_while_it_is_mapped, each, NULL)
{
    allocate(0x11, SIZE, GPUTRACE_MEMORY_VIRTUAL);
    allocate(0x12, SIZE, GPUTRACE_MEMORY_VIRTUAL);
    FAKE(memory_mapping, .address = BUFFER, .bytes = SIZE, .handle = 0x11);
    FAKE(memory_mapping, .address = BUFFER + SIZE, .bytes = SIZE, .handle = 0x12);
    FAKE(memory_mapping, .address = BUFFER + 4 * SIZE, .bytes = SIZE, .handle = 0x12);
    release(0x11, GPUTRACE_MEMORY_VIRTUAL);
    release(0x12, GPUTRACE_MEMORY_VIRTUAL);
    allocate(0x11, 7, GPUTRACE_MEMORY_VIRTUAL); /* the handle is given again */
    FAKE(memory_unmapping, .address = BUFFER, .bytes = 2 * SIZE);
    end();
    assert_reported("in all 4.01 KiB (4103 bytes) in 2 allocations: physical 4.01 KiB in 2");
    fake.line_count = 0;
    FAKE(memory_unmapping, .address = BUFFER + 4 * SIZE, .bytes = SIZE);
    release(0x11, GPUTRACE_MEMORY_VIRTUAL);
    end();
    assert_reported("nothing was left allocated, of 3 allocations");
}

UNIT_TEST_WITH(a_forked_child_reports_its_own_leaks_alone, each, NULL)
{
    allocate(BUFFER, SIZE, GPUTRACE_MEMORY_DEVICE);
    FAKE(process_fork, .parent = 1);
    end();
    assert_int_equal(fake.line_count, 0); /* it did nothing */
    allocate(BUFFER, 3, GPUTRACE_MEMORY_DEVICE);
    end();
    assert_reported("in all 3 bytes in 1 allocation");
}

UNIT_TEST_WITH(a_million_allocations_are_followed, each, NULL)
{
    enum { MANY = 1000000 };
    for (uint64_t i = 0; i < MANY; i++)
        allocate(BUFFER + i * 512, 512, GPUTRACE_MEMORY_DEVICE);
    for (uint64_t i = 0; i < MANY; i++)
        if (i % 1000)
            release(BUFFER + i * 512, GPUTRACE_MEMORY_UNKNOWN);
    end();
    assert_reported("in all 500 KiB (512000 bytes) in 1000 allocations");
    assert_null(fake_find("not seen allocated"));
}

static void *churn(void *data)
{
    uint64_t address = BUFFER + (uint64_t)(uintptr_t)data * 0x100000;
    for (int i = 0; i < 5000; i++) {
        allocate(address, SIZE, GPUTRACE_MEMORY_DEVICE);
        release(address, GPUTRACE_MEMORY_UNKNOWN);
    }
    allocate(address, SIZE, GPUTRACE_MEMORY_DEVICE);
    return NULL;
}

UNIT_TEST_WITH(threads_work_side_by_side, each, NULL)
{
    pthread_t threads[4];
    for (uintptr_t i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, churn, (void *)i), 0);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    end();
    assert_reported("in all 16.0 KiB (16384 bytes) in 4 allocations");
}

/* The map against a plain table. */
UNIT_TEST(the_map_holds_what_was_put_there)
{
    enum { KEYS = 500 };
    static uint64_t values[KEYS];
    struct address_map map = {0};
    uint32_t random = 1;
    for (int i = 0; i < 200000; i++) {
        random = random * 1664525u + 1013904223u;
        unsigned key = random >> 8 & 0x1ff;
        if (key >= KEYS)
            continue;
        if (random >> 30) {
            values[key] = (uint64_t)i + 1;
            assert_true(address_map_put(&map, (key + 1) * UINT64_C(0x200000), values[key]));
        } else {
            values[key] = 0;
            address_map_remove(&map, (key + 1) * UINT64_C(0x200000));
        }
        unsigned other = random >> 17 & 0xff;
        const uint64_t *found = address_map_find(&map, (other + 1) * UINT64_C(0x200000));
        assert_int_equal(found ? *found : 0, values[other]);
    }
    size_t count = 0;
    for (unsigned key = 0; key < KEYS; key++)
        count += values[key] != 0;
    assert_int_equal(map.count, count);
    address_map_release(&map);
}

UNIT_MAIN(NULL, NULL)
