/*
 * The spool file of this process, growing by mapped segments (segments.h): space is allocated on disk and pages are
 * touched here, so that later writes into a segment neither fault nor raise SIGBUS.
 *
 * A segment starts its life as one chunk (common/spool.h).
 */
#ifndef GPUTRACE_AGENT_SPOOL_SPOOL_FILE_H
#define GPUTRACE_AGENT_SPOOL_SPOOL_FILE_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/spool.h"
#include "common/spool_records.h"

/*
 * Makes DIRECTORY/PID-N.spool (0600, new) with its header filled in but for what only collectors know. Returns the
 * mapped header, or NULL with errno set.
 */
struct spool_header *spool_file_open(const char *directory, uint64_t trace_bits);

/* Removes the file, which has no segments because space for the first was missing: errno says why. A note takes its
 * place.
 */
void spool_file_abandon(const char *directory);

/* The header of the open file, or a private one when there is none, so that counters can always be written. */
struct spool_header *spool_file_header(void);

/* Adds the first segment, for records of our own. Returns a chunk of it, held once. Only that chunk has disk space and
 * pages: a process with few records needs no more. NULL with errno set: there is no space. */
#define SPOOL_FILE_FIRST_BYTES ((uint64_t)64 << 10)
struct spool_chunk *spool_file_begin(void);

/* Adds a segment, or makes the rest of the first one ready. Returns its one chunk, held once, or NULL with errno set
 * (ENOSPC: no space on the disk; EBADF: the program closed the file, and only a thread with descriptors of its own can
 * grow it; ESTALE: the file was removed). May take a millisecond; one thread at a time. */
struct spool_chunk *spool_file_grow(void);

/* Gives the calling thread, which is ours, descriptors of its own: the program cannot close them, and opening the file
 * again takes no number that the program's next file would have. 0, or -1: the kernel does not offer it. */
int spool_file_own_descriptors(void);

/* Whether the program has closed the file's descriptor, and so most likely all that were not its own. */
bool spool_file_was_closed(void);

/* Whether the file was removed: the launcher has made the trace, or it was cleaned up. It will not be read, and it
 * grows no more (ESTALE). */
bool spool_file_is_removed(void);

/* For a removed file: gives back the disk space of all that is not mapped. Segments that are unmapped later follow by
 * themselves. */
void spool_file_release(void);

/*
 * For a SIGBUS handler: where ADDRESS is in the spool, what is mapped there, a segment or the header, becomes ordinary
 * memory with what can be read of it, and the writer continues; what comes into it from now on is lost,
 * and counts as one record that had no space, until spool_file_save(). So it is where the file was made shorter, or
 * where its file system finds no space for a page that it has given once (those that never write in place, under a
 * quota). 0, or -1: it is nowhere in the spool. Async-signal-safe.
 */
int spool_file_rescue(const void *address);

/* At the end: what came into such segments is brought into the file, or each of its records is counted; and, when it is
 * complete, the header. */
void spool_file_save(void);
void spool_file_save_header(void);

/* In a forked child: what is mapped becomes a private copy of this process, so that nothing it does reaches the
 * parent's file, and the file is forgotten. Async-signal-safe. */
void spool_file_atfork_child(void);

#endif
