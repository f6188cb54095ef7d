#include "tests/unit.h"

#include <gputrace/callbacks.h>

#include "agent/ranges/device_ranges.h"
#include "tests/agent/ranges/fake_driver.h"

static struct gputrace_call find(void)
{
    struct gputrace_call call = {.device = GPUTRACE_NO_DEVICE};
    current_context_find(&call);
    return call;
}

UNIT_TEST(test_it_is_this_threads)
{
    fake_driver_start(FAKE_CONTEXT_A);
    assert_ptr_equal(find().context, FAKE_CONTEXT_A);
    fake_driver_enter(FAKE_CONTEXT_B);
    assert_ptr_equal(find().context, FAKE_CONTEXT_B);
    assert_int_equal(find().device, GPUTRACE_NO_DEVICE); /* CUPTI, which knows it, is not here */
}

UNIT_TEST(test_where_none_is_current_the_call_has_none)
{
    fake_driver_start(NULL);
    assert_null(find().context);
    assert_int_equal(find().device, GPUTRACE_NO_DEVICE);
    assert_int_equal(find().context_id, 0);
}

UNIT_MAIN(NULL, NULL)
