/*
 * Reads a trace in JSON from end to end: finds the borders of each event, parses it, and hands it on. Several threads
 * read most events ahead (blocks.h); the calling thread hands all of them on, in the file's order. Memory does not grow
 * with the file: at most some blocks of it, or the window of one large value, are held.
 *
 * Flow events are skipped unread, except PyTorch's "fwdbwd". A buffer that wants the events' texts gets flows, too.
 *
 * Both forms of the format are read: an object with "traceEvents" and other keys around it, and a bare array of events.
 * The array may lack its end, as the format allows for programs that die; the object may not.
 */
#ifndef GPUTRACE_TRACE_JSON_READER_H
#define GPUTRACE_TRACE_JSON_READER_H

#include "trace/json/text.h"
#include "trace/trace_event.h"

struct interner;

/*
 * Reads PATH ("-": stdin) and puts the events' texts into STRINGS. An element of the array that is JSON but not an
 * event is left out; one warning says how many were, and why. Returns 0, or -1 after error(), which names the file, the
 * line and byte, and what was expected.
 */
int json_read(const char *path, struct interner *strings, const struct event_sink *buffer);

#endif
