#include "tests/unit.h"

#include <cjson/cJSON.h>

#include "analysis/engine/trace.h"

static struct trace_clock clock_in(const char *text)
{
    struct trace trace = {.clock = {FIELD_ABSENT, FIELD_ABSENT}};
    cJSON *json = cJSON_Parse(text);
    assert_non_null(json);
    assert_int_equal(trace_metadata(&trace, "gputrace", json), 0);
    cJSON_Delete(json);
    interner_release(&trace.strings);
    return trace.clock;
}

UNIT_TEST(what_the_system_said_of_its_clock_is_read)
{
    struct trace_clock clock = clock_in("{\"clock\": {\"synchronised\": true, \"error_us\": 2100}}");
    assert_int_equal(clock.synchronised, 1);
    assert_int_equal(clock.error_us, 2100);
    clock = clock_in("{\"clock\": {\"synchronised\": false}}");
    assert_int_equal(clock.synchronised, 0);
    assert_int_equal(clock.error_us, FIELD_ABSENT);
    assert_int_equal(clock_in("{\"clock\": {\"synchronised\": \"yes\", \"error_us\": 1}}").error_us, FIELD_ABSENT);
    assert_int_equal(clock_in("{}").synchronised, FIELD_ABSENT);
}

UNIT_MAIN(NULL, NULL)
