#include "tests/unit.h"

#include "analysis/engine/heap.h"

enum { PROCESS = 2 * 100, OTHER = 2 * 101, MS = 1000000 };

static struct interner strings;
static struct heap heap;
static uint32_t allocate_name, release_name, memory_name, failure_name, device_kind;

static uint32_t text(const char *words)
{
    return intern(&strings, words, strlen(words));
}

UNIT_FIXTURE(begin)
{
    strings = (struct interner){0};
    heap_init(&heap, &strings);
    allocate_name = text("Allocate Device");
    release_name = text("Release Device");
    memory_name = text("[memory]");
    failure_name = text("[OutOfMemory]");
    device_kind = text("Device");
    return 0;
}

UNIT_FIXTURE(end)
{
    heap_release(&heap);
    interner_release(&strings);
    return 0;
}

static struct event_fields instant(uint32_t name, int64_t time, int64_t address, int64_t bytes)
{
    struct event_fields event;
    event_begin(&event, CATEGORY_MEMORY);
    event.phase = 'i';
    event.name = name;
    event.process = PROCESS;
    event.start = time;
    event.bytes = bytes;
    event.device = 0;
    event.of.memory.address = address;
    event.of.memory.kind = device_kind;
    return event;
}

static void see(struct event_fields event)
{
    assert_int_equal(heap_event(&heap, &event), 0);
}

static void allocate(int64_t time, int64_t address, int64_t bytes)
{
    see(instant(allocate_name, time, address, bytes));
}

static void give_back(int64_t time, int64_t address)
{
    see(instant(release_name, time, address, FIELD_ABSENT));
}

static void pytorch(int64_t time, int64_t address, int64_t bytes)
{
    struct event_fields event = instant(memory_name, time, address, bytes);
    event.category = CATEGORY_CPU_INSTANT_EVENT;
    event.of.memory.device_type = 1;
    see(event);
}

static void finish(void)
{
    assert_int_equal(heap_finish(&heap), 0);
}

/* The number of the only group of this size. */
static size_t group_of(int64_t size)
{
    size_t found = SIZE_MAX;
    for (size_t i = 0; i < heap.groups.count; i++)
        if (heap_group_id(&heap, i)->size == size) {
            assert_true(found == SIZE_MAX);
            found = i;
        }
    assert_true(found != SIZE_MAX);
    return found;
}

static void assert_group(int64_t size, int64_t allocations, int64_t live, int64_t at_peak)
{
    size_t group = group_of(size);
    assert_int_equal(heap.groups.items[group].allocations, allocations);
    assert_int_equal(heap.groups.items[group].live, live);
    assert_int_equal(heap_group_at_peak(&heap, group), at_peak);
}

static size_t count_live(void)
{
    size_t count = 0;
    for (size_t i = 0; i < heap.lives.count; i++)
        count += heap.lives.items[i].used;
    return count;
}

UNIT_TEST_WITH(a_peak_is_made_of_what_was_live_then, begin, end)
{
    allocate(1, 0x1, 100);
    allocate(2, 0x2, 50);
    give_back(3, 0x2);
    allocate(4, 0x3, 100);
    allocate(5, 0x4, 60); /* 260: the peak */
    give_back(6, 0x1);
    allocate(7, 0x5, 50);
    give_back(8, 0x3);
    give_back(9, 0x4);
    finish();
    assert_int_equal(heap.places.count, 1);
    assert_int_equal(heap.places.items[0].peak, 260);
    assert_int_equal(heap.places.items[0].peak_at, 5);
    assert_int_equal(heap.places.items[0].bytes, 50);
    assert_group(100, 2, 0, 2);
    assert_group(60, 1, 0, 1);
    assert_group(50, 2, 1, 0);
}

UNIT_TEST_WITH(a_peak_at_the_end_is_made_of_what_is_live, begin, end)
{
    allocate(1, 0x1, 100);
    give_back(2, 0x1);
    allocate(3, 0x2, 70);
    allocate(4, 0x3, 70);
    finish();
    assert_int_equal(heap.places.items[0].peak, 140);
    assert_group(100, 1, 0, 0);
    assert_group(70, 2, 2, 2);
}

/* Each alike to what a slow count says: a walk of random steps. */
UNIT_TEST_WITH(peaks_are_those_of_a_slow_count, begin, end)
{
    enum { ADDRESSES = 40, SIZES = 5 };
    int64_t size_at[ADDRESSES] = {0}, live[SIZES + 1] = {0}, then[SIZES + 1] = {0}, bytes = 0, peak = 0;
    unsigned seed = 11;
    for (int64_t time = 1; time < 3000; time++) {
        seed = seed * 1664525 + 1013904223;
        int64_t address = (seed >> 8) % ADDRESSES, size = 1 + (seed >> 20) % SIZES;
        bool free_it = size_at[address] != 0;
        int64_t changed = free_it ? size_at[address] : size;
        free_it ? give_back(time, address) : allocate(time, address, size);
        size_at[address] = free_it ? 0 : size;
        live[changed] += free_it ? -1 : 1;
        bytes += free_it ? -changed : changed;
        if (bytes > peak)
            memcpy(then, live, sizeof(then)), peak = bytes;
    }
    finish();
    assert_int_equal(heap.places.items[0].peak, peak);
    for (int64_t size = 1; size <= SIZES; size++) {
        assert_int_equal(heap_group_at_peak(&heap, group_of(size)), then[size]);
        assert_int_equal(heap.groups.items[group_of(size)].live, live[size]);
    }
}

UNIT_TEST_WITH(memory_does_not_grow_with_what_comes_and_goes, begin, end)
{
    for (int64_t i = 0; i < 10000; i++) {
        allocate(2 * i, i, 64);
        give_back(2 * i + 1, i);
    }
    finish();
    assert_int_equal(heap.groups.count, 1);
    assert_true(heap.lives.count <= 2);
    assert_int_equal(count_live(), 0);
}

