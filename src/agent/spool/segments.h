/*
 * The mapped segments of the spool, and how many chunks of each are held.
 *
 * A segment that was drained as a whole (common/spool.h) is used again: this needs no fresh pages, and the file does
 * not grow. For that a segment stays mapped when no chunk of it is held. Beyond SEGMENTS_MAPPED_KEPT segments it is
 * unmapped instead, and the launcher gives its disk space back. A segment is for chunks of one type: threads keep
 * chunks for our own records much longer than CUPTI keeps its buffers.
 */
#ifndef GPUTRACE_AGENT_SPOOL_SEGMENTS_H
#define GPUTRACE_AGENT_SPOOL_SEGMENTS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/spool.h"

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

/* Cuts CHUNK after BYTES (aligned) and returns the rest, ready and held: the user of a chunk, or the keeper of a ready
 * one, holds its segment. Readers find a whole chain at any moment. */
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
void segments_release(void);

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

#endif
