#include "tests/unit.h"

#include <cjson/cJSON.h>

#include "common/clock.h"
#include "cli/session.h"
#include "common/buffer.h"
#include "common/json_out.h"
#include "common/spool.h"

static char folder[256];
static cJSON *json;

static void write_and_parse(char *const *command, const struct settings *settings, const struct job_rank *rank)
{
    char path[300], text[8192];
    struct session session = {.command = command, .output = "out \"quoted\".json", .settings = settings, .rank = rank};
    assert_int_equal(session_write(folder, &session), 0);
    snprintf(path, sizeof(path), "%s/" SPOOL_SESSION_FILE, folder);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    text[fread(text, 1, sizeof(text) - 1, file)] = '\0';
    fclose(file);
    json = cJSON_Parse(text);
    assert_non_null(json);
}

UNIT_FIXTURE(begin)
{
    snprintf(folder, sizeof(folder), "%s", unit_directory());
    return 0;
}

UNIT_FIXTURE(end)
{
    cJSON_Delete(json);
    json = NULL;
    unit_remove(folder);
    return 0;
}

static const cJSON *member(const char *key)
{
    const cJSON *value = cJSON_GetObjectItemCaseSensitive(json, key);
    if (!value)
        fail_msg("no '%s'", key);
    return value;
}

UNIT_TEST_WITH(a_session_has_the_command_and_the_options, begin, end)
{
    char *command[] = {(char *)"./a b", (char *)"--x=\n", NULL};
    struct settings settings = {.trace = TRACE_KERNEL | TRACE_NVTX, .capture_range = "api", .flush_interval_ms = 5};
    double before = (double)clock_now();
    write_and_parse(command, &settings, NULL);
    assert_int_equal(cJSON_GetArraySize(member("command")), 2);
    assert_string_equal(cJSON_GetArrayItem(member("command"), 1)->valuestring, "--x=\n");
    assert_string_equal(member("output")->valuestring, "out \"quoted\".json");
    assert_string_equal(member("version")->valuestring, GPUTRACE_VERSION);
    assert_true(member("started")->valuedouble >= before - 1e3);
    const cJSON *synchronised = cJSON_GetObjectItemCaseSensitive(member("clock"), "synchronised");
    struct timex clock = {.modes = 0};
    int result = adjtimex(&clock);
    assert_int_equal(cJSON_IsTrue(synchronised), result >= 0 && result != TIME_ERROR && !(clock.status & STA_UNSYNC));
    const cJSON *options = member("options");
    const cJSON *trace = cJSON_GetObjectItemCaseSensitive(options, "trace");
    assert_int_equal(cJSON_GetArraySize(trace), 2);
    assert_string_equal(cJSON_GetArrayItem(trace, 1)->valuestring, "nvtx");
    assert_string_equal(cJSON_GetObjectItemCaseSensitive(options, "graph")->valuestring, "graph");
    assert_string_equal(cJSON_GetObjectItemCaseSensitive(options, "api_calls")->valuestring, "without queries");
    assert_null(cJSON_GetObjectItemCaseSensitive(json, "rank"));
}

UNIT_TEST_WITH(a_rank_and_the_ranks_asked_for_are_noted, begin, end)
{
    char *command[] = {(char *)"app", NULL};
    struct settings settings = {.ranks = "0,3"};
    write_and_parse(command, &settings, &(struct job_rank){.rank = 3, .world_size = 8, .local = -1, .node = -1});
    assert_int_equal(member("rank")->valueint, 3);
    assert_int_equal(member("world_size")->valueint, 8);
    const cJSON *ranks = cJSON_GetObjectItemCaseSensitive(member("options"), "ranks");
    assert_string_equal(ranks->valuestring, "0,3");
}

UNIT_TEST_WITH(a_launcher_without_a_rank_notes_none, begin, end)
{
    char *command[] = {(char *)"app", NULL};
    struct settings settings = {0};
    write_and_parse(command, &settings, &(struct job_rank){-1, -1, -1, -1});
    assert_null(cJSON_GetObjectItemCaseSensitive(json, "rank"));
    assert_null(cJSON_GetObjectItemCaseSensitive(cJSON_GetObjectItemCaseSensitive(json, "options"), "ranks"));
}

UNIT_TEST_WITH(an_existing_session_is_not_overwritten, begin, end)
{
    char *command[] = {(char *)"app", NULL};
    struct settings settings = {0};
    struct session session = {.command = command, .output = "x", .settings = &settings};
    assert_int_equal(session_write(folder, &session), 0);
    unit_stderr_begin();
    int again = session_write(folder, &session);
    assert_contains(unit_stderr_end(), "File exists");
    assert_int_equal(again, -1);
}

static void check_clock(int state, struct timex clock, const char *expected)
{
    struct buffer text;
    struct json_out out;
    buffer_init_memory(&text);
    json_out_init(&out, &text, false);
    json_begin_object(&out);
    session_put_clock(&out, state, &clock);
    json_end(&out);
    buffer_char(&text, '\0');
    assert_string_equal(text.data, expected);
    buffer_release(&text);
}

#define CLOCK(synchronised)                                                                                        \
    "{\"clock\":{\"synchronised\":" synchronised ",\"error_us\":2100,\"estimated_error_us\":30,\"frequency_ppm\":" \
    "-12.345}}"

UNIT_TEST(a_clock_is_synchronised_if_the_kernel_says_so)
{
    struct timex clock = {.maxerror = 2100, .esterror = 30, .freq = -809042, .status = STA_PLL};
    check_clock(TIME_OK, clock, CLOCK("true"));
    check_clock(TIME_INS, clock, CLOCK("true")); /* before a leap second */
    check_clock(TIME_ERROR, clock, CLOCK("false"));
    clock.status = STA_UNSYNC;
    check_clock(TIME_OK, clock, CLOCK("false"));
}

UNIT_TEST(a_clock_that_the_kernel_does_not_describe_is_left_out)
{
    check_clock(-1, (struct timex){0}, "{}");
    check_clock(TIME_OK, (struct timex){.maxerror = 16000000, .esterror = 16000000, .status = STA_UNSYNC},
                "{\"clock\":{\"synchronised\":false,\"error_us\":16000000,\"estimated_error_us\":16000000,"
                "\"frequency_ppm\":0.000}}");
}

UNIT_MAIN(NULL, NULL)
