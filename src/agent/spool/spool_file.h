/*
 * The spool file of this process: the file and its growth (spool_file.c), its mapped segments (segments.c), chunks that
 * are ready for use (chunk_pool.c), and where the file comes from (spool_place.c).
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
 * The spool file of this process, growing by mapped segments: space is allocated on disk and pages are touched here, so
 * that later writes into a segment neither fault nor raise SIGBUS.
 *
 * A segment starts its life as one chunk (common/spool.h).
 */

/*
 * Makes DIRECTORY/PID-N.spool (0600, new) with its header filled in but for what only collectors know. Returns the
 * mapped header, or NULL with errno set.
 */
struct spool_header *spool_file_open(const char *directory, uint64_t trace_bits);

/* Removes the file, which has no segments because space for the first was missing: errno says why. A note takes its
 * place.
 */
void spool_file_give_up(const char *directory);

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
void spool_file_give_back(void);

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

/*
 * The mapped segments, and how many chunks of each are held.
 *
 * A segment that was drained as a whole (common/spool.h) is used again: this needs no fresh pages, and the file does
 * not grow. For that a segment stays mapped when no chunk of it is held. Beyond SEGMENTS_MAPPED_KEPT segments it is
 * unmapped instead, and the launcher gives its disk space back. A segment is for chunks of one type: threads keep
 * chunks for our own records much longer than CUPTI keeps its buffers.
 */

/* With the fresh ones in the pool 64 MiB at most, but for what CUPTI has in use. */
#define SEGMENTS_MAPPED_KEPT 48u

/* Whether there is space for one more. One thread at a time asks and adds. */
bool segments_have_space(void);

/* The segment that was mapped at BASE and lies at OFFSET of the file, blank. Returns its one chunk, held once. */
struct spool_chunk *segments_add(char *base, uint64_t offset);

/* What the segment of CHUNK is for; SPOOL_FREE: it was not said yet. */
enum spool_chunk_type segment_purpose(const struct spool_chunk *chunk);
/* Sets that. Only the holder of the segment's one chunk may call it. */
void segment_set_purpose(const struct spool_chunk *chunk, enum spool_chunk_type type);

/* Cuts CHUNK after BYTES (aligned) and returns the rest, ready and held. Readers find a whole chain at any moment. */
struct spool_chunk *segment_cut(struct spool_chunk *chunk, uint64_t bytes);
/* How many ready chunks of it are kept; read and written under the lock of the kept chunks. */
unsigned *segment_kept(const struct spool_chunk *chunk);
void segment_drop(const struct spool_chunk *chunk);

/* The one that keeps ready chunks: between `lock` and `unlock` none of them is handed out. */
struct segment_keeper {
    void (*lock)(void);
    void (*unlock)(void);
    void (*forget)(const char *base); /* those of the segment at BASE are kept no longer */
};

/* A segment in which all was drained or never used, as one chunk, blank, held once; NULL: there is none. */
struct spool_chunk *segments_reclaim(const struct segment_keeper *keeper);

/* The file was removed: nothing is kept mapped for later, and what is unmapped from now on is given back to the disk.
 */
void segments_give_back(void);

/* Whether the segment at OFFSET of the file is mapped. */
bool segments_any_at(uint64_t offset);

/* Returns where the segment with ADDRESS begins; NULL: no segment has it. Async-signal-safe. */
char *segments_find(const void *address);

/* The memory at BASE, the start of a segment, no longer belongs to the file. SAVE is called with its contents before it
 * is unmapped, or by segments_save(). Async-signal-safe. */
void segment_set_orphaned(const char *base, void (*save)(const char *base, uint64_t offset));
void segments_save(void);

/* In a forked child: what is held becomes, by MAKE_PRIVATE, a copy of this process, and all is forgotten.
 * Async-signal-safe. */
void segments_atfork_child(void (*make_private)(void *base, uint64_t bytes, uint64_t offset));

/*
 * Orphaned segments (spool_file_rescue()): what was written into one is copied back into the file, or its records are
 * counted as lost.
 */

/* Writes the segment at BASE to OFFSET of the file FD. The launcher may be reading it there: whatever a chunk's header
 * says is there before it. Returns 0, or -1 with errno set: even then no record that a header in the file announces is
 * lost.
 */
int orphaned_segment_write(int fd, const char *base, uint64_t offset);

/* How many records of the segment at BASE are not at OFFSET of the file; a descriptor of -1: none is. RECORD_BYTES are
 * the sizes of CUPTI's kinds. -1: no memory to look at it. */
int64_t orphaned_segment_missing(int fd, const char *base, uint64_t offset,
                                 const uint16_t record_bytes[SPOOL_CUPTI_KINDS]);

