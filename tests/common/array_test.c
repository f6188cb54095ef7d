#include "tests/unit.h"

#include "common/array.h"

struct point {
    int x, y;
};

UNIT_TEST(items_are_zeroed_and_stay_while_the_array_grows)
{
    ARRAY(struct point) points = {0};
    for (int i = 0; i < 1000; i++) {
        struct point *point = array_push(&points);
        assert_non_null(point);
        assert_int_equal(point->x, 0);
        assert_int_equal(point->y, 0);
        *point = (struct point){i, -i};
    }
    assert_int_equal(points.count, 1000);
    for (int i = 0; i < 1000; i++)
        assert_int_equal(points.items[i].y, -i);
    array_release(&points);
    assert_int_equal(points.count, 0);
    assert_null(points.items);
}

UNIT_MAIN(NULL, NULL)
