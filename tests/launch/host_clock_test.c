#include "tests/unit.h"

#include "common/buffer.h"
#include "common/json_out.h"
#include "cli/session.h"

UNIT_TEST(a_clock_is_synchronised_if_the_system_says_so)
{
    struct timex status = {.maxerror = 2100, .esterror = 30, .freq = -2 * 65536, .status = STA_PLL};
    struct host_clock clock = host_clock_of(TIME_OK, &status);
    assert_true(clock.known && clock.synchronised);
    assert_int_equal(clock.error_us, 2100);
    assert_int_equal(clock.estimated_error_us, 30);
    assert_true(clock.frequency_ppm == -2);
    assert_false(host_clock_of(TIME_ERROR, &status).synchronised);
    status.status = STA_UNSYNC;
    assert_false(host_clock_of(TIME_OK, &status).synchronised);
    assert_true(host_clock_of(TIME_INS, &(struct timex){.status = 0}).synchronised); /* before a leap second */
    assert_false(host_clock_of(-1, &status).known);
}

UNIT_TEST(the_clock_of_this_machine_is_asked_and_not_changed)
{
    struct timex before = {.modes = 0}, after = {.modes = 0};
    int said = adjtimex(&before);
    struct host_clock clock = host_clock_read();
    assert_int_equal(adjtimex(&after), said);
    assert_int_equal(clock.known, said >= 0);
    assert_int_equal(clock.synchronised, said >= 0 && said != TIME_ERROR);
    assert_int_equal(after.freq, before.freq);
    assert_int_equal(after.status, before.status);
}

static void check_json(struct host_clock clock, const char *expected)
{
    struct buffer text;
    struct json_out json;
    buffer_init_memory(&text);
    json_out_init(&json, &text, false);
    json_begin_object(&json);
    host_clock_put(&clock, &json);
    json_end(&json);
    buffer_char(&text, '\0');
    assert_string_equal(text.data, expected);
    buffer_release(&text);
}

UNIT_TEST(what_is_known_of_it_is_written)
{
    check_json((struct host_clock){.known = false}, "{}");
    check_json((struct host_clock){.known = true, .error_us = 16000000, .estimated_error_us = 16000000},
               "{\"clock\":{\"synchronised\":false,\"error_us\":16000000,\"estimated_error_us\":16000000,"
               "\"frequency_ppm\":0.000}}");
    check_json(
        (struct host_clock){
            .known = true, .synchronised = true, .error_us = 2100, .estimated_error_us = 30, .frequency_ppm = -12.345},
        "{\"clock\":{\"synchronised\":true,\"error_us\":2100,\"estimated_error_us\":30,"
        "\"frequency_ppm\":-12.345}}");
}

UNIT_MAIN(NULL, NULL)
