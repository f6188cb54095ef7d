
#include "common/spool_records.h"
#include "tests/unit.h"
#include "trace/meaning/nvtx/nvtx.h"
#include "trace/meaning/nvtx/nvtx_memory.h"

enum { ONE = 501, TWO = 502, END = 9000 };

static const struct capture_intervals whole_run;

static void tell(struct nvtx *nvtx, uint64_t time, uint32_t thread, uint32_t domain, enum spool_nvtx_what what)
{
    struct event event = {.type = EVENT_NVTX, .start = time, .end = time, .thread = thread};
    event.nvtx.what = (uint16_t)what;
    event.nvtx.domain = domain;
    assert_int_equal(nvtx_index(nvtx, &whole_run, &event), 0);
}

static void range(struct nvtx *nvtx, uint64_t start, uint64_t end, uint32_t thread, uint32_t domain)
{
    tell(nvtx, start, thread, domain, SPOOL_NVTX_PUSH);
    tell(nvtx, end, thread, domain, SPOOL_NVTX_POP);
}

UNIT_TEST(test_a_slice_fits_within_ranges_and_between_them)
{
    struct nvtx nvtx = {0};
    struct nvtx_places places = {0};
    tell(&nvtx, 100, ONE, 0, SPOOL_NVTX_PUSH);
    range(&nvtx, 200, 300, ONE, 0);
    range(&nvtx, 400, 500, ONE, 0);
    tell(&nvtx, 600, ONE, 0, SPOOL_NVTX_POP);
    tell(&nvtx, 700, ONE, 0, SPOOL_NVTX_PUSH); /* open at the end */
    assert_true(nvtx_fits(&nvtx, &places, ONE, 200, 300));
    assert_true(nvtx_fits(&nvtx, &places, ONE, 310, 390));
    assert_true(nvtx_fits(&nvtx, &places, ONE, 10, 100));
    assert_true(nvtx_fits(&nvtx, &places, ONE, 600, 700));
    assert_true(nvtx_fits(&nvtx, &places, ONE, 800, 8000));
    assert_true(nvtx_fits(&nvtx, &places, TWO, 0, 8000));
    assert_false(nvtx_fits(&nvtx, &places, ONE, 250, 310));
    assert_false(nvtx_fits(&nvtx, &places, ONE, 150, 250));
    assert_false(nvtx_fits(&nvtx, &places, ONE, 550, 650));
    assert_false(nvtx_fits(&nvtx, &places, ONE, 90, 650)); /* it encloses them: lanes find that out */
    nvtx_release(&nvtx);
}

UNIT_TEST(test_a_slice_must_fit_the_ranges_of_every_domain)
{
    struct nvtx nvtx = {0};
    struct nvtx_places places = {0};
    range(&nvtx, 100, 200, ONE, 1);
    range(&nvtx, 150, 250, ONE, 2);
    assert_true(nvtx_fits(&nvtx, &places, ONE, 160, 190));
    assert_false(nvtx_fits(&nvtx, &places, ONE, 160, 210));
    assert_false(nvtx_fits(&nvtx, &places, ONE, 110, 190));
    nvtx_release(&nvtx);
}

/* Where a search begins does not matter. */
UNIT_TEST(test_whether_a_slice_fits_is_found_from_anywhere)
{
    enum { COUNT = 300 };
    struct nvtx nvtx = {0};
    struct nvtx_places places = {0};
    for (uint64_t i = 0; i < COUNT; i++)
        range(&nvtx, 100 * i + 10, 100 * i + 60, ONE, 0);
    for (uint64_t i = 0; i < 5000; i++) {
        uint64_t k = i * 7919 % COUNT;
        assert_true(nvtx_fits(&nvtx, &places, ONE, 100 * k + 30, 100 * k + 40));
        assert_false(nvtx_fits(&nvtx, &places, ONE, 100 * k + 30, 100 * k + 80));
        assert_false(nvtx_fits(&nvtx, &places, ONE, 100 * k + 5, 100 * k + 20));
        assert_true(nvtx_fits(&nvtx, &places, ONE, 100 * k + 65, 100 * k + 105));
    }
    nvtx_release(&nvtx);
}

/* After a deep nest, and in the middle of its end: the searches in time's order, backwards, and from anywhere agree. */
UNIT_TEST(test_whether_a_slice_fits_after_ranges_that_have_ended_within_others)
{
    enum { DEPTH = 200 };
    struct nvtx nvtx = {0};
    struct nvtx_places places = {0};
    for (uint64_t i = 0; i < DEPTH; i++)
        tell(&nvtx, 10 * i + 10, ONE, 0, SPOOL_NVTX_PUSH);
    for (uint64_t i = 0; i < DEPTH - 1; i++)
        tell(&nvtx, 10 * (DEPTH + i) + 10, ONE, 0, SPOOL_NVTX_POP);
    for (uint64_t i = 0; i < 3 * DEPTH; i++) {
        uint64_t k = i < DEPTH ? i : i < 2 * DEPTH ? 2 * DEPTH - 1 - i : i * 7919 % DEPTH;
        assert_true(nvtx_fits(&nvtx, &places, ONE, 10 * (DEPTH + k) + 2, 10 * (DEPTH + k) + 10));
        assert_int_equal(nvtx_fits(&nvtx, &places, ONE, 10 * (DEPTH + k) + 2, 10 * (DEPTH + k) + 12), k == DEPTH - 1);
        assert_int_equal(nvtx_fits(&nvtx, &places, ONE, 10 * (DEPTH + k) + 10, 10 * (DEPTH + k) + 22), k >= DEPTH - 2);
    }
    nvtx_release(&nvtx);
}

static void count_one(void *context, uint32_t thread)
{
    unsigned *counts = context;
    counts[thread == TWO]++;
}

UNIT_TEST(test_ranges_of_domains_that_overlap_are_noticed_by_thread)
{
    struct nvtx nvtx = {0};
    unsigned counts[2] = {0};
    tell(&nvtx, 100, ONE, 1, SPOOL_NVTX_PUSH);
    range(&nvtx, 150, 200, ONE, 2);
    range(&nvtx, 200, 300, ONE, 2);
    tell(&nvtx, 300, ONE, 1, SPOOL_NVTX_POP);
    tell(&nvtx, 100, TWO, 1, SPOOL_NVTX_PUSH);
    tell(&nvtx, 150, TWO, 2, SPOOL_NVTX_PUSH);
    tell(&nvtx, 200, TWO, 1, SPOOL_NVTX_POP);
    tell(&nvtx, 250, TWO, 2, SPOOL_NVTX_POP);
    assert_int_equal(nvtx_close(&nvtx, &whole_run, END), 0);
    assert_int_equal(nvtx_check_nesting(&nvtx, count_one, counts), 0);
    assert_int_equal(counts[0], 0);
    assert_int_equal(counts[1], 1);
    nvtx_release(&nvtx);
}

/* --- memory that the program annotates --- */

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
