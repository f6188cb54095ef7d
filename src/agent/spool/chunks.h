/*
 * Chunks of the spool, handed out and taken back. What comes back half empty is cut, and the rest handed out again:
 * chunk_pool.h has what is ready. Asking takes a lock that is only ever held for a few instructions.
 *
 * A thread that has recorded little gets small chunks: a program may have thousands of such threads.
 */
#ifndef GPUTRACE_AGENT_SPOOL_CHUNKS_H
#define GPUTRACE_AGENT_SPOOL_CHUNKS_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/spool/chunk_pool.h"

/* Opens the spool of this process in DIRECTORY, with a little room in the pool. Returns 0, or -1 with errno set. */
int chunks_open(const char *directory, uint64_t trace_bits);

/* A chunk for this thread, in use, empty; NULL: there is no room, or the child was not announced (fork_watch.h). */
struct spool_chunk *chunk_take(enum spool_chunk_type type);
/* The same of MOST bytes with its header, or of less, but of LEAST. */
struct spool_chunk *chunk_take_sized(enum spool_chunk_type type, uint64_t least, uint64_t most);

/* The chunk holds USED bytes of data and is finished with; the rest of its room is handed out again. */
void chunk_done(struct spool_chunk *chunk, uint64_t used);

/* Bytes of data that the chunk has room for. */
static inline uint64_t chunk_room(const struct spool_chunk *chunk)
{
    return chunk->bytes - sizeof(*chunk);
}

static inline char *chunk_data(struct spool_chunk *chunk)
{
    return (char *)(chunk + 1);
}

static inline struct spool_chunk *chunk_of_data(void *data)
{
    return (struct spool_chunk *)data - 1;
}

/* When the spool's file was removed: no chunk is handed out any more, and what nobody has in use is given back. True:
 * it was, just now. */
bool chunks_end_if_removed(void);

/* In a forked child: leaves the parent's spool, with a new fork_generation(). The next chunks_open() makes an own one.
 */
void chunks_atfork_child(void);

#endif
