#include "tests/unit.h"

#include <pthread.h>
#include <unistd.h>

#include "common/clock.h"
#include "agent/cupti/kernel_names.h"

static void *say_so(void *unused)
{
    name_capture_request();
    return unused;
}

UNIT_TEST(a_wait_ends_when_names_are_due)
{
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, say_so, NULL), 0);
    assert_true(name_capture_wait(86400 * NS_PER_S));
    pthread_join(thread, NULL);
}

UNIT_TEST(what_was_said_before_the_wait_is_heard_once)
{
    name_capture_request();
    name_capture_request();
    assert_true(name_capture_wait(20 * NS_PER_S));
    uint64_t begun = clock_monotonic();
    assert_false(name_capture_wait(20 * NS_PER_MS));
    assert_true(clock_monotonic() - begun >= 15 * NS_PER_MS);
}

UNIT_MAIN(NULL, NULL)
