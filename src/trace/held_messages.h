/*
 * Messages (common/log.h) that a thread does not print at once: those of a trace that is read while other traces are
 * read, and those of a first reading, which the second reading repeats.
 */
#ifndef GPUTRACE_TRACE_HELD_MESSAGES_H
#define GPUTRACE_TRACE_HELD_MESSAGES_H

#include <stdbool.h>

struct buffer;

/* From now on appends the messages of this thread to TEXT, as lines. NULL: prints them. */
void messages_hold(struct buffer *text);

/* From now on drops all messages of this thread except errors, or, if QUIET is false, none. Returns the previous
 * setting. */
bool messages_quiet(bool quiet);

#endif
