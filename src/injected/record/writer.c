#include "injected/record/writer.h"

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "injected/record/chunks.h"
#include "injected/record/spool_file.h"

static __thread struct writer {
    struct spool_chunk *chunk;
    uint64_t used;
    uint32_t generation; /* of the chunk: a forked child leaves it */
    uint32_t thread;
    bool busy; /* between begin and commit */
    bool named;
} this_writer;

static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t at_thread_end;

static void thread_ended(void *writer)
{
    struct writer *mine = writer;
    struct spool_chunk *chunk = mine->chunk;
    mine->chunk = NULL;
    if (chunk && mine->generation == chunks_generation())
        chunk_done(chunk, mine->used);
}

static void make_key(void)
{
    pthread_key_create(&at_thread_end, thread_ended);
}

static void count_loss(uint64_t *counter)
{
    __atomic_add_fetch(counter, 1, __ATOMIC_RELAXED);
}

/* The first record of a thread tells its name. */
static void name_thread(struct writer *mine)
{
    char comm[16] = "";
    prctl(PR_GET_NAME, comm, 0, 0, 0);
    uint32_t length = (uint32_t)strlen(comm);
    struct spool_thread_name record = {.thread = mine->thread, .length = length};
    uint32_t bytes = spool_record_bytes(sizeof(record), sizeof(record.text), length);
    record.head = (struct spool_record){.type = SPOOL_RECORD_THREAD_NAME, .bytes = bytes, .time = clock_now()};
    char *at = chunk_data(mine->chunk) + mine->used;
    memcpy(at, &record, sizeof(record));
    memcpy(at + offsetof(struct spool_thread_name, text), comm, length);
    mine->used += bytes;
    mine->named = true;
}

/* A fresh chunk for this thread; the one before is full, or the parent's. */
static bool renew(struct writer *mine)
{
    uint32_t generation = chunks_generation();
    if (mine->generation != generation) {
        mine->chunk = NULL;
        mine->thread = (uint32_t)syscall(SYS_gettid);
        mine->named = false;
        mine->generation = generation;
    }
    if (mine->chunk)
        chunk_done(mine->chunk, mine->used);
    mine->used = 0;
    mine->chunk = chunk_take(SPOOL_RECORDS);
    if (!mine->chunk)
        return false;
    pthread_once(&once, make_key);
    pthread_setspecific(at_thread_end, mine);
    if (!mine->named)
        name_thread(mine);
    return true;
}

void *writer_begin(enum spool_record_type type, uint32_t bytes, uint64_t time)
{
    struct writer *mine = &this_writer;
    if (mine->busy) {
        count_loss(&spool_file_header()->losses.nested);
        return NULL;
    }
    mine->busy = true;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    bool fits = mine->chunk && mine->generation == chunks_generation() && mine->used + bytes <= chunk_room(mine->chunk);
    if (!fits && !renew(mine)) {
        mine->busy = false;
        count_loss(&spool_file_header()->losses.no_room);
        return NULL;
    }
    char *at = chunk_data(mine->chunk) + mine->used;
    memset(at, 0, bytes); /* room that was used before is not blank */
    *(struct spool_record *)at = (struct spool_record){.type = (uint16_t)type, .bytes = bytes, .time = time};
    return at;
}

void writer_commit(struct spool_record *record)
{
    struct writer *mine = &this_writer;
    mine->used += record->bytes;
    __atomic_store_n(&mine->chunk->used, mine->used, __ATOMIC_RELEASE);
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    mine->busy = false;
}

uint32_t writer_thread(void)
{
    struct writer *mine = &this_writer;
    if (mine->generation != chunks_generation() || mine->thread == 0)
        return (uint32_t)syscall(SYS_gettid);
    return mine->thread;
}
