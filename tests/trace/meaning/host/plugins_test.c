/*
 * What plugins add to the trace.
 */
#include "tests/unit.h"

#include <math.h>

#include "tests/trace/meaning/make_plugin.h"
#include "tests/trace/meaning/trace_reading.h"
#include "trace/meaning/base/times.h"
#include "trace/meaning/host/plugins.h"

enum { PID = 500, THREAD = 501, OTHER = 502, PLUGIN = 2 };

static void begin(struct make_spool *spool)
{
    make_spool_init(spool, PID, 130001);
    make_spool_chunk(spool, SPOOL_RECORDS, THREAD);
    make_plugin(spool, PLUGIN, "leaks");
}

static void slice(struct make_spool *spool, uint64_t start, uint64_t stop, uint32_t thread, const char *name)
{
    make_plugin_event(
        spool,
        (struct make_plugin_event){
            .what = SPOOL_PLUGIN_SLICE, .time = start, .end = stop, .plugin = PLUGIN, .thread = thread, .name = name});
}

UNIT_TEST(test_slices_and_instants_lie_on_a_row_of_the_plugin)
{
    struct make_spool spool;
    begin(&spool);
    make_plugin_event(&spool, (struct make_plugin_event){.what = SPOOL_PLUGIN_SLICE,
                                                         .time = 1000,
                                                         .end = 3000,
                                                         .plugin = PLUGIN,
                                                         .thread = THREAD,
                                                         .name = "alive \"x\"",
                                                         .detail = "64 bytes"});
    make_plugin_event(
        &spool, (struct make_plugin_event){
                    .what = SPOOL_PLUGIN_INSTANT, .time = 2000, .plugin = PLUGIN, .thread = OTHER, .name = "leak"});
    struct trace trace = trace_of_done(&spool);
    const cJSON *alive = trace_event(&trace, "X", "plugin", "alive \"x\"", 0);
    const cJSON *leak = trace_event(&trace, "i", "plugin", "leak", 0);
    assert_int_equal(event_ns(alive, "dur"), 2000);
    assert_true(arg_text_is(alive, "detail", "64 bytes") && arg_is(alive, "thread", THREAD));
    assert_true(arg_is(leak, "thread", OTHER));
    assert_null(event_arg(leak, "detail"));
    assert_string_equal(event_text(alive, "name"), "alive \"x\"");
    assert_string_equal(row_name(&trace, alive), "plugin leaks");
    assert_string_equal(row_name(&trace, leak), "plugin leaks");
    assert_int_equal(event_number(alive, "pid"), PID);
    assert_int_equal(trace.summary.events, 2);
    trace_release(&trace);
}

UNIT_TEST(test_slices_that_overlap_have_lanes_and_outer_ones_come_first)
{
    struct make_spool spool;
    begin(&spool);
    slice(&spool, 1000, 1500, THREAD, "inner"); /* recorded first, and begins with the one around it */
    slice(&spool, 1000, 3000, THREAD, "outer");
    slice(&spool, 2000, 4000, THREAD, "across");
    slice(&spool, 2100, 2200, OTHER, "another's");
    struct trace trace = trace_of_done(&spool); /* checks that rows nest, in the order of the file */
    assert_string_equal(row_name(&trace, trace_event(&trace, "X", NULL, "outer", 0)), "plugin leaks");
    assert_string_equal(row_name(&trace, trace_event(&trace, "X", NULL, "inner", 0)), "plugin leaks");
    assert_string_equal(row_name(&trace, trace_event(&trace, "X", NULL, "across", 0)), "plugin leaks (2)");
    assert_string_equal(row_name(&trace, trace_event(&trace, "X", NULL, "another's", 0)), "plugin leaks (3)");
    trace_release(&trace);
}

UNIT_TEST(test_counters_have_the_plugins_name_before_theirs)
{
    struct make_spool spool;
    begin(&spool);
    struct make_plugin_event event = {
        .what = SPOOL_PLUGIN_COUNTER, .time = 1000, .plugin = PLUGIN, .name = "alive", .value = 0.1};
    make_plugin_event(&spool, event);
    event.value = -3e9;
    event.time = 2000;
    make_plugin_event(&spool, event);
    event.value = (double)NAN;
    make_plugin_event(&spool, event);
    event.what = 4; /* of a newer library */
    make_plugin_event(&spool, event);
    struct trace trace = trace_of_done(&spool);
    const cJSON *value = trace_event(&trace, "C", NULL, "leaks: alive", 0);
    assert_true(arg_is(value, "value", 0.1));
    assert_int_equal(event_number(value, "pid"), PID);
    assert_true(arg_is(trace_event(&trace, "C", NULL, "leaks: alive", 1), "value", -3e9));
    assert_int_equal(trace_count(&trace, "C", NULL, NULL), 2);
    assert_int_equal(trace_count(&trace, "M", NULL, "thread_name"), 0); /* a counter alone needs no row */
    assert_int_equal(trace.summary.losses.undecoded, 2);
    trace_release(&trace);
}

