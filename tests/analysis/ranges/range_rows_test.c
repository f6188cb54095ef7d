/* GPU busy time of rows of ranges, beside looking at every range for every operation. */
#include "tests/unit.h"

#include "common/log.h"
#include "analysis/ranges/range_rows.h"

enum { THREADS = 3, GPUS = 2, RANGES = 120, OPERATIONS = 200, NAMES = 60, TIMES = 600 };

static struct known {
    int64_t start, end;
    uint32_t name, thread, end_thread;
} known[RANGES];

static struct launched_op operations[OPERATIONS];
static uint64_t outside_seen;

static struct known make_known(bool leaks)
{
    struct known one = {
        .start = unit_random_below(TIMES), .name = unit_random_below(NAMES), .thread = unit_random_below(THREADS)};
    one.end = leaks && unit_random_below(3) ? TIMES : one.start + unit_random_below(TIMES - (unsigned)one.start + 1);
    one.end_thread = one.end < TIMES ? unit_random_below(THREADS) : one.thread;
    return one;
}

static void fill(struct ranges *ranges, struct sorter *gpu_ops, bool leaks)
{
    for (uint32_t i = 0; i < RANGES; i++) {
        known[i] = make_known(leaks);
        struct event_fields event = {.phase = 'b', .start = known[i].start, .name = known[i].name, .id = i + 1};
        assert_int_equal(ranges_add(ranges, &event, known[i].thread), 0);
        event.phase = 'e';
        event.start = known[i].end;
        if (known[i].end < TIMES)
            assert_int_equal(ranges_add(ranges, &event, known[i].end_thread), 0);
    }
    for (size_t i = 0; i < OPERATIONS; i++) {
        operations[i] =
            (struct launched_op){.called = unit_random_below(TIMES),
                                 .start = unit_random_below(TIMES),
                                 .duration = unit_random_below(20),
                                 .stream = unit_random_below(GPUS),
                                 .thread = unit_random_below(9) ? unit_random_below(THREADS) : LAUNCHED_NO_THREAD};
        assert_int_equal(sorter_add(gpu_ops, &operations[i]), 0);
    }
    assert_int_equal(ranges_finish(ranges, TIMES), 0);
    assert_int_equal(sorter_ready(gpu_ops), 0);
}

static uint32_t row_of(void *context, struct range_walk *walk)
{
    (void)context;
    return walk->open.items[walk->open.count - 1].range.name + 1;
}

static uint32_t gpu_of(void *context, const struct launched_op *op)
{
    (void)context;
    return op->stream;
}

static int see(void *context, const struct launched_op *op, bool outside)
{
    (void)context;
    (void)op;
    outside_seen += outside;
    return 0;
}

static bool is_in(const struct launched_op *op, uint32_t row)
{
    bool in_any = false;
    for (size_t i = 0; i < RANGES; i++) {
        bool in = (op->thread == known[i].thread || op->thread == known[i].end_thread) &&
                  known[i].start <= op->called && op->called <= known[i].end;
        in_any |= in;
        if (in && known[i].name + 1 == row)
            return true;
    }
    return row == RANGE_ROW_OUTSIDE && !in_any;
}

static int64_t count(uint32_t row, uint32_t gpu)
{
    static bool busy[TIMES + 20];
    int64_t all = 0;
    memset(busy, 0, sizeof(busy));
    for (size_t i = 0; i < OPERATIONS; i++)
        if (operations[i].stream == gpu && is_in(&operations[i], row))
            memset(&busy[operations[i].start], true, (size_t)operations[i].duration);
    for (size_t i = 0; i < sizeof(busy); i++)
        all += busy[i];
    return all;
}

