#include "tests/unit.h"

#include "cli/duration.h"

UNIT_TEST(a_number_is_of_seconds_unless_a_unit_follows)
{
    static const struct {
        const char *text;
        uint64_t ns;
    } cases[] = {
        {"0", 0},          {"2", 2000000000}, {"0.25", 250000000},    {"1.5s", 1500000000}, {"300ms", 300000000},
        {"20.5us", 20500}, {"7ns", 7},        {"1e3", 1000000000000}, {"0.0000000004", 0}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        uint64_t ns = 1;
        assert_int_equal(duration_parse("delay", cases[i].text, &ns), 0);
        assert_int_equal(ns, cases[i].ns);
    }
}

UNIT_TEST(text_that_is_not_a_time_is_an_error)
{
    static const char *const cases[] = {"",    "s",    "ms",  "soon", "-1",   "-1ms",   "nan",
                                        "inf", "1e30", "1 s", "1h",   "1sec", "1e20ns", "2s "};
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        uint64_t ns = 1;
        unit_stderr_begin();
        assert_int_equal(duration_parse("snapshot", cases[i], &ns), -1);
        assert_contains(unit_stderr_end(), "gputrace: --snapshot: '");
        assert_int_equal(ns, 1);
    }
}

UNIT_MAIN(NULL, NULL)
