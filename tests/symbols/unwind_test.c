#include "tests/unit.h"

#include <execinfo.h>
#include <pthread.h>

#include "common/machine.h"
#include "symbols/unwind.h"

/* --- what is mapped --- */

static struct code_map map;

UNIT_FIXTURE(begin)
{
    map = (struct code_map){0};
    return 0;
}

UNIT_FIXTURE(end)
{
    code_map_release(&map);
    return 0;
}

static void add(uint64_t start, uint64_t range_end, uint32_t file)
{
    struct code_range range = {.start = start, .end = range_end, .offset = start, .file = file};
    assert_int_equal(code_map_add(&map, &range), 0);
}

static void assert_file(uint64_t address, uint32_t file)
{
    const struct code_range *range = code_map_find(&map, address);
    assert_non_null(range);
    assert_int_equal(range->file, file);
    assert_int_equal(range->offset, range->start); /* also of what is left of a range */
}

UNIT_TEST_WITH(an_address_belongs_to_the_range_around_it, begin, end)
{
    add(0x3000, 0x4000, 3);
    add(0x1000, 0x2000, 1);
    add(0x2000, 0x3000, 2);
    assert_null(code_map_find(&map, 0xfff));
    assert_file(0x1000, 1);
    assert_file(0x1fff, 1);
    assert_file(0x2000, 2);
    assert_file(0x3fff, 3);
    assert_null(code_map_find(&map, 0x4000));
}

UNIT_TEST_WITH(a_new_range_takes_the_place_of_what_was_there, begin, end)
{
    add(0x1000, 0x5000, 1);
    add(0x2000, 0x3000, 2); /* within */
    assert_file(0x1fff, 1);
    assert_file(0x2000, 2);
    assert_file(0x3000, 1);
    add(0x4000, 0x8000, 3); /* over the end of one, and beyond */
    assert_file(0x3fff, 1);
    assert_file(0x4000, 3);
    add(0x1800, 0x4800, 4); /* over several */
    assert_file(0x17ff, 1);
    assert_file(0x1800, 4);
    assert_file(0x47ff, 4);
    assert_file(0x4800, 3);
    assert_int_equal(map.items.count, 3);
    add(0x1000, 0x8000, 5);
    assert_int_equal(map.items.count, 1);
    add(0x9000, 0x9000, 6); /* of no bytes */
    assert_int_equal(map.items.count, 1);
}

UNIT_TEST_WITH(a_copy_is_of_its_own, begin, end)
{
    struct code_map copy;
    add(0x1000, 0x2000, 1);
    assert_int_equal(code_map_copy(&copy, &map), 0);
    add(0x1000, 0x2000, 2);
    assert_int_equal(code_map_find(&copy, 0x1000)->file, 1);
    assert_file(0x1000, 2);
    code_map_release(&copy);
}

/* --- stacks --- */

#if MACHINE != EM_NONE

#define COPY_BYTES 16384
#define FRAMES 64

static struct unwinder *unwinder;
static struct unwind_state here;
static uint8_t copy[COPY_BYTES];
static void *expected[FRAMES];
static int expected_count;
static uint64_t stack_end;

/* This process's code. */
static void read_maps(void)
{
    char line[4096];
    FILE *file = fopen("/proc/self/maps", "r");
    assert_non_null(file);
    while (fgets(line, sizeof(line), file)) {
        unsigned long start, stop, offset, inode;
        char may[8], path[1024] = "";
        if (sscanf(line, "%lx-%lx %7s %lx %*s %lu %1023s", &start, &stop, may, &offset, &inode, path) < 5 ||
            may[2] != 'x')
            continue;
        struct code_range range = {.start = start, .end = stop, .offset = offset, .inode = inode};
        range.file = *path ? unwinder_file(unwinder, path, inode) : UNWIND_NO_FILE;
        assert_int_equal(code_map_add(&map, &range), 0);
    }
    fclose(file);
}

UNIT_FIXTURE(begin_stacks)
{
    map = (struct code_map){0};
    unwinder = unwinder_new(UINT64_MAX, MACHINE);
    assert_non_null(unwinder);
    read_maps();
    pthread_attr_t attributes;
    void *lowest;
    size_t size;
    assert_int_equal(pthread_getattr_np(pthread_self(), &attributes), 0);
    assert_int_equal(pthread_attr_getstack(&attributes, &lowest, &size), 0);
    pthread_attr_destroy(&attributes);
    stack_end = (uint64_t)(uintptr_t)lowest + size;
    return 0;
}

UNIT_FIXTURE(end_stacks)
{
    unwinder_free(unwinder);
    code_map_release(&map);
    return 0;
}

/* Our own stack, which a sanitizer lets nobody read as a whole. */
__attribute__((no_sanitize("address"))) static void copy_stack(void)
{
    const volatile uint8_t *from = (const volatile uint8_t *)here.sp; /* NOLINT: an address of this process */
    for (size_t i = 0; i < here.size; i++)
        copy[i] = from[i];
}

