/* Which NVTX ranges are open at a time, beside looking at all ranges. */

#include "common/spool_records.h"
#include "tests/unit.h"
#include "trace/meaning/base/process.h"
#include "trace/meaning/gpu/captures.h"
#include "trace/meaning/nvtx/nvtx.h"
#include "trace/meaning/nvtx/nvtx_projections.h"

enum { THREADS = 3, DOMAINS = 2, STEPS = 400 };

static const struct capture_intervals whole_run;
static const struct spool_nvtx_event record = {.head = {.type = SPOOL_RECORD_NVTX_EVENT, .bytes = sizeof(record)}};
static void tell(struct nvtx *nvtx, uint64_t time, enum spool_nvtx_what what, uint64_t range)
{
    struct event event = {
        .type = EVENT_NVTX, .start = time, .end = time, .thread = 500 + unit_random_below(THREADS), .record = &record};
    event.nvtx.what = (uint16_t)what;
    event.nvtx.domain = unit_random_below(DOMAINS);
    event.nvtx.range = range;
    assert_int_equal(nvtx_index(nvtx, &whole_run, &event), 0);
}

/* Returns a time after all. */
static uint64_t make_ranges(struct nvtx *nvtx, unsigned pushes)
{
    uint64_t time = 10, started = 0, ended = 0;
    for (unsigned i = 0; i < STEPS; i++, time += 1 + unit_random_below(4)) {
        if (unit_random_below(2))
            tell(nvtx, time, unit_random_below(8) < pushes ? SPOOL_NVTX_PUSH : SPOOL_NVTX_POP, 0);
        else if (unit_random_below(8) < pushes)
            tell(nvtx, time, SPOOL_NVTX_START, ++started);
        else if (ended < started)
            tell(nvtx, time, SPOOL_NVTX_END, ++ended);
    }
    assert_int_equal(nvtx_close(nvtx, &whole_run, time), 0);
    return time + 10;
}

static int latest_first(const void *left, const void *right)
{
    const uint64_t *a = left, *b = right;
    return (*b > *a) - (*b < *a);
}

/* The starts of all ranges that are open. Returns how many these are. */
static size_t look_at_all(const struct nvtx *nvtx, uint32_t thread, uint64_t time, uint64_t *starts)
{
    size_t count = 0;
    for (size_t i = 0; i < nvtx_range_count(nvtx); i++) {
        const struct nvtx_range *range = nvtx_range(nvtx, i);
        bool of_thread = range->thread == thread || range->end_thread == thread;
        if (of_thread && range->start <= time && time <= range->end)
            starts[count++] = range->start;
    }
    qsort(starts, count, sizeof(*starts), latest_first);
    return count;
}

static void ask(struct nvtx *nvtx, uint32_t thread, uint64_t time, struct open_names *names)
{
    const struct process process = {.nvtx = nvtx};
    *names = (struct open_names){.until = UINT64_MAX};
    open_ranges_at(&process, thread, time, names);
}

static void check(struct nvtx *nvtx, uint32_t thread, uint64_t time)
{
    static uint64_t starts[STEPS];
    static struct open_names names, later;
    size_t count = look_at_all(nvtx, thread, time, starts);
    ask(nvtx, thread, time, &names);
    assert_int_equal(names.count, count < OPEN_NAMES ? count : OPEN_NAMES);
    assert_int_equal(names.left_out, count > OPEN_NAMES);
    for (size_t i = 0; i < names.count; i++)
        assert_int_equal(names.items[names.count - 1 - i].start, starts[i]);
    assert_true(names.from <= time && time < names.until);
    ask(nvtx, thread, names.until - 1, &later);
    assert_int_equal(later.count, names.count);
}

static void check_all(unsigned first, unsigned pushes)
{
    for (unit_seed = first; unit_seed < first + 20; unit_seed++) {
        unsigned before = unit_seed;
        struct nvtx nvtx;
        nvtx_init(&nvtx, NULL);
        uint64_t end = make_ranges(&nvtx, pushes);
        assert_int_equal(projections_begin(&nvtx), 0);
        assert_int_equal(open_ranges_begin(&nvtx), 0);
        for (uint32_t thread = 500; thread <= 500 + THREADS; thread++)
            for (uint64_t time = 0; time < end; time++)
                check(&nvtx, thread, time);
        open_ranges_end(&nvtx);
        nvtx_release(&nvtx);
        unit_seed = before;
    }
}

UNIT_TEST(the_ranges_of_a_thread_that_are_open_are_found)
{
    check_all(1, 4);
}

UNIT_TEST(of_many_leaked_ranges_the_innermost_are_found)
{
    check_all(1000, 7);
}

UNIT_MAIN(NULL, NULL)
