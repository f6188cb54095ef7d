#include "tests/unit.h"

#include <stdbool.h>
#include <string.h>

#include "trace/event_fields.h"

/* Where each kind has its fields. */
static const struct place {
    const char *name;
    unsigned categories;
    size_t begin, end;
} places[] = {
#define KIND(name, categories)                                  \
    {#name, categories, offsetof(struct event_fields, of.name), \
     offsetof(struct event_fields, of.name) + sizeof(struct name##_fields)},
    EVENT_KINDS(KIND)
#undef KIND
};
#define PLACES (sizeof(places) / sizeof(*places))

UNIT_TEST(kinds_that_one_event_has_lie_apart)
{
    for (size_t i = 0; i < PLACES; i++)
        for (size_t k = 0; k < i; k++)
            if (places[i].categories & places[k].categories)
                assert_true(places[i].end <= places[k].begin || places[k].end <= places[i].begin);
}

/* An argument is kept in a kind that all events with this argument have, or among what every event has. */
UNIT_TEST(an_argument_is_kept_where_its_events_have_it)
{
    for (size_t key = 0; key < ARG_KEY_COUNT; key++) {
        const struct arg_field *field = &arg_fields[key];
        bool found = field->type == FIELD_NONE || field->offset < offsetof(struct event_fields, of);
        for (size_t i = 0; i < PLACES; i++)
            found |= field->offset >= places[i].begin && field->offset < places[i].end &&
                     (field->categories & ~places[i].categories) == 0;
        assert_true(found);
    }
}

UNIT_TEST(fields_of_another_kind_are_absent)
{
    for (enum category category = 0; category < CATEGORY_COUNT; category++) {
        struct event_fields event;
        memset(&event, 0x5a, sizeof(event));
        event.category = (uint8_t)category;
#define KIND(name, categories)                                                                               \
    if (!category_in(category, categories))                                                                  \
        assert_memory_equal(event_##name(&event), &event_layouts[__builtin_ctz(categories)].nothing.of.name, \
                            sizeof(struct name##_fields));
        EVENT_KINDS(KIND)
#undef KIND
    }
    struct event_fields kernel;
    event_begin(&kernel, CATEGORY_KERNEL);
    kernel.of.kernel.registers = 32;
    kernel.of.gpu.context = 1;
    assert_int_equal(event_kernel(&kernel)->registers, 32);
    assert_int_equal(event_memory(&kernel)->address, FIELD_ABSENT);
    assert_int_equal(event_memory(&kernel)->fault, EVENT_NO_TEXT);
    assert_int_equal(event_wait(&kernel)->stream, FIELD_ABSENT);
    assert_int_equal(event_compilation(&kernel)->function, EVENT_NO_TEXT);
}

UNIT_TEST(events_lie_behind_one_another_aligned)
{
    for (enum category category = 0; category < CATEGORY_COUNT; category++)
        assert_int_equal(event_layouts[category].size % _Alignof(struct event_fields), 0);
}

UNIT_TEST(an_event_begins_without_any_field)
{
    for (enum category category = 0; category < CATEGORY_COUNT; category++) {
        struct event_fields event;
        memset(&event, 0x5a, sizeof(event));
        event_begin(&event, category);
        assert_int_equal(event.category, category);
        assert_int_equal(event.device, FIELD_ABSENT);
        assert_int_equal(event_gpu(&event)->context, FIELD_ABSENT);
        assert_int_equal(event_launch(&event)->in_operator, EVENT_NO_TEXT);
        assert_int_equal(event_kernel(&event)->grid[2], FIELD_ABSENT);
        assert_int_equal(event_wait(&event)->correlation, FIELD_ABSENT);
        assert_int_equal(event_range(&event)->domain, EVENT_NO_TEXT); /* also of an operator, which never has one */
        assert_int_equal(event_operator(&event)->shapes, EVENT_NO_TEXT);
        assert_int_equal(event_memory(&event)->total_reserved, FIELD_ABSENT);
        assert_int_equal(event_memory(&event)->held_by_kind, EVENT_NO_TEXT);
        assert_int_equal(event_compilation(&event)->cache_hit, FIELD_ABSENT);
        assert_int_equal(event_state(&event)->waker, FIELD_ABSENT);
        assert_int_equal(event_communication(&event)->group_call, FIELD_ABSENT);
        assert_false(event_communicates(&event));
    }
}

/* As where the begin of a slice has a category, and its end has none. */
UNIT_TEST(an_event_is_completed_by_what_another_has)
{
    struct event_fields kernel, end, same;
    event_begin(&kernel, CATEGORY_KERNEL);
    kernel.of.kernel.grid[0] = 5;
    event_begin(&end, CATEGORY_OTHER);
    end.bytes = 4096;
    event_complete(&kernel, &end);
    assert_int_equal(kernel.bytes, 4096);
    assert_int_equal(event_kernel(&kernel)->registers, FIELD_ABSENT); /* which "bytes" once became */
    event_begin(&same, CATEGORY_KERNEL);
    same.of.kernel.grid[0] = same.of.kernel.registers = 7;
    same.of.kernel.mangled_name = 3;
    event_complete(&kernel, &same);
    assert_int_equal(event_kernel(&kernel)->grid[0], 5);
    assert_int_equal(event_kernel(&kernel)->registers, 7);
    assert_int_equal(event_kernel(&kernel)->mangled_name, 3);
}

UNIT_TEST(texts_of_all_kinds_are_translated)
{
    static const uint32_t numbers[] = {10, 11, 12, 13};
    struct event_fields event;
    event_begin(&event, CATEGORY_KERNEL);
    event.name = 0;
    event.of.launch.in_operator = 1;
    event.of.communication.communicator = 2; /* of two arguments */
    event_translate(&event, numbers);
    assert_int_equal(event.name, 10);
    assert_int_equal(event_launch(&event)->in_operator, 11);
    assert_int_equal(event_communication(&event)->communicator, 12);
    assert_int_equal(event_kernel(&event)->mangled_name, EVENT_NO_TEXT);
}

/* Reads TEXT, of LENGTH bytes at most; TOOK is what of it was read. */
static const char *read_shapes(const char *text, size_t length, size_t *took)
{
    static char result[sizeof(((struct shapes_text *)0)->text) + 1];
    struct shapes_text shapes;
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