UNIT_TEST_WITH(devices_processes_and_stacks_are_kept_apart, begin, end)
{
    struct event_fields event = instant(allocate_name, 1, 0x1, 10);
    see(event);
    event.process = OTHER; /* the same address there is another one */
    see(event);
    event.device = FIELD_ABSENT;
    event.of.memory.address = 0x2;
    see(event);
    event.stack = 7;
    event.of.memory.address = 0x3;
    see(event);
    give_back(2, 0x1);
    finish();
    assert_int_equal(heap.groups.count, 4);
    assert_int_equal(heap.places.count, 3);
    assert_int_equal(heap.groups.items[0].live, 0);
    assert_int_equal(heap.groups.items[1].live, 1);
    assert_int_equal(heap_group_id(&heap, 3)->stack, 7);
}

UNIT_TEST_WITH(lives_shorter_than_a_millisecond_are_counted, begin, end)
{
    allocate(0, 0x1, 10);
    give_back(MS - 1, 0x1);
    allocate(2 * MS, 0x1, 10);
    give_back(2 * MS + 5, 0x1);
    allocate(3 * MS, 0x1, 10);
    give_back(4 * MS, 0x1);
    finish();
    const struct heap_group *group = &heap.groups.items[group_of(10)];
    assert_int_equal(group->allocations, 3);
    assert_int_equal(group->brief.count, 2);
    assert_int_equal(group->brief.shortest, 5);
    assert_int_equal(group->brief.longest, MS - 1);
    assert_int_equal(group->brief.time, MS + 4);
}

UNIT_TEST_WITH(what_is_not_known_or_was_refused_changes_nothing, begin, end)
{
    allocate(1, 0x1, 10);
    give_back(2, 0x9);
    struct event_fields refused = instant(release_name, 3, 0x1, FIELD_ABSENT);
    refused.return_value = 1;
    see(refused);
    allocate(4, 0x2, FIELD_ABSENT);
    allocate(5, 0x3, HEAP_SIZE_MAX + 1);
    allocate(6, FIELD_ABSENT, 10);
    finish();
    assert_int_equal(count_live(), 1);
    assert_int_equal(heap.groups.count, 1);
}

UNIT_TEST_WITH(an_address_given_out_again_early_is_freed_oldest_first, begin, end)
{
    allocate(1, 0x1, 10);
    allocate(2, 0x1, 20);
    allocate(3, 0x1, 30);
    give_back(4, 0x1);
    assert_int_equal(heap.groups.items[group_of(10)].live, 0);
    give_back(5, 0x1);
    assert_int_equal(heap.groups.items[group_of(20)].live, 0);
    assert_int_equal(heap.groups.items[group_of(30)].live, 1);
    give_back(6, 0x1);
    give_back(7, 0x1);
    finish();
    assert_int_equal(count_live(), 0);
}

UNIT_TEST_WITH(failures_are_kept_one_by_one, begin, end)
{
    struct event_fields failed = instant(allocate_name, 5, 0, 1000);
    failed.return_value = 2;
    failed.of.memory.held = 30;
    failed.stack = 4;
    see(failed);
    struct event_fields of_pytorch = instant(failure_name, 6, FIELD_ABSENT, 2000);
    of_pytorch.category = CATEGORY_CPU_INSTANT_EVENT;
    of_pytorch.of.memory.total_allocated = 40;
    see(of_pytorch);
    finish();
    assert_int_equal(heap.failures.count, 2);
    const struct heap_failure *first = &heap.failures.items[0], *second = first + 1;
    assert_true(first->time == 5 && first->asked.size == 1000 && first->held == 30 && first->asked.stack == 4 &&
                first->result == 2);
    assert_true(second->asked.size == 2000 && second->held == 40 && second->asked.source == HEAP_OF_PYTORCH);
    assert_int_equal(heap.groups.count, 0);
}

/* Its events come thread by thread. */
UNIT_TEST_WITH(pytorch_s_events_are_taken_by_time, begin, end)
{
    pytorch(1, 0x1, 512);
    pytorch(4, 0x1, 1024);
    pytorch(2, 0x2, 256);
    pytorch(3, 0x1, -512);
    pytorch(5, 0x2, -256);
    finish();
    assert_int_equal(heap.places.items[0].peak, 1280);
    assert_int_equal(heap.places.items[0].peak_at, 4);
    assert_group(512, 1, 0, 0);
    assert_group(256, 1, 0, 1);
    assert_group(1024, 1, 1, 1);
}

static void assert_then(size_t count, uint64_t first)
{
    assert_int_equal(heap.then.count, count);
    if (count > 0)
        assert_int_equal(heap.then.items[0].address, first);
}

UNIT_TEST_WITH(what_was_live_at_a_time_is_kept, begin, end)
{
    heap.asked_at = 20;
    allocate(10, 0x1, 8);
    allocate(20, 0x2, 8); /* at that very moment: it counts */
    give_back(15, 0x1);   /* what comes late is taken as it comes */
    allocate(21, 0x3, 8);
    finish();
    assert_then(1, 0x2);
}

UNIT_TEST_WITH(a_process_that_was_done_before_that_time_is_reported_as_it_was_left, begin, end)
{
    heap.asked_at = 1000;
    allocate(10, 0x1, 8);
    allocate(20, 0x2, 8);
    give_back(30, 0x1);
    pytorch(5, 0x7, 64);
    pytorch(2000, 0x8, 64);
    finish();
    assert_int_equal(heap.then.count, 2);
}

UNIT_MAIN(NULL, NULL)
