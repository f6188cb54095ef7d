#include "analysis/engine/captured.h"

#include "tests/unit.h"

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

static uint32_t add(const char *path)
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
    assert_int_equal(add("a / b"), 1);
    assert_int_equal(add("c"), 2);
    assert_int_equal(add("a / b"), 1);
    assert_int_equal(captured.paths.count, 2);
}

UNIT_TEST_WITH(a_path_has_its_names_outermost_first, NULL, clear)
{
    uint32_t several = add("step / layer 3 / attention"), one = add("a/b"), again = add("layer 3");
    assert_int_equal(captured_split(&captured, &strings), 0);
    assert_names(several, "step,layer 3,attention");
    assert_names(one, "a/b");
    assert_names(again, "layer 3");
}

UNIT_TEST_WITH(a_name_within_itself_counts_once, NULL, clear)
{
    uint32_t path = add("f / g / f");
    assert_int_equal(captured_split(&captured, &strings), 0);
    assert_names(path, "f,g");
}

UNIT_TEST_WITH(the_mark_of_names_that_were_left_out_is_not_a_name, NULL, clear)
{
    uint32_t path = add("… / inner"), cut = add("inn…");
    assert_int_equal(captured_split(&captured, &strings), 0);
    assert_names(path, "inner");
    assert_names(cut, "inn…");
}

UNIT_MAIN(NULL, NULL)
