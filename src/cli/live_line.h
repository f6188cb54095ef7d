/*
 * The line of `gputrace run --live`: rewritten in place on a terminal; elsewhere a line every few seconds.
 */
#ifndef GPUTRACE_CLI_LIVE_LINE_H
#define GPUTRACE_CLI_LIVE_LINE_H

#include <stdbool.h>

#include "launch/drain.h"

struct live_line {
    bool terminal; /* standard error is one */
    bool written;  /* a line stands there that the next one replaces */
};

/* A listener that writes to stderr. LINE stays where it is until live_line_end(). */
struct drain_listener live_line_begin(struct live_line *line);

/* Takes the line off the terminal. After drain_stop(). */
void live_line_end(struct live_line *line);

#endif
