/*
 * What unit tests share: cmocka, whose header needs others before it, and a look at what was printed to stderr.
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
