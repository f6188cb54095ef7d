#include "tests/unit.h"

#include <linux/perf_event.h>

#include "perf/recorder.h"

/* Rings as the kernel would have filled them. */

#define RING_BYTES 4096
#define SOURCE_SAMPLE 11
#define SOURCE_WAKING 12

static struct perf_rings rings;
static struct perf_event_mmap_page pages[2];
static uint64_t data[2][RING_BYTES / 8];

static struct perf_record seen[64];
static char texts[64][32];
static size_t seen_count;

UNIT_FIXTURE(begin)
{
    rings = (struct perf_rings){.able = {.stack_copy = PERF_REGISTER_COUNT > 0}};
    memset(pages, 0, sizeof(pages));
    memset(data, 0, sizeof(data));
    seen_count = 0;
    for (int i = 0; i < 2; i++) {
        struct perf_ring *ring = array_push(&rings.rings);
        *ring = (struct perf_ring){.fd = -1, .page = &pages[i], .data = (uint8_t *)data[i], .size = RING_BYTES};
    }
    rings.space = malloc(UINT16_MAX + 1);
    *map_put(&rings.kinds, SOURCE_SAMPLE, NULL) = PERF_SOURCE_MAIN + 1;
    *map_put(&rings.kinds, SOURCE_WAKING, NULL) = PERF_SOURCE_WAKING + 1;
    rings.woken_offset = 8;
    rings.flags_offset = 2;
    return 0;
}

UNIT_FIXTURE(end)
{
    array_release(&rings.rings);
    map_release(&rings.kinds);
    free(rings.space);
    return 0;
}

static void put_word(int ring, uint64_t word)
{
    data[ring][pages[ring].data_head % RING_BYTES / 8] = word;
    pages[ring].data_head += 8;
}

static void put_head(int ring, uint32_t type, uint16_t misc, size_t words)
{
    put_word(ring, type | (uint64_t)misc << 32 | (uint64_t)((words + 1) * 8) << 48);
}

static uint64_t pair(uint32_t first, uint32_t second)
{
    return first | (uint64_t)second << 32;
}

/* A record with these words, then who and when. */
static void put(int ring, uint32_t type, uint16_t misc, uint64_t time, const uint64_t *words, size_t count)
{
    put_head(ring, type, misc, count + 3);
    for (size_t i = 0; i < count; i++)
        put_word(ring, words[i]);
    put_word(ring, pair(5, 6));
    put_word(ring, time);
    put_word(ring, SOURCE_SAMPLE);
}

static void put_switch(int ring, uint64_t time, uint16_t misc)
{
    put(ring, PERF_RECORD_SWITCH, misc, time, NULL, 0);
}

static void take(void *context, const struct perf_record *record)
{
    (void)context;
    assert_true(seen_count < 64);
    const char *text = record->kind == PERF_KIND_MAP    ? record->map.path
                       : record->kind == PERF_KIND_NAME ? record->name.text
                                                        : "";
    snprintf(texts[seen_count], sizeof(texts[0]), "%s", text);
    seen[seen_count++] = *record;
}

static void read_until(uint64_t time)
{
    seen_count = 0;
    perf_rings_read(&rings, time, take, NULL);
}

UNIT_TEST_WITH(records_of_all_rings_come_in_order_of_time_up_to_a_time, begin, end)
{
    put_switch(0, 10, PERF_RECORD_MISC_SWITCH_OUT);
    put_switch(0, 30, 0);
    put_switch(0, 60, 0);
    put_switch(1, 20, PERF_RECORD_MISC_SWITCH_OUT | PERF_RECORD_MISC_SWITCH_OUT_PREEMPT);
    put_switch(1, 40, 0);
    read_until(41);
    assert_int_equal(seen_count, 4);
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(seen[i].time, 10 * (i + 1));
    assert_int_equal(seen[0].kind, PERF_KIND_OUT);
    assert_false(seen[0].preempted);
    assert_int_equal(seen[1].kind, PERF_KIND_OUT);
    assert_true(seen[1].preempted);
    assert_int_equal(seen[2].kind, PERF_KIND_IN);
    assert_int_equal(seen[2].pid, 5);
    assert_int_equal(seen[2].tid, 6);
    assert_int_equal(pages[1].data_tail, pages[1].data_head); /* the kernel may use it again */
    assert_true(pages[0].data_tail < pages[0].data_head);
    put_switch(1, 50, 0);
    read_until(UINT64_MAX);
    assert_int_equal(seen_count, 2);
    assert_int_equal(seen[0].time, 50);
    assert_int_equal(seen[1].time, 60);
    read_until(UINT64_MAX);
    assert_int_equal(seen_count, 0);
}