UNIT_TEST(test_nothing_is_shown_from_outside_the_windows)
{
    struct make_spool spool;
    begin(&spool);
    make_capture(&spool, 2000, 1, "on");
    make_capture(&spool, 4000, 0, "off");
    slice(&spool, 3000, 5000, THREAD, "within");
    slice(&spool, 4500, 5000, THREAD, "after");
    for (uint16_t what = SPOOL_PLUGIN_INSTANT; what <= SPOOL_PLUGIN_COUNTER; what++)
        make_plugin_event(&spool,
                          (struct make_plugin_event){.what = what, .time = 6000, .plugin = PLUGIN, .name = "after"});
    struct trace trace = trace_of_done(&spool);
    assert_int_equal(trace_count(&trace, "X", "plugin", NULL), 1);
    assert_int_equal(trace_count(&trace, "i", "plugin", NULL) + trace_count(&trace, "C", NULL, NULL), 0);
    trace_release(&trace);
}

UNIT_TEST(test_a_plugin_whose_name_was_lost_has_its_number)
{
    struct make_spool spool;
    begin(&spool);
    make_plugin_event(&spool,
                      (struct make_plugin_event){
                          .what = SPOOL_PLUGIN_INSTANT, .time = 2000, .plugin = 9, .thread = THREAD, .name = ""});
    struct trace trace = trace_of_done(&spool);
    const cJSON *event = trace_event(&trace, "i", "plugin", "(no name)", 0);
    assert_string_equal(row_name(&trace, event), "plugin 9");
    trace_release(&trace);
}

UNIT_TEST(test_no_windows_hold_nothing)
{
    struct plugin_intervals intervals = {0};
    plugin_intervals_close(&intervals);
    assert_false(plugin_intervals_any(&intervals));
    assert_false(plugin_intervals_hold(&intervals, 1, 10, 20));
    plugin_intervals_release(&intervals);
}

UNIT_TEST(test_times_within_a_window_of_the_thread_are_held)
{
    struct plugin_intervals intervals = {0};
    /* In no order, and of two threads in turn. */
    assert_int_equal(plugin_intervals_add(&intervals, 1, 300, 400), 0);
    assert_int_equal(plugin_intervals_add(&intervals, 2, 150, 160), 0);
    assert_int_equal(plugin_intervals_add(&intervals, 1, 100, 200), 0);
    plugin_intervals_close(&intervals);
    assert_true(plugin_intervals_any(&intervals));
    assert_true(plugin_intervals_hold(&intervals, 1, 100, 200));
    assert_true(plugin_intervals_hold(&intervals, 1, 350, 350));
    assert_false(plugin_intervals_hold(&intervals, 1, 99, 150));
    assert_false(plugin_intervals_hold(&intervals, 1, 150, 201));
    assert_false(plugin_intervals_hold(&intervals, 1, 150, 350));
    assert_false(plugin_intervals_hold(&intervals, 1, 250, 260));
    assert_false(plugin_intervals_hold(&intervals, 1, 401, 402));
    assert_false(plugin_intervals_hold(&intervals, 2, 100, 155));
    assert_true(plugin_intervals_hold(&intervals, 2, 150, 155));
    assert_false(plugin_intervals_hold(&intervals, 3, 150, 155));
    plugin_intervals_release(&intervals);
}

UNIT_TEST(test_windows_within_and_across_one_another_are_one)
{
    struct plugin_intervals intervals = {0};
    static const uint64_t spans[][2] = {{100, 500}, {200, 300}, {450, 600}, {600, 700}, {800, 900}};
    for (size_t i = 0; i < sizeof(spans) / sizeof(*spans); i++)
        assert_int_equal(plugin_intervals_add(&intervals, 1, spans[i][0], spans[i][1]), 0);
    plugin_intervals_close(&intervals);
    assert_true(plugin_intervals_hold(&intervals, 1, 350, 400)); /* the latest that began is over by then */
    assert_true(plugin_intervals_hold(&intervals, 1, 150, 700));
    assert_false(plugin_intervals_hold(&intervals, 1, 650, 850));
    plugin_intervals_release(&intervals);
}

UNIT_TEST(test_every_one_of_many_is_found)
{
    struct plugin_intervals intervals = {0};
    for (uint64_t i = 0; i < 1000; i++)
        assert_int_equal(plugin_intervals_add(&intervals, (uint32_t)(i % 7), i * 100, i * 100 + 50), 0);
    plugin_intervals_close(&intervals);
    for (uint64_t i = 0; i < 1000; i++) {
        uint32_t thread = (uint32_t)(i % 7);
        assert_true(plugin_intervals_hold(&intervals, thread, i * 100, i * 100 + 50));
        assert_false(plugin_intervals_hold(&intervals, thread, i * 100 + 40, i * 100 + 51));
        assert_false(plugin_intervals_hold(&intervals, (thread + 1) % 7, i * 100, i * 100 + 50));
    }
    plugin_intervals_release(&intervals);
}

UNIT_MAIN(NULL, NULL)
