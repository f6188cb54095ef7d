/*
 * One-line messages on stderr, for both processes.
 *
 * A message is lower case, names its subject in quotes and says how to fix the problem. A single write(2) writes it, so
 * that lines of several threads and processes do not mix. errno is preserved. No function exits, allocates or writes to
 * stdout, and a failed write raises no signal: the agent calls them in the user's process.
 */
#ifndef GPUTRACE_COMMON_LOG_H
#define GPUTRACE_COMMON_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum log_level {
    LOG_QUIET = -1,  /* errors only */
    LOG_NORMAL = 0,  /* errors and warnings */
    LOG_VERBOSE = 1, /* also what happens, step by step */
};

void log_set_level(enum log_level level);
enum log_level log_level(void);

/* Sets TEXT to a name of the file that is standard error now, or to "" if there is none. */
#define LOG_FILE_NAME_BYTES 48
void log_name_file(char text[LOG_FILE_NAME_BYTES]);

/* From now on, messages are only written while standard error is the file NAME (of log_name_file()): in the user's
 * process another file may get its descriptor. NULL: messages are always written. */
void log_only_to(const char *name);

/* Receives each line of a message first, with the least level that prints it. Returns false if the line is to be
 * printed. */
typedef bool log_receiver(enum log_level level, const char *line, size_t length);
void log_set_receiver(log_receiver *receiver);

/* Writes LINES to standard error, as messages are written. Returns whether they were written. */
bool log_write(const char *lines, size_t length);

/* Prints "gputrace: MESSAGE" and returns -1, so that `return error("cannot open '%s'", path)` ends a function. */
int error(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Calls error() about a failed allocation of memory for WHAT, and returns -1. */
int error_no_memory(const char *what);

/* Prints "gputrace: MESSAGE" unless quiet. */
void notice(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Prints "gputrace: warning: MESSAGE" unless quiet. Returns whether it was printed. */
bool warning(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Prints "gputrace: MESSAGE" when verbose. */
void verbose(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* If verbose, prints how long STEP took since *SINCE (CLOCK_MONOTONIC, ns), and sets *SINCE to the time now. */
void verbose_step(uint64_t *since, const char *step);

#endif
