/*
 * Reads runs of packets (packets.h) of a .pftrace, and returns their events one by one, in the file's order. Several
 * readers may read runs at once. Memory grows with the names in a section, not with its events.
 *
 *     struct pftrace_reader *reader = pftrace_reader_new(&strings);
 *     pftrace_take(reader, &run);
 *     while ((more = pftrace_next(reader, &event)) > 0)
 *         …
 *     pftrace_close(reader);
 *
 * From other programs' traces it returns the events that are like ours, and counts the other packets:
 * pftrace_left_out().
 */
#ifndef GPUTRACE_TRACE_PFTRACE_READER_H
#define GPUTRACE_TRACE_PFTRACE_READER_H

#include "trace/pftrace/reader_events.h"

struct sink;

/* Passes all events of the .pftrace or .pftrace.gz PATH ("-": stdin) to SINK and finishes SINK (source.c). Several
 * threads read sections at once if SINK is the analysis: WORKERS, or 0 for one for each processor. A warning counts the
 * packets that are left out because gputrace does not write packets of their type. Returns 0, or -1 after error(). */
int pftrace_read(const char *path, struct sink *sink, unsigned workers);

/* Returns a new reader, or NULL after error(). STRINGS must outlive it. */
struct pftrace_reader *pftrace_reader_new(struct interner *strings);
void pftrace_close(struct pftrace_reader *reader);

/* Begins to read RUN, whose bytes must not change until pftrace_next() returns 0. A run that begins with a section may
 * follow any other; other runs must follow the run before them. If a compressed packet cannot be unpacked, the run's
 * end becomes PACKETS_DAMAGED. */
void pftrace_take(struct pftrace_reader *reader, struct packets_run *run);
/* Forgets everything that was read. Must be called if STRINGS is released and used again. */
void pftrace_forget(struct pftrace_reader *reader);

/* Sets *EVENT to the next event, valid until the next call. Returns 1, 0 at the end of the run, or -1 after error(). */
int pftrace_next(struct pftrace_reader *reader, const struct pftrace_event **event);

/* Returns the number of packets that were left out. */
uint64_t pftrace_left_out(const struct pftrace_reader *reader);

/* Whether a file that begins with BYTES may be a .pftrace: other files that gputrace reads begin with text or
 * are gzip. */
static inline bool pftrace_begins(const char *bytes, size_t size)
{
    return size > 0 && bytes[0] == '\n' && !(size > 1 && (bytes[1] == '{' || bytes[1] == '[' || bytes[1] == ' '));
}

#endif
