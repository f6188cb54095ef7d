/*
 * Chunks of the spool that are ready to be handed out.
 *
 * A thread of ours keeps a few fresh segments in stock, more when they go faster, and what others left over of theirs
 * waits beside them. The lock is only ever held for a few instructions; when the stock is empty the asking thread grows
 * the file itself rather than lose anything.
 */
#ifndef GPUTRACE_INJECTED_RECORD_STOCK_H
#define GPUTRACE_INJECTED_RECORD_STOCK_H

#include <stdint.h>

#include "wire/spool.h"
#include "wire/spool_records.h"

/* Size of a chunk with its header that a thread's own records are written to. */
#define RECORDS_CHUNK_BYTES ((uint64_t)64 << 10)
/* A CUPTI buffer is at least this large. */
#define CUPTI_CHUNK_BYTES_MIN ((uint64_t)256 << 10)

/* What is smaller serves nobody. */
static inline uint64_t stock_least_bytes(enum spool_chunk_type type)
{
    return type == SPOOL_CUPTI ? CUPTI_CHUNK_BYTES_MIN : RECORDS_CHUNK_BYTES;
}

/* The stock of a spool whose FIRST segment is mapped. Without a thread for it the file grows when it is asked to. */
void stock_open(struct spool_chunk *first);

/* CHUNK, blank and held by the caller, is ready for whoever takes it. NULL: nothing is done. */
void stock_put(struct spool_chunk *chunk);

/* A ready chunk, held, of a segment for TYPE where there is one: rests before fresh ones. NULL: there is no room, and
 * stock_failure() is the errno of that. */
struct spool_chunk *stock_take(enum spool_chunk_type type);
int stock_failure(void);

/* Drops what is in stock: nothing is kept or handed out from now on. */
void stock_close(void);

/* In a forked child: the stock is empty, and closed. */
void stock_leave(void);

#endif
