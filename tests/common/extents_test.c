/* What lies within intervals, beside what looking at every point tells. */
#include "common/extents.h"

#include <stdlib.h>

#include "tests/unit.h"

enum { POINTS = 400, SPANS = 200, LINES = 3, TRACKS = 7, TIMES = 300 };

static struct extents_point points[POINTS];
static struct extents_span spans[SPANS];
static struct extent found[SPANS][TRACKS];

static struct extent look_at_each(const struct extents_span *span, uint32_t track)
{
    struct extent all = {.start = INT64_MAX, .end = INT64_MIN};
    for (size_t i = 0; i < POINTS; i++)
        if (points[i].line == span->line && points[i].track == track && span->first <= points[i].at &&
            points[i].at <= span->last)
            extent_join(&all, &points[i].extent);
    return all;
}

static int note(void *context, uint32_t what, uint32_t track, const struct extent *extent)
{
    (void)context;
    assert_int_equal(found[what][track].count, 0); /* once */
    found[what][track] = *extent;
    return 0;
}

static void fill(struct extents *extents, unsigned longest)
{
    for (unsigned i = 0; i < POINTS; i++) {
        int64_t start = unit_random_below(TIMES);
        points[i] = (struct extents_point){.at = unit_random_below(TIMES),
                                           .line = unit_random_below(LINES),
                                           .track = unit_random_below(TRACKS) * unit_random_below(2),
                                           .extent = {start, start + unit_random_below(50), 1, unit_random_below(2)}};
        assert_int_equal(extents_add(extents, &points[i]), 0);
    }
    for (uint32_t i = 0; i < SPANS; i++) {
        int64_t first = unit_random_below(TIMES);
        spans[i] =
            (struct extents_span){first, first + unit_random_below(longest) - 1, unit_random_below(LINES + 1), i};
        assert_int_equal(extents_span(extents, spans[i].line, spans[i].first, spans[i].last, i), 0);
    }
}

UNIT_TEST(test_random_intervals_agree_with_looking_at_every_point)
{
    for (unit_seed = 1; unit_seed < 200; unit_seed++) {
        struct extents extents;
        extents_init(&extents, NULL);
        extents.crowded = unit_seed % 2 ? 50 : extents.crowded; /* so that points are joined meanwhile */
        memset(found, 0, sizeof(found));
        fill(&extents, unit_seed % 3 ? 20 : TIMES);
        assert_int_equal(extents_each(&extents, note, NULL), 0);
        for (size_t i = 0; i < SPANS; i++)
            for (uint32_t track = 0; track < TRACKS; track++) {
                struct extent wanted = look_at_each(&spans[i], track);
                assert_int_equal(found[i][track].count, wanted.count);
                assert_int_equal(found[i][track].marked, wanted.marked);
                if (wanted.count) {
                    assert_int_equal(found[i][track].start, wanted.start);
                    assert_int_equal(found[i][track].end, wanted.end);
                }
            }
        extents_release(&extents);
    }
}

static int stop(void *context, uint32_t what, uint32_t track, const struct extent *extent)
{
    (void)what;
    (void)track;
    (void)extent;
    ++*(unsigned *)context;
    return 7;
}

UNIT_TEST(test_the_walk_can_be_ended)
{
    struct extents extents;
    unsigned calls = 0;
    extents_init(&extents, NULL);
    assert_int_equal(extents_each(&extents, stop, &calls), 0); /* of nothing */
    fill(&extents, TIMES);
    assert_int_equal(extents_each(&extents, stop, &calls), 7);
    assert_int_equal(calls, 1);
    extents_release(&extents);
}

UNIT_MAIN(NULL, NULL)
