#include "tests/unit.h"

#include "trace/tracks.h"

struct span {
    uint64_t start, end;
    uint32_t lane; /* wanted */
};

static void place_all(struct lanes *lanes, enum lanes_rule rule, const struct span *spans, size_t count)
{
    lanes_init(lanes, rule);
    for (size_t i = 0; i < count; i++)
        lanes_see(lanes, spans[i].start, spans[i].end);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(lanes_collect(lanes, spans[i].start, spans[i].end), 0);
    assert_int_equal(lanes_assign(lanes), 0);
}

static void assert_lanes(enum lanes_rule rule, const struct span *spans, size_t count, bool collects, uint32_t wanted)
{
    struct lanes lanes;
    place_all(&lanes, rule, spans, count);
    assert_int_equal(lanes.collecting, collects);
    assert_int_equal(lanes.count, wanted);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(lanes_take(&lanes, spans[i].start, spans[i].end, 0), spans[i].lane);
    lanes_release(&lanes);
}

#define CHECK(rule, collects, wanted, ...)                                           \
    do {                                                                             \
        const struct span spans[] = {__VA_ARGS__};                                   \
        assert_lanes(rule, spans, sizeof(spans) / sizeof(*spans), collects, wanted); \
    } while (0)

UNIT_TEST(test_slices_that_follow_need_no_memory)
{
    CHECK(LANES_FOLLOW, false, 1, {10, 20, 0}, {20, 30, 0}, {40, 40, 0}, {50, 60, 0}, {70, 80, 0}, {90, 95, 0});
    CHECK(LANES_NEST, false, 1, {10, 20, 0}, {20, 30, 0}, {40, 40, 0}, {50, 60, 0}, {70, 80, 0}, {90, 95, 0});
}

UNIT_TEST(test_calls_around_calls_need_no_memory)
{
    CHECK(LANES_NEST, false, 1, {12, 15, 0}, {16, 18, 0}, {10, 20, 0}, {31, 32, 0}, {30, 40, 0});
}

UNIT_TEST(test_a_call_around_more_than_is_remembered_is_still_right)
{
    CHECK(LANES_NEST, true, 1, {11, 12, 0}, {13, 14, 0}, {15, 16, 0}, {17, 18, 0}, {19, 20, 0}, {21, 22, 0},
          {10, 30, 0});
}

UNIT_TEST(test_overlapping_work_is_spread)
{
    CHECK(LANES_FOLLOW, true, 3, {10, 20, 0}, {15, 25, 1}, {16, 17, 2}, {20, 30, 0}, {25, 26, 1});
}

UNIT_TEST(test_work_within_work_is_spread_too)
{
    CHECK(LANES_FOLLOW, true, 2, {12, 15, 1}, {10, 20, 0});
}

UNIT_TEST(test_slices_that_cross_are_parted)
{
    CHECK(LANES_NEST, true, 2, {10, 20, 0}, {15, 25, 1}, {16, 18, 0});
    CHECK(LANES_NEST, true, 3, {10, 20, 0}, {12, 22, 1}, {14, 24, 2});
}

UNIT_TEST(test_equal_work_gets_a_lane_each_and_equal_calls_share_one)
{
    struct lanes lanes;
    const struct span equal[] = {{10, 20, 0}, {10, 20, 0}, {10, 20, 0}};
    bool seen[3] = {false};
    place_all(&lanes, LANES_FOLLOW, equal, 3);
    for (size_t i = 0; i < 3; i++) {
        uint32_t lane = lanes_take(&lanes, 10, 20, 0);
        assert_true(lane < 3 && !seen[lane]);
        seen[lane] = true;
    }
    lanes_release(&lanes);
    CHECK(LANES_NEST, false, 1, {10, 20, 0}, {10, 20, 0});
}

UNIT_TEST(test_disorder_alone_makes_no_lanes)
{
    CHECK(LANES_FOLLOW, true, 1, {50, 60, 0}, {10, 20, 0}, {30, 40, 0});
    CHECK(LANES_NEST, true, 1, {50, 60, 0}, {10, 20, 0}, {30, 40, 0});
}

/* However slices fall, no two of a lane break the rule. */
UNIT_TEST(test_random_slices_never_break_the_rule)
{
    enum { COUNT = 200 };
    struct span spans[COUNT];
    srandom(5);
    for (int round = 0; round < 200; round++) {
        enum lanes_rule rule = round % 2 ? LANES_NEST : LANES_FOLLOW;
        struct lanes lanes;
        for (size_t i = 0; i < COUNT; i++) {
            spans[i].start = (uint64_t)random() % 1000;
            spans[i].end = spans[i].start + (uint64_t)random() % 60;
        }
        place_all(&lanes, rule, spans, COUNT);
        for (size_t i = 0; i < COUNT; i++)
            spans[i].lane = lanes_take(&lanes, spans[i].start, spans[i].end, 0);
        for (size_t i = 0; i < COUNT; i++) {
            for (size_t k = 0; k < i; k++) {
                const struct span *a = &spans[i], *b = &spans[k];
                bool apart = a->end <= b->start || b->end <= a->start;
                bool nested = (a->start <= b->start && b->end <= a->end) || (b->start <= a->start && a->end <= b->end);
                assert_true(a->lane != b->lane || apart || (rule == LANES_NEST && nested));
            }
        }
        lanes_release(&lanes);
    }
}

enum { CROWD = 300 };

static int outer_first(const void *a, const void *b)
{
    const struct span *left = a, *right = b;
    if (left->start != right->start)
        return left->start < right->start ? -1 : 1;
    return (left->end < right->end) - (left->end > right->end);
}

