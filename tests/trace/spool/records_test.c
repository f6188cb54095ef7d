#include "tests/unit.h"

#include <stdalign.h>

#include "trace/spool/agent_records.h"
#include "trace/spool/cupti.h"
#include "common/spool_records.h"

static uint16_t sizes[SPOOL_CUPTI_KINDS];
static alignas(64) uint8_t data[512];

static struct spool_part part_of(size_t size, enum spool_chunk_state state)
{
    return (struct spool_part){.data = data, .size = size, .state = (uint16_t)state};
}

static int set_up(void **state)
{
    (void)state;
    memset(data, 0, sizeof(data));
    memset(sizes, 0, sizeof(sizes));
    sizes[5] = 40;
    sizes[10] = 64;
    return 0;
}

static void put_kind(size_t offset, uint32_t kind)
{
    memcpy(data + offset, &kind, sizeof(kind));
}

static void test_records_follow_one_another_by_the_size_of_their_kind(void **state)
{
    (void)state;
    struct spool_part part = part_of(sizeof(data), SPOOL_IN_USE);
    struct cupti_walk walk;
    put_kind(0, 5);
    put_kind(40, 10 | SPOOL_IN_FLIGHT);
    put_kind(104, 5);
    cupti_walk_begin(&walk, &part, data, sizes);
    assert_true(cupti_walk_next(&walk));
    assert_true(walk.kind == 5 && walk.bytes == 40 && !walk.in_flight && walk.record == data);
    assert_true(cupti_walk_next(&walk));
    assert_true(walk.kind == 10 && walk.bytes == 64 && walk.in_flight);
    assert_true(cupti_walk_next(&walk));
    assert_ptr_equal(walk.record, data + 104);
    assert_false(cupti_walk_next(&walk));
    assert_int_equal(walk.damaged, 0); /* kind 0 is the end of a chunk in use */
}

static void test_a_kind_of_unknown_size_ends_the_walk_and_is_counted(void **state)
{
    (void)state;
    static const uint32_t kinds[] = {6, 63, 64, 0x7fffffff};
    for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
        struct spool_part part = part_of(sizeof(data), SPOOL_IN_USE);
        struct cupti_walk walk;
        put_kind(0, 5);
        put_kind(40, kinds[i]);
        cupti_walk_begin(&walk, &part, data, sizes);
        assert_true(cupti_walk_next(&walk));
        assert_false(cupti_walk_next(&walk));
        assert_false(cupti_walk_next(&walk));
        assert_int_equal(walk.damaged, 1);
    }
}

static void test_nothing_may_be_left_of_a_chunk_that_is_done(void **state)
{
    (void)state;
    struct spool_part part = part_of(48, SPOOL_DONE);
    struct cupti_walk walk;
    put_kind(0, 5);
    cupti_walk_begin(&walk, &part, data, sizes);
    assert_true(cupti_walk_next(&walk));
    assert_false(cupti_walk_next(&walk));
    assert_int_equal(walk.damaged, 1);
}

static void test_a_record_that_is_cut_is_not_given(void **state)
{
    (void)state;
    for (size_t size = 0; size < 40; size++) {
        struct spool_part part = part_of(size, SPOOL_IN_USE);
        struct cupti_walk walk;
        put_kind(0, 5);
        cupti_walk_begin(&walk, &part, data, sizes);
        assert_false(cupti_walk_next(&walk));
        assert_int_equal(walk.damaged, size >= 4);
    }
}

static struct spool_note *put_note(size_t offset, uint32_t bytes, uint32_t length)
{
    struct spool_note *note = (struct spool_note *)(void *)(data + offset);
    note->head.type = SPOOL_RECORD_NOTE;
    note->head.bytes = bytes;
    note->length = length;
    memcpy(note->text, "abc", 3);
    return note;
}

static void test_own_records_are_given_with_their_text(void **state)
{
    (void)state;
    struct spool_part part = part_of(24, SPOOL_DONE);
    struct agent_walk walk;
    put_note(0, 24, 3);
    agent_walk_begin(&walk, &part);
    assert_true(agent_walk_next(&walk));
    assert_int_equal(walk.record->type, SPOOL_RECORD_NOTE);
    assert_int_equal(walk.length, 3);
    assert_memory_equal(walk.text, "abc", 3);
    assert_false(agent_walk_next(&walk));
    assert_int_equal(walk.damaged, 0);
    agent_walk_at(&walk, data);
    assert_memory_equal(walk.text, "abc", walk.length);
}

static void test_own_records_that_lie_are_left_out_and_the_next_is_found(void **state)
{
    (void)state;
    struct spool_part part = part_of(48, SPOOL_DONE);
    struct agent_walk walk;
    put_note(0, 24, 5); /* the text does not fit */
    put_note(24, 24, 3);
    agent_walk_begin(&walk, &part);
    assert_true(agent_walk_next(&walk));
    assert_ptr_equal(walk.record, data + 24);
    assert_int_equal(walk.damaged, 1);
    ((struct spool_record *)(void *)data)->type = SPOOL_RECORD_TYPE_COUNT;
    agent_walk_begin(&walk, &part);
    assert_true(agent_walk_next(&walk));
    assert_int_equal(walk.damaged, 1);
}

static void test_every_type_of_record_is_known_and_none_is_read_beyond_its_size(void **state)
{
    (void)state;
    static const uint32_t sizes_of[] = {0,
#define SIZE(type, structure, holds) sizeof(struct structure),
                                        SPOOL_RECORD_TYPES(SIZE)
#undef SIZE
    };
    for (uint16_t type = 1; type < SPOOL_RECORD_TYPE_COUNT; type++) {
        for (uint32_t bytes = sizeof(struct spool_record); bytes <= sizes_of[type]; bytes += 8) {
            struct spool_part part = part_of(bytes, SPOOL_DONE);
            struct agent_walk walk;
            memset(data, 0, sizeof(data));
            *(struct spool_record *)(void *)data = (struct spool_record){.type = type, .bytes = bytes};
            agent_walk_begin(&walk, &part);
            assert_int_equal(agent_walk_next(&walk), bytes == sizes_of[type]);
            assert_int_equal(walk.damaged, bytes != sizes_of[type]);
        }
    }
}

static void test_a_size_that_leads_nowhere_ends_the_walk(void **state)
{
    (void)state;
    static const uint32_t lies[] = {0, 8, 20, 56, UINT32_MAX};
    for (size_t i = 0; i < sizeof(lies) / sizeof(*lies); i++) {
        struct spool_part part = part_of(48, SPOOL_DONE);
        struct agent_walk walk;
        put_note(0, lies[i], 0);
        agent_walk_begin(&walk, &part);
        assert_false(agent_walk_next(&walk));
        assert_int_equal(walk.damaged, 1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_records_follow_one_another_by_the_size_of_their_kind, set_up),
        cmocka_unit_test_setup(test_a_kind_of_unknown_size_ends_the_walk_and_is_counted, set_up),
        cmocka_unit_test_setup(test_nothing_may_be_left_of_a_chunk_that_is_done, set_up),
        cmocka_unit_test_setup(test_a_record_that_is_cut_is_not_given, set_up),
        cmocka_unit_test_setup(test_own_records_are_given_with_their_text, set_up),
        cmocka_unit_test_setup(test_own_records_that_lie_are_left_out_and_the_next_is_found, set_up),
        cmocka_unit_test_setup(test_every_type_of_record_is_known_and_none_is_read_beyond_its_size, set_up),
        cmocka_unit_test_setup(test_a_size_that_leads_nowhere_ends_the_walk, set_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
