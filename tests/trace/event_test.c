/* Arguments of slices. */
#include "tests/unit.h"

#include "trace/event.h"

UNIT_TEST(arguments_too_many_are_left_out)
{
    struct {
        struct args args;
        uint64_t after[64];
    } it = {0};
    for (uint64_t i = 0; i < ARGS_MAX + 8; i++)
        args_u64(&it.args, ARG_ADDRESS, i + 1);
    assert_int_equal(it.args.count, ARGS_MAX);
    for (uint64_t i = 0; i < ARGS_MAX; i++)
        assert_int_equal(it.args.items[i].u64, i + 1);
    for (size_t i = 0; i < sizeof(it.after) / sizeof(*it.after); i++)
        assert_int_equal(it.after[i], 0);
}

UNIT_MAIN(NULL, NULL)
