/*
 * The segments of the spool that this process has mapped, and who holds them.
 *
 * A segment that was drained as a whole (common/spool.h) is used anew: no fresh page, and the file does not grow. It
 * stays mapped for that, also while nobody holds it, but for what is beyond SEGMENTS_MAPPED_KEPT: that is unmapped when
 * the last one lets go, and the launcher gives its room on the disk back. A segment is for chunks of one type: threads
 * are long in one of our own records, and CUPTI's need not wait for them.
 */
#ifndef GPUTRACE_AGENT_SPOOL_SEGMENTS_H
#define GPUTRACE_AGENT_SPOOL_SEGMENTS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/spool.h"

/* With the fresh ones in stock 64 MiB at most, but for what CUPTI has in use. */
#define SEGMENTS_MAPPED_KEPT 48u

/* Whether there is room for one more. One thread at a time asks and adds. */
bool segments_have_room(void);

/* The segment that was mapped at BASE and lies at OFFSET of the file, blank. Gives its one chunk, held once. */
struct spool_chunk *segments_add(char *base, uint64_t offset);

/* What the segment of CHUNK is for; SPOOL_FREE: it was not said yet. */
enum spool_chunk_type segment_purpose(const struct spool_chunk *chunk);
/* For the holder of its one chunk. */
void segment_set_purpose(const struct spool_chunk *chunk, enum spool_chunk_type type);

/* Cuts CHUNK after BYTES (aligned) and gives the rest, ready and held. Readers find a whole chain at any moment. */
struct spool_chunk *segment_cut(struct spool_chunk *chunk, uint64_t bytes);
/* How many ready chunks of it are kept; read and written under the lock of the kept chunks. */
unsigned *segment_kept(const struct spool_chunk *chunk);
void segment_drop(const struct spool_chunk *chunk);

/* Whoever keeps ready chunks: between `lock` and `unlock` none of them is handed out. */
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

/* Where the segment begins in which ADDRESS is; NULL: in none. Async-signal-safe. */
char *segments_find(const void *address);

/* What is mapped at BASE, the begin of a segment, is no part of the file any more. SAVE is called with what is there
 * before it goes: with it, or by segments_save(), which calls it for all. Async-signal-safe. */
void segment_set_orphaned(const char *base, void (*save)(const char *base, uint64_t offset));
void segments_save(void);

/* In a forked child: what is held becomes, by MAKE_PRIVATE, a copy of this process, and all is forgotten.
 * Async-signal-safe. */
void segments_atfork_child(void (*make_private)(void *base, uint64_t bytes, uint64_t offset));

/* --- apart --- */

/*
 * A segment whose memory is no part of the file any more (spool_file_rescue()): what came into it since is brought back
 * into the file, or counted.
 */

/* Writes the segment at BASE to OFFSET of the file FD. The launcher may be reading it there: whatever a chunk's header
 * says is there before it. Gives 0, or -1 with errno set: of what a header in the file tells nothing is lost even so.
 */
int orphaned_segment_write(int fd, const char *base, uint64_t offset);

/* How many records of the segment at BASE are not at OFFSET of the file; a descriptor of -1: none is. RECORD_BYTES are
 * the sizes of CUPTI's kinds. -1: no memory to look at it. */
int64_t orphaned_segment_missing(int fd, const char *base, uint64_t offset,
                                 const uint16_t record_bytes[SPOOL_CUPTI_KINDS]);

#endif
