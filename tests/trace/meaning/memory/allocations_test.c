/*
 * The account of allocations: what failed calls and wrong releases change in it.
 */
#include "tests/unit.h"

#include "common/spool_records.h"
#include "trace/meaning/memory/memory.h"
#include "trace/spool/event_record.h"

enum { FAILED = 201, BYTES = 4096 };

static struct memory_step allocation_at(uint64_t address, int result)
{
    struct memory_step step = {0};
    step.operation = SPOOL_MEMORY_ALLOCATE;
    step.kind = SPOOL_MEMORY_POOL;
    step.size = BYTES;
    step.result = result;
    step.address = address;
    return step;
}

static struct memory_step release_of(uint64_t address)
{
    struct memory_step step = {0};
    step.operation = SPOOL_MEMORY_RELEASE;
    step.address = address;
    return step;
}

UNIT_TEST(a_failed_allocation_holds_no_memory)
{
    struct allocations allocations = {0};
    struct allocation about;
    struct memory_step failure = allocation_at(0, FAILED), done = allocation_at(0x1000, 0);
    assert_int_equal(allocations_apply(&allocations, &failure, &about), 0);
    assert_int_equal(allocations_held(&allocations, 0, SPOOL_MEMORY_POOL), 0);
    assert_int_equal(allocations_apply(&allocations, &done, &about), 0);
    assert_int_equal(allocations_held(&allocations, 0, SPOOL_MEMORY_POOL), BYTES);
    allocations_release(&allocations);
}

static enum memory_fault fault_of(struct allocations *allocations, uint64_t address)
{
    struct allocation about;
    struct memory_step again = release_of(address);
    assert_int_equal(allocations_apply(allocations, &again, &about), 0);
    assert_false(about.live);
    return (enum memory_fault)about.fault;
}

UNIT_TEST(a_bounded_number_of_released_addresses_is_remembered)
{
    enum { TIMES = 5 };
    struct allocations allocations = {0};
    struct allocation about;
    for (uint64_t address = 1; address <= TIMES * ALLOCATIONS_GONE; address++) {
        struct memory_step taken = allocation_at(address, 0), given_back = release_of(address);
        assert_int_equal(allocations_apply(&allocations, &taken, &about), 0);
        assert_int_equal(allocations_apply(&allocations, &given_back, &about), 0);
        assert_int_equal(about.fault, MEMORY_NO_FAULT);
    }
    assert_int_equal(fault_of(&allocations, TIMES * ALLOCATIONS_GONE), MEMORY_FREED_TWICE);
    assert_int_equal(fault_of(&allocations, (TIMES - 1) * ALLOCATIONS_GONE + 1), MEMORY_FREED_TWICE);
    assert_int_equal(fault_of(&allocations, 1), MEMORY_NEVER_ALLOCATED);
    assert_true(map_count(&allocations.gone) + map_count(&allocations.before) <= 2 * ALLOCATIONS_GONE);
    allocations_release(&allocations);
}

UNIT_MAIN(NULL, NULL)
