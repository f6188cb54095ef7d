/*
 * Unwinding, and recognising a stack that was unwound before.
 */

#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>

#include "agent/spool/stacks.h"
#include "agent/spool/unwind.h"
#include "common/machine.h"
#include "tests/unit.h"

#define CAN_RECALL (MACHINE != EM_NONE)

static volatile unsigned after; /* what is done after a call keeps the compiler from jumping instead */

/* What is recalled of the stack here; then it is remembered as NUMBER. */
__attribute__((noinline)) static uint32_t ask(uint64_t key, uint32_t number)
{
    const void *frame = __builtin_frame_address(0);
    uint32_t known = unwind_recall(frame, key);
    struct unwound unwound;
    if (number != 0) {
        unwind(&unwound);
        unwind_remember(frame, key, &unwound, number);
    }
    after++;
    return known;
}

__attribute__((noinline)) static uint32_t from_here(uint64_t key, uint32_t number)
{
    uint32_t known = ask(key, number);
    after++;
    return known;
}

__attribute__((noinline)) static uint32_t from_there(uint64_t key, uint32_t number)
{
    after++;
    uint32_t known = ask(key, number);
    after++;
    return known;
}

__attribute__((noinline)) static uint32_t deep(unsigned depth, uint64_t key, uint32_t number)
{
    uint32_t known = depth > 0 ? deep(depth - 1, key, number) : ask(key, number);
    after++;
    return known;
}

UNIT_TEST(frames_go_outwards_from_unwind)
{
    struct unwound unwound;
    Dl_info inner, outer;
    unwind(&unwound);
    assert_true(unwound.count > 3);
    assert_true(dladdr((void *)(uintptr_t)unwound.at[0], &inner) && dladdr((void *)(uintptr_t)unwound.at[1], &outer));
    for (unsigned i = 2; i < unwound.count; i++)
        assert_true(unwound.at[i] != 0 && unwound.place[i] > unwound.place[i - 1]);
    for (unsigned i = 2; i < unwound.count && CAN_RECALL; i++)
        assert_true(machine_code_address(MACHINE, *(const uint64_t *)(uintptr_t)unwound.place[i]) == unwound.at[i]);
}

UNIT_TEST(what_is_too_deep_is_left_out)
{
    struct unwound unwound;
    deep(10, 1, 0);
    unwind(&unwound);
    assert_true(unwound.count < UNWIND_FRAMES_MAX);
    assert_int_equal(deep(300, 90, 5), 0); /* does no harm */
}

UNIT_TEST(a_stack_is_recognised_where_it_comes_again)
{
    for (volatile uint32_t round = 0; round < 5; round++) {
        uint32_t known = from_here(1, round == 0 ? 7 : 0);
        assert_int_equal(known, round == 0 || !CAN_RECALL ? 0 : 7);
    }
}

UNIT_TEST(another_key_another_stack)
{
    for (volatile uint32_t round = 0; round < 2; round++)
        assert_int_equal(from_here(2 + round, round == 0 ? 8 : 0), 0);
}

UNIT_TEST(another_caller_or_line_is_another_stack)
{
    for (volatile uint32_t round = 0; round < 2; round++) {
        uint32_t known = round == 0 ? from_here(10, 9) : from_there(10, 0);
        assert_int_equal(known, 0);
    }
    assert_int_equal(from_here(10, 0), 0);
    assert_int_equal(from_there(10, 0), 0);
}

UNIT_TEST(another_depth_is_another_stack)
{
    for (unsigned depth = 0; depth < 40; depth++) {
        for (unsigned other = 0; other < 40; other++)
            assert_true(deep(other, 20 + depth, other == depth ? 1000 + depth : 0) == 0);
        for (unsigned other = 0; other < 40 && CAN_RECALL; other++)
            deep(other, 20 + depth, 0);
    }
}

UNIT_TEST(more_than_there_is_space_for_are_forgotten)
{
    unsigned known = 0;
    for (volatile unsigned round = 0; round < 2; round++)
        for (uint32_t key = 1000; key < 2000; key++)
            known += from_here(key, 3) != 0;
    assert_true(known < 1000);
}

/* As functions of Python are, which call each other without a call of C. */
UNIT_TEST(stacks_that_differ_in_their_keys_alone_do_not_displace_each_other)
{
    unsigned known = 0;
    for (volatile unsigned round = 0; round < 2; round++)
        for (uint32_t key = 5000; key < 5040; key++)
            known += from_here(key, round == 0 ? 3 : 0) != 0;
    assert_true(known >= 36 || !CAN_RECALL);
}

static void *in_thread(void *known)
{
    for (volatile uint32_t round = 0; round < 3; round++)
        *(uint32_t *)known = deep(3, 70, round == 0 ? 4 : 0);
    return NULL;
}

UNIT_TEST(each_thread_remembers_its_own)
{
    for (unsigned i = 0; i < 3; i++) {
        pthread_t thread;
        uint32_t known = 0;
        assert_int_equal(pthread_create(&thread, NULL, in_thread, &known), 0);
        pthread_join(thread, NULL);
        assert_int_equal(known, CAN_RECALL ? 4 : 0);
        assert_int_equal(deep(3, 70, 0), 0);
    }
}

int main(void)
{
    stacks_prepare();
    return unit_run(NULL, NULL);
}
