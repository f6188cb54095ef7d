#include "tests/unit.h"

#include <string.h>

#include "trace/json/text.h"
#include "trace/merge/merge_processes.h"

static void add(struct merge_stacks *stacks, const char *tree)
{
    assert_int_equal(merge_stacks_add(stacks, (struct json_text){tree, strlen(tree)}), 0);
}

static uint32_t number_of(const struct merge_stacks *stacks, uint32_t number)
{
    return merge_stacks_find(stacks->numbers.items, stacks->numbers.count, number);
}

static void assert_frames(const struct merge_stacks *stacks, const char *frames)
{
    assert_int_equal(stacks->frames.length, strlen(frames));
    assert_memory_equal(stacks->frames.data, frames, strlen(frames));
}

UNIT_TEST(frames_that_two_traces_have_below_the_same_frames_are_one)
{
    struct merge_stacks stacks = {0};
    buffer_init_memory(&stacks.frames);
    add(&stacks, "{\"1\":{\"name\":\"main\"},\"2\":{\"name\":\"a\",\"parent\":1}}");
    assert_int_equal(number_of(&stacks, 1), 1);
    assert_int_equal(number_of(&stacks, 2), 2);
    add(&stacks, "{\"5\":{\"name\":\"main\"},\"7\":{\"name\":\"b\",\"parent\":5},\"9\":{\"name\":\"a\",\"parent\":5}}");
    assert_int_equal(number_of(&stacks, 5), 1);
    assert_int_equal(number_of(&stacks, 7), 3);
    assert_int_equal(number_of(&stacks, 9), 2);
    assert_int_equal(number_of(&stacks, 1), 0); /* of the trace before */
    assert_frames(&stacks, ",\"1\":{\"name\":\"main\"},\"2\":{\"name\":\"a\",\"parent\":1},"
                           "\"3\":{\"name\":\"b\",\"parent\":1}");
    merge_stacks_release(&stacks);
}

UNIT_TEST(a_frame_may_stand_before_those_that_called_it)
{
    struct merge_stacks stacks = {0};
    buffer_init_memory(&stacks.frames);
    add(&stacks, "{\"1\":{\"parent\":\"2\",\"name\":\"inner\"},\"2\":{\"name\":\"outer\"}}");
    assert_frames(&stacks, ",\"1\":{\"name\":\"outer\"},\"2\":{\"name\":\"inner\",\"parent\":1}");
    assert_int_equal(number_of(&stacks, 1), 2);
    merge_stacks_release(&stacks);
}

UNIT_TEST(what_is_not_a_tree_of_frames_is_left_out)
{
    static const char *const trees[] = {
        "[]",
        "{}",
        "17",
        "{\"a\":{\"name\":\"x\"}}",
        "{\"1\":3}",
        "{\"1\":{\"name\":\"x\",\"parent\":1}}",
        "{\"1\":{\"parent\":2},\"2\":{\"parent\":1}}",
    };
    for (size_t i = 0; i < sizeof(trees) / sizeof(*trees); i++) {
        struct merge_stacks stacks = {0};
        buffer_init_memory(&stacks.frames);
        add(&stacks, trees[i]);
        merge_stacks_release(&stacks);
    }
}

UNIT_MAIN(NULL, NULL)
