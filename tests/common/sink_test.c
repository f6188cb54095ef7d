#include "tests/unit.h"

#include <errno.h>
#include <inttypes.h>

#include "common/sink.h"

static void numbers_are_written_as_printf_would(void **state)
{
    (void)state;
    static const int64_t values[] = {0, 9, 10, -1, 1234567890123, INT64_MAX, INT64_MIN};
    for (size_t i = 0; i < sizeof(values) / sizeof(*values); i++) {
        char expected[32];
        struct sink sink;
        sink_init_memory(&sink);
        sink_i64(&sink, values[i]);
        sink_char(&sink, '\0');
        snprintf(expected, sizeof(expected), "%" PRId64, values[i]);
        assert_string_equal(sink.data, expected);
        sink_release(&sink);
    }
}

static void text_longer_than_the_buffer_arrives_whole(void **state)
{
    (void)state;
    FILE *file = tmpfile();
    struct sink sink;
    sink_init(&sink, sink_drain_fd, SINK_FD(fileno(file)));
    for (int i = 0; i < 100000; i++)
        sink_format(&sink, "%05d%s", i, "abcde");
    char *large = malloc(1000000);
    memset(large, 'x', 1000000);
    sink_bytes(&sink, large, 1000000);
    assert_int_equal(sink_finish(&sink), 0);
    assert_int_equal(sink.total, 2000000);
    assert_int_equal(lseek(fileno(file), 0, SEEK_END), 2000000);
    char part[11] = "";
    assert_int_equal(pread(fileno(file), part, 10, 999990), 10);
    assert_string_equal(part, "99999abcde");
    sink_release(&sink);
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

static void the_first_failure_stays_and_the_rest_is_dropped(void **state)
{
    (void)state;
    struct sink sink;
    calls = 0;
    sink_init(&sink, full_disk, NULL);
    for (int i = 0; i < 1000000; i++)
        sink_text(&sink, "some text");
    assert_int_equal(sink_finish(&sink), ENOSPC);
    errno = 0;
    sink_text(&sink, "more");
    assert_int_equal(sink_finish(&sink), ENOSPC);
    assert_int_equal(calls, 1);
    sink_release(&sink);
}

static void a_closed_descriptor_is_told(void **state)
{
    (void)state;
    struct sink sink;
    sink_init(&sink, sink_drain_fd, SINK_FD(-1));
    sink_text(&sink, "lost");
    assert_int_equal(sink_finish(&sink), EBADF);
    sink_release(&sink);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_are_written_as_printf_would),
        cmocka_unit_test(text_longer_than_the_buffer_arrives_whole),
        cmocka_unit_test(the_first_failure_stays_and_the_rest_is_dropped),
        cmocka_unit_test(a_closed_descriptor_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
