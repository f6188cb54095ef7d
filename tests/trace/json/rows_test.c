/*
 * Slices whose begin and end are events of their own: which belong together, in what order they are passed on, and
 * what is counted.
 */
#include "tests/unit.h"

#include "trace/json/rows.h"

static char seen[4096];

/* "begin-end ", or "begin- " of one that has no end. */
static int take(void *context, const char *begin, size_t size, const char *end, size_t end_size)
{
    assert_null(context);
    size_t length = strlen(seen);
    if (length + size + end_size + 3 < sizeof(seen))
        sprintf(seen + length, "%.*s-%.*s ", (int)size, begin, (int)end_size, end ? end : "");
    return 0;
}

/* Adds events "ROW KIND NAME TIME", KIND one of B, E and O, NAME '.' for none. */
static void add(struct pairs *pairs, const char *events, bool at_once)
{
    char row, kind, name, text[32];
    int time, used;
    for (; sscanf(events, " %c%c%c%d%n", &row, &kind, &name, &time, &used) == 4; events += used) {
        struct pairs_event event = {.row = (uint64_t)row,
                                    .name = name == '.' ? 0 : (uint64_t)name,
                                    .time = time,
                                    .kind = kind == 'B'   ? PAIRS_BEGIN
                                            : kind == 'E' ? PAIRS_END
                                                          : PAIRS_OPEN};
        int size = sprintf(text, "%c%d", name, time);
        assert_int_equal(pairs_add(pairs, event, text, (size_t)size, at_once), 0);
    }
}

static const char *pair(const char *events, bool at_once, const char *said)
{
    struct pairs pairs;
    pairs_init(&pairs, take, NULL);
    *seen = '\0';
    add(&pairs, events, at_once);
    unit_stderr_begin();
    int status = pairs_finish(&pairs, "trace.json");
    const char *message = unit_stderr_end();
    assert_int_equal(status, 0);
    if (said)
        assert_contains(message, said);
    else
        assert_string_equal(message, "");
    pairs_release(&pairs);
    return seen;
}

UNIT_TEST(an_end_is_that_of_the_innermost_slice_and_enclosing_slices_come_first)
{
    assert_string_equal(pair("1Ba0 1Bb10 1E.20 1E.30", false, NULL), "a0-.30 b10-.20 ");
    assert_string_equal(pair("1Ba0 2Bx5 1Bb0 1Eb20 2Ex7 1Ea20", false, NULL), "a0-a20 b0-b20 x5-x7 ");
    assert_string_equal(pair("1Ba0 1E.5 1Bb5 1E.5", false, NULL), "a0-.5 b5-.5 ");
}

UNIT_TEST(events_may_come_in_any_order)
{
    assert_string_equal(pair("1E.30 1Bb10 1E.20 1Ba0", false, NULL), "a0-.30 b10-.20 ");
    assert_string_equal(pair("1Bb10 1Eb20 1Ba0 1Ea30", false, NULL), "a0-a30 b10-b20 ");
}

UNIT_TEST(an_end_with_a_name_is_that_of_the_innermost_slice_of_the_name)
{
    assert_string_equal(pair("1Ba0 1Bb10 1Ea20 1Eb30", false, NULL), "a0-a20 b10-b30 ");
    assert_string_equal(pair("1Ba0 1Ex5 1Ea20", false, "1 end of a slice or range is left out, as it has no begin"),
                        "a0-a20 ");
    assert_string_equal(pair("1E.5 2Ba0 1E.6", false, "'trace.json': 2 ends"), "a0- ");
}

UNIT_TEST(what_has_no_end_is_passed_on_last_and_counted)
{
    assert_string_equal(pair("1Ba0 1Bb1 1E.2", false, "1 slice or range has no end, and lasts to the end of the trace"),
                        "a0- b1-.2 ");
    assert_string_equal(pair("1Ba0 1Oc1 1E.2", false, "1 slice or range has no end"), "a0-.2 c1- ");
}

UNIT_TEST(an_end_right_behind_its_begin_is_passed_on_at_once)
{
    assert_string_equal(pair("2Ba5 2Ea9 1Bb0 1Bc1 1E.2 1E.3", true, NULL), "a5-a9 c1-.2 b0-.3 ");
}

/* More than are held at a time: what is not ended stays, and the rest is passed on. */
UNIT_TEST(slices_over_more_events_than_are_held)
{
    struct pairs pairs;
    char bytes[4096] = {0};
    pairs_init(&pairs, take, NULL);
    *seen = '\0';
    add(&pairs, "1Bo0", false);
    for (uint64_t i = 0; i < 40000; i++) {
        struct pairs_event event = {.row = 2, .time = (int64_t)i, .kind = i % 2 ? PAIRS_END : PAIRS_BEGIN};
        assert_int_equal(pairs_add(&pairs, event, bytes, sizeof(bytes), false), 0);
    }
    assert_true(pairs.events.count < 40000);
    *seen = '\0';
    add(&pairs, "1Eo9", false);
    assert_int_equal(pairs_finish(&pairs, "trace.json"), 0);
    assert_int_equal(strncmp(seen, "o0-o9 ", 6), 0);
    assert_int_equal(pairs.unmatched + pairs.unended + pairs.too_many, 0);
    for (uint64_t i = 0; i < 40000; i++) {
        struct pairs_event event = {.row = 2, .time = (int64_t)i, .kind = PAIRS_BEGIN};
        assert_int_equal(pairs_add(&pairs, event, bytes, sizeof(bytes), false), 0);
    }
    unit_stderr_begin();
    assert_int_equal(pairs_finish(&pairs, "trace.json"), 0);
    assert_contains(unit_stderr_end(), "ranges are left out, as more than 64 MiB of them are begun and not ended");
    assert_true(pairs.too_many > 0 && pairs.too_many + pairs.unended == 40000);
    pairs_release(&pairs);
}

UNIT_MAIN(NULL, NULL)
