/* The last line about a trace: how to open it, and what was lost. */
#include "tests/unit.h"

#include "cli/summary.h"
#include "trace/build/passes.h"

static const char *line_of(const char *output, const struct convert_summary *summary)
{
    unit_stderr_begin();
    summary_print(output, summary);
    return unit_stderr_end();
}

UNIT_TEST(a_trace_is_opened_in_a_browser_or_reported)
{
    struct convert_summary summary = {.events = 7, .bytes = 400000000, .unpacked = 500000000};
    assert_string_equal(line_of("a.json", &summary), "gputrace: 7 events in 'a.json' (400 MB); to look at it, open "
                                                     "https://ui.perfetto.dev or run 'gputrace report a.json'\n");
}

UNIT_TEST(json_that_is_too_large_for_a_browser_is_to_be_converted)
{
    struct convert_summary summary = {.events = 7, .bytes = 30000000, .unpacked = 500000001};
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

UNIT_MAIN(NULL, NULL)
