/*
 * What unit tests share: cmocka, whose header needs others before it, tests that register themselves, and helpers for
 * stderr, files and random numbers.
 *
 *     UNIT_FIXTURE(start) { ...; return 0; }        set-up or tear-down; has the parameter `void **state`
 *     UNIT_TEST(name) { ... }                       a test
 *     UNIT_TEST_WITH(name, start, stop) { ... }     a test with its set-up and tear-down, either of which may be NULL
 *     UNIT_MAIN(begin, end)                         main: BEGIN, the tests of the file in their order, END
 */
#ifndef TESTS_UNIT_H
#define TESTS_UNIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct unit_test {
    struct CMUnitTest test;
    int line;
} unit_tests[128];
static size_t unit_test_count;

__attribute__((unused)) static void unit_add(int line, struct CMUnitTest test)
{
    if (unit_test_count == sizeof(unit_tests) / sizeof(unit_tests[0]))
        abort();
    unit_tests[unit_test_count++] = (struct unit_test){test, line};
}

static inline int unit_compare(const void *a, const void *b)
{
    return ((const struct unit_test *)a)->line - ((const struct unit_test *)b)->line;
}

__attribute__((unused)) static int unit_run(CMFixtureFunction begin, CMFixtureFunction end)
{
    struct CMUnitTest tests[sizeof(unit_tests) / sizeof(unit_tests[0])];
    qsort(unit_tests, unit_test_count, sizeof(unit_tests[0]), unit_compare);
    for (size_t i = 0; i < unit_test_count; i++)
        tests[i] = unit_tests[i].test;
    return _cmocka_run_group_tests("tests", tests, unit_test_count, begin, end);
}

#define UNIT_FIXTURE(name) static int name(__attribute__((unused)) void **state)

#define UNIT_TEST_WITH(name, setup, teardown)                                        \
    static void name(void **state);                                                  \
    __attribute__((constructor)) static void name##_add(void)                        \
    {                                                                                \
        unit_add(__LINE__, (struct CMUnitTest){#name, name, setup, teardown, NULL}); \
    }                                                                                \
    static void name(__attribute__((unused)) void **state)

#define UNIT_TEST(name) UNIT_TEST_WITH(name, NULL, NULL)

#define UNIT_MAIN(begin, end)        \
    int main(void)                   \
    {                                \
        return unit_run(begin, end); \
    }

/* The next number below MOST of a series that begins with unit_seed. */
__attribute__((unused)) static unsigned unit_seed;

static inline unsigned unit_random_below(unsigned most)
{
    unit_seed = unit_seed * 1664525 + 1013904223;
    return (unit_seed >> 8) % most;
}

/* Between these, stderr goes to a file; unit_stderr_end gives what came there, valid until the next one begins. */
static int unit_stderr_kept = -1;
static FILE *unit_stderr_file;

__attribute__((unused)) static void unit_stderr_begin(void)
{
    fflush(stderr);
    unit_stderr_file = tmpfile();
    unit_stderr_kept = dup(STDERR_FILENO);
    dup2(fileno(unit_stderr_file), STDERR_FILENO);
}

__attribute__((unused)) static const char *unit_stderr_end(void)
{
    static char text[8192];
    fflush(stderr);
    ssize_t size = pread(fileno(unit_stderr_file), text, sizeof(text) - 1, 0);
    text[size > 0 ? size : 0] = '\0';
    dup2(unit_stderr_kept, STDERR_FILENO);
    close(unit_stderr_kept);
    fclose(unit_stderr_file);
    return text;
}

/* A new directory below $TMPDIR or /tmp; the caller removes it with unit_remove. */
__attribute__((unused)) static const char *unit_directory(void)
{
    static char path[256];
    const char *parent = getenv("TMPDIR");
    snprintf(path, sizeof(path), "%s/gputrace-unit.XXXXXX", parent && *parent ? parent : "/tmp");
    assert_non_null(mkdtemp(path));
    return path;
}

__attribute__((unused)) static void unit_remove(const char *directory)
{
    char command[512];
    snprintf(command, sizeof(command), "rm -rf '%s'", directory);
    assert_int_equal(system(command), 0);
}

__attribute__((unused)) static void unit_write_file(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    assert_int_equal(fclose(file), 0);
}

#define assert_contains(text, part)                             \
    do {                                                        \
        const char *unit_text = (text);                         \
        if (!strstr(unit_text, (part)))                         \
            fail_msg("'%s' is not in '%s'", (part), unit_text); \
    } while (0)

#endif
