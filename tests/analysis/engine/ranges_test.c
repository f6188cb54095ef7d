/* Which ranges are around a moment of a thread: what a walk tells, beside what looking at all of them does. */
#include "tests/unit.h"

#include <stdlib.h>

#include "analysis/engine/ranges.h"

#define THREADS 3
#define COUNT 3000
#define TIMES 4000 /* few enough for ranges that begin, end or are asked about at the same time */

struct known {
    int64_t start, end;
    uint32_t thread, end_thread;
    bool started;
};

static int add(struct ranges *ranges, char phase, int64_t time, int64_t duration, uint32_t id, uint32_t thread)
{
    struct event_fields event = {.phase = phase, .start = time, .duration = duration, .name = id, .id = id + 1};
    return ranges_add(ranges, &event, thread);
}

static void add_known(struct ranges *ranges, const struct known *known, uint32_t id)
{
    if (!known->started) {
        assert_int_equal(add(ranges, 'X', known->start, known->end - known->start, id, known->thread), 0);
        return;
    }
    assert_int_equal(add(ranges, 'b', known->start, 0, id, known->thread), 0);
    if (known->end < TIMES) /* else it stays open */
        assert_int_equal(add(ranges, 'e', known->end, 0, id, known->end_thread), 0);
}

/* Short ones and some that are around many others. */
static struct known make_known(void)
{
    struct known known = {.start = unit_random_below(TIMES), .thread = unit_random_below(THREADS)};
    int64_t longest = unit_random_below(50) == 0 ? TIMES : 40;
    known.end = known.start + unit_random_below((unsigned)longest);
    known.end = known.end < TIMES ? known.end : TIMES;
    known.started = unit_random_below(4) == 0;
    known.end_thread = known.started && unit_random_below(2) ? unit_random_below(THREADS) : known.thread;
    if (known.started && known.end == TIMES)
        known.end_thread = known.thread;
    return known;
}

static bool is_around(const struct known *known, uint32_t thread, int64_t time, bool nesting)
{
    if (nesting && known->started)
        return false;
    return known->start <= time && time <= known->end && (known->thread == thread || known->end_thread == thread);
}

/* What the walk tells is the innermost is the last, by start and then the shorter one, of all that are around. */
static void check_moment(struct range_walk *walk, const struct known *all, uint32_t thread, int64_t time)
{
    const struct known *last = NULL;
    while (range_walk_open(walk, thread, time))
        ;
    const struct range_open *open = range_walk_innermost(walk, thread, time);
    for (size_t i = 0; i < COUNT; i++)
        if (is_around(&all[i], thread, time, walk->nesting) &&
            (!last || all[i].start > last->start || (all[i].start == last->start && all[i].end <= last->end)))
            last = &all[i];
    assert_int_equal(open != NULL, last != NULL);
    if (open)
        assert_int_equal(open->range.number, last - all);
}

static void check(struct sorter_space space, bool nesting)
{
    struct ranges ranges;
    struct range_walk walk;
    struct known *all = calloc(COUNT, sizeof(*all));
    assert_non_null(all);
    ranges_init(&ranges, &space);
    for (uint32_t i = 0; i < COUNT; i++) {
        all[i] = make_known();
        add_known(&ranges, &all[i], i);
    }
    assert_int_equal(ranges_finish(&ranges, TIMES), 0);
    assert_int_equal(ranges.count, COUNT);
    range_walk_begin(&walk, &ranges, nesting);
    for (uint32_t thread = 0; thread <= THREADS; thread++)
        for (int64_t time = unit_random_below(9); time < TIMES + 50; time += unit_random_below(9))
            check_moment(&walk, all, thread, time);
    assert_int_equal(range_walk_end(&walk), 0);
    ranges_release(&ranges);
    free(all);
}

UNIT_TEST(walks_find_what_is_around)
{
    for (unsigned i = 0; i < 8; i++) {
        unit_seed = i;
        check(sorter_space_usual(), i % 2);
        check((struct sorter_space){.left = 5000, .run = 1000}, i % 2); /* most of them lie in a file */
    }
}