/* Gives how many rows were left out. */
static unsigned check(bool leaks, struct range_rows_limit limit)
{
    struct sorter_space space = {.left = 4096, .run = 512};
    static struct trace trace;
    struct range_busy busy = {0};
    unsigned left_out = 0, outside = 0;
    ranges_init(&trace.ranges, &space);
    launched_ops_init(&trace.launched_ops, &space);
    fill(&trace.ranges, &trace.launched_ops, leaks);
    trace.space = &space;
    const struct range_rows rows = {.trace = &trace, .limit = limit, .row = row_of, .gpu = gpu_of, .operation = see};
    outside_seen = 0;
    assert_int_equal(range_rows_gather(&rows, &busy), 0);
    for (uint32_t row = 0; row <= NAMES; row++) {
        int64_t on[GPUS] = {count(row, 0), count(row, 1)};
        if (range_busy_total(&busy, row) == RANGE_BUSY_UNKNOWN) {
            left_out++;
            continue;
        }
        assert_int_equal(range_busy_total(&busy, row), on[0] + on[1]);
        for (uint32_t gpu = 0; gpu < GPUS; gpu++)
            assert_int_equal(range_busy_on(&busy, row, gpu), on[gpu]);
    }
    for (size_t i = 0; i < OPERATIONS; i++)
        outside += is_in(&operations[i], RANGE_ROW_OUTSIDE);
    assert_int_equal(outside_seen, outside);
    range_busy_release(&busy);
    sorter_release(&trace.launched_ops);
    ranges_release(&trace.ranges);
    return left_out;
}

UNIT_TEST(random_rows_agree_with_looking_at_every_range)
{
    for (unsigned i = 1; i < 40; i++) {
        unit_seed = i;
        assert_int_equal(check(i % 2, RANGE_ROWS_LIMIT), 0);
    }
}

/* One step is too little to add any operation to all rows. Rows that are not left out are exact. */
UNIT_TEST(rows_beyond_the_limit_are_left_out)
{
    unsigned left_out = 0;
    log_set_level(LOG_QUIET);
    for (unsigned i = 1; i < 40; i++) {
        unit_seed = i;
        left_out += check(i % 2, (struct range_rows_limit){0, 1});
        unit_seed = i;
        check(i % 2, (struct range_rows_limit){0, unit_random_below(3000)});
        unit_seed = i;
        check(i % 2, (struct range_rows_limit){unit_random_below(8), 0});
    }
    log_set_level(LOG_NORMAL);
    assert_true(left_out > 0);
}

/* 40 ranges never end, and each operation has steps for two rows. */
UNIT_TEST(the_rows_opened_last_are_measured)
{
    struct sorter_space space = sorter_space_usual();
    static struct trace trace;
    struct range_busy busy = {0};
    ranges_init(&trace.ranges, &space);
    launched_ops_init(&trace.launched_ops, &space);
    for (uint32_t i = 0; i < 40; i++) {
        struct event_fields event = {.phase = 'X', .start = i, .duration = TIMES - i, .name = i};
        assert_int_equal(ranges_add(&trace.ranges, &event, 0), 0);
    }
    for (unsigned i = 0; i < 3; i++) {
        const struct launched_op op = {.called = 50 + i, .start = 100 * i, .duration = 10};
        assert_int_equal(sorter_add(&trace.launched_ops, &op), 0);
    }
    assert_int_equal(ranges_finish(&trace.ranges, TIMES), 0);
    assert_int_equal(sorter_ready(&trace.launched_ops), 0);
    trace.space = &space;
    const struct range_rows rows = {.trace = &trace, .limit = {2, 0}, .row = row_of, .gpu = gpu_of};
    /* The first operation has the steps of the ranges, too, and reaches all rows. */
    log_set_level(LOG_QUIET);
    assert_int_equal(range_rows_gather(&rows, &busy), 0);
    log_set_level(LOG_NORMAL);
    assert_int_equal(range_busy_total(&busy, 40), 30);
    assert_int_equal(range_busy_total(&busy, 39), 30);
    assert_int_equal(range_busy_total(&busy, 1), RANGE_BUSY_UNKNOWN);
    assert_int_equal(range_busy_total(&busy, 2), RANGE_BUSY_UNKNOWN);
    range_busy_release(&busy);
    sorter_release(&trace.launched_ops);
    ranges_release(&trace.ranges);
}

