/*
 * Chunks of the spool, and each thread's writer of records, which survive the process.
 *
 *      struct spool_memory *record = writer_begin(SPOOL_RECORD_MEMORY, sizeof(*record), clock_now());
 *      if (record) { ...fill...; writer_commit(&record->head); }
 *
 * A thread writes into its own chunk without a lock; a record becomes visible as a whole. A signal handler that comes
 * between begin and commit of its own thread cannot record anything, and the loss is counted.
 *
 * A handler may also leave by siglongjmp(), and then the begun record is never committed. The thread's next record
 * abandons and counts it if the stack pointer shows that its function is gone. If the thread stays deeper in its stack,
 * it cannot be distinguished from a handler: after WRITER_BUDGET lost records the thread takes another chunk, so that
 * both can go on.
 */
#ifndef GPUTRACE_AGENT_SPOOL_WRITER_H
#define GPUTRACE_AGENT_SPOOL_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/dispatch/registry.h"
#include "agent/spool/spool_file.h"
#include "common/spool.h"
#include "common/spool_records.h"
#include "common/text.h"

/*
 * Chunks of the spool. The rest of a chunk that is returned half empty is cut off and handed out again: chunk_pool.c
 * keeps the ready chunks. Getting a chunk takes a lock that is only held for a few instructions.
 *
 * A thread that has recorded little gets small chunks, because a program may have thousands of such threads.
 */

/* Opens the spool of this process in DIRECTORY, with the first chunk in the pool. Returns 0, or -1 with errno set. */
int chunks_open(const char *directory, uint64_t trace_bits);

/* Returns a chunk for this thread, in use and empty, of LEAST to MOST bytes with its header. Returns NULL if the spool
 * is full, or the child was not announced (registry.h). */
struct spool_chunk *chunk_get(enum spool_chunk_type type, uint64_t least, uint64_t most);

/* Finishes a chunk with USED bytes of data; the rest of its space is handed out again. */
void chunk_done(struct spool_chunk *chunk, uint64_t used);

/* Returns how many bytes of data fit into the chunk. */
static inline uint64_t chunk_space(const struct spool_chunk *chunk)
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

/* If the spool's file was removed, stops handing out chunks and gives the space of unused ones back. Returns true the
 * first time. */
bool chunks_end_if_removed(void);

/* In a forked child: leaves the parent's spool, with a new fork_generation(). The next chunks_open() opens a spool for
 * this process. */
void chunks_atfork_child(void);

/* Longer texts are cut: 16 KiB suffice for any name. */
#define WRITER_TEXT_MAX ((uint32_t)TEXT_MAX)

/* Records lost in a row before the thread gives up the record that was begun. */
#define WRITER_BUDGET 16u

/* A thread's writer. The path of every record is inline below; the rest is in writer.c. */
struct writer {
    struct spool_chunk *chunk;
    char *next;          /* place for the next record; NULL without a chunk */
    char *end;           /* end of the chunk; NULL without a chunk */
    uint32_t generation; /* fork generation of the chunk, by which a forked child notices the parent's chunk */
    uint32_t next_bytes; /* size of the next chunk; 0 before the first one */
    uint32_t thread;
    uint32_t turned_away; /* records lost in a row because one was begun */
    uintptr_t begun;      /* stack pointer at the begin of a record that is not committed; 0: none */
    char comm[16];        /* the thread's name as last recorded; empty: not yet */
};
extern __thread struct writer this_writer;

/* Returns the bytes of data in the writer's chunk. */
static inline uint64_t writer_used(const struct writer *mine)
{
    return (uint64_t)(mine->next - chunk_data(mine->chunk));
}

/* Gets a new chunk for this thread, with space for a record of BYTES, because the old one is full or the parent's.
 * Returns false, and counts a loss, if the spool is full or the child was not announced (registry.h). */
bool writer_renew(struct writer *mine, uint32_t bytes) __attribute__((cold));
/* Decides between the record that was begun before and the one that the caller wants to begin: one is lost, and
 * counted. Returns true if the older record is abandoned, false if the caller must not record. */
bool writer_abandon(struct writer *mine) __attribute__((cold));

static inline void writer_note_begun(struct writer *mine)
{
#if defined(__x86_64__)
    __asm__ volatile("mov %%rsp, %0" : "=m"(mine->begun));
#else
    mine->begun = (uintptr_t)__builtin_frame_address(0);
#endif
}

/* Finds the thread's writer once: finding a thread-local variable takes a call, which compilers would repeat. */
static inline struct writer *writer_mine(void)
{
    struct writer *mine = &this_writer;
    __asm__("" : "+r"(mine));
    return mine;
}

/* Returns space for a record of BYTES, with arbitrary contents because space is reused, or NULL if nothing can be
 * recorded; then the loss is counted. */
static inline char *writer_reserve(struct writer *mine, uint32_t bytes)
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
    return mine->next;
}

/* Begins a record of BYTES at TIME (CLOCK_REALTIME, ns): writes its head, and zeros the rest of the first SIZE bytes
 * and the last word, in which a text may end. The caller writes the bytes in between. Returns NULL if nothing can be
 * recorded. */
