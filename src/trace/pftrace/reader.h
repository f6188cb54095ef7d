/*
 * Reads runs of packets (packets.h) of a .pftrace, and gives what was written into them, event by event, in the file's
 * order. Several readers understand runs at once. Memory grows with the names in a section, not with its events.
 *
 *     struct pftrace_reader *reader = pftrace_reader_new(&strings);
 *     pftrace_take(reader, &run);
 *     while ((more = pftrace_next(reader, &event)) > 0)
 *         …
 *     pftrace_close(reader);
 *
 * Of a trace that others wrote it gives what is like ours, and counts the rest: pftrace_left_out().
 */
#ifndef GPUTRACE_TRACE_PFTRACE_READER_H
#define GPUTRACE_TRACE_PFTRACE_READER_H

#include "trace/pftrace/reader_events.h"

/* Makes a reader. STRINGS must outlive it. NULL after error(). */
struct pftrace_reader *pftrace_reader_new(struct interner *strings);
void pftrace_close(struct pftrace_reader *reader);

/* Reads RUN, whose bytes stay as they are until pftrace_next() gave 0. One that begins with a section may come after
 * any other; else it must follow the one before. A compressed packet that cannot be unpacked becomes the run's end,
 * PACKETS_DAMAGED. */
void pftrace_take(struct pftrace_reader *reader, struct packets_run *run);
/* Forgets all; then STRINGS may have been released, and be used again. */
void pftrace_forget(struct pftrace_reader *reader);

/* 1: *EVENT is one, valid until the next call; 0: the run has ended; -1 after error(). */
int pftrace_next(struct pftrace_reader *reader, const struct pftrace_event **event);

/* Packets that were understood by their frame alone. */
uint64_t pftrace_left_out(const struct pftrace_reader *reader);

/* Whether a file that begins with these bytes may be one: the others that gputrace reads begin with text, or are
 * gzip. */
static inline bool pftrace_begins(const char *bytes, size_t size)
{
    return size > 0 && bytes[0] == '\n' && !(size > 1 && (bytes[1] == '{' || bytes[1] == '[' || bytes[1] == ' '));
}

#endif