/* --- ranges in one another: their nodes and own times, beside what the definition gives when all are looked at --- */

enum { PLACED = 400, FOREST_TIMES = 1500, FOREST_NAMES = 4 };

/* What the walk gave: ranges as it opened them, each with its node and its own time. */
static struct placed {
    struct range range;
    uint32_t node;
    int64_t own;
} placed[PLACED];
static size_t placed_count;
static struct range_forest forest;

static int fill_forest(struct ranges *ranges)
{
    for (uint32_t i = 0; i < PLACED; i++) {
        struct event_fields event = {
            .phase = 'X', .start = unit_random_below(FOREST_TIMES), .name = unit_random_below(FOREST_NAMES)};
        event.duration = unit_random_below(unit_random_below(4) ? 30 : 500);
        if (ranges_add(ranges, &event, unit_random_below(2)) < 0)
            return -1;
    }
    return ranges_finish(ranges, 0);
}

/* The innermost before it that is around it as a whole. */
static struct placed *parent_of(const struct placed *one)
{
    for (struct placed *other = &placed[one - placed]; other-- > placed;)
        if (other->range.thread == one->range.thread && other->range.end > one->range.start &&
            other->range.end >= one->range.end)
            return other;
    return NULL;
}

static void place_all(struct ranges *ranges)
{
    struct range_walk walk;
    struct range_open *open;
    int64_t taken;
    range_walk_begin(&walk, ranges, true);
    for (placed_count = 0; (open = range_walk_open(&walk, UINT32_MAX, INT64_MAX)); placed_count++) {
        assert_int_equal(range_forest_place(&forest, &walk, &taken), 0);
        open = &walk.open.items[walk.open.count - 1];
        placed[placed_count] =
            (struct placed){.range = open->range, .node = open->node, .own = open->range.end - open->range.start};
        struct placed *parent = parent_of(&placed[placed_count]);
        if (parent)
            parent->own -= taken;
        else
            assert_int_equal(taken, 0);
    }
    assert_int_equal(range_walk_end(&walk), 0);
}

/* The moments of a range that are in no range whose parent it is. */
static int64_t own_time(const struct placed *one)
{
    static bool taken[FOREST_TIMES + 600];
    int64_t own = 0;
    for (int64_t time = one->range.start; time < one->range.end; time++)
        taken[time] = false;
    for (size_t i = 0; i < placed_count; i++)
        if (parent_of(&placed[i]) == one)
            for (int64_t time = placed[i].range.start; time < placed[i].range.end; time++)
                taken[time] = true;
    for (int64_t time = one->range.start; time < one->range.end; time++)
        own += !taken[time];
    return own;
}

static void check_node(const struct placed *one)
{
    const struct range_node *node = &forest.nodes.items[one->node];
    const struct placed *parent = parent_of(one);
    assert_int_equal(node->name, one->range.name);
    assert_int_equal(node->parent, parent ? parent->node + 1 : 0);
    assert_int_equal(node->depth, parent ? forest.nodes.items[parent->node].depth + 1 : 0);
    assert_int_equal(one->own, own_time(one));
}

UNIT_TEST(ranges_are_placed_in_what_is_around_them)
{
    for (unsigned i = 0; i < 10; i++) {
        unit_seed = i;
        struct sorter_space space = sorter_space_usual();
        struct ranges ranges;
        ranges_init(&ranges, &space);
        forest = (struct range_forest){0};
        assert_int_equal(fill_forest(&ranges), 0);
        place_all(&ranges);
        assert_int_equal(placed_count, PLACED);
        for (size_t j = 0; j < placed_count; j++)
            check_node(&placed[j]);
        range_forest_release(&forest);
        ranges_release(&ranges);
    }
}

UNIT_MAIN(NULL, NULL)