/* Whether a slice has space beside those before it of a lane: none is open there, or the innermost is around it. */
static bool has_space(enum lanes_rule rule, const struct span *spans, size_t one, uint32_t lane)
{
    const struct span *innermost = NULL;
    for (size_t i = 0; i < one; i++)
        if (spans[i].lane == lane && spans[i].end > spans[one].start)
            innermost = &spans[i];
    return !innermost || (rule == LANES_NEST && innermost->end >= spans[one].end);
}

/* However many are open at once. */
UNIT_TEST(test_a_slice_gets_the_first_lane_that_has_space)
{
    struct span spans[CROWD];
    srandom(6);
    for (int round = 0; round < 40; round++) {
        enum lanes_rule rule = round % 2 ? LANES_NEST : LANES_FOLLOW;
        uint32_t count = 0;
        struct lanes lanes;
        for (size_t i = 0; i < CROWD; i++) {
            spans[i].start = 10 * i + (uint64_t)random() % 10;
            spans[i].end = spans[i].start + 1 + (uint64_t)random() % (round % 3 ? 3000 : 200);
        }
        qsort(spans, CROWD, sizeof(*spans), outer_first);
        place_all(&lanes, rule, spans, CROWD);
        for (size_t i = 0; i < CROWD; i++) {
            for (spans[i].lane = 0; !has_space(rule, spans, i, spans[i].lane);)
                spans[i].lane++;
            count = spans[i].lane >= count ? spans[i].lane + 1 : count;
            assert_int_equal(lanes_take(&lanes, spans[i].start, spans[i].end, 0), spans[i].lane);
        }
        assert_int_equal(lanes.count, count);
        lanes_release(&lanes);
    }
}

/* Calls of one thread that make up to three calls each, down to DEPTH, in the order in which they end. */
static uint64_t make_calls(struct span *spans, size_t *count, uint64_t time, unsigned depth)
{
    uint64_t start = time;
    for (long inner = depth > 1 ? random() % 4 : 0; inner > 0; inner--)
        time = make_calls(spans, count, time + (uint64_t)random() % 3, depth - 1);
    time += 1 + (uint64_t)random() % 9;
    spans[(*count)++] = (struct span){.start = start, .end = time};
    return time;
}

/* Sees the slices in up to so many pieces, each by itself, and puts together what was seen. */
static bool pieces_collect(enum lanes_rule rule, const struct span *spans, size_t count, size_t pieces)
{
    struct lanes lanes, piece;
    size_t first = 0;
    lanes_init(&lanes, rule);
    for (size_t i = 1; i <= pieces; i++) {
        size_t end = i == pieces ? count : first + (size_t)random() % (count - first + 1);
        lanes_init(&piece, rule);
        for (; first < end; first++)
            lanes_see(&piece, spans[first].start, spans[first].end);
        lanes_append(&lanes, &piece);
    }
    return lanes.collecting;
}

/* Whether more than one lane is needed. */
static bool overlap(enum lanes_rule rule, const struct span *spans, size_t count)
{
    struct lanes lanes;
    lanes_init(&lanes, rule);
    lanes_must_collect(&lanes);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(lanes_collect(&lanes, spans[i].start, spans[i].end), 0);
    assert_int_equal(lanes_assign(&lanes), 0);
    bool several = lanes.count > 1;
    lanes_release(&lanes);
    return several;
}

UNIT_TEST(test_pieces_show_what_the_whole_shows)
{
    struct span spans[400];
    unsigned spread = 0;
    srandom(7);
    for (unsigned round = 0; round < 4000; round++) {
        enum lanes_rule rule = round % 3 ? LANES_NEST : LANES_FOLLOW;
        unsigned depth = rule == LANES_NEST ? 1 + round % 4 : 1;
        size_t count = 0;
        for (uint64_t time = 10; count < 40;)
            time = make_calls(spans, &count, time, depth);
        if (depth <= 2)
            assert_false(pieces_collect(rule, spans, count, 1 + round % 7));
        struct span *moved = &spans[(size_t)random() % count];
        moved->start -= (uint64_t)random() % (moved->start < 30 ? moved->start : 30);
        if (overlap(rule, spans, count)) {
            assert_true(pieces_collect(rule, spans, count, 1 + round % 7));
            spread++;
        }
    }
    assert_true(spread > 400);
}

struct owned {
    uint64_t start, end;
    uint32_t owner, lane;
};

UNIT_TEST(test_within_slices_lie_only_those_of_their_owner)
{
    static const struct owned spans[] = {
        {10, 100, 1, 0},  {20, 30, 1, 0},   {25, 28, 1, 0},   {40, 50, 2, 1},   {40, 50, 1, 0},
        {45, 60, 1, 2},   {70, 90, 2, 1},   {75, 80, 2, 1},   {75, 80, 3, 2},   {90, 95, 2, 1},
        {200, 300, 1, 0}, {210, 400, 2, 1}, {320, 330, 2, 1}, {320, 330, 3, 0},
    };
    struct lanes lanes;
    lanes_init(&lanes, LANES_OWN);
    lanes_must_collect(&lanes);
    for (size_t i = sizeof(spans) / sizeof(*spans); i-- > 0;)
        assert_int_equal(lanes_collect_own(&lanes, spans[i].start, spans[i].end, spans[i].owner), 0);
    assert_int_equal(lanes_assign(&lanes), 0);
    assert_int_equal(lanes.count, 3);
    for (size_t i = 0; i < sizeof(spans) / sizeof(*spans); i++)
        assert_int_equal(lanes_take(&lanes, spans[i].start, spans[i].end, spans[i].owner), spans[i].lane);
    lanes_release(&lanes);
}

UNIT_MAIN(NULL, NULL)
