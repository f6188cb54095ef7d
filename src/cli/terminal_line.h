/*
 * A line on the terminal that the next one replaces. Only where standard error is a terminal.
 */
#ifndef GPUTRACE_CLI_TERMINAL_LINE_H
#define GPUTRACE_CLI_TERMINAL_LINE_H

#include <stdbool.h>

struct buffer;

/* What takes such a line off the terminal. */
#define TERMINAL_LINE_CLEAR "\r\x1b[K"

/* Whether standard error is a terminal. */
bool terminal_line_possible(void);

/* Shows "gputrace: TEXT", cut where it would begin another line. One write, so that other output does not mix with it.
 */
void terminal_line_show(const struct buffer *text);
void terminal_line_clear(void);

#endif
