#include "tests/unit.h"

#include <stdlib.h>

#include "trace/meaning/gpu/device_ranges.h"

enum { STREAM = 7, MANY = 64 };

/* Something of a stream: a marker, which must come to be at TIME, or work. */
struct step {
    uint64_t called, marked; /* of a marker */
    uint64_t time;
    uint64_t start, end; /* of work */
};

static uint64_t placed[MANY]; /* where the markers have come to be */

static void see(struct stream_markers *markers, uint32_t stream, uint64_t start, uint64_t end)
{
    struct event work = {.type = EVENT_KERNEL, .context = 1, .stream = stream, .start = start, .end = end};
    stream_markers_index_work(markers, &work);
}

static void add(struct stream_markers *markers, size_t i, const struct step *step)
{
    struct stream_marker marker = {.range = i, .correlation = (uint32_t)i + 1, .called = step->called};
    assert_true(ADD(file_vector_push, &markers->items, marker));
}

static void mark(struct stream_markers *markers, size_t i, uint64_t time)
{
    struct event event = {
        .type = EVENT_CUDA_EVENT, .start = time, .correlation = (uint32_t)i + 1, .context = 1, .stream = STREAM};
    stream_markers_mark(markers, &event);
}

/* All are reported backwards: no order is needed. */
static void settle_in(struct stream_markers *markers, const struct step *steps, size_t count, bool all_work)
{
    for (size_t i = count; i-- > 0;)
        if (steps[i].marked)
            add(markers, i, &steps[i]);
    assert_int_equal(stream_markers_list(markers), 0);
    for (size_t i = count; i-- > 0;)
        if (steps[i].marked)
            mark(markers, i, steps[i].marked);
    assert_int_equal(stream_markers_order(markers), 0);
    for (size_t i = count; i-- > 0;)
        if (steps[i].end)
            see(markers, STREAM, steps[i].start, steps[i].end);
    stream_markers_settle(markers, all_work);
    for (size_t i = 0; i < markers->marked; i++)
        placed[markers->items.items[i].range] = markers->items.items[i].time;
}

static void settle(const struct step *steps, size_t count, bool all_work)
{
    struct stream_markers markers = {0};
    settle_in(&markers, steps, count, all_work);
    file_vector_release(&markers.items);
}

static void assert_times(const struct step *steps, size_t count, bool all_work)
{
    settle(steps, count, all_work);
    for (size_t i = 0; i < count; i++)
        if (steps[i].marked)
            assert_int_equal(placed[i], steps[i].time);
}

/* Of samples/device_ranges on an H200, ns: what was behind its gate, called for long before. */
static const struct step on_an_h200[] = {
    {.start = 2230977, .end = 2241697},
    {.called = 1, .marked = 2243073, .time = 2241697}, /* "outer" starts */
    {.start = 2244737, .end = 2255457},
    {.called = 2, .marked = 2256737, .time = 2255457}, /* "inner" starts */
    {.start = 2258401, .end = 2269121},
    {.called = 3, .marked = 2270433, .time = 2269121},
    {.start = 2272065, .end = 2282817},
    {.called = 4, .marked = 2284065, .time = 2282817},
    {.start = 2354561, .end = 2365313},
    {.called = 5, .marked = 2366945, .time = 2365313}, /* one ends, */
    {.called = 6, .marked = 2368225, .time = 2365313}, /* and the next one starts */
    {.start = 2369921, .end = 2380769},
    {.called = 7, .marked = 2382401, .time = 2380769},
    {.called = 8, .marked = 2383681, .time = 2380769},
    {.start = 2537761, .end = 2548609},
    {.called = 9, .marked = 2549441, .time = 2548609},
    {.called = 10, .marked = 2550753, .time = 2548609},
    {.start = 2552417, .end = 2563233},
};

UNIT_TEST(test_on_an_h200_moments_are_where_the_kernel_before_is_done)
{
    assert_times(on_an_h200, sizeof(on_an_h200) / sizeof(*on_an_h200), true);
    assert_times(on_an_h200, sizeof(on_an_h200) / sizeof(*on_an_h200), false);
}

