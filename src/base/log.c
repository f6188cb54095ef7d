#include "base/log.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static enum log_level current_level = LOG_NORMAL;

void log_set_level(enum log_level level)
{
    current_level = level;
}

enum log_level log_level(void)
{
    return current_level;
}

static void print_line(const char *prefix, const char *format, va_list args)
{
    char line[2048];
    int saved = errno;
    size_t room = sizeof(line) - 1; /* one byte stays for the newline */
    int head = snprintf(line, room, "gputrace: %s", prefix);
    errno = saved; /* for %m */
    int body = vsnprintf(line + head, room - (size_t)head, format, args);
    size_t length = (size_t)head + (body < 0 ? 0 : (size_t)body);
    if (length > room - 1)
        length = room - 1;
    line[length++] = '\n';
    ssize_t written = write(STDERR_FILENO, line, length);
    (void)written; /* nowhere left to complain */
    errno = saved;
}

int error(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    print_line("", format, args);
    va_end(args);
    return -1;
}

int error_no_memory(const char *what)
{
    return error("no memory for %s", what);
}

void notice(const char *format, ...)
{
    if (current_level <= LOG_QUIET)
        return;
    va_list args;
    va_start(args, format);
    print_line("", format, args);
    va_end(args);
}

void warning(const char *format, ...)
{
    if (current_level <= LOG_QUIET)
        return;
    va_list args;
    va_start(args, format);
    print_line("warning: ", format, args);
    va_end(args);
}

void verbose(const char *format, ...)
{
    if (current_level < LOG_VERBOSE)
        return;
    va_list args;
    va_start(args, format);
    print_line("", format, args);
    va_end(args);
}
