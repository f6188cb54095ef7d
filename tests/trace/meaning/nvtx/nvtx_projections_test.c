/* NVTX ranges on the GPU, beside looking at every range for every launch. */

#include "common/spool_records.h"
#include "tests/unit.h"
#include "trace/meaning/nvtx/nvtx.h"
#include "trace/meaning/nvtx/nvtx_projections.h"

enum { THREADS = 3, DOMAINS = 2, STREAMS = 3, STEPS = 300, WORKS = 300, TIMES = 700 };

static const struct capture_intervals whole_run;
static void tell(struct nvtx *nvtx, uint64_t time, enum spool_nvtx_what what, uint64_t range)
{
    struct event event = {.type = EVENT_NVTX, .start = time, .end = time, .thread = 500 + unit_random_below(THREADS)};
    event.nvtx.what = (uint16_t)what;
    event.nvtx.domain = unit_random_below(DOMAINS);
    event.nvtx.range = range;
    assert_int_equal(nvtx_index(nvtx, &whole_run, &event), 0);
}

/* Times often repeat, so that ranges begin and end where others and calls do. */
static void make_ranges(struct nvtx *nvtx, bool leak)
{
    uint64_t time = 10, started = 0, ended = 0;
    for (unsigned i = 0; i < STEPS; i++, time += unit_random_below(4)) {
        switch (unit_random_below(leak ? 3 : 4)) {
        case 0: tell(nvtx, time, SPOOL_NVTX_PUSH, 0); break;
        case 1: tell(nvtx, time, SPOOL_NVTX_START, ++started); break;
        case 2: tell(nvtx, time, leak && unit_random_below(4) ? SPOOL_NVTX_PUSH : SPOOL_NVTX_POP, 0); break;
        default:
            if (ended < started)
                tell(nvtx, time, SPOOL_NVTX_END, ++ended);
        }
    }
    assert_int_equal(nvtx_close(nvtx, &whole_run, time), 0);
}

static struct launch {
    uint64_t called, start, end;
    uint32_t thread, stream;
} launches[WORKS];

static void make_launches(struct projections *projections)
{
    struct projections_found found = {0};
    for (unsigned i = 0; i < WORKS; i++) {
        uint64_t start = unit_random_below(TIMES);
        launches[i] = (struct launch){.called = unit_random_below(TIMES),
                                      .start = start,
                                      .end = start + unit_random_below(50),
                                      .thread = 500 + unit_random_below(THREADS + 1),
                                      .stream = unit_random_below(STREAMS)};
        assert_int_equal(projections_find(&found, projections, launches[i].thread, launches[i].called,
                                          launches[i].stream, launches[i].start, launches[i].end),
                         0);
        if (unit_random_below(50) == 0)
            assert_int_equal(projections_add(projections, &found), 0);
    }
    assert_int_equal(projections_add(projections, &found), 0);
    array_release(&found.items);
}

/* The last pushed range of a track that has started by TIME, or what is around it, if it has ended. */
static uint32_t innermost(const struct nvtx *nvtx, const struct nvtx_track *track, uint64_t time)
{
    uint32_t index = 0;
    for (size_t i = 0; i < track->ranges.count; i++)
        if (nvtx->ranges.items[track->ranges.items[i]].start <= time)
            index = track->ranges.items[i] + 1;
    while (index != 0 && nvtx->ranges.items[index - 1].end < time)
        index = nvtx->ranges.items[index - 1].parent;
    return index;
}

static bool is_in(const struct nvtx *nvtx, const struct launch *launch, size_t number)
{
    const struct nvtx_range *range = nvtx_range(nvtx, number);
    if (number >= nvtx->ranges.count)
        return (launch->thread == range->thread || launch->thread == range->end_thread) &&
               range->start <= launch->called && launch->called <= range->end;
    for (const struct nvtx_track *track = nvtx_first_track(nvtx, launch->thread); track;
         track = nvtx_next_track(nvtx, track))
        for (uint32_t index = innermost(nvtx, track, launch->called); index != 0;
             index = nvtx->ranges.items[index - 1].parent)
            if (index - 1 == number)
                return true;
    return false;
}

static const struct projection *find(const struct projections *projections, size_t range, uint32_t stream)
{
    const struct projection *found = NULL;
    for (size_t i = 0; i < projections->items.count; i++)
        if (projections->items.items[i].range == range && projections->items.items[i].track == stream) {
            assert_null(found); /* once */
            found = &projections->items.items[i];
        }
    return found;
}

static void check_range(const struct nvtx *nvtx, const struct projections *projections, size_t number)
{
    for (uint32_t stream = 0; stream < STREAMS; stream++) {
        const struct projection *found = find(projections, number, stream);
        uint64_t start = UINT64_MAX, end = 0;
        for (size_t i = 0; i < WORKS; i++) {
            if (launches[i].stream != stream || !is_in(nvtx, &launches[i], number))
                continue;
            start = launches[i].start < start ? launches[i].start : start;
            end = launches[i].end > end ? launches[i].end : end;
        }
        assert_int_equal(found != NULL, start != UINT64_MAX);
        if (found) {
            assert_int_equal(found->start, start);
            assert_int_equal(found->end, end);
        }
    }
}

UNIT_TEST(test_random_ranges_agree_with_looking_at_every_launch)
{
    for (unsigned round = 1; round <= 60; round++) {
        struct nvtx nvtx;
        const struct projections *projections = &nvtx.projections;
        nvtx_init(&nvtx, NULL);
        unit_seed = round;
        make_ranges(&nvtx, round % 2);
        assert_int_equal(projections_begin(&nvtx), 0);
        make_launches(&nvtx.projections);
        assert_int_equal(projections_finish(&nvtx), 0);
        for (size_t i = 0; i < nvtx_range_count(&nvtx); i++)
            check_range(&nvtx, projections, i);
        for (size_t i = 1; i < projections->items.count; i++)
            assert_true(projections->items.items[i - 1].start <= projections->items.items[i].start);
        nvtx_release(&nvtx);
    }
}

UNIT_MAIN(NULL, NULL)
