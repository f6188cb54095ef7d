/*
 * Inputs as files, in a directory that is made once and removed at the end.
 */
#ifndef GPUTRACE_TESTS_FUZZ_TOOL_FILES_H
#define GPUTRACE_TESTS_FUZZ_TOOL_FILES_H

#include <stddef.h>

/* DIRECTORY/NAME; valid until the next call but three. */
const char *fuzz_path(const char *name);
const char *fuzz_directory(void);

/* Makes NAME there, anew. Returns its path. */
const char *fuzz_file(const char *name, const void *bytes, size_t size);

/* Whether the file at PATH is one JSON value and valid UTF-8. */
int fuzz_is_json(const char *path);

#endif
