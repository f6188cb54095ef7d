#include "agent/cupti/driver_calls.h"

#include <sys/mman.h>

#include "tests/unit.h"

/* The bytes end where readable memory ends, so that reading on is a crash. */
static enum gputrace_image sort_at_end(const void *bytes, size_t length)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    char *pages = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(pages != MAP_FAILED);
    assert_int_equal(mprotect(pages + page, page, PROT_NONE), 0);
    memcpy(pages + page - length, bytes, length);
    enum gputrace_image image = image_sort(pages + page - length);
    munmap(pages, 2 * page);
    return image;
}

UNIT_TEST(binaries_are_known_by_four_bytes)
{
    assert_int_equal(sort_at_end("\x7f"
                                 "ELF",
                                 4),
                     GPUTRACE_IMAGE_CUBIN);
    const uint32_t header = 0xba55ed50, wrapper = 0x466243b1, unknown = 0x12345678;
    assert_int_equal(sort_at_end(&header, 4), GPUTRACE_IMAGE_FATBIN);
    assert_int_equal(sort_at_end(&wrapper, 4), GPUTRACE_IMAGE_FATBIN);
    assert_int_equal(sort_at_end(&unknown, 4), GPUTRACE_IMAGE_UNKNOWN);
}

#define TEXT(text) sort_at_end(text, sizeof(text)) /* with its NUL */

UNIT_TEST(ptx_begins_with_its_version)
{
    assert_int_equal(TEXT(".version 8.0"), GPUTRACE_IMAGE_PTX);
    assert_int_equal(TEXT("\n\t .version 8.0"), GPUTRACE_IMAGE_PTX);
    assert_int_equal(TEXT("//\n// made by a compiler\n//\n\n.version 8.0"), GPUTRACE_IMAGE_PTX);
    assert_int_equal(TEXT("/* one\n * two **/ // three\n.version 8.0"), GPUTRACE_IMAGE_PTX);
}

UNIT_TEST(other_texts_are_not_read_beyond_their_end)
{
    assert_int_equal(TEXT(""), GPUTRACE_IMAGE_UNKNOWN);
    assert_int_equal(TEXT("."), GPUTRACE_IMAGE_UNKNOWN);
    assert_int_equal(TEXT(".versio"), GPUTRACE_IMAGE_UNKNOWN);
    assert_int_equal(TEXT("  "), GPUTRACE_IMAGE_UNKNOWN);
    assert_int_equal(TEXT("/"), GPUTRACE_IMAGE_UNKNOWN);
    assert_int_equal(TEXT("//"), GPUTRACE_IMAGE_UNKNOWN);
    assert_int_equal(TEXT("// never ended"), GPUTRACE_IMAGE_UNKNOWN);
    assert_int_equal(TEXT("/* never ended *"), GPUTRACE_IMAGE_UNKNOWN);
    assert_int_equal(TEXT("\x7f"
                          "EL"),
                     GPUTRACE_IMAGE_UNKNOWN);
    assert_int_equal(TEXT("P"), GPUTRACE_IMAGE_UNKNOWN);
    assert_int_equal(image_sort(NULL), GPUTRACE_IMAGE_UNKNOWN);
}

UNIT_MAIN(NULL, NULL)
