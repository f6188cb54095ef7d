#include "tests/unit.h"

#include <fcntl.h>

#include "base/sink.h"
#include "tool/report/report.h"

/* Tests run at the top of the project. */
#define SMALL "tests/data/report/small.json"

static const char *folder;
static char path[300];
static char small[32 * 1024];
static size_t small_size;

static int begin(void **state)
{
    (void)state;
    folder = unit_directory();
    snprintf(path, sizeof(path), "%s/trace.json", folder);
    int fd = open(SMALL, O_RDONLY);
    ssize_t size = fd < 0 ? -1 : read(fd, small, sizeof(small));
    assert_true(size > 0 && (size_t)size < sizeof(small));
    small_size = (size_t)size;
    return close(fd);
}

static int end(void **state)
{
    (void)state;
    unit_remove(folder);
    return 0;
}

/* The report of SIZE bytes, and its length; what is printed is passed over unless it is an error without the file's
 * name. */
static int report_bytes(const char *bytes, size_t size, const struct report_options *options, size_t *length)
{
    const char *const paths[] = {path};
    struct sink out;
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, bytes, size), (ssize_t)size);
    close(fd);
    sink_init_memory(&out);
    unit_stderr_begin();
    int status = report_files(options, paths, 1, &out);
    const char *message = unit_stderr_end();
    *length = out.length;
    sink_release(&out);
    if (status < 0)
        assert_contains(message, path);
    return status;
}

static void every_format_reports_the_small_trace(void **state)
{
    (void)state;
    for (int format = REPORT_TABLE; format <= REPORT_MARKDOWN; format++) {
        struct report_options options = {.format = (enum report_format)format};
        size_t length;
        assert_int_equal(report_bytes(small, small_size, &options, &length), 0);
        assert_true(length > 3000);
    }
}

static void a_trace_cut_anywhere_is_refused(void **state)
{
    (void)state;
    struct report_options options = {0};
    for (size_t size = 0; size < small_size - 3; size += 7) {
        size_t length;
        assert_int_equal(report_bytes(small, size, &options, &length), -1);
        assert_int_equal(length, 0);
    }
}

/* Values of other types and sizes in the place of numbers and texts; run under sanitizers. */
static void strange_values_do_no_harm(void **state)
{
    (void)state;
    static const char *const values[] = {"-1",
                                         "1e999",
                                         "-4611686018427387",
                                         "4611686018427387",
                                         "-1e999",
                                         "9223372036854775807",
                                         "1e18",
                                         "null",
                                         "{}",
                                         "[]",
                                         "\"\"",
                                         "true",
                                         "0.0000001",
                                         "\"x\"",
                                         "1e-999",
                                         "4294967295",
                                         "\"\\u0000\"",
                                         "\"\\ud800\""};
    struct report_options options = {.by_grid = true, .names = REPORT_NAMES_SHORT};
    unsigned seed = 3;
    for (int round = 0; round < 1500; round++) {
        char text[sizeof(small) + 64];
        seed = seed * 1664525 + 1013904223;
        /* from after some ':' to the next ',' or '}' */
        size_t at = (seed >> 8) % small_size;
        const char *colon = memchr(small + at, ':', small_size - at);
        if (!colon)
            continue;
        size_t start = (size_t)(colon - small) + 1, rest = start + strcspn(small + start, ",}]\n");
        const char *value = values[(seed >> 24) % (sizeof(values) / sizeof(*values))];
        size_t size = (size_t)snprintf(text, sizeof(text), "%.*s%s%.*s", (int)start, small, value,
                                       (int)(small_size - rest), small + rest);
        size_t length;
        options.format = (enum report_format)(round % 4);
        report_bytes(text, size, &options, &length);
    }
}

static void random_bytes_do_no_harm(void **state)
{
    (void)state;
    unsigned seed = 5;
    for (int round = 0; round < 1500; round++) {
        char text[sizeof(small)];
        struct report_options options = {.format = (enum report_format)(round % 4), .top = (size_t)round % 3};
        memcpy(text, small, small_size);
        for (int change = 0; change <= round % 4; change++) {
            seed = seed * 1664525 + 1013904223;
            text[(seed >> 8) % small_size] = (char)(seed >> 24);
        }
        size_t length;
        report_bytes(text, small_size, &options, &length);
    }
}

static void several_traces_are_reported_on_their_own(void **state)
{
    (void)state;
    const char *const paths[] = {SMALL, SMALL};
    struct report_options options = {.format = REPORT_JSON, .sections = 1u << REPORT_KERNELS};
    struct sink once, twice;
    sink_init_memory(&once);
    sink_init_memory(&twice);
    assert_int_equal(report_files(&options, paths, 1, &once), 0);
    assert_int_equal(report_files(&options, paths, 2, &twice), 0);
    assert_true(twice.length > 2 * once.length);
    sink_release(&once);
    sink_release(&twice);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_format_reports_the_small_trace),
        cmocka_unit_test(a_trace_cut_anywhere_is_refused),
        cmocka_unit_test(strange_values_do_no_harm),
        cmocka_unit_test(random_bytes_do_no_harm),
        cmocka_unit_test(several_traces_are_reported_on_their_own),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
