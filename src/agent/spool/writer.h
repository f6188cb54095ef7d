/*
 * Where a thread writes its records: chunks of the spool, and a writer for each thread.
 */
#ifndef GPUTRACE_AGENT_SPOOL_WRITER_H
#define GPUTRACE_AGENT_SPOOL_WRITER_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "agent/dispatch/fork_watch.h"
#include "agent/spool/chunk_pool.h"
#include "common/spool.h"
#include "common/spool_records.h"

/*
 * Chunks of the spool, handed out and taken back. What comes back half empty is cut, and the rest handed out again:
 * chunk_pool.h keeps the chunks that are ready. Asking takes a lock that is only ever held for a few instructions.
 *
 * A thread that has recorded little gets small chunks: a program may have thousands of such threads.
 */

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

/*
 * Each thread's own records: the way from a happening to bytes that survive the process.
 *
 *     struct spool_memory *record = writer_begin(SPOOL_RECORD_MEMORY, sizeof(*record), clock_now());
 *     if (record) { ...fill...; writer_commit(&record->head); }
 *
 * A thread writes into its own chunk without a lock; a record becomes visible as a whole. A signal handler that comes
 * between begin and commit of its own thread is turned away, and the loss is counted.
 *
 * A handler may also leave by siglongjmp(), and then the begun record is never committed. It is abandoned, and counted,
 * by the next record of the thread whose stack pointer shows that the begun one's function is gone. Where the thread is
 * deeper in its stack from then on, it cannot be distinguished from a handler: after WRITER_BUDGET records that were
 * turned away the thread takes another chunk, so that both can go on.
 */

/* Texts longer than this are cut: 16 KiB name anything. */
#define WRITER_TEXT_MAX (UINT32_C(16) << 10)

/* Records turned away in a row before the one that was begun is abandoned. */
#define WRITER_BUDGET 16u

/* This thread's. What every record passes is inline below; the rest is in writer.c. */
struct writer {
    struct spool_chunk *chunk;
    char *next;          /* where the next record comes … */
    char *end;           /* … before this; both NULL without a chunk */
    uint32_t generation; /* of the chunk: a forked child leaves it */
    uint32_t next_bytes; /* of the next chunk, 0: it is the first */
    uint32_t thread;
    uint32_t turned_away; /* records, since one was last begun */
    uintptr_t begun;      /* the stack pointer where a record was begun that is not committed; 0: none */
    bool named;
};
extern __thread struct writer this_writer;

/* Bytes of data in its chunk. */
static inline uint64_t writer_used(const struct writer *mine)
{
    return (uint64_t)(mine->next - chunk_data(mine->chunk));
}

/* A fresh chunk for this thread, with room for a record of BYTES; the one before is full, or the parent's. False: there
 * is no room, or the child was not announced (fork_watch.h), and it is counted. */
bool writer_renew(struct writer *mine, uint32_t bytes);
/* A record was begun before the one that the caller wants to begin. One of them is lost, and counted. True: the one
 * before was abandoned; else the caller's is turned away. */
bool writer_abandon(struct writer *mine);

static inline void writer_note_begun(struct writer *mine)
{
#if defined(__x86_64__)
    __asm__ volatile("mov %%rsp, %0" : "=m"(mine->begun));
#else
    mine->begun = (uintptr_t)__builtin_frame_address(0);
#endif
}

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
    if (mine->begun && !writer_abandon(mine))
        return NULL;
    writer_note_begun(mine);
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    bool fits = (uintptr_t)mine->next + bytes <= (uintptr_t)mine->end && mine->generation == fork_generation();
    if (!fits && !writer_renew(mine, bytes)) {
        mine->begun = 0;
        return NULL;
    }
    char *at = mine->next;
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

/* Makes the record last begun by this thread visible, unless it was abandoned. */
static inline void writer_commit_in(struct writer *mine, const struct spool_record *record)
{
    if ((const char *)record != mine->next)
        return;
    mine->next += record->bytes;
    __atomic_store_n(&mine->chunk->used, writer_used(mine), __ATOMIC_RELEASE);
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    mine->begun = 0;
}

static inline void writer_commit(const struct spool_record *record)
{
    writer_commit_in(writer_mine(), record);
}

/* This thread records nothing any more: what it would is counted, without a system call. Async-signal-safe. */
void writer_sleep(void);

/* This thread's gettid(), without a system call but for the first time. */
uint32_t writer_thread(void);

#endif
