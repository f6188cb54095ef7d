/*
 * Each message is formatted on the stack and written with one write(2), while the signals that a failed write raises
 * are blocked. Where the descriptor of stderr has become another file, nothing is written.
 */
#include "common/log.h"

#include <errno.h>
#include <stdarg.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/text.h"

#define NSIG_BYTES (_NSIG / 8) /* bytes of a set of signals for the kernel */

static enum log_level current_level = LOG_NORMAL;

void log_set_level(enum log_level level)
{
    current_level = level;
}

enum log_level log_level(void)
{
    return current_level;
}

static log_receiver *current_receiver;

void log_set_receiver(log_receiver *receiver)
{
    __atomic_store_n(&current_receiver, receiver, __ATOMIC_RELAXED);
}

static char only_to[LOG_FILE_NAME_BYTES];

void log_name_file(char text[LOG_FILE_NAME_BYTES])
{
    struct stat status;
    *text = '\0';
    if (fstat(STDERR_FILENO, &status) == 0)
        snprintf(text, LOG_FILE_NAME_BYTES, "%" PRIx64 ":%" PRIx64, (uint64_t)status.st_dev, (uint64_t)status.st_ino);
}

void log_only_to(const char *name)
{
    snprintf(only_to, sizeof(only_to), "%s", name ? name : "");
}

/*
 * Our line must not end the program: a write to a pipe without readers raises SIGPIPE, one to a file at its limit
 * SIGXFSZ. A signal that was not pending before is removed again. System calls are made by number, because the C
 * library's functions are cancellation points.
 */
bool log_write(const char *lines, size_t length)
{
    static const struct timespec at_once;
    static const int brought[] = {SIGPIPE, SIGXFSZ};
    sigset_t blocked, before, pending;
    char name[LOG_FILE_NAME_BYTES];
    if (*only_to) { /* the descriptor may have become a data file of the program, which our line would damage */
        log_name_file(name);
        if (strcmp(name, only_to) != 0)
            return false;
    }
    sigemptyset(&blocked);
    for (size_t i = 0; i < sizeof(brought) / sizeof(brought[0]); i++)
        sigaddset(&blocked, brought[i]);
    pthread_sigmask(SIG_BLOCK, &blocked, &before);
    sigpending(&pending);
    bool written = syscall(SYS_write, STDERR_FILENO, lines, length) == (long)length;
    for (size_t i = 0; i < sizeof(brought) / sizeof(brought[0]); i++)
        if (sigismember(&pending, brought[i]) == 1)
            sigdelset(&blocked, brought[i]);
    if (!written)
        syscall(SYS_rt_sigtimedwait, &blocked, NULL, &at_once, NSIG_BYTES);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return written;
}

#define LINE_BYTES 2048

/* Appends TEXT to LINE with control characters written as \x1b, because a terminal would obey them. Returns the new
 * length of LINE. */
static size_t put_visible(char line[LINE_BYTES], size_t length, const char *text)
{
    for (size_t left = strlen(text), size; left > 0; text += size, left -= size) {
        char shown[UTF8_VISIBLE_BYTES];
        size_t width = utf8_visible(shown, text, left, &size);
        if (length + width >= LINE_BYTES) /* a byte is left for the newline */
            break;
        memcpy(line + length, shown, width);
        length += width;
    }
    return length;
}

static bool print_line(enum log_level level, const char *prefix, const char *format, va_list args)
{
    char text[LINE_BYTES], line[LINE_BYTES];
    int saved = errno; /* for %m */
    if (vsnprintf(text, sizeof(text), format, args) < 0)
        *text = '\0';
    size_t length = put_visible(line, 0, "gputrace: ");
    length = put_visible(line, length, prefix);
    length = put_visible(line, length, text);
    line[length++] = '\n';
    log_receiver *receiver = __atomic_load_n(&current_receiver, __ATOMIC_RELAXED);
    bool printed = (receiver && receiver(level, line, length)) || log_write(line, length);
    errno = saved;
    return printed;
}

int error(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    print_line(LOG_QUIET, "", format, args);
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
    print_line(LOG_NORMAL, "", format, args);
    va_end(args);
}

bool warning(const char *format, ...)
{
    if (current_level <= LOG_QUIET)
        return false;
    va_list args;
    va_start(args, format);
    bool printed = print_line(LOG_NORMAL, "warning: ", format, args);
    va_end(args);
    return printed;
}

void verbose(const char *format, ...)
{
    if (current_level < LOG_VERBOSE)
        return;
    va_list args;
    va_start(args, format);
    print_line(LOG_VERBOSE, "", format, args);
    va_end(args);
}

void verbose_step(uint64_t *since, const char *step)
{
    uint64_t now = clock_monotonic();
    verbose("%s: %.3f s", step, (double)(now - *since) / 1e9);
    *since = now;
}
