
#include <sys/mman.h>
#include <ucontext.h>

#include "agent/main/crash_handler.h"
#include "common/machine.h"
#include "common/memory.h"
#include "common/settings.h"
#include "tests/agent/spool/test_spool.h"

UNIT_FIXTURE(open_spool)
{
    return open_test_spool(TRACE_DEFAULT) | crash_chunk_open();
}

#if MACHINE != EM_NONE

/* Places in struct spool_crash_stack, and in a context. */
#if defined(__aarch64__)
enum { STACK_POINTER = 15, INSTRUCTION_POINTER = 16 };
#define SP uc_mcontext.sp
#define IP uc_mcontext.pc
#else
enum { STACK_POINTER = 7, INSTRUCTION_POINTER = 16 };
#define SP uc_mcontext.gregs[REG_RSP]
#define IP uc_mcontext.gregs[REG_RIP]
#endif

static ucontext_t here(void)
{
    ucontext_t context;
    getcontext(&context);
    return context;
}

static const struct spool_crash_stack *last_stack(void)
{
    struct reading reading = read_spool(directory, getpid());
    unsigned count = count_records(&reading, SPOOL_RECORD_CRASH_STACK);
    return count > 0 ? find_record(&reading, SPOOL_RECORD_CRASH_STACK, count - 1) : NULL;
}

/* Whether a line of code that was saved holds ADDRESS. */
static bool is_saved(uint64_t address)
{
    struct reading reading = read_spool(directory, getpid());
    const struct spool_mapping *line;
    for (unsigned i = 0; (line = find_record(&reading, SPOOL_RECORD_MAPPING, i)); i++) {
        char text[512], *end;
        snprintf(text, sizeof(text), "%.*s", (int)line->length, line->text);
        uint64_t start = strtoull(text, &end, 16);
        if (address >= start && address < strtoull(end + 1, &end, 16) && strncmp(end, " r-xp ", 6) == 0)
            return true;
    }
    return false;
}

UNIT_TEST(a_stack_that_is_not_there_is_not_read)
{
    ucontext_t context = here();
    context.SP = 0x10;
    crash_stack_publish(&context, 7);
    assert_null(last_stack());
}

UNIT_TEST(what_is_mapped_behind_the_stack_is_not_read)
{
    const size_t page = page_bytes();
    char *pages = mmap(NULL, 3 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ucontext_t context = here();
    assert_int_equal(mprotect(pages + page, page, PROT_NONE), 0);
    context.SP = (__typeof__(context.SP))(uintptr_t)(pages + page - 64);
    memset(pages + page - 64, 'x', 64);
    crash_stack_publish(&context, 7);
    const struct spool_crash_stack *stack = last_stack();
    assert_int_equal(stack->length, 64);
    assert_memory_equal(stack->text, pages + page - 64, 64);
    assert_true(stack->stack == (uintptr_t)(pages + page - 64));
    munmap(pages, 3 * page);
}

UNIT_TEST(registers_memory_and_code_are_saved)
{
    volatile uint64_t mark = 0x1234567890abcdef;
    ucontext_t context = here();
    context.SP = (__typeof__(context.SP))(uintptr_t)&mark;
    context.IP = (__typeof__(context.IP))(uintptr_t)&memset;
    crash_stack_publish(&context, 7);
    const struct spool_crash_stack *stack = last_stack();
    assert_int_equal(stack->thread, 7);
    assert_int_equal(stack->machine, MACHINE);
    assert_true(stack->registers[STACK_POINTER] == (uintptr_t)&mark);
    assert_true(stack->registers[INSTRUCTION_POINTER] == (uintptr_t)&memset);
    assert_true(stack->length > 256);
    uint64_t word;
    memcpy(&word, stack->text, sizeof(word));
    assert_true(word == mark);
    assert_true(is_saved((uintptr_t)&memset));                     /* where it was */
    assert_true(is_saved((uintptr_t)__builtin_return_address(0))); /* what called it */
}

UNIT_TEST(a_chunk_that_is_full_gets_nothing)
{
    ucontext_t context = here();
    unsigned before = 0, after = 1;
    struct reading reading;
    while (before != after) {
        before = after;
        crash_stack_publish(&context, 7);
        reading = read_spool(directory, getpid());
        after = count_records(&reading, SPOOL_RECORD_CRASH_STACK) + count_records(&reading, SPOOL_RECORD_MAPPING);
    }
    assert_null(crash_chunk_begin(SPOOL_RECORD_CRASH_STACK, sizeof(struct spool_crash_stack) + 4096, 5));
}

#else

UNIT_TEST(nothing_is_saved_on_other_processors)
{
    crash_stack_publish(NULL, 7);
}

#endif

UNIT_MAIN(open_spool, remove_spool)
