/*
 * Chunks of the spool that are ready for use: fresh segments, and the unused remainders of other segments.
 *
 * A thread of ours keeps a few fresh segments ready, and more when they are used up quickly; the thread prepares none
 * until a thread of the program has recorded more than a little. The lock is held for a few instructions only. When the
 * pool is empty, one of the threads that need a chunk makes the file grow, and the others wait for that thread, so
 * nothing is lost.
 */
#ifndef GPUTRACE_AGENT_SPOOL_CHUNK_POOL_H
#define GPUTRACE_AGENT_SPOOL_CHUNK_POOL_H

#include <stdint.h>

#include "common/spool.h"

/* Size, with its header, of the chunks for a thread's own records, once the thread has recorded more than a little. */
#define RECORDS_CHUNK_BYTES ((uint64_t)64 << 10)
/* Minimum size of a CUPTI buffer of a thread that launches much. */
#define CUPTI_CHUNK_BYTES_MIN ((uint64_t)256 << 10)

/* Chunks up to this size are for threads with few records, and do not count as a need for fresh segments. */
#define CHUNK_POOL_SMALL_BYTES ((uint64_t)32 << 10)

/* Opens the pool of a spool whose FIRST chunk is ready (NULL: none), and starts its thread. If the thread cannot be
 * started, the file grows when a chunk is needed. */
void chunk_pool_open(struct spool_chunk *first);

/* Makes the thread prepare fresh segments, because they will be needed soon. */
void chunk_pool_serve(void);

/* Adds CHUNK, which is blank and held by the caller. NULL is ignored. */
void chunk_pool_add(struct spool_chunk *chunk);

/* Cuts CHUNK after BYTES (aligned). Returns the remainder, ready and held, or NULL if it is too small to be useful. */
struct spool_chunk *chunk_pool_cut(struct spool_chunk *chunk, uint64_t bytes);

/* Returns a ready chunk, held, of LEAST to MOST bytes, if possible from a segment for TYPE, and rather a remainder than
 * a fresh segment. Returns NULL if there is no space; chunk_pool_failure() returns the errno of the failure. */
struct spool_chunk *chunk_pool_get(enum spool_chunk_type type, uint64_t least, uint64_t most);
int chunk_pool_failure(void);

/* Makes the pool's thread return. Called when the program's threads have ended. */
void chunk_pool_end(void);
/* Drops the chunks in the pool. From now on the pool keeps and returns none. */
void chunk_pool_close(void);

/* In a forked child: empties and closes the pool. */
void chunk_pool_atfork_child(void);

#endif
