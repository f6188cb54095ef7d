/* Ranges in one another: their nodes and own times, beside what the definition gives when all are looked at. */
#include "tests/unit.h"

#include "analysis/range_rows.h"

#define COUNT 400
#define TIMES 1500
#define NAMES 4

static unsigned seed;

static unsigned random_below(unsigned most)
{
    seed = seed * 1664525 + 1013904223;
    return (seed >> 8) % most;
}

/* What the walk gave: ranges as it opened them, each with its node and its own time. */
static struct placed {
    struct range range;
    uint32_t node;
    int64_t own;
} placed[COUNT];
static size_t count;
static struct range_forest forest;

static int fill(struct ranges *ranges)
{
    for (uint32_t i = 0; i < COUNT; i++) {
        struct event_fields event = {.phase = 'X', .start = random_below(TIMES), .name = random_below(NAMES)};
        event.duration = random_below(random_below(4) ? 30 : 500);
        if (ranges_add(ranges, &event, random_below(2)) < 0)
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
    for (count = 0; (open = range_walk_open(&walk, UINT32_MAX, INT64_MAX)); count++) {
        assert_int_equal(range_forest_place(&forest, &walk, &taken), 0);
        open = &walk.open.items[walk.open.count - 1];
        placed[count] =
            (struct placed){.range = open->range, .node = open->node, .own = open->range.end - open->range.start};
        struct placed *parent = parent_of(&placed[count]);
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
    static bool taken[TIMES + 600];
    int64_t own = 0;
    for (int64_t time = one->range.start; time < one->range.end; time++)
        taken[time] = false;
    for (size_t i = 0; i < count; i++)
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

static void ranges_are_placed_in_what_is_around_them(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 10; i++) {
        seed = i;
        struct sorter_room room = sorter_room_usual();
        struct ranges ranges;
        ranges_init(&ranges, &room);
        forest = (struct range_forest){0};
        assert_int_equal(fill(&ranges), 0);
        place_all(&ranges);
        assert_int_equal(count, COUNT);
        for (size_t j = 0; j < count; j++)
            check_node(&placed[j]);
        range_forest_release(&forest);
        ranges_release(&ranges);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranges_are_placed_in_what_is_around_them),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
