#include "trace/build/nvtx.h"

#include "tests/unit.h"

enum { HEAP = 7, KEPT = 3 };

static const struct nvtx_region *apply(struct nvtx_heaps *heaps, uint16_t operation, uint64_t region, uint64_t size)
{
    struct spool_nvtx_memory record = {.head.flags = operation, .domain = 1, .heap = HEAP, .region = region};
    const struct nvtx_heap *heap;
    const struct nvtx_region *about;
    record.size = size;
    assert_int_equal(nvtx_heaps_apply(heaps, &record, &heap, &about), 0);
    return about;
}

static uint64_t bytes_of(const struct nvtx_heaps *heaps)
{
    return heaps->items.items[0].regions;
}

/* Every region has a handle of its own. */
UNIT_TEST(test_regions_that_are_gone_are_forgotten_and_live_ones_are_not)
{
    struct nvtx nvtx = {0};
    struct nvtx_heaps *heaps = &nvtx.heaps;
    for (uint64_t i = 1; i <= 4 * NVTX_HEAPS_GONE; i++) {
        assert_non_null(apply(heaps, SPOOL_NVTX_MEMORY_REGION_REGISTER, i, 10 + i));
        if (i > KEPT)
            assert_false(apply(heaps, SPOOL_NVTX_MEMORY_REGION_UNREGISTER, i, 0)->live);
    }
    assert_true(heaps->regions.count <= 2 * NVTX_HEAPS_GONE);
    assert_true(heaps->items.items[0].members.count <= 2 * NVTX_HEAPS_GONE);
    assert_int_equal(bytes_of(heaps), 11 + 12 + 13);
    assert_int_equal(apply(heaps, SPOOL_NVTX_MEMORY_REGION_RESIZE, 2, 100)->size, 100);
    assert_int_equal(bytes_of(heaps), 11 + 100 + 13);
    apply(heaps, SPOOL_NVTX_MEMORY_HEAP_RESET, 0, 0);
    assert_int_equal(bytes_of(heaps), 0);
    assert_false(apply(heaps, SPOOL_NVTX_MEMORY_REGION_RESIZE, 2, 50)->live);
    nvtx_release(&nvtx);
}

/* As many live at once as there are: none is lost. */
UNIT_TEST(test_many_that_live_all_stay)
{
    enum { COUNT = 3 * NVTX_HEAPS_GONE };
    struct nvtx nvtx = {0};
    struct nvtx_heaps *heaps = &nvtx.heaps;
    for (uint64_t i = 1; i <= COUNT; i++)
        apply(heaps, SPOOL_NVTX_MEMORY_REGION_REGISTER, i, 1);
    for (unsigned again = 0; again < 4; again++) /* what is registered again is the same region */
        for (uint64_t i = 1; i <= COUNT; i++)
            apply(heaps, SPOOL_NVTX_MEMORY_REGION_REGISTER, i, 2);
    assert_int_equal(heaps->regions.count, COUNT);
    assert_int_equal(bytes_of(heaps), 2 * COUNT);
    assert_true(heaps->items.items[0].members.count <= 3 * (size_t)COUNT);
    for (uint64_t i = 1; i <= COUNT; i++)
        assert_int_equal(apply(heaps, SPOOL_NVTX_MEMORY_REGION_UNREGISTER, i, 0)->handle, i);
    assert_int_equal(bytes_of(heaps), 0);
    nvtx_release(&nvtx);
}

UNIT_MAIN(NULL, NULL)
