#include "tests/unit.h"

#include <errno.h>
#include <inttypes.h>

#include "common/buffer.h"

UNIT_TEST(numbers_are_written_as_printf_would)
{
    static const int64_t values[] = {0, 9, 10, -1, 1234567890123, INT64_MAX, INT64_MIN};
    for (size_t i = 0; i < sizeof(values) / sizeof(*values); i++) {
        char expected[32];
        struct buffer buffer;
        buffer_init_memory(&buffer);
        buffer_i64(&buffer, values[i]);
        buffer_char(&buffer, '\0');
        snprintf(expected, sizeof(expected), "%" PRId64, values[i]);
        assert_string_equal(buffer.data, expected);
        buffer_release(&buffer);
    }
}

UNIT_TEST(text_longer_than_the_buffer_arrives_whole)
{
    FILE *file = tmpfile();
    struct buffer buffer;
    buffer_init(&buffer, buffer_drain_fd, BUFFER_FD(fileno(file)));
    for (int i = 0; i < 100000; i++)
        buffer_format(&buffer, "%05d%s", i, "abcde");
    char *large = malloc(1000000);
    memset(large, 'x', 1000000);
    buffer_bytes(&buffer, large, 1000000);
    assert_int_equal(buffer_finish(&buffer), 0);
    assert_int_equal(buffer.total, 2000000);
    assert_int_equal(lseek(fileno(file), 0, SEEK_END), 2000000);
    char part[11] = "";
    assert_int_equal(pread(fileno(file), part, 10, 999990), 10);
    assert_string_equal(part, "99999abcde");
    buffer_release(&buffer);
    free(large);
    fclose(file);
}

static int calls;

static int full_disk(void *context, const char *data, size_t size)
{
    (void)context, (void)data, (void)size;
    calls++;
    errno = ENOSPC;
    return -1;
}

UNIT_TEST(the_first_failure_stays_and_the_rest_is_dropped)
{
    struct buffer buffer;
    calls = 0;
    buffer_init(&buffer, full_disk, NULL);
    for (int i = 0; i < 1000000; i++)
        buffer_text(&buffer, "some text");
    assert_int_equal(buffer_finish(&buffer), ENOSPC);
    errno = 0;
    buffer_text(&buffer, "more");
    assert_int_equal(buffer_finish(&buffer), ENOSPC);
    assert_int_equal(calls, 1);
    buffer_release(&buffer);
}

UNIT_TEST(a_closed_descriptor_is_reported)
{
    struct buffer buffer;
    buffer_init(&buffer, buffer_drain_fd, BUFFER_FD(-1));
    buffer_text(&buffer, "lost");
    assert_int_equal(buffer_finish(&buffer), EBADF);
    buffer_release(&buffer);
}

UNIT_MAIN(NULL, NULL)