UNIT_TEST(test_many_moments_in_a_row_are_one_time_when_they_were_in_the_stream_already)
{
    struct step steps[21] = {{.start = 50000, .end = 60000}};
    for (unsigned i = 1; i < sizeof(steps) / sizeof(*steps); i++)
        steps[i] = (struct step){.called = 100 + i, .marked = 60000 + i * 1300, .time = 60000};
    assert_times(steps, sizeof(steps) / sizeof(*steps), true);
}

UNIT_TEST(test_moments_put_one_by_one_into_an_idle_stream_do_not_add_up)
{
    static const struct step steps[] = {
        {.start = 50000, .end = 60000},
        {.called = 63000, .marked = 65000, .time = 60000},
        {.called = 68000, .marked = 70000, .time = 70000},
        {.called = 73000, .marked = 75000, .time = 70000},
        {.called = 78000, .marked = 80000, .time = 80000},
    };
    assert_times(steps, sizeof(steps) / sizeof(*steps), true);
}

UNIT_TEST(test_what_comes_late_is_where_it_was_marked)
{
    static const struct step steps[] = {
        {.start = 50000, .end = 60000},
        {.called = 1, .marked = 60001 + STREAM_MARKER_SOON, .time = 60001 + STREAM_MARKER_SOON},
        {.called = 2, .marked = 61001 + STREAM_MARKER_SOON, .time = 60001 + STREAM_MARKER_SOON},
        {.start = 90000, .end = 100000},
        {.called = 3, .marked = 100000 + STREAM_MARKER_SOON, .time = 100000},
    };
    assert_times(steps, sizeof(steps) / sizeof(*steps), true);
}

UNIT_TEST(test_before_all_work_the_first_one_keeps_its_time)
{
    static const struct step steps[] = {
        {.called = 1, .marked = 40000, .time = 40000},
        {.called = 2, .marked = 41300, .time = 40000},
        {.start = 43000, .end = 60000},
    };
    assert_times(steps, sizeof(steps) / sizeof(*steps), true);
}

UNIT_TEST(test_without_all_sorts_of_work_no_moment_is_moved_to_another)
{
    static const struct step steps[] = {
        {.called = 1, .marked = 40000, .time = 40000},
        {.called = 2, .marked = 41300, .time = 41300}, /* a copy may have been in between */
        {.start = 43000, .end = 60000},
        {.called = 3, .marked = 66000, .time = 60000},
        {.called = 4, .marked = 67300, .time = 60000},
        {.called = 5, .marked = 68600, .time = 68600},
    };
    assert_times(steps, sizeof(steps) / sizeof(*steps), false);
}

/* The clocks of events and of work differ by some ns. */
UNIT_TEST(test_a_moment_within_work_stays_there)
{
    static const struct step steps[] = {
        {.start = 50000, .end = 60000},
        {.called = 1, .marked = 60002, .time = 60002},
        {.called = 2, .marked = 60003, .time = 60003},
        {.start = 60001, .end = 70000},
        {.called = 3, .marked = 70000, .time = 70000},
        {.start = 70000, .end = 80000},
    };
    assert_times(steps, sizeof(steps) / sizeof(*steps), true);
}

UNIT_TEST(test_work_of_another_stream_moves_nothing)
{
    static const struct step step = {.called = 1, .marked = 61000};
    struct stream_markers markers = {0};
    add(&markers, 0, &step);
    assert_int_equal(stream_markers_list(&markers), 0);
    mark(&markers, 0, step.marked);
    assert_int_equal(stream_markers_order(&markers), 0);
    see(&markers, STREAM - 1, 50000, 60000);
    see(&markers, STREAM + 1, 50000, 60000);
    struct event work = {.type = EVENT_KERNEL, .context = 2, .stream = STREAM, .start = 50000, .end = 60000};
    stream_markers_index_work(&markers, &work);
    work.context = 1, work.device = 1;
    stream_markers_index_work(&markers, &work);
    stream_markers_settle(&markers, true);
    assert_int_equal(markers.items.items[0].time, 61000);
    file_vector_release(&markers.items);
}

