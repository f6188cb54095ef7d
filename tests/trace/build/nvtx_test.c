#include "trace/build/nvtx.h"

#include "tests/unit.h"
#include "common/spool_records.h"

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

UNIT_MAIN(NULL, NULL)
