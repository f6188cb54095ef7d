#include "trace/meaning/gpu/gpu_ops.h"

#include "tests/unit.h"

static void see(struct cuda_events *events, uint64_t number, uint32_t context, uint32_t correlation, uint64_t sync_id)
{
    struct event event = {
        .type = EVENT_CUDA_EVENT,
        .context = 1,
        .correlation = correlation,
        .stream = correlation,
        .cuda_event = {.event = number, .event_context = context, .sync_id = sync_id},
    };
    assert_int_equal(cuda_events_index(events, &event), 0);
}

/* The correlation id of the record that the wait was for; 0: it is not known. */
static uint32_t found(const struct cuda_events *events, uint64_t number, uint32_t context, uint32_t correlation,
                      uint64_t sync_id)
{
    struct event sync = {
        .type = EVENT_SYNC,
        .context = 9,
        .correlation = correlation,
        .sync = {.event = number, .event_context = context, .sync_id = sync_id},
    };
    const struct cuda_event_record *record = cuda_events_find(events, &sync);
    assert_true(!record || record->stream == record->correlation);
    return record ? record->correlation : 0;
}

UNIT_TEST(a_wait_is_for_the_last_record_before_it)
{
    struct cuda_events events = {0};
    see(&events, 3, 1, 30, 0);
    see(&events, 3, 1, 10, 0);
    see(&events, 4, 1, 15, 0);
    see(&events, 3, 1, 20, 0);
    assert_int_equal(cuda_events_sort(&events), 0);
    assert_int_equal(found(&events, 3, 1, 25, 0), 20);
    assert_int_equal(found(&events, 3, 1, 15, 0), 10);
    assert_int_equal(found(&events, 3, 1, 40, 0), 30);
    assert_int_equal(found(&events, 3, 1, 10, 0), 0);
    assert_int_equal(found(&events, 5, 1, 40, 0), 0);
    file_vector_release(&events.items);
}

UNIT_TEST(a_record_with_the_waits_own_number_counts_more)
{
    struct cuda_events events = {0};
    see(&events, 3, 1, 10, 71);
    see(&events, 3, 1, 20, 72);
    assert_int_equal(cuda_events_sort(&events), 0);
    assert_int_equal(found(&events, 3, 1, 40, 71), 10);
    assert_int_equal(found(&events, 3, 1, 40, 99), 20);
    file_vector_release(&events.items);
}

/* Numbers are a context's; handles, which are longer, are the process's, whatever context is current. */
UNIT_TEST(handles_and_numbers_of_contexts_do_not_mix)
{
    const uint64_t handle = UINT64_C(0x7f0000000003);
    struct cuda_events events = {0};
    see(&events, handle, 0, 10, 0);
    see(&events, handle + (UINT64_C(1) << 32), 0, 11, 0);
    see(&events, 3, 1, 12, 0);
    see(&events, 3, 2, 13, 0);
    see(&events, 3, 0, 14, 0);
    assert_int_equal(cuda_events_sort(&events), 0);
    assert_int_equal(found(&events, handle, 0, 40, 0), 10);
    assert_int_equal(found(&events, handle + (UINT64_C(1) << 32), 0, 40, 0), 11);
    assert_int_equal(found(&events, 3, 1, 40, 0), 12);
    assert_int_equal(found(&events, 3, 2, 40, 0), 13);
    assert_int_equal(found(&events, 3, 0, 40, 0), 14);
    file_vector_release(&events.items);
}

UNIT_MAIN(NULL, NULL)