/* The registers, as the kernel would have them here, and what backtrace() says. */
__attribute__((noinline)) static void look(void)
{
#if defined(__aarch64__)
    __asm__ volatile("mov %0, x30\n\tmov %1, x29\n\tmov %2, sp\n\tadr %3, ."
                     : "=&r"(here.extra), "=&r"(here.bp), "=&r"(here.sp), "=&r"(here.ip)
                     :
                     : "memory");
#else
    __asm__ volatile("movq %%rbx, %0\n\tmovq %%rbp, %1\n\tmovq %%rsp, %2\n\tleaq (%%rip), %%rax\n\tmovq %%rax, %3"
                     : "=m"(here.extra), "=m"(here.bp), "=m"(here.sp), "=m"(here.ip)
                     :
                     : "rax", "memory");
#endif
    here.stack = copy;
    here.size = stack_end - here.sp < sizeof(copy) ? (size_t)(stack_end - here.sp) : sizeof(copy);
    copy_stack();
    expected_count = backtrace(expected, FRAMES);
}

__attribute__((noinline)) static unsigned dive(int depth)
{
    volatile unsigned char frame[40];
    frame[0] = (unsigned char)depth;
    if (depth > 0)
        frame[1] = (unsigned char)dive(depth - 1);
    else
        look();
    return frame[0];
}

UNIT_TEST_WITH(a_stack_is_what_backtrace_says, begin_stacks, end_stacks)
{
    uint64_t addresses[FRAMES];
    dive(5);
    size_t count = unwind(unwinder, &map, &here, addresses, FRAMES);
    assert_true(count >= 8 && count <= (size_t)expected_count + 1);
    assert_int_equal(addresses[0], here.ip);
    /* backtrace() begins with its own frame, look() or the caller of that */
    void *const *callers = expected;
    while (callers < expected + 3 && (uint64_t)(uintptr_t)*callers != addresses[1])
        callers++;
    for (int again = 0; again < 2; again++) { /* from what is kept then */
        for (size_t i = 1; i < count; i++)
            assert_int_equal(addresses[i], (uint64_t)(uintptr_t)callers[i - 1]);
        assert_int_equal(unwind(unwinder, &map, &here, addresses, FRAMES), count);
    }
}

UNIT_TEST_WITH(a_stack_ends_where_its_copy_or_the_space_ends, begin_stacks, end_stacks)
{
    uint64_t all[FRAMES], addresses[FRAMES];
    dive(5);
    size_t count = unwind(unwinder, &map, &here, all, FRAMES);
    assert_int_equal(unwind(unwinder, &map, &here, addresses, 3), 3);
    assert_memory_equal(addresses, all, 3 * sizeof(*all));
    size_t last = 0;
    for (size_t size = 0; size <= 2048; size += 8) {
        struct unwind_state part = here;
        part.size = size;
        size_t some = unwind(unwinder, &map, &part, addresses, FRAMES);
        assert_true(some >= 1 && some <= count && some >= last);
        assert_memory_equal(addresses, all, some * sizeof(*all));
        last = some;
    }
    assert_true(last > 3);
}

UNIT_TEST_WITH(where_nothing_is_mapped_there_is_one_frame, begin_stacks, end_stacks)
{
    uint64_t addresses[FRAMES];
    struct code_map nothing = {0};
    dive(3);
    assert_int_equal(unwind(unwinder, &nothing, &here, addresses, FRAMES), 1);
    assert_int_equal(addresses[0], here.ip);
}

UNIT_TEST_WITH(code_without_tables_is_followed_by_its_frame_pointers, begin, end)
{
    uint64_t addresses[FRAMES];
    uint64_t stack[16] = {[2] = 0x7000 + 6 * 8, [3] = 0x1100, [6] = 0x7000 + 9 * 8, [7] = 0x1200, [9] = 5, [10] = 0x99};
    struct unwind_state at = {
        .ip = 0x1000, .sp = 0x7000, .bp = 0x7000 + 2 * 8, .stack = (const uint8_t *)stack, .size = sizeof(stack)};
    unwinder = unwinder_new(0, EM_X86_64);
    add(0x1000, 0x2000, UNWIND_NO_FILE);
    assert_int_equal(unwind(unwinder, &map, &at, addresses, FRAMES), 3);
    assert_int_equal(addresses[1], 0x1100);
    assert_int_equal(addresses[2], 0x1200); /* 0x99 is not code */
    stack[6] = 0x7000;                      /* downwards: no frame of a caller */
    assert_int_equal(unwind(unwinder, &map, &at, addresses, FRAMES), 3);
    at.bp = 0x7001;
    assert_int_equal(unwind(unwinder, &map, &at, addresses, FRAMES), 1);
    unwinder_free(unwinder);
}

UNIT_TEST_WITH(return_addresses_of_aarch64_may_be_signed, begin, end)
{
    const uint64_t sign = UINT64_C(0x2a5f) << 48;
    uint64_t addresses[FRAMES];
    uint64_t stack[16] = {[2] = 0x7000 + 6 * 8, [3] = sign | 0x1100, [7] = sign | 0x1200};
    struct unwind_state at = {
        .ip = 0x1000, .sp = 0x7000, .bp = 0x7000 + 2 * 8, .stack = (const uint8_t *)stack, .size = sizeof(stack)};
    add(0x1000, 0x2000, UNWIND_NO_FILE);
    unwinder = unwinder_new(0, EM_AARCH64);
    assert_int_equal(unwind(unwinder, &map, &at, addresses, FRAMES), 3);
    assert_int_equal(addresses[1], 0x1100);
    assert_int_equal(addresses[2], 0x1200);
    unwinder_free(unwinder);
    unwinder = unwinder_new(0, EM_X86_64);
    assert_int_equal(unwind(unwinder, &map, &at, addresses, FRAMES), 1);
    unwinder_free(unwinder);
}

#endif

UNIT_MAIN(NULL, NULL)