/*
 * Chunks of the spool that are ready for use: fresh segments, and the unused remainders of others.
 *
 * A thread of ours keeps a few fresh segments ready, and more when they are used up quickly; it starts when a thread of
 * the program has recorded more than a little. The lock is held for a few instructions only. When the pool is empty one
 * of the threads that need a chunk makes the file grow, and the others wait for it: nothing is lost.
 */

/* Size of a chunk with its header that a thread's own records are written to, once it has recorded more than a little.
 */
#define RECORDS_CHUNK_BYTES ((uint64_t)64 << 10)
/* A CUPTI buffer of a thread that launches much is at least this large. */
#define CUPTI_CHUNK_BYTES_MIN ((uint64_t)256 << 10)

/* Chunks up to this size are for threads with few records, and do not count as a need for fresh segments. */
#define CHUNK_POOL_SMALL_BYTES ((uint64_t)32 << 10)

/* The pool of a spool whose FIRST chunk is ready. Without a thread for it the file grows when it is asked to. */
void chunk_pool_open(struct spool_chunk *first);

/* Fresh segments will be needed soon: the thread begins to prepare some. */
void chunk_pool_serve(void);

/* Adds CHUNK, blank and held by the caller. NULL: does nothing. */
void chunk_pool_add(struct spool_chunk *chunk);

/* Cuts CHUNK after BYTES (aligned). Returns the remainder, ready and held, or NULL if it is too small to be useful. */
struct spool_chunk *chunk_pool_cut(struct spool_chunk *chunk, uint64_t bytes);

/* Returns a ready chunk, held, of LEAST to MOST bytes, if possible from a segment for TYPE; remainders before fresh
 * segments. NULL: there is no space, and chunk_pool_failure() returns the errno of that. */
struct spool_chunk *chunk_pool_take(enum spool_chunk_type type, uint64_t least, uint64_t most);
int chunk_pool_failure(void);

/* The thread of the pool returns: the program's threads have ended. */
void chunk_pool_end(void);
/* Drops what is in the pool: nothing is kept or handed out from now on. */
void chunk_pool_close(void);

/* In a forked child: the pool is empty, and closed. */
void chunk_pool_atfork_child(void);

/*
 * The descriptor of a file of ours in a process whose descriptors are the program's to close: daemons close all of them
 * at their start, and the number may then belong to a file of the program. So it stands high, where the program's own
 * numbers stay as they would be without us, is looked at before each use, and is opened again when it is gone.
 */

struct descriptor {
    int fd; /* -1: there is none */
    dev_t device;
    ino_t inode;
    char path[PATH_MAX]; /* absolute */
};

/* Makes the file PATH (0600, new) for reading and writing. Returns 0, or -1 with errno set: EEXIST when it is there. */
int descriptor_create(struct descriptor *descriptor, const char *path);

/* The descriptor, opened again where it must be; -1 with errno set. */
int descriptor_use(struct descriptor *descriptor);

/* Whether the descriptor is still that of the file. */
bool descriptor_is_ours(const struct descriptor *descriptor);

/* Whether the file was removed: it has no name any more, so it will never be read. False also when the
 * descriptor is not ours, as nothing is known then. */
bool descriptor_is_removed(const struct descriptor *descriptor);

/* Closes it if it is ours. Async-signal-safe. */
void descriptor_close(struct descriptor *descriptor);

/* Gives the calling thread, which is ours, a table of descriptors of its own, an empty one: nothing that the program
 * opens or closes is seen there, nor held open. 0, or -1 with errno set: the kernel or a sandbox does not offer it. */
int descriptor_own_table(void);

/* Whether any of the process's descriptors is a device whose path begins with PREFIX. */
bool descriptor_any_device(const char *prefix);

/*
 * Where the spool file of this process comes from: it makes the file in the run's directory, or, when it cannot reach
 * that, gets it from the launcher (common/spool.h).
 */

/* SERVER is the setting `spool_server`: NULL or "" when there is no launcher to ask. It is not copied. */
void spool_place_set_server(const char *server);

/* Makes the file and fills DESCRIPTOR. Returns 0, or -1 with errno set: why the process could not make the file itself,
 * or ECONNREFUSED when it could not and the launcher has ended. */
int spool_place_make(const char *directory, struct descriptor *descriptor);

/* Removes the file, which could not be used. */
void spool_place_remove(struct descriptor *descriptor);

/* Reports to the launcher that this process is not recorded because of FAILURE (errno, or SPOOL_FAILURE_MASK_KILLS …),
 * so that it is counted. Leaves errno at FAILURE. */
void spool_place_note_unrecorded(const char *directory, int failure);

#endif
