/*
 * One-line messages on stderr, for both processes.
 *
 * A message is lower case, names its subject in quotes and says the way out. It is written with a single
 * write(2), so that lines of several threads and processes do not mix, and errno is left as it was. Nothing
 * here exits, allocates or touches stdout, and where a line cannot be written no signal comes of it: the library
 * may call it in the user's process.
 */
#ifndef GPUTRACE_COMMON_LOG_H
#define GPUTRACE_COMMON_LOG_H

#include <stdbool.h>

enum log_level {
    LOG_QUIET = -1,  /* errors only */
    LOG_NORMAL = 0,  /* errors and warnings */
    LOG_VERBOSE = 1, /* and what happens, step by step */
};

void log_set_level(enum log_level level);
enum log_level log_level(void);

/* A name for the file that standard error is now, written into TEXT; "" when there is none. */
#define LOG_FILE_NAME_BYTES 48
void log_name_file(char text[LOG_FILE_NAME_BYTES]);

/* From now on messages are for the file of this NAME alone: in the user's process the descriptor of standard error may
 * come to be that of anything. NULL: for whatever it is. */
void log_only_to(const char *name);

/* Prints "gputrace: MESSAGE" and gives -1, so that `return error("cannot open '%s'", path)` ends a function. */
int error(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* error() for the failure of an allocation; WHAT is what there was no memory for. */
int error_no_memory(const char *what);

/* Prints "gputrace: MESSAGE" unless quiet: what is worth a line though nothing is wrong. */
void notice(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Prints "gputrace: warning: MESSAGE" unless quiet. Gives whether it was printed. */
bool warning(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Prints "gputrace: MESSAGE" when verbose. */
void verbose(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
