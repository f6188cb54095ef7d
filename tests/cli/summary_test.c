/* The last line about a trace: how to open it, and what was lost. */
#include "tests/unit.h"

#include "cli/progress.h"
#include "common/buffer.h"
#include "common/clock.h"
#include "trace/meaning/passes/passes.h"

static const char *line_of(const char *output, const struct convert_summary *summary)
{
    unit_stderr_begin();
    summary_print(output, summary, NULL);
    return unit_stderr_end();
}

UNIT_TEST(a_trace_is_opened_in_a_browser_or_reported)
{
    struct convert_summary summary = {.events = 7, .bytes = 400000000, .unpacked = 1800000000};
    assert_string_equal(line_of("a.json", &summary), "gputrace: 7 events in 'a.json' (400 MB); to look at it, open "
                                                     "https://ui.perfetto.dev or run 'gputrace report a.json'\n");
}

UNIT_TEST(json_that_is_too_large_for_a_browser_is_to_be_converted)
{
    struct convert_summary summary = {.events = 7, .bytes = 30000000, .unpacked = 1800000001};
    assert_string_equal(line_of("d/a.json.gz", &summary),
                        "gputrace: 7 events in 'd/a.json.gz' (30.0 MB); too large for a browser: 'gputrace convert "
                        "d/a.json.gz d/a.pftrace' makes it smaller, 'gputrace report d/a.json.gz' reads it as it is\n");
    assert_contains(line_of("a", &summary), "'gputrace convert a a.pftrace'");
    assert_contains(line_of("a.pftrace", &summary), "to look at it, open https://ui.perfetto.dev");
}

UNIT_TEST(without_records_no_viewer_is_named)
{
    struct convert_summary summary = {.events = 1, .bytes = 1000, .unpacked = 1000, .missed_all = true};
    strcpy(summary.missed, "nothing was recorded: \x1b[2J");
    assert_string_equal(line_of("a.json", &summary),
                        "gputrace: 1 event in 'a.json' (1.0 kB); nothing was recorded: \\x1b[2J\n");
    assert_true(summary_is_incomplete(&summary));
}

/* --- */

static struct stack_frame frames[] = {{.function = "main", .file = "/leak.cu", .line = 42}};
static struct convert_line lines[] = {
    {.text = (char *)"4.0 MiB in 2 allocations", .length = 24, .frames = frames, .frame_count = 1},
    {.text = (char *)"no stack\n\x1b[31m", .length = 14},
};
static struct convert_plugin plugins[] = {
    {.name = (char *)"leaks", .pid = 100, .calls = 1234567, .ns = 1234567, .lines = lines, .line_count = 2},
    {.name = (char *)"calls", .pid = 100, .calls = 1, .ns = 2 * NS_PER_S},
};
static const struct convert_plugins both = {.items = plugins, .count = 2};

static const char *written(const struct convert_plugins *said, uint64_t run_ns, bool every_time)
{
    static char text[1024];
    struct buffer out;
    buffer_init_memory(&out);
    run_plugins_write(&out, said, run_ns, every_time);
    buffer_char(&out, '\0');
    assert_int_equal(buffer_finish(&out), 0);
    snprintf(text, sizeof(text), "%s", out.data);
    buffer_release(&out);
    return text;
}

#define LINES                                     \
    "gputrace: leaks: 4.0 MiB in 2 allocations\n" \
    "    main  /leak.cu:42\n"                     \
    "gputrace: leaks: no stack\\n\\x1b[31m\n"

UNIT_TEST(lines_are_written_with_their_stacks)
{
    assert_string_equal(written(&both, 1000 * NS_PER_S, false), LINES);
}

UNIT_TEST(time_is_reported_when_it_is_more_than_a_hundredth)
{
    assert_string_equal(written(&both, 200 * NS_PER_S, false), LINES);
    assert_string_equal(written(&both, 200 * NS_PER_S - 100, false), LINES "gputrace: plugin calls: 1 call, 2.00 s\n");
}

UNIT_TEST(time_is_always_reported_on_request)
{
    assert_string_equal(written(&both, 1000 * NS_PER_S, true), LINES "gputrace: plugin leaks: 1,234,567 calls, 1.2 ms\n"
                                                                     "gputrace: plugin calls: 1 call, 2.00 s\n");
}

UNIT_TEST(processes_are_kept_apart)
{
    struct convert_plugin two[] = {plugins[1], plugins[1]};
    two[1].pid = 200;
    const struct convert_plugins said = {.items = two, .count = 2};
    assert_string_equal(written(&said, NS_PER_S, false), "gputrace: plugin calls (process 100): 1 call, 2.00 s\n"
                                                         "gputrace: plugin calls (process 200): 1 call, 2.00 s\n");
}

UNIT_TEST(no_plugins_say_nothing)
{
    const struct convert_plugins none = {0};
    assert_string_equal(written(&none, NS_PER_S, true), "");
}

UNIT_MAIN(NULL, NULL)