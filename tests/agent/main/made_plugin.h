/*
 * For tests of plugins: small shared libraries, compiled while the test runs, and what they wrote into the spool.
 */
#ifndef TESTS_AGENT_MAIN_MADE_PLUGIN_H
#define TESTS_AGENT_MAIN_MADE_PLUGIN_H

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/agent/spool_reading.h"
#include "tests/unit.h"

/* What most plugins of tests begin with. */
#define PLUGIN_HEAD "#include <gputrace/callbacks.h>\n#include <stdio.h>\n"

/* Compiles SOURCE (C) into DIRECTORY/NAME.so. Returns its path, valid until the next call. Run from the root. */
static inline const char *make_library(const char *directory, const char *name, const char *source)
{
    static char path[512];
    char file[512], command[2048];
    snprintf(file, sizeof(file), "%s/%s.c", directory, name);
    unit_write_file(file, source);
    snprintf(path, sizeof(path), "%s/%s.so", directory, name);
    snprintf(command, sizeof(command),
             "%s -std=c11 -D_GNU_SOURCE -Wall -Wextra -Werror -O1 -fPIC -shared -Iinclude -o '%s' '%s'",
             getenv("CC") ? getenv("CC") : "cc", path, file);
    assert_int_equal(system(command), 0);
    return path;
}

/* The last record of TYPE in this process's spool in DIRECTORY, or NULL. */
static inline const void *last_record(const char *directory, enum spool_record_type type)
{
    struct reading reading = read_spool(directory, getpid());
    unsigned count = count_records(&reading, type);
    return count ? find_record(&reading, type, count - 1) : NULL;
}

static inline void assert_text(const char *text, uint32_t length, const char *expected)
{
    assert_int_equal(length, strlen(expected));
    assert_memory_equal(text, expected, length);
}

#endif
