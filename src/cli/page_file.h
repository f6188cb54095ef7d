/* Writes a report to where it goes: the file of --html or -o, or standard output. */
#ifndef GPUTRACE_CLI_PAGE_FILE_H
#define GPUTRACE_CLI_PAGE_FILE_H

#include <stdbool.h>

struct buffer;

/* Checks the name in --html, and that --format does not ask for another format. Returns 0, or -1 after error(). */
int page_file_check(const char *path, bool other_format);

/* Writes what WRITE puts into OUT to PATH, whole or not at all: also if WRITE returns a negative value, or a signal
 * ends the process. PATH NULL: to standard output, through a pager. Progress is shown while TRACES, a word for people,
 * are read. Returns what WRITE returns, or -1 after error(). */
int page_file_write(const char *path, const char *traces, int (*write)(void *context, struct buffer *out),
                    void *context);

#endif
