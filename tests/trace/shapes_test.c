#include "tests/unit.h"

#include "trace/shapes.h"

/* Reads TEXT, of LENGTH bytes at most; TOOK is what of it was read. */
static const char *read_shapes(const char *text, size_t length, size_t *took)
{
    static char result[sizeof(((struct shapes *)0)->text) + 1];
    struct shapes shapes;
    *took = shapes_read(text, length, &shapes);
    snprintf(result, sizeof(result), "%.*s", (int)shapes.length, shapes.text);
    return *took > 0 ? result : NULL;
}

UNIT_TEST(arrays_of_integers_are_read_without_white_space)
{
    static const char *const cases[][2] = {
        {"[]", "[]"},
        {"[ ]", "[]"},
        {"[[8, 128],\n[50257,768] , []]", "[[8,128],[50257,768],[]]"},
        {"[[[2,3],[4]],[],[0,-1]]", "[[[2,3],[4]],[],[0,-1]]"},
        {"[[1e3, 1.5], [1234567890123456]]", "[[1000,1.5],[1.23456789012346e+15]]"},
    };
    size_t took;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        char text[96];
        snprintf(text, sizeof(text), "%s, \"Ev Idx\": 1}", cases[i][0]);
        assert_string_equal(read_shapes(text, strlen(text), &took), cases[i][1]);
        assert_int_equal(took, strlen(cases[i][0]));
    }
}

UNIT_TEST(other_texts_are_not_read)
{
    static const char *const cases[] = {"",     "7",    "[1",    "[1,]",    "[,1]",   "[1 2]",     "[01]", "[-]",
                                        "[1.]", "[1e]", "[[1]}", "[\"a\"]", "[null]", "{\"a\":1}", "[[]",  "[[],]"};
    size_t took;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
        assert_null(read_shapes(cases[i], strlen(cases[i]), &took));
    assert_null(read_shapes("[[[[[[[[[1]]]]]]]]]", 19, &took));
    assert_string_equal(read_shapes("[[[[[[[[1]]]]]]]]", 17, &took), "[[[[[[[[1]]]]]]]]");
    assert_null(read_shapes("[1]", 2, &took));
}

UNIT_TEST(a_long_text_is_cut_between_numbers)
{
    char text[4096] = "[";
    size_t length = 1, took;
    while (length < 3000)
        length += (size_t)snprintf(text + length, sizeof(text) - length, "%s[128,50257]", length > 1 ? "," : "");
    snprintf(text + length, sizeof(text) - length, "]");
    const char *cut = read_shapes(text, strlen(text), &took);
    assert_int_equal(took, length + 1);
    size_t kept = strlen(cut) - strlen(SHAPES_CUT);
    assert_string_equal(cut + kept, SHAPES_CUT);
    assert_true(kept <= SHAPES_MOST && kept > SHAPES_MOST - 8);
    assert_memory_equal(cut, text, kept);
    assert_non_null(strchr("[],", cut[kept - 1]));

    /* Exactly as long as is kept. */
    length = 1;
    while (length < SHAPES_MOST - 3)
        length += (size_t)snprintf(text + length, sizeof(text) - length, "8,");
    length += (size_t)snprintf(text + length, sizeof(text) - length, "%s]", length == SHAPES_MOST - 3 ? "88" : "8");
    assert_int_equal(length, SHAPES_MOST);
    assert_string_equal(read_shapes(text, strlen(text), &took), text);
}

UNIT_MAIN(NULL, NULL)