UNIT_TEST(test_what_was_not_marked_moves_nothing_and_has_no_time)
{
    static const struct step lost = {.called = 3}, kept = {.called = 4};
    struct stream_markers markers = {0};
    mark(&markers, 0, 60000); /* there is none yet */
    add(&markers, 0, &lost);
    add(&markers, 1, &kept);
    assert_int_equal(stream_markers_list(&markers), 0);
    mark(&markers, 1, 61000);
    mark(&markers, 2, 62000);                                          /* of none */
    struct event program = {.type = EVENT_CUDA_EVENT, .start = 60000}; /* without a correlation */
    stream_markers_mark(&markers, &program);
    assert_int_equal(stream_markers_order(&markers), 0);
    assert_int_equal(markers.marked, 1);
    see(&markers, STREAM, 50000, 60000);
    stream_markers_settle(&markers, true);
    assert_int_equal(markers.items.items[0].range, 1);
    assert_int_equal(markers.items.items[0].time, 60000);
    assert_int_equal(markers.items.items[1].time, 0);
    assert_int_equal(markers.first, 60000);
    assert_int_equal(markers.last, 60000);
    file_vector_release(&markers.items);
}

/* So many that they lie in a file, sorted in several blocks. */
UNIT_TEST(test_more_than_memory_shall_hold_come_out_the_same)
{
    enum { COUNT = 300000 };
    struct stream_markers markers = {.items.memory.directory = "/tmp"};
    for (size_t i = COUNT; i-- > 0;)
        add(&markers, i, &(struct step){.called = 1});
    assert_int_equal(stream_markers_list(&markers), 0);
    for (size_t i = 0; i < COUNT; i++) {
        size_t number = i * 7919 % COUNT; /* all over */
        mark(&markers, number, 100000 + 20000 * (uint64_t)number);
    }
    assert_int_equal(stream_markers_order(&markers), 0);
    assert_int_equal(markers.marked, COUNT);
    for (size_t i = 0; i < COUNT; i++) {
        uint64_t done = 99000 + 20000 * (uint64_t)(i * 7919 % COUNT);
        see(&markers, STREAM, done - 5000, done);
    }
    stream_markers_settle(&markers, true);
    for (size_t i = 0; i < COUNT; i++) {
        assert_int_equal(markers.items.items[i].range, i);
        assert_int_equal(markers.items.items[i].time, 99000 + 20000 * (uint64_t)i);
    }
    assert_true(markers.items.memory.file > 0);
    file_vector_release(&markers.items);
}

static size_t ended_before(const struct step *steps, uint64_t time)
{
    size_t count = 0;
    for (size_t i = 0; i < MANY; i++)
        count += steps[i].end != 0 && steps[i].end <= time;
    return count;
}

static size_t started_before(const struct step *steps, uint64_t time)
{
    size_t count = 0;
    for (size_t i = 0; i < MANY; i++)
        count += steps[i].end != 0 && steps[i].start < time;
    return count;
}

/* Whatever there is: GPU operations that overlap as well, as those of a graph do. */
UNIT_TEST(test_moments_stay_in_order_and_pass_over_no_work)
{
    srand(4);
    for (int round = 0; round < 2000; round++) {
        struct step steps[MANY] = {0};
        uint64_t now = 100000, last = 0;
        bool together = round % 2;
        for (size_t i = 0; i < MANY; i++) {
            now += (uint64_t)(rand() % 4000);
            if (rand() % 2) {
                steps[i] = (struct step){.start = now, .end = now + 1 + (uint64_t)(rand() % 3000)};
                now = together ? now : steps[i].end;
            } else {
                steps[i] = (struct step){.called = now - (uint64_t)(rand() % 20000), .marked = now};
            }
        }
        settle(steps, MANY, round % 4 < 2);
        for (size_t i = 0; i < MANY; i++) {
            if (!steps[i].marked)
                continue;
            uint64_t time = placed[i];
            assert_true(time <= steps[i].marked && time >= last);
            assert_int_equal(ended_before(steps, time), ended_before(steps, steps[i].marked));
            if (!together)
                assert_int_equal(started_before(steps, time), started_before(steps, steps[i].marked));
            last = time;
        }
    }
}

UNIT_MAIN(NULL, NULL)
