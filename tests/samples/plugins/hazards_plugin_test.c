/* Settings, the end, forks, bounds, threads. */
#include "tests/samples/plugins/hazards_calls.h"

UNIT_TEST_WITH(wrong_settings_are_rejected, each, NULL)
{
    assert_int_not_equal(fake_start("top=many"), 0);
    assert_reported("'top' takes a number");
    assert_int_not_equal(fake_start("stacks=maybe"), 0);
    assert_reported("'stacks' takes yes or no");
    assert_int_not_equal(fake_start("barrier"), 0);
    assert_reported("'barrier' takes");
    assert_int_equal(fake.registered_count, 0);
}

UNIT_TEST_WITH(more_hazards_than_top_are_counted, each, NULL)
{
    assert_int_equal(fake_start("top=1"), 0);
    set(BUFFER, stream_a);
    set(BUFFER, stream_b);
    set(OTHER, stream_a);
    set(OTHER, stream_b);
    end();
    assert_int_equal(fake.line_count, 4);
    assert_reported("2 hazards found in 4 operations");
    assert_reported("1 of them are listed above; top=N lists more");
}

UNIT_TEST_WITH(without_stacks_none_is_taken, each, NULL)
{
    assert_int_equal(fake_start("stacks=no"), 0);
    set(BUFFER, stream_a);
    set(BUFFER, stream_b);
    assert_int_equal(fake.lines[0].stack, 0);
    assert_reported("race");
}

UNIT_TEST_WITH(a_forked_child_starts_anew, each, NULL)
{
    set(BUFFER, stream_a);
    set(BUFFER, stream_b);
    fake.line_count = 0;
    FAKE(process_fork, .parent = 1);
    set(BUFFER, stream_a);
    end();
    assert_reported("nothing found in 1 operation on 1 stream");
}

UNIT_TEST_WITH(memory_stays_bounded, each, NULL)
{
    for (uint64_t i = 0; i < 2000; i++) {
        set_bytes(BUFFER + 2 * (i % SIZE / 2), 1, i % 2 ? stream_a : stream_b);
        set_bytes(OTHER, 16, stream_a);
    }
    end();
    assert_reported("had to be forgotten early");
}

UNIT_TEST_WITH(streams_without_number_are_used_by_few_numbers, each, NULL)
{
    for (uintptr_t i = 0; i < 3000; i++) {
        struct CUstream_st *stream = (struct CUstream_st *)(0x100000 + i * 16);
        create_stream(stream, (uint32_t)(100 + i), 1);
        set_bytes(BUFFER + i % SIZE, 1, stream);
        FAKE(stream_deletion, .stream = stream);
    }
    end();
    assert_reported("on 3002 streams");
    assert_null(fake_find("race"));
}

static void *churn(void *data)
{
    uint64_t address = 0x7d0000000000 + (uint64_t)(uintptr_t)data * 0x100000;
    struct CUstream_st *own = (struct CUstream_st *)(0x200000 + (uintptr_t)data * 16);
    struct CUevent_st *done = (struct CUevent_st *)(0x300000 + (uintptr_t)data * 16);
    create_stream(own, 50, 1);
    for (int i = 0; i < 2000; i++) {
        FAKE(event_creation, .event = done);
        FAKE(memory_allocation, .address = address, .bytes = SIZE, .kind = GPUTRACE_MEMORY_POOL, .stream = own,
             .stream_id = 50);
        FAKE(memset, .address = address, .bytes = SIZE, .width = SIZE, .height = 1, .stream = own, .stream_given = 1);
        FAKE(memory_access, .address = address, .bytes = 8, .mode = GPUTRACE_ACCESS_WRITE, .stream = own);
        FAKE(kernel_launch, .name = "kernel", .stream = own);
        FAKE(event_record, .event = done, .stream = own);
        FAKE(event_synchronization, .event = done);
        FAKE(memory_deallocation, .address = address, .stream = own, .stream_id = 50);
        FAKE(event_deletion, .event = done);
    }
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
    assert_reported("nothing found in 32000 operations on 6 streams");
}

UNIT_MAIN(NULL, NULL)
