/*
 * Messages (common/log.h) that a thread does not print at once: those of a trace that is read while others are, and
 * those of a first reading, which come again with the second.
 */
#ifndef GPUTRACE_TRACE_HELD_MESSAGES_H
#define GPUTRACE_TRACE_HELD_MESSAGES_H

#include <stdbool.h>

struct buffer;

/* From now on TEXT gets the messages of this thread, as lines. NULL: they are printed. */
void messages_hold(struct buffer *text);

/* From now on this thread has no messages but errors, or, if not QUIET, all. Returns what it was before. */
bool messages_quiet(bool quiet);

#endif
