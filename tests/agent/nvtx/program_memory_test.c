#include "agent/nvtx/nvtx.h"

#include <sys/mman.h>

#include "common/memory.h"
#include "tests/unit.h"

static uint64_t address_of(const void *at)
{
    return (uint64_t)(uintptr_t)at;
}

UNIT_TEST(memory_is_readable_up_to_the_page_that_is_not)
{
    size_t page = page_bytes();
    char *pages = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(pages, MAP_FAILED);
    assert_int_equal(mprotect(pages + page, page, PROT_NONE), 0);
    assert_int_equal(program_readable(address_of(pages), 3 * page), page);
    assert_int_equal(program_readable(address_of(pages + 5), 10), 10);
    assert_int_equal(program_readable(address_of(pages + page), 1), 0);
    memset(pages, 'x', page);
    assert_int_equal(program_text_length(address_of(pages + page - 7), 1, 100), 7);
    munmap(pages, 2 * page);
}

/* A program may put a small number where NVTX expects a pointer. */
UNIT_TEST(the_first_page_is_not_readable)
{
    for (uint64_t at = 0; at < 16; at++)
        assert_int_equal(program_readable(at, 8), 0);
}

UNIT_MAIN(NULL, NULL)
