/*
 * For tests that read traces from files: one file in a folder of its own, for all tests of a program.
 */
#ifndef TESTS_TOOL_REPORT_TRACE_FILE_H
#define TESTS_TOOL_REPORT_TRACE_FILE_H

#include <fcntl.h>

#include "tests/unit.h"

static const char *folder;
static char path[300];

/* For cmocka: makes the folder, and removes it with what is in it. */
static inline int begin_folder(void **state)
{
    (void)state;
    folder = unit_directory();
    snprintf(path, sizeof(path), "%s/trace.json", folder);
    return 0;
}

static inline int end_folder(void **state)
{
    (void)state;
    unit_remove(folder);
    return 0;
}

/* What the file at `path` holds from now on. */
static inline void save_bytes(const void *bytes, size_t size)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, bytes, size), (ssize_t)size);
    close(fd);
}

#endif
