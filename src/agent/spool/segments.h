/*
 * The mapped segments of the spool, and how many chunks of each are held.
 *
 * A segment that was drained as a whole (common/spool.h) is reused: this needs no fresh pages, and the file does not
 * grow. For reuse a segment stays mapped when no chunk of it is held. If more than SEGMENTS_MAPPED_KEPT segments are
 * mapped, the segment is unmapped instead, and the launcher gives its disk space back. A segment has chunks of one
 * type: threads keep chunks for our own records much longer than CUPTI keeps its buffers.
 */
#ifndef GPUTRACE_AGENT_SPOOL_SEGMENTS_H
#define GPUTRACE_AGENT_SPOOL_SEGMENTS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/spool.h"

/* Together with the fresh segments in the pool, 64 MiB at most, besides the segments that CUPTI uses. */
#define SEGMENTS_MAPPED_KEPT 48u

/* Whether there is space for one more segment. Only one thread at a time asks and adds. */
bool segments_have_space(void);

/* Adds the blank segment that is mapped at BASE and lies at OFFSET of the file. Returns its only chunk, held once. */
struct spool_chunk *segments_add(char *base, uint64_t offset);

/* Returns the type of chunks in the segment of CHUNK, or SPOOL_FREE if it was not set yet. */
enum spool_chunk_type segment_purpose(const struct spool_chunk *chunk);
/* Sets the type of chunks in the segment of CHUNK. Only the holder of the segment's only chunk may call this. */
void segment_set_purpose(const struct spool_chunk *chunk, enum spool_chunk_type type);

/* Cuts CHUNK after BYTES (aligned) and returns the rest, ready and held: each user of a chunk, and the keeper of each
 * ready chunk, holds the segment. Readers find a complete chain of chunks at any moment. */
struct spool_chunk *segment_cut(struct spool_chunk *chunk, uint64_t bytes);
/* Returns the counter of kept ready chunks in the segment of CHUNK. The lock of the kept chunks guards the counter. */
unsigned *segment_kept(const struct spool_chunk *chunk);
void segment_drop(const struct spool_chunk *chunk);

/* The owner of kept ready chunks. Between `lock` and `unlock` it hands none of them out. */
struct segment_keeper {
    void (*lock)(void);
    void (*unlock)(void);
    void (*forget)(const char *base); /* stops keeping the chunks of the segment at BASE */
};

/* Finds a segment whose chunks are all drained or unused. Returns it as one blank chunk, held once, or NULL if there is
 * none. */
struct spool_chunk *segments_reclaim(const struct segment_keeper *keeper);

/* Called when the file was removed: unmaps segments that are only kept for reuse. From now on unmapped segments give
 * their disk space back. */
void segments_release(void);

/* Whether the segment at OFFSET of the file is mapped. */
bool segments_any_at(uint64_t offset);

/* Returns the start of the segment that contains ADDRESS, or NULL if none does. Async-signal-safe. */
char *segments_find(const void *address);

/* Marks the segment at BASE, whose memory no longer belongs to the file. SAVE is called with the segment before it is
 * unmapped, or by segments_save(). Async-signal-safe. */
void segment_set_orphaned(const char *base, void (*save)(const char *base, uint64_t offset));
void segments_save(void);

/* In a forked child: turns held segments into private copies of this process by MAKE_PRIVATE, and forgets all segments.
 * Async-signal-safe. */
void segments_atfork_child(void (*make_private)(void *base, uint64_t bytes, uint64_t offset));

/*
 * Orphaned segments (spool_file_rescue()): their contents are copied back into the file, or their records are counted
 * as lost.
 */

/* Writes the segment at BASE to OFFSET of the file FD. The launcher may be reading there, so data is written before the
 * chunk header that announces it. Returns 0, or -1 with errno set: even then no record that a header in the file
 * announces is lost. */
int orphaned_segment_write(int fd, const char *base, uint64_t offset);

/* Returns how many records of the segment at BASE the file FD does not have at OFFSET, all of them if FD is -1. Returns
 * -1 if there is no memory for the comparison. RECORD_BYTES are the sizes of CUPTI's kinds. */
int64_t orphaned_segment_missing(int fd, const char *base, uint64_t offset,
                                 const uint16_t record_bytes[SPOOL_CUPTI_KINDS]);

#endif
