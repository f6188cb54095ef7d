/*
 * Each thread's own records: the way from a happening to bytes that survive the process.
 *
 *     struct spool_memory *record = writer_begin(SPOOL_RECORD_MEMORY, sizeof(*record), clock_now());
 *     if (record) { ...fill...; writer_commit(&record->head); }
 *
 * A thread writes into its own chunk without a lock; a record becomes visible as a whole. A signal handler that comes
 * between begin and commit of its own thread is turned away, and the loss is counted.
 */
#ifndef GPUTRACE_INJECTED_RECORD_WRITER_H
#define GPUTRACE_INJECTED_RECORD_WRITER_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "injected/record/chunks.h"
#include "wire/spool.h"
#include "wire/spool_records.h"

/* Texts longer than this are cut: 16 KiB name anything. */
#define WRITER_TEXT_MAX (UINT32_C(16) << 10)

/* This thread's. What every record passes is inline below; the rest is in writer.c. */
struct writer {
    struct spool_chunk *chunk;
    uint64_t used;
    uint32_t generation; /* of the chunk: a forked child leaves it */
    uint32_t next_bytes; /* of the next chunk, 0: it is the first */
    uint32_t thread;
    bool busy; /* between begin and commit */
    bool named;
};
extern __thread struct writer this_writer;

/* A fresh chunk for this thread, with room for a record of BYTES; the one before is full, or the parent's. False: there
 * is no room, and it is counted. */
bool writer_renew(struct writer *mine, uint32_t bytes);
void writer_turned_away(void);

/* To find a thread's own variable takes a call, and compilers rather make it again than keep what it gave. */
static inline struct writer *writer_mine(void)
{
    struct writer *mine = &this_writer;
    __asm__("" : "+r"(mine));
    return mine;
}

/* Room for a record of BYTES at TIME (CLOCK_REALTIME, ns), of which the first SIZE are zeroed but for its head, and the
 * last word, in which a text may end; the caller writes what is between. NULL: not recorded, and counted. */
static inline void *writer_begin_in(struct writer *mine, enum spool_record_type type, uint32_t size, uint32_t bytes,
                                    uint64_t time)
{
    if (mine->busy) {
        writer_turned_away();
        return NULL;
    }
    mine->busy = true;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    bool fits = mine->chunk && mine->generation == chunks_generation() && mine->used + bytes <= chunk_room(mine->chunk);
    if (!fits && !writer_renew(mine, bytes)) {
        mine->busy = false;
        return NULL;
    }
    char *at = chunk_data(mine->chunk) + mine->used;
    memset(at + bytes - sizeof(uint64_t), 0, sizeof(uint64_t)); /* room that was used before is not blank */
    memset(at, 0, size);
    *(struct spool_record *)at = (struct spool_record){.type = (uint16_t)type, .bytes = bytes, .time = time};
    return at;
}

static inline void *writer_begin_text(enum spool_record_type type, uint32_t size, uint32_t bytes, uint64_t time)
{
    return writer_begin_in(writer_mine(), type, size, bytes, time);
}

/* The same for a record without a text. */
static inline void *writer_begin(enum spool_record_type type, uint32_t bytes, uint64_t time)
{
    return writer_begin_text(type, bytes, bytes, time);
}

/* Makes the record last begun by this thread visible. */
static inline void writer_commit_in(struct writer *mine, const struct spool_record *record)
{
    mine->used += record->bytes;
    __atomic_store_n(&mine->chunk->used, mine->used, __ATOMIC_RELEASE);
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    mine->busy = false;
}

static inline void writer_commit(const struct spool_record *record)
{
    writer_commit_in(writer_mine(), record);
}

/* This thread's gettid(), without a system call but for the first time. */
uint32_t writer_thread(void);

#endif