/* 72 bytes each, so that records lie around the end in every way. */
UNIT_TEST_WITH(a_record_around_the_end_of_its_ring_is_whole, begin, end)
{
    uint64_t words[5] = {pair(7, 8)};
    memcpy(words + 1, "a name of fifteen bytes, more", 30);
    for (uint64_t time = 1; time < 400; time++) {
        put(0, PERF_RECORD_COMM, PERF_RECORD_MISC_COMM_EXEC, time, words, 5);
        read_until(UINT64_MAX);
        assert_int_equal(seen_count, 1);
        assert_int_equal(seen[0].kind, PERF_KIND_NAME);
        assert_int_equal(seen[0].time, time);
        assert_int_equal(seen[0].pid, 7);
        assert_int_equal(seen[0].tid, 8);
        assert_true(seen[0].name.exec);
        assert_string_equal(texts[0], "a name of fifteen bytes, more");
    }
}

UNIT_TEST_WITH(mappings_and_forks_are_read, begin, end)
{
    uint64_t map[10] = {pair(7, 8), 0x1000, 0x2000, 0x3000, pair(1, 2), 99, 0, 0};
    const uint64_t fork[] = {pair(9, 7), pair(10, 8), 77};
    memcpy(map + 8, "/lib/x.so", 10);
    put(0, PERF_RECORD_MMAP2, 0, 1, map, 10);
    put(0, PERF_RECORD_FORK, 0, 2, fork, 3);
    put(0, PERF_RECORD_EXIT, 0, 3, fork, 3);
    put(0, PERF_RECORD_MMAP2, PERF_RECORD_MISC_MMAP_BUILD_ID, 4, map, 10); /* not asked for */
    memset(map + 8, 'x', 16);
    put(0, PERF_RECORD_MMAP2, 0, 5, map, 10); /* a text without an end */
    read_until(UINT64_MAX);
    assert_int_equal(seen_count, 4);
    assert_int_equal(seen[0].map.start, 0x1000);
    assert_int_equal(seen[0].map.length, 0x2000);
    assert_int_equal(seen[0].map.offset, 0x3000);
    assert_int_equal(seen[0].map.inode, 99);
    assert_string_equal(texts[0], "/lib/x.so");
    assert_int_equal(seen[1].kind, PERF_KIND_FORK);
    assert_int_equal(seen[1].pid, 9);
    assert_int_equal(seen[1].tid, 10);
    assert_int_equal(seen[1].parent.pid, 7);
    assert_int_equal(seen[1].parent.tid, 8);
    assert_int_equal(seen[2].kind, PERF_KIND_EXIT);
    assert_string_equal(texts[3], "");
}

static void put_sample(int ring, uint64_t source, uint64_t time, const uint64_t *words, size_t count)
{
    put_head(ring, PERF_RECORD_SAMPLE, 0, count + 3);
    put_word(ring, source);
    put_word(ring, pair(5, 6));
    put_word(ring, time);
    for (size_t i = 0; i < count; i++)
        put_word(ring, words[i]);
}

#if defined(__x86_64__) || defined(__aarch64__)

