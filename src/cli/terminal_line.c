#include "cli/terminal_line.h"

#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "common/buffer.h"
#include "common/utf8.h"

static size_t columns(void)
{
    struct winsize size;
    return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

static void write_stderr(const char *bytes, size_t size)
{
    ssize_t written = write(STDERR_FILENO, bytes, size);
    (void)written; /* nowhere to complain */
}

bool terminal_line_possible(void)
{
    return isatty(STDERR_FILENO) == 1;
}

void terminal_line_show(const struct buffer *text)
{
    struct buffer line;
    buffer_init_memory(&line);
    buffer_text(&line, TERMINAL_LINE_CLEAR "gputrace: ");
    for (size_t at = 0, size; at < text->length; at += size) {
        char shown[UTF8_VISIBLE_BYTES];
        size_t width = utf8_visible(shown, text->data + at, text->length - at, &size);
        buffer_bytes(&line, shown, width);
    }
    size_t most = columns() - 1 + strlen(TERMINAL_LINE_CLEAR);
    if (line.length > most)
        line.length = most;
    if (buffer_finish(&line) == 0)
        write_stderr(line.data, line.length);
    buffer_release(&line);
}

void terminal_line_clear(void)
{
    write_stderr(TERMINAL_LINE_CLEAR, strlen(TERMINAL_LINE_CLEAR));
}
