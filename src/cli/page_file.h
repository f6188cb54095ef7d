/*
 * The file of --html, a page.
 */
#ifndef GPUTRACE_CLI_PAGE_FILE_H
#define GPUTRACE_CLI_PAGE_FILE_H

#include <stdbool.h>

struct buffer;

/* Checks the name in --html, and that --format does not ask for another format. Returns 0, or -1 after error(). */
int page_file_check(const char *path, bool other_format);

/* Writes the page that WRITE puts into OUT to PATH, whole or not at all: also if WRITE returns a negative value, or a
 * signal ends the process. Returns what WRITE returns, or -1 after error(). */
int page_file_write(const char *path, int (*write)(void *context, struct buffer *out), void *context);

#endif
