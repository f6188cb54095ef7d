/*
 * Occupancy: the figures that Kineto gives for kernels of a training step on an H200, and the limits one by one.
 */
#include "tests/unit.h"

#include <math.h>

#include "trace/build/occupancy.h"

static const struct device h200 = {
    .major = 9,
    .multiprocessors = 132,
    .warp_size = 32,
    .max_threads_per_block = 1024,
    .max_warps_per_multiprocessor = 64,
    .max_blocks_per_multiprocessor = 32,
    .registers_per_block = 65536,
    .registers_per_multiprocessor = 65536,
    .shared_per_block = 49152,
    .shared_per_multiprocessor = 233472,
};

static void test_figures_equal_those_of_kineto(void **state)
{
    (void)state;
    static const struct {
        uint32_t registers, shared;
        int32_t grid[3], block[3];
        double blocks, warps;
        int percent;
    } seen[] = {
        {128, 13056, {4, 64, 1}, {128, 1, 1}, 1.939394, 7.757576, 12},
        {31, 0, {1024, 1, 1}, {128, 1, 1}, 7.757576, 31.030304, 48},
        {120, 30720, {32, 1, 8}, {128, 1, 1}, 1.939394, 7.757576, 12},
        {32, 2064, {1, 32, 1}, {512, 1, 1}, 0.242424, 3.878788, 6},
        {16, 0, {1, 1, 1}, {128, 1, 1}, 0.007576, 0.030303, 0},
        {27, 0, {130, 1, 1}, {512, 1, 1}, 0.984848, 15.757576, 25},
        {220, 18816, {4, 32, 1}, {128, 1, 1}, 0.969697, 3.878788, 6},
        {202, 49152, {64, 2, 1}, {256, 1, 1}, 0.969697, 7.757576, 12},
        {54, 2064, {32, 1, 1}, {32, 4, 1}, 0.242424, 0.969697, 2},
    };
    for (size_t i = 0; i < sizeof(seen) / sizeof(*seen); i++) {
        struct event kernel = {.type = EVENT_KERNEL};
        memcpy(kernel.kernel.grid, seen[i].grid, sizeof(kernel.kernel.grid));
        memcpy(kernel.kernel.block, seen[i].block, sizeof(kernel.kernel.block));
        kernel.kernel.registers = seen[i].registers;
        kernel.kernel.dynamic_shared = seen[i].shared;
        struct occupancy occupancy = occupancy_of(&h200, &kernel);
        assert_true(fabs(occupancy.blocks_per_multiprocessor - seen[i].blocks) < 1e-6);
        assert_true(fabs(occupancy.warps_per_multiprocessor - seen[i].warps) < 2e-6);
        assert_int_equal(occupancy.percent, seen[i].percent);
    }
}

static void test_each_resource_limits_the_blocks(void **state)
{
    (void)state;
    assert_int_equal(occupancy_blocks(&h200, 32, 16, 0), 32);          /* blocks */
    assert_int_equal(occupancy_blocks(&h200, 1024, 16, 0), 2);         /* warps */
    assert_int_equal(occupancy_blocks(&h200, 128, 255, 0), 2);         /* registers: 2 warps for each scheduler */
    assert_int_equal(occupancy_blocks(&h200, 128, 16, 100 * 1024), 2); /* shared memory */
    assert_int_equal(occupancy_blocks(&h200, 128, 16, 232448), 1);
}

static void test_nonsense_gives_nothing(void **state)
{
    (void)state;
    struct event kernel = {.type = EVENT_KERNEL};
    struct device empty = {0};
    kernel.kernel.grid[0] = -1;
    kernel.kernel.block[0] = INT32_MAX;
    assert_int_equal(occupancy_of(NULL, &kernel).percent, 0);
    assert_int_equal(occupancy_of(&empty, &kernel).percent, 0);
    assert_int_equal(occupancy_of(&h200, &kernel).percent, 0);
    assert_int_equal(occupancy_blocks(&h200, 0, 16, 0), 0);
    assert_int_equal(occupancy_blocks(&h200, 128, UINT32_MAX, UINT32_MAX), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_figures_equal_those_of_kineto),
        cmocka_unit_test(test_each_resource_limits_the_blocks),
        cmocka_unit_test(test_nonsense_gives_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