UNIT_TEST_WITH(a_sample_has_registers_and_as_much_of_the_stack_as_there_is, begin, end)
{
    const uint64_t sample[] = {PERF_SAMPLE_REGS_ABI_64, 1, 2, 3, 4, 16, 0xaa, 0xbb, 8};
    const uint64_t too_long[] = {PERF_SAMPLE_REGS_ABI_64, 1, 2, 3, 4, 1600, 0xaa, 0xbb, 8};
    const uint64_t none[] = {PERF_SAMPLE_REGS_ABI_NONE, 0};
    put_sample(0, SOURCE_SAMPLE, 1, sample, 9);
    put_sample(0, SOURCE_SAMPLE, 2, too_long, 9);
    put_sample(0, SOURCE_SAMPLE, 3, none, 2);
    put_sample(0, 99, 4, sample, 9); /* of no event of ours */
    read_until(UINT64_MAX);
    assert_int_equal(seen_count, 3);
    assert_int_equal(seen[0].kind, PERF_KIND_SAMPLE);
    assert_true(seen[0].place.known);
    assert_int_equal(seen[0].place.extra, PERF_REGISTER_EXTRA + 1);
    assert_int_equal(seen[0].place.bp, PERF_REGISTER_BP + 1);
    assert_int_equal(seen[0].place.sp, 3);
    assert_int_equal(seen[0].place.ip, 4);
    assert_int_equal(seen[0].place.size, 8);
    assert_int_equal(seen[1].place.size, 0);
    assert_false(seen[2].place.known);
}

#endif

UNIT_TEST_WITH(without_copies_a_sample_has_the_calls_outside_of_the_kernel, begin, end)
{
    const uint64_t sample[] = {3, (uint64_t)PERF_CONTEXT_USER, 0x10, 0x20};
    const uint64_t damaged[] = {300, (uint64_t)PERF_CONTEXT_USER, 0x10, 0x20};
    rings.able.stack_copy = false;
    put_sample(0, SOURCE_SAMPLE, 1, sample, 4);
    put_sample(0, SOURCE_SAMPLE, 2, damaged, 4);
    read_until(UINT64_MAX);
    assert_int_equal(seen_count, 2);
    assert_int_equal(seen[0].place.call_count, 2);
    assert_int_equal(seen[1].place.call_count, 0);
}

/* The data of a trace point, after its size of 4 bytes: common fields, then whom it woke at 8. */
UNIT_TEST_WITH(who_woke_whom_is_read_and_interrupts_are_known, begin, end)
{
    for (unsigned flags = 0; flags < 256; flags = flags ? flags * 2 : 1) {
        const uint64_t waking[] = {20 | (uint64_t)flags << 48, (uint64_t)4711 << 32, 0};
        put_sample(0, SOURCE_WAKING, 1 + flags, waking, 3);
    }
    read_until(UINT64_MAX);
    assert_int_equal(seen_count, 9);
    for (size_t i = 0; i < 9; i++) {
        assert_int_equal(seen[i].kind, PERF_KIND_WAKE);
        assert_int_equal(seen[i].wake.system_tid, 4711);
        assert_int_equal(seen[i].wake.interrupted, i == 4 || i == 5 || i == 7); /* 8, 16, 64 */
    }
}

UNIT_TEST_WITH(what_was_lost_is_counted_but_not_of_stacks, begin, end)
{
    const uint64_t lost[] = {SOURCE_SAMPLE, 17};
    rings.rings.items[1].stacks = true;
    put(0, PERF_RECORD_LOST, 0, 1, lost, 2);
    put(1, PERF_RECORD_LOST, 0, 2, lost, 2);
    put_switch(1, 3, 0);
    read_until(UINT64_MAX);
    assert_int_equal(seen_count, 2);
    assert_int_equal(seen[0].kind, PERF_KIND_LOST);
    assert_int_equal(seen[0].lost, 17);
    assert_int_equal(seen[1].kind, PERF_KIND_IN);
}

UNIT_TEST_WITH(a_size_that_cannot_be_ends_the_ring_for_now, begin, end)
{
    put_switch(0, 1, 0);
    put_head(0, PERF_RECORD_SWITCH, 0, 100); /* longer than what is there */
    put_switch(1, 2, 0);
    read_until(UINT64_MAX);
    assert_int_equal(seen_count, 2);
    put_switch(0, 3, 0);
    read_until(UINT64_MAX);
    assert_int_equal(seen_count, 1);
    assert_int_equal(seen[0].time, 3);
}

UNIT_MAIN(NULL, NULL)
