/* The public headers, both in one file of a program that does not run under gputrace. */
#include <gputrace/callbacks.h>
#include <gputrace/gputrace.h>

#include <assert.h>

#include "tests/unit.h"

static_assert((int)GPUTRACE_READ == (int)GPUTRACE_ACCESS_READ, "modes are the same in both");
static_assert((int)GPUTRACE_WRITE == (int)GPUTRACE_ACCESS_WRITE, "modes are the same in both");
static_assert((int)GPUTRACE_READ_WRITE == (int)GPUTRACE_ACCESS_READ_WRITE, "modes are the same in both");

UNIT_TEST(an_access_is_heard_by_nobody)
{
    int memory = 0;
    unsetenv("GPUTRACE_LIBRARY");
    errno = 7;
    assert_int_equal(gputrace_access(&memory, sizeof(memory), GPUTRACE_READ, NULL), 0);
    assert_int_equal(gputrace_active(), 0);
    assert_int_equal(errno, 7);
}

static void recorded(void *data, const struct gputrace_event_record *what)
{
    (void)data, (void)what;
}

UNIT_TEST(without_a_host_everything_does_nothing)
{
    const struct gputrace_host *host = gputrace_own_host();
    assert_null(host);
    assert_int_equal(gputrace_event_record_register(host, recorded, NULL), 0);
    assert_int_equal(gputrace_remove(host, 1), -1);
    gputrace_clear(host, GPUTRACE_EVERY_KIND);
    gputrace_synchronize(host);
    assert_null(gputrace_setting(host, "key"));
    assert_int_equal(gputrace_now(host), 0);
    assert_int_equal(gputrace_stream_id(host, NULL, NULL), GPUTRACE_NO_STREAM);
    assert_int_equal(gputrace_stack(host, 0), 0);
    gputrace_slice(host, "", 0, 0, NULL);
    gputrace_instant(host, "", 0, NULL);
    gputrace_counter(host, "", 0, 0);
    gputrace_line(host, 0, "");
}

UNIT_MAIN(NULL, NULL)
