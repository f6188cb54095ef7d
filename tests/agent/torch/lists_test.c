/*
 * Lists among an operator's inputs: how they lie in memory by version of PyTorch, and what is not believed.
 */
#include "agent/torch/operators.h"

#include <string.h>

#include "common/settings.h"
#include "tests/agent/spool/test_spool.h"

enum { TENSOR = 1, DOUBLE = 3, INT = 5, BOOL = 9, LIST = 15, NONE = 0 }; /* tags */
enum { OF_TENSORS = 1, OF_BOOLS = 2 };                                   /* what a list says that it is of */

struct value {
    uint64_t payload;
    uint32_t tag, padding;
};

/* A list, with one count of references or two before its vector. */
struct list {
    uint64_t words[8];
    uint64_t of;
};

static bool concrete = true;

static uint64_t of(const void *value)
{
    return ((const struct list *)(uintptr_t)((const struct value *)value)->payload)->of;
}

static bool is_tensor_list(const void *value)
{
    return of(value) == OF_TENSORS;
}

static bool is_bool_list(const void *value)
{
    return of(value) == OF_BOOLS;
}

static bool concrete_inputs(void)
{
    return concrete;
}

static uint64_t current_thread(void)
{
    return 3;
}

static struct torch_library library = {.current_thread = current_thread,
                                       .is_tensor_list = is_tensor_list,
                                       .is_bool_list = is_bool_list,
                                       .concrete_inputs = concrete_inputs,
                                       .shows_list_sizes = true};

static struct value make_list(struct list *list, unsigned at, const struct value *items, uint64_t count, uint64_t of)
{
    uint64_t begin = count > 0 ? (uint64_t)(uintptr_t)items : 0, end = begin + count * sizeof(*items);
    *list = (struct list){.of = of};
    for (unsigned i = 1; i < at; i++)
        list->words[i] = 1; /* references */
    memcpy(&list->words[at], (uint64_t[]){begin, end, end}, 3 * sizeof(uint64_t));
    return (struct value){.payload = (uint64_t)(uintptr_t)list, .tag = LIST};
}

/* What is read of the inputs, of TYPES; HELD: how many the operator says that it has. */
static struct input_lists read_inputs(const struct value *values, const char *const *types, size_t count, uint64_t held)
{
    static const char name[] = "aten::cat";
    uint64_t function[40] = {0};
    struct torch_details details;
    struct input_lists lists;
    function[88 / 8] = current_thread();
    function[160 / 8] = (uint64_t)(uintptr_t)name;
    function[200 / 8] = (uint64_t)-1;
    function[208 / 8] = (uint64_t)(uintptr_t)values;
    function[216 / 8] = held;
    const struct torch_function *record = (const void *)function;
    assert_true(torch_layout_read(&library, record, TORCH_SCOPE_FUNCTION, name, &details));
    input_lists_read(&lists, &library, record, (const void *)types, sizeof(*types), count);
    return lists;
}

static void assert_list(const struct input_lists *lists, size_t i, enum input_kind kind, uint32_t sizes, bool shown)
{
    assert_int_equal(lists->items[i].kind, kind);
    assert_int_equal(lists->items[i].sizes, sizes);
    assert_int_equal(lists->items[i].shown, shown);
}

UNIT_FIXTURE(open_spool)
{
    int result = open_test_spool(TRACE_DEFAULT | TRACE_TORCH_SHAPES);
    recorder_switch(true, 1, "the test");
    return result;
}

static unsigned notes(void)
{
    struct reading reading = read_spool(directory, getpid());
    return count_records(&reading, SPOOL_RECORD_NOTE);
}

UNIT_TEST(lists_are_read_with_one_count_of_references_or_two)
{
    static const char *const types[] = {"float", "GenericList", "GenericList", "GenericList", "Int", "GenericList", ""};
    const struct value tensors[] = {{8, TENSOR, 0}, {16, TENSOR, 0}, {24, TENSOR, 0}};
    const struct value numbers[] = {{7, INT, 0}, {8, INT, 0}}, flags[] = {{1, BOOL, 0}};
    struct list lists[4];
    for (unsigned at = 2; at <= 3; at++) {
        const struct value values[] = {{8, TENSOR, 0},
                                       make_list(&lists[0], at, tensors, 3, OF_TENSORS),
                                       make_list(&lists[1], at, numbers, 2, 0),
                                       make_list(&lists[2], at, flags, 1, OF_BOOLS),
                                       {5, INT, 0},
                                       make_list(&lists[3], at, NULL, 0, OF_TENSORS),
                                       {0, NONE, 0}};
        struct input_lists read = read_inputs(values, types, 7, 7);
        assert_true(read.known && read.flatten);
        assert_int_equal(read.sizes, 9);
        assert_list(&read, 0, INPUT_ALONE, 1, false);
        assert_list(&read, 1, INPUT_TENSORS, 3, true);
        assert_list(&read, 2, INPUT_NUMBERS, 1, false);
        assert_list(&read, 3, INPUT_NUMBERS, 1, false);
        assert_list(&read, 4, INPUT_ALONE, 1, false);
        assert_list(&read, 5, INPUT_TENSORS, 1, false);
    }
}

UNIT_TEST(long_lists_and_lists_of_others_are_not_shown)
{
    enum { LONG = 31 };
    static const char *const types[] = {"GenericList", "GenericList", "GenericList", "GenericList"};
    struct value tensors[LONG], numbers[LONG];
    const struct value mixed[] = {{8, TENSOR, 0}, {0, NONE, 0}, {8, TENSOR, 0}};
    struct list lists[4];
    for (int i = 0; i < LONG; i++) {
        tensors[i] = (struct value){8, TENSOR, 0};
        numbers[i] = (struct value){8, DOUBLE, 0};
    }
    const struct value values[] = {make_list(&lists[0], 2, tensors, LONG, OF_TENSORS),
                                   make_list(&lists[1], 2, numbers, LONG, 0), make_list(&lists[2], 2, mixed, 3, 0),
                                   make_list(&lists[3], 2, numbers, 30, 0)};
    struct input_lists read = read_inputs(values, types, 4, 4);
    assert_true(read.known && !read.flatten);
    assert_list(&read, 0, INPUT_TENSORS, LONG, false);
    assert_list(&read, 1, INPUT_OTHERS, 1, false);
    assert_list(&read, 2, INPUT_OTHERS, 2, false);
    assert_list(&read, 3, INPUT_NUMBERS, 1, false);
    concrete = false;
    read = read_inputs(values, types, 4, 4);
    assert_list(&read, 3, INPUT_OTHERS, 1, false);
    concrete = true;
}

/* The last test: nothing is read any more. */
UNIT_TEST(values_that_contradict_the_types_end_it)
{
    static const char *const types[] = {"Int"};
    const struct value right[] = {{5, INT, 0}}, wrong[] = {{5, DOUBLE, 0}};
    assert_true(read_inputs(right, types, 1, 1).known);
    assert_int_equal(notes(), 0);
    assert_false(read_inputs(wrong, types, 1, 1).known);
    assert_false(read_inputs(right, types, 1, 1).known);
    assert_int_equal(notes(), 1);
}

UNIT_MAIN(open_spool, remove_spool)
