/*
 * Chunks of the spool that are ready for use: fresh segments, and the unused remainders of others.
 *
 * A thread of ours keeps a few fresh segments ready, and more when they are used up quickly; it starts when a thread of
 * the program has recorded more than a little. The lock is held for a few instructions only. When the pool is empty one
 * of the threads that need a chunk makes the file grow, and the others wait for it: nothing is lost.
 */
#ifndef GPUTRACE_AGENT_SPOOL_CHUNK_POOL_H
#define GPUTRACE_AGENT_SPOOL_CHUNK_POOL_H

#include <stdint.h>

#include "common/spool.h"

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
struct spool_chunk *chunk_pool_get(enum spool_chunk_type type, uint64_t least, uint64_t most);
int chunk_pool_failure(void);

/* The thread of the pool returns: the program's threads have ended. */
void chunk_pool_end(void);
/* Drops what is in the pool: nothing is kept or handed out from now on. */
void chunk_pool_close(void);

/* In a forked child: the pool is empty, and closed. */
void chunk_pool_atfork_child(void);

#endif
