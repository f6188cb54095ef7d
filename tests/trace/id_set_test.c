#include "tests/unit.h"

#include "trace/selection.h"

UNIT_TEST(a_set_has_what_was_added)
{
    static const uint32_t ids[] = {0, 1, 63, 64, 1023, 1024, 1u << 31, UINT32_MAX};
    struct id_set set = {0};
    for (size_t i = 0; i < sizeof(ids) / sizeof(*ids); i++) {
        assert_false(id_set_has(&set, ids[i]));
        assert_int_equal(id_set_add(&set, ids[i]), 0);
        assert_int_equal(id_set_add(&set, ids[i]), 0);
        assert_true(id_set_has(&set, ids[i]));
    }
    assert_false(id_set_has(&set, 2));
    assert_false(id_set_has(&set, UINT32_MAX - 1));
    id_set_release(&set);
}

UNIT_MAIN(NULL, NULL)
