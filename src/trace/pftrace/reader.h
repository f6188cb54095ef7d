/*
 * Reads a .pftrace (or .pftrace.gz) of ours from end to end, and gives what was written into it, event by event, in the
 * file's order. Memory grows with the names in the file, not with its events.
 *
 *     struct pftrace_reader *reader = pftrace_open(path, &strings);
 *     while ((more = pftrace_next(reader, &event)) > 0)
 *         …
 *     pftrace_close(reader);
 *
 * Or the packets come from elsewhere, a run at a time (packets.h), and several readers understand runs at once:
 *
 *     struct pftrace_reader *reader = pftrace_reader_new(&strings);
 *     pftrace_take(reader, &run);
 *     while ((more = pftrace_next(reader, &event)) > 0)
 *         …
 *
 * Of a trace that others wrote it gives what is like ours, and counts the rest: pftrace_left_out().
 */
#ifndef GPUTRACE_TRACE_PFTRACE_READER_H
#define GPUTRACE_TRACE_PFTRACE_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/pftrace/pftrace_event.h"

struct interner;
struct packets_run;
struct pftrace_reader;

/* PATH may be "-", stdin. NULL after error(). STRINGS must outlive the reader. */
struct pftrace_reader *pftrace_open(const char *path, struct interner *strings);
/* Without a file. NULL after error(). */
struct pftrace_reader *pftrace_reader_new(struct interner *strings);
void pftrace_close(struct pftrace_reader *reader);

/* Reads RUN, whose bytes stay as they are until pftrace_next() gave 0. One that begins with a section may come after
 * any other; else it must follow the one before. A compressed packet that cannot be unpacked becomes the run's end,
 * PACKETS_DAMAGED. */
void pftrace_take(struct pftrace_reader *reader, struct packets_run *run);
/* Forgets all; then STRINGS may have been released, and be used again. */
void pftrace_forget(struct pftrace_reader *reader);

/* 1: *EVENT is one, valid until the next call; 0: the file, or the run, has ended; -1 after error(). A file that ends
 * within a packet gives what is before it, after a warning. */
int pftrace_next(struct pftrace_reader *reader, const struct pftrace_event **event);

/* ns of CLOCK_REALTIME; 0 before the first event with a time of a section. */
uint64_t pftrace_base(const struct pftrace_reader *reader);

/* Packets that were understood by their frame alone. */
uint64_t pftrace_left_out(const struct pftrace_reader *reader);

/* Whether a file that begins with these bytes may be one: the others that gputrace reads begin with text, or are
 * gzip. */
static inline bool pftrace_begins(const char *bytes, size_t size)
{
    return size > 0 && bytes[0] == '\n' && !(size > 1 && (bytes[1] == '{' || bytes[1] == '[' || bytes[1] == ' '));
}

#endif
