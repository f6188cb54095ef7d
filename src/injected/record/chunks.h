/*
 * Chunks of the spool, handed out and taken back. What comes back half empty is cut, and the rest handed out again:
 * stock.h has what is ready. Asking takes a lock that is only ever held for a few instructions.
 */
#ifndef GPUTRACE_INJECTED_RECORD_CHUNKS_H
#define GPUTRACE_INJECTED_RECORD_CHUNKS_H

#include <stdbool.h>
#include <stdint.h>

#include "injected/record/stock.h"

/* Opens the spool of this process in DIRECTORY, with one segment in stock. Gives 0, or -1 with errno set. */
int chunks_open(const char *directory, uint64_t trace_bits);

/* A chunk for this thread, in use, empty; NULL: there is no room. */
struct spool_chunk *chunk_take(enum spool_chunk_type type);

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

/* Changes with every fork, so that threads notice that their chunk is not this process's. */
extern uint32_t chunks_current_generation;
static inline uint32_t chunks_generation(void)
{
    return __atomic_load_n(&chunks_current_generation, __ATOMIC_RELAXED);
}

/* When the spool's file was removed: no chunk is handed out any more, and what nobody has in use is given back. True:
 * it was, just now. */
bool chunks_end_if_removed(void);

/* In a forked child: leaves the parent's spool. The next chunks_open() makes an own one. */
void chunks_leave(void);

#endif
