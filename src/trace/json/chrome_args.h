/*
 * Arguments of an event of Trace Event JSON.
 */
#ifndef GPUTRACE_TRACE_JSON_CHROME_ARGS_H
#define GPUTRACE_TRACE_JSON_CHROME_ARGS_H

#include "trace/sink.h"

/* Takes the event written so far up to AT, and ends it with its args (NULL or none: without). */
void chrome_end_event(struct writer *writer, char *at, const struct args *args);

/* TEXT in quotes. */
void chrome_text(struct sink *sink, const char *text, size_t length);

/* A number; one that JSON has no form for as a text. */
void chrome_real(struct sink *sink, double value);

#endif
