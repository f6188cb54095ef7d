/*
 * The spool file of this process, which grows by mapped segments (segments.h): disk space is allocated and pages are
 * touched here, so that later writes into a segment neither fault nor raise SIGBUS.
 *
 * A new segment is one chunk (common/spool.h).
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
 * Creates DIRECTORY/PID-N.spool (0600) and fills in its header except what only collectors know. Returns the mapped
 * header, or NULL with errno set.
 */
struct spool_header *spool_file_open(const char *directory, uint64_t trace_bits);

/* Removes the file and leaves a note instead. Called when there is no space for the first segment; errno must say why.
 */
void spool_file_abandon(const char *directory);

/* Returns the header of the open file, or a private one if no file is open, so that counters can always be written. */
struct spool_header *spool_file_header(void);

/* Adds the first segment, for records of our own. Returns a chunk of it, held once, or NULL with errno set if there is
 * no space. Only that chunk gets disk space and pages, which is enough for a process with few records. */
#define SPOOL_FILE_FIRST_BYTES ((uint64_t)64 << 10)
struct spool_chunk *spool_file_begin(void);

/* Adds a segment, or prepares the rest of the first one. Returns its only chunk, held once, or NULL with errno set
 * (ENOSPC: no space on the disk; EBADF: the program closed the file, and only a thread with descriptors of its own can
 * grow it; ESTALE: the file was removed). May take a millisecond. Threads take turns. */
struct spool_chunk *spool_file_grow(void);

/* Gives the calling thread, which must be ours, its own descriptor table: the program cannot close descriptors in it,
 * and opening the file again takes no number from the program. Returns 0, or -1 if the kernel does not offer this. */
int spool_file_own_descriptors(void);

/* Whether the program has closed the file's descriptor, and so probably all descriptors that it does not know. */
bool spool_file_was_closed(void);

/* Whether the file was removed, by the launcher after making the trace or by somebody's cleanup. Nobody will read the
 * file then, and it cannot grow (ESTALE). */
bool spool_file_is_removed(void);

/* Gives back the disk space of a removed file, except of mapped segments. Their space follows when they are unmapped.
 */
void spool_file_release(void);

/*
 * For a SIGBUS handler: replaces the segment or header that contains ADDRESS by ordinary memory with what can be read
 * of it, and the writer continues. What is written there from then on counts as one lost record until
 * spool_file_save(). Such a fault comes when the file was truncated, or when its file system has no space to rewrite a
 * page (file systems that never write in place, under a quota). Returns 0, or -1 if ADDRESS is not in the spool.
 * Async-signal-safe.
 */
int spool_file_rescue(const void *address);

/* At the end of the process: copies replaced segments into the file, or counts records that the file lacks.
 * spool_file_save_header() copies a replaced header, once it is complete. */
void spool_file_save(void);
void spool_file_save_header(void);

/* In a forked child: turns mapped segments and the header into private copies of this process, so that nothing the
 * child does reaches the parent's file, and forgets the file. Async-signal-safe. */
void spool_file_atfork_child(void);

#endif
