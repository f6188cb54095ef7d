#include "tests/unit.h"

#include "trace/meaning/gpu/device_ranges.h"

static const struct capture_intervals always = {.limited = false};

static void release(struct device_ranges *ranges)
{
    file_vector_release(&ranges->markers.items);
    file_vector_release(&ranges->items);
    file_vector_release(&ranges->edges);
}

static void see(struct device_ranges *ranges, uint64_t number, bool ended, uint64_t called, uint32_t correlation)
{
    struct event event = {.type = EVENT_DEVICE_RANGE,
                          .start = called,
                          .correlation = correlation,
                          .thread = 9,
                          .record = ranges, /* any */
                          .device_range = {.number = number, .ended = ended}};
    assert_int_equal(device_ranges_index(ranges, &event), 0);
}

/* CUPTI's records, which are read after all of the library's. */
static struct event times[16];
static size_t time_count;

static void came(uint32_t correlation, uint32_t stream, uint64_t time)
{
    times[time_count++] = (struct event){
        .type = EVENT_CUDA_EVENT, .start = time, .correlation = correlation, .context = 1, .stream = stream};
}

static void all_came(struct device_ranges *ranges)
{
    assert_int_equal(stream_markers_list(&ranges->markers), 0);
    for (size_t i = 0; i < time_count; i++)
        stream_markers_mark(&ranges->markers, &times[i]);
    time_count = 0;
}

static void close_all(struct device_ranges *ranges, uint64_t time)
{
    all_came(ranges);
    assert_int_equal(device_ranges_close(ranges, &always, time), 0);
}

/* A range on STREAM from START to END; its correlation ids are 2 * NUMBER and one more. */
static void put(struct device_ranges *ranges, uint32_t number, uint32_t stream, uint64_t start, uint64_t end)
{
    see(ranges, number, false, 1, 2 * number);
    see(ranges, number, true, 2, 2 * number + 1);
    came(2 * number, stream, start);
    came(2 * number + 1, stream, end);
}

static bool cut(struct device_ranges *ranges, uint32_t stream, uint64_t start, uint64_t end)
{
    struct event work = {.type = EVENT_KERNEL, .context = 1, .stream = stream, .start = start, .end = end};
    return device_ranges_cut(ranges, &work);
}

UNIT_TEST(test_ranges_come_in_the_order_in_which_they_are_written)
{
    struct device_ranges ranges = {0};
    put(&ranges, 4, 7, 300, 400);
    put(&ranges, 3, 8, 100, 150);
    put(&ranges, 1, 7, 100, 200);
    put(&ranges, 2, 7, 100, 200);
    close_all(&ranges, 1000);
    static const uint64_t order[] = {1, 2, 3, 4}; /* longer ones first, then those that were started first */
    assert_int_equal(ranges.items.count, 4);
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(ranges.items.items[i].number, order[i]);
    assert_int_equal(ranges.items.items[0].thread, 9);
    release(&ranges);
}

static void work(struct device_ranges *ranges, uint32_t stream, uint64_t start, uint64_t end)
{
    struct event event = {.type = EVENT_KERNEL, .context = 1, .stream = stream, .start = start, .end = end};
    stream_markers_index_work(&ranges->markers, &event);
}

/* The inner one has the lower number: another thread may have begun before this one. */
UNIT_TEST(test_ranges_that_come_to_start_and_end_at_one_time_stay_in_their_order)
{
    struct device_ranges ranges = {0};
    put(&ranges, 1, 7, 22600, 34700);
    put(&ranges, 2, 7, 21300, 36000);
    put(&ranges, 3, 7, 37300, 90000);
    all_came(&ranges);
    assert_int_equal(stream_markers_order(&ranges.markers), 0);
    work(&ranges, 7, 10000, 20000);
    work(&ranges, 7, 24000, 33400);
    work(&ranges, 7, 40000, 88000);
    stream_markers_settle(&ranges.markers, true);
    assert_int_equal(device_ranges_close(&ranges, &always, 100000), 0);
    static const struct {
        uint64_t number, start, end;
    } order[] = {{2, 20000, 33400}, {1, 20000, 33400}, {3, 33400, 88000}};
    assert_int_equal(ranges.items.count, 3);
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(ranges.items.items[i].number, order[i].number);
        assert_int_equal(ranges.items.items[i].start, order[i].start);
        assert_int_equal(ranges.items.items[i].end, order[i].end);
    }
    assert_false(cut(&ranges, 7, 24000, 33400));
    assert_false(cut(&ranges, 7, 10000, 20000));
    release(&ranges);
}

UNIT_TEST(test_work_is_cut_by_what_starts_or_ends_within_it_in_its_stream)
{
    struct device_ranges ranges = {0};
    assert_false(cut(&ranges, 7, 1, 1000)); /* there is none */
    put(&ranges, 1, 7, 100, 200);
    put(&ranges, 2, 9, 300, 400);
    close_all(&ranges, 1000);
    assert_true(cut(&ranges, 7, 50, 101));
    assert_true(cut(&ranges, 7, 199, 300));
    assert_true(cut(&ranges, 7, 50, 300));
    assert_false(cut(&ranges, 7, 100, 200));
    assert_false(cut(&ranges, 7, 50, 100));
    assert_false(cut(&ranges, 7, 200, 300));
    assert_false(cut(&ranges, 7, 300, 500)); /* another stream's */
    assert_false(cut(&ranges, 8, 50, 1000));
    assert_true(cut(&ranges, 9, 350, 450));
    assert_false(cut(&ranges, 9, 400, 450));
    release(&ranges);
}

UNIT_TEST(test_what_lacks_a_time_is_counted_and_cuts_nothing)
{
    struct device_ranges ranges = {0};
    see(&ranges, 1, false, 1, 10);
    see(&ranges, 1, true, 2, 11);
    came(10, 7, 100);
    came(99, 7, 150); /* of no range */
    close_all(&ranges, 1000);
    assert_int_equal(ranges.items.count, 0);
    assert_int_equal(ranges.untimed, 1);
    assert_false(cut(&ranges, 7, 50, 1000));
    release(&ranges);
}

UNIT_TEST(test_a_range_without_an_end_lasts_to_the_end_of_all)
{
    struct device_ranges ranges = {0};
    see(&ranges, 1, false, 1, 10);
    came(10, 7, 100);
    close_all(&ranges, 1000);
    assert_int_equal(ranges.items.count, 1);
    assert_true(ranges.items.items[0].open_at_end);
    assert_int_equal(ranges.items.items[0].end, 1000);
    assert_int_equal(ranges.items.items[0].end_stream, 7);
    release(&ranges);
}

UNIT_TEST(test_of_what_ended_twice_the_first_counts)
{
    struct device_ranges ranges = {0};
    see(&ranges, 1, true, 5, 12);
    see(&ranges, 1, true, 4, 11);
    see(&ranges, 1, false, 1, 10);
    see(&ranges, 2, true, 6, 13); /* its start was lost */
    came(10, 7, 100);
    came(11, 7, 200);
    came(12, 7, 300);
    came(13, 7, 400);
    close_all(&ranges, 1000);
    assert_int_equal(ranges.items.count, 1);
    assert_int_equal(ranges.items.items[0].end, 200);
    assert_int_equal(ranges.untimed, 1);
    assert_true(ranges.any);
    release(&ranges);
}

UNIT_MAIN(NULL, NULL)
