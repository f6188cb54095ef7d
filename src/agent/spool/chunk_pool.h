/*
 * Chunks of the spool that are ready to be handed out: fresh segments, and what others left over of theirs.
 *
 * A thread of ours keeps a few fresh segments in stock, more when they go faster; it begins to when a thread of the
 * program has recorded more than a little. The lock is only ever held for a few instructions. When the stock is empty
 * one of those who ask makes the file grow, and the others wait for what it gets, rather than lose anything.
 */
#ifndef GPUTRACE_AGENT_SPOOL_CHUNK_POOL_H
#define GPUTRACE_AGENT_SPOOL_CHUNK_POOL_H

#include <stdint.h>

#include "common/spool.h"
#include "common/spool_records.h"

/* Size of a chunk with its header that a thread's own records are written to, once it has recorded more than a little.
 */
#define RECORDS_CHUNK_BYTES ((uint64_t)64 << 10)
/* A CUPTI buffer of a thread that launches much is at least this large. */
#define CUPTI_CHUNK_BYTES_MIN ((uint64_t)256 << 10)

/* Chunks of up to so many bytes are for threads with few records: who takes them alone needs no fresh segments. */
#define CHUNK_POOL_SMALL_BYTES ((uint64_t)32 << 10)

/* The stock of a spool whose FIRST chunk is ready. Without a thread for it the file grows when it is asked to. */
void chunk_pool_open(struct spool_chunk *first);

/* Fresh segments will be needed soon: the thread begins to keep some. */
void chunk_pool_serve(void);

/* CHUNK, blank and held by the caller, is ready for whoever takes it. NULL: nothing is done. */
void chunk_pool_add(struct spool_chunk *chunk);

/* Cuts CHUNK after BYTES (aligned); gives the rest, ready and held, or NULL when it is too small for what its segment
 * is for. */
struct spool_chunk *chunk_pool_cut(struct spool_chunk *chunk, uint64_t bytes);

/* A ready chunk, held, of MOST bytes or less, but of LEAST, of a segment for TYPE where there is one: rests before
 * fresh ones. NULL: there is no room, and chunk_pool_failure() is the errno of that. */
struct spool_chunk *chunk_pool_take(enum spool_chunk_type type, uint64_t least, uint64_t most);
int chunk_pool_failure(void);

/* The thread of the stock returns: the program's threads have ended. */
void chunk_pool_end(void);
/* Drops what is in stock: nothing is kept or handed out from now on. */
void chunk_pool_close(void);

/* In a forked child: the stock is empty, and closed. */
void stock_atfork_child(void);

#endif