static inline void *writer_begin_in(struct writer *mine, enum spool_record_type type, uint32_t size, uint32_t bytes,
                                    uint64_t time)
{
    char *at = writer_reserve(mine, bytes);
    if (!at)
        return NULL;
    memset(at + bytes - sizeof(uint64_t), 0, sizeof(uint64_t));
    memset(at, 0, size);
    *(struct spool_record *)at = (struct spool_record){.type = (uint16_t)type, .bytes = bytes, .time = time};
    return at;
}

/* Begins a record without a text. */
static inline void *writer_begin(enum spool_record_type type, uint32_t bytes, uint64_t time)
{
    return writer_begin_in(writer_mine(), type, bytes, bytes, time);
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

/* Writes a struct spool_NAME without a text, with a given writer of this thread. The last arguments initialise its
 * other members, and are evaluated before the record is begun. */
#define record_write_in(by_writer, kind, name, at_time, ...)                                                 \
    do {                                                                                                     \
        const struct spool_##name written = {                                                                \
            .head = {.type = (kind), .bytes = sizeof(struct spool_##name), .time = (at_time)}, __VA_ARGS__}; \
        struct writer *by = (by_writer);                                                                     \
        struct spool_##name *at = (void *)writer_reserve(by, sizeof(written));                               \
        if (at) {                                                                                            \
            *at = written;                                                                                   \
            writer_commit_in(by, &at->head);                                                                 \
        }                                                                                                    \
    } while (0)

#define record_write(kind, name, at_time, ...) record_write_in(writer_mine(), kind, name, at_time, __VA_ARGS__)

/* Stops recording on this thread: further records are counted as lost, without a system call. Async-signal-safe. */
void writer_sleep(void);

/* At the end of the process: records the present names of its threads, which may have changed after their first record.
 * Does nothing in a sandbox (seccomp), which may end the process for the system calls. */
void writer_name_threads(void);

/* Returns this thread's gettid(). Makes no system call once the thread has a chunk. */
uint32_t writer_thread(void);

/* --- records that end with a text --- */

/* Returns how many bytes of a text of LENGTH are kept. */
static inline uint32_t record_text_kept(uint32_t length)
{
    return length < WRITER_TEXT_MAX ? length : WRITER_TEXT_MAX;
}

/* Returns how many bytes of a text of LENGTH are kept, and counts a text that is cut. */
static inline uint32_t record_text_cut(uint32_t length)
{
    if (length > WRITER_TEXT_MAX)
        __atomic_add_fetch(&spool_file_header()->losses.cut_texts, 1, __ATOMIC_RELAXED);
    return record_text_kept(length);
}

/* Writes TEXT to AT, cut to KEPT bytes, with the hash of the whole text at the end. */
void record_put_cut(char *at, struct gputrace_text text, uint32_t kept) __attribute__((cold));

/* Writes TEXT to AT, cut to KEPT bytes if it is longer. */
static inline void record_put_text(char *at, struct gputrace_text text, uint32_t kept)
{
    if (text.length > kept)
        record_put_cut(at, text, kept);
    else if (kept > 0)
        memcpy(at, text.bytes, kept);
}

/* Writes a record of SIZE bytes that ends with `length` and, at TEXT_AT, `text`: TEXT followed by MORE, each cut if too
 * long. Symbols are cut at SPOOL_SYMBOL_MAX without counting. RECORD has the other members, but only the flags of the
 * head; FLAGS are added. Returns false if nothing could be recorded. */
bool record_write_texts(enum spool_record_type type, uint16_t flags, uint64_t time, const struct spool_record *record,
                        uint32_t size, uint32_t text_at, struct gputrace_text text, struct gputrace_text more);

/* Writes a struct spool_NAME with a text. The last arguments initialise its other members. */
#define record_write_text(type, name, time, with_text, ...)                                                      \
    record_write_texts((type), 0, (time), &(struct spool_##name){__VA_ARGS__}.head, sizeof(struct spool_##name), \
                       offsetof(struct spool_##name, text), (with_text), (struct gputrace_text){0})

/*
 * The crash chunk: a chunk of the spool that is kept ready for a crashing thread, which cannot ask for one.
 *
 * It begins with a table of open driver calls, each a record that is reused for one call after another. The records of
 * the crashing thread follow.
 */

#define CRASH_CHUNK_CALLS 256u /* maximum of open calls in the table; more are left out */
#define CRASH_CHUNK_BYTES (2 * RECORDS_CHUNK_BYTES)

/* Gets the chunk, once for a spool. Returns 0, or -1 if the spool is full; then the other functions do nothing. */
int crash_chunk_open(void);

/* Subscribes to open calls if TRACE_BITS ask for them. Returns 0, or -1 if there is no memory. */
int crash_chunk_subscribe(uint64_t trace_bits);

/* Returns space for the chunk's next record, of TYPE and BYTES, with its head filled in and the rest zero, or NULL if
 * there is no space. crash_chunk_commit() makes the record visible. Async-signal-safe, for one thread at a time. */
void *crash_chunk_begin(enum spool_record_type type, uint32_t bytes, uint64_t time);
void crash_chunk_commit(const struct spool_record *record);

/* In a forked child: forgets the chunk, which is the parent's. */
void crash_chunk_atfork_child(void);

#endif
