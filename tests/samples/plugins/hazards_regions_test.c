/* Shapes against a look at every byte. */
#include "tests/unit.h"

#include "samples/plugins/hazards_order.h"

enum { SPACE = 4096 };

static void paint(const struct shape *shape, unsigned char *bytes)
{
    memset(bytes, 0, SPACE);
    for (uint64_t z = 0; z < shape->depth; z++)
        for (uint64_t y = 0; y < shape->height; y++)
            memset(bytes + shape->start + z * shape->slice + y * shape->pitch, 1, shape->width);
}

static bool share(const struct shape *a, const struct shape *b)
{
    static unsigned char of_a[SPACE], of_b[SPACE];
    paint(a, of_a);
    paint(b, of_b);
    for (unsigned i = 0; i < SPACE; i++)
        if (of_a[i] && of_b[i])
            return true;
    return false;
}

static uint64_t random_below(uint64_t limit)
{
    static uint64_t state = 88172645463325252u;
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state % limit;
}

static struct shape random_shape(uint64_t pitch)
{
    uint64_t width = 1 + random_below(pitch), height = 1 + random_below(6), depth = 1 + random_below(4);
    uint64_t rows = random_below(2) ? height + random_below(3) : 0;
    struct shape shape = shape_box(random_below(600), width, height, pitch, depth, rows);
    assert_true(shape_end(&shape) <= SPACE);
    return shape;
}

UNIT_TEST(boxes_share_what_they_share)
{
    unsigned apart = 0, overlap = 0;
    for (int i = 0; i < 200000; i++) {
        uint64_t pitch = 1 + random_below(40);
        struct shape a = random_shape(pitch), b = random_shape(random_below(3) ? pitch : 1 + random_below(40));
        bool shares = share(&a, &b);
        assert_int_equal(shapes_compare(&a, &b), shares ? SHAPES_OVERLAP : SHAPES_APART);
        assert_int_equal(shapes_compare(&b, &a), shares ? SHAPES_OVERLAP : SHAPES_APART);
        apart += !shares;
        overlap += shares;
    }
    assert_true(apart > 10000);
    assert_true(overlap > 10000);
}

UNIT_TEST(a_shape_covers_only_what_it_holds)
{
    static unsigned char whole[SPACE], part[SPACE];
    unsigned covered = 0;
    for (int i = 0; i < 20000; i++) {
        struct shape a = random_below(2) ? shape_run(random_below(100), 1 + random_below(3000)) : random_shape(20);
        struct shape b = random_below(5) ? random_shape(20) : a;
        paint(&a, whole);
        paint(&b, part);
        if (!shape_covers(&a, &b))
            continue;
        covered++;
        for (unsigned k = 0; k < SPACE; k++)
            assert_true(whole[k] || !part[k]);
    }
    assert_true(covered > 1000);
}

UNIT_TEST(halo_columns_of_a_matrix_do_not_overlap)
{
    enum { PITCH = 1 << 20, ROWS = 1 << 15 };
    struct shape left = shape_box(0x7f0000000000, 16, ROWS, PITCH, 1, 0);
    struct shape right = shape_box(0x7f0000000010, 16, ROWS, PITCH, 1, 0);
    struct shape wide = shape_box(0x7f000000000f, 16, ROWS, PITCH, 1, 0);
    assert_int_equal(shapes_compare(&left, &right), SHAPES_APART);
    assert_int_equal(shapes_compare(&left, &wide), SHAPES_OVERLAP);
}

UNIT_TEST(boxes_of_one_array_are_compared_by_element)
{
    struct shape a = shape_array_box(0, 0, 0, 64, 16, 4), b = shape_array_box(64, 0, 0, 64, 16, 4);
    struct shape c = shape_array_box(63, 15, 3, 1, 1, 1), d = shape_array_box(0, 0, 4, 64, 16, 1);
    assert_int_equal(shapes_compare(&a, &b), SHAPES_APART);
    assert_int_equal(shapes_compare(&a, &c), SHAPES_OVERLAP);
    assert_int_equal(shapes_compare(&a, &d), SHAPES_APART);
}

UNIT_TEST(what_would_take_too_long_is_unknown)
{
    struct shape a = shape_box(0, 1, 1 << 20, 1000, 1, 0), b = shape_box(2, 1, 1 << 20, 1002, 1, 0);
    assert_int_equal(shapes_compare(&a, &b), SHAPES_UNKNOWN);
}

UNIT_TEST(nothing_shares_nothing)
{
    struct shape none = shape_run(100, 0), some = shape_run(0, 200);
    assert_int_equal(shapes_compare(&none, &some), SHAPES_APART);
    struct shape odd = shape_box(0, 20, 5, 10, 1, 0); /* rows that overlap each other: CUDA takes no such */
    assert_int_equal(shapes_compare(&odd, &some), SHAPES_UNKNOWN);
}

UNIT_MAIN(NULL, NULL)