/* Of ranges of one id the last that was started is the first that ends. */
UNIT_TEST(starts_and_ends_of_one_id_are_paired)
{
    struct sorter_space space = sorter_space_usual();
    struct ranges ranges;
    struct sorter_walk walk;
    ranges_init(&ranges, &space);
    assert_int_equal(add(&ranges, 'e', 1, 0, 5, 0), 0); /* of nothing */
    assert_int_equal(add(&ranges, 'b', 10, 0, 5, 0), 0);
    assert_int_equal(add(&ranges, 'b', 20, 0, 5, 0), 0);
    assert_int_equal(add(&ranges, 'b', 25, 0, 6, 0), 0);
    assert_int_equal(add(&ranges, 'e', 30, 0, 5, 0), 0);
    assert_int_equal(add(&ranges, 'b', 35, 0, 7, 0), 0); /* in the place of the one that has ended */
    assert_int_equal(add(&ranges, 'e', 40, 0, 5, 0), 0);
    assert_int_equal(add(&ranges, 'e', 45, 0, 5, 0), 0); /* of nothing */
    assert_int_equal(add(&ranges, 'e', 20, 0, 6, 0), 0); /* before its start */
    assert_int_equal(ranges_finish(&ranges, 50), 0);
    static const int64_t expected[][2] = {{10, 40}, {20, 30}, {25, 25}, {35, 50}};
    sorter_walk_begin(&walk, &ranges.sorter);
    for (size_t i = 0; i < sizeof(expected) / sizeof(*expected); i++) {
        const struct range *range = sorter_next(&walk);
        assert_non_null(range);
        assert_int_equal(range->start, expected[i][0]);
        assert_int_equal(range->end, expected[i][1]);
    }
    assert_null(sorter_next(&walk));
    assert_int_equal(sorter_walk_end(&walk), 0);
    ranges_release(&ranges);
}

/* A million that follow one another: neither those that have ended nor their ids are kept. */
UNIT_TEST(what_has_ended_is_not_kept)
{
    struct sorter_space space = {.left = 1 << 20, .run = 1 << 16};
    struct ranges ranges;
    struct range_walk walk;
    size_t most = 0;
    ranges_init(&ranges, &space);
    for (uint32_t i = 0; i < 1000000; i++) { /* each overlaps the one before it */
        assert_int_equal(add(&ranges, 'b', 10 * (int64_t)i, 0, i, 0), 0);
        if (i > 0)
            assert_int_equal(add(&ranges, 'e', 10 * (int64_t)i + 5, 0, i - 1, 0), 0);
    }
    assert_true(ranges.starts.items.count <= 2);
    assert_int_equal(ranges_finish(&ranges, 20000000), 0);
    range_walk_begin(&walk, &ranges, false);
    while (range_walk_open(&walk, 0, INT64_MAX))
        most = walk.open.count > most ? walk.open.count : most;
    assert_int_equal(range_walk_end(&walk), 0);
    assert_true(most <= 16);
    ranges_release(&ranges);
}

/* --- paths of captured ranges --- */

static struct captured captured;
static struct interner strings;

UNIT_FIXTURE(clear)
{
    captured_release(&captured);
    captured = (struct captured){0};
    interner_release(&strings);
    strings = (struct interner){0};
    return 0;
}

static uint32_t add_path(const char *path)
{
    return captured_add(&captured, intern(&strings, path, strlen(path)));
}

static void assert_names(uint32_t number, const char *expected)
{
    const struct captured_path *path = captured_path(&captured, number);
    char names[256] = "";
    for (uint32_t i = 0; i < path->count; i++) {
        strcat(names, i > 0 ? "," : "");
        strcat(names, interned(&strings, captured.names.items[path->first + i]));
    }
    assert_string_equal(names, expected);
}

UNIT_TEST_WITH(paths_are_numbered_from_one_and_kept_once, NULL, clear)
{
    assert_int_equal(add_path("a / b"), 1);
    assert_int_equal(add_path("c"), 2);
    assert_int_equal(add_path("a / b"), 1);
    assert_int_equal(captured.paths.count, 2);
}

UNIT_TEST_WITH(a_path_has_its_names_outermost_first, NULL, clear)
{
    uint32_t several = add_path("step / layer 3 / attention"), one = add_path("a/b"), again = add_path("layer 3");
    assert_int_equal(captured_split(&captured, &strings), 0);
    assert_names(several, "step,layer 3,attention");
    assert_names(one, "a/b");
    assert_names(again, "layer 3");
}

UNIT_TEST_WITH(a_name_within_itself_counts_once, NULL, clear)
{
    uint32_t path = add_path("f / g / f");
    assert_int_equal(captured_split(&captured, &strings), 0);
    assert_names(path, "f,g");
}

UNIT_TEST_WITH(the_mark_of_names_that_were_left_out_is_not_a_name, NULL, clear)
{
    uint32_t path = add_path("… / inner"), cut = add_path("inn…");
    assert_int_equal(captured_split(&captured, &strings), 0);
    assert_names(path, "inner");
    assert_names(cut, "inn…");
}

UNIT_MAIN(NULL, NULL)
