#include "tests/unit.h"

#include <errno.h>

#include "base/log.h"

static const char *printed_at(enum log_level level)
{
    log_set_level(level);
    unit_stderr_begin();
    assert_int_equal(error("no '%s'", "file"), -1);
    warning("few %d", 1);
    notice("done");
    verbose("step");
    log_set_level(LOG_NORMAL);
    return unit_stderr_end();
}

static void each_level_prints_its_own(void **state)
{
    (void)state;
    assert_string_equal(printed_at(LOG_QUIET), "gputrace: no 'file'\n");
    assert_string_equal(printed_at(LOG_NORMAL), "gputrace: no 'file'\ngputrace: warning: few 1\ngputrace: done\n");
    assert_string_equal(printed_at(LOG_VERBOSE),
                        "gputrace: no 'file'\ngputrace: warning: few 1\ngputrace: done\ngputrace: step\n");
}

static void errno_stays(void **state)
{
    (void)state;
    unit_stderr_begin();
    errno = ENOENT;
    error("cannot: %m");
    int after = errno;
    const char *text = unit_stderr_end();
    assert_int_equal(after, ENOENT);
    assert_string_equal(text, "gputrace: cannot: No such file or directory\n");
}

static void a_long_message_is_one_line_cut(void **state)
{
    (void)state;
    char *large = malloc(5000);
    memset(large, 'x', 4999);
    large[4999] = '\0';
    unit_stderr_begin();
    error("%s", large);
    const char *text = unit_stderr_end();
    assert_true(strlen(text) < 2100);
    assert_ptr_equal(strchr(text, '\n'), text + strlen(text) - 1);
    free(large);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_level_prints_its_own),
        cmocka_unit_test(errno_stays),
        cmocka_unit_test(a_long_message_is_one_line_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
