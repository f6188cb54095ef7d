#include "agent/spool/chunks.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/log.h"
#include "agent/spool/segments.h"
#include "agent/spool/spool_file.h"
#include "agent/spool/process.h"
#include "agent/dispatch/fork_watch.h"

static struct {
    bool open;
    bool told; /* that there is no room */
    bool over; /* the file was removed */
    uint64_t sequence;
} chunks;

static void publish_no_room(int failure)
{
    if (__atomic_exchange_n(&chunks.told, true, __ATOMIC_RELAXED))
        return;
    errno = failure;
    if (failure == EBADF)
        warning("the program closed the spool's file, and a sandbox keeps us from having our own: recording stops");
    else
        warning("the spool cannot grow (%m): recording stops until there is room; --spool-dir chooses another disk");
}

static void hand_out(struct spool_chunk *chunk, enum spool_chunk_type type)
{
    chunk->opened = clock_now();
    chunk->opened_monotonic = clock_monotonic();
    chunk->done_monotonic = 0;
    chunk->thread = (uint32_t)syscall(SYS_gettid);
    chunk->used = 0;
    chunk->type = (uint16_t)type;
    chunk->sequence = __atomic_add_fetch(&chunks.sequence, 1, __ATOMIC_RELAXED);
    __atomic_store_n(&chunk->state, SPOOL_IN_USE, __ATOMIC_RELEASE);
}

static struct spool_chunk *take(enum spool_chunk_type type, uint64_t least, uint64_t most)
{
    if (!chunks.open || __atomic_load_n(&chunks.over, __ATOMIC_RELAXED))
        return NULL;
    struct spool_chunk *chunk = chunk_pool_take(type, least, most);
    if (!chunk) {
        if (!spool_file_is_removed())
            publish_no_room(chunk_pool_failure());
        return NULL;
    }
    hand_out(chunk, type);
    return chunk;
}

struct spool_chunk *chunk_take_sized(enum spool_chunk_type type, uint64_t least, uint64_t most)
{
    struct signal_guard before;
    if (fork_unannounced())
        return NULL;
    signal_guard_begin(&before);
    struct spool_chunk *chunk = take(type, least, most);
    signal_guard_end(&before);
    return chunk;
}

struct spool_chunk *chunk_take(enum spool_chunk_type type)
{
    if (type == SPOOL_CUPTI)
        return chunk_take_sized(type, CUPTI_CHUNK_BYTES_MIN, SPOOL_SEGMENT_BYTES);
    return chunk_take_sized(type, RECORDS_CHUNK_BYTES, RECORDS_CHUNK_BYTES);
}

void chunk_done(struct spool_chunk *chunk, uint64_t used)
{
    struct signal_guard before;
    if (fork_unannounced())
        return;
    signal_guard_begin(&before);
    uint64_t bytes = (sizeof(*chunk) + used + SPOOL_ALIGN - 1) & ~(uint64_t)(SPOOL_ALIGN - 1);
    struct spool_chunk *rest = chunk_pool_cut(chunk, bytes);
    chunk->done_monotonic = clock_monotonic();
    __atomic_store_n(&chunk->used, used, __ATOMIC_RELEASE);
    __atomic_store_n(&chunk->state, SPOOL_DONE, __ATOMIC_RELEASE);
    chunk_pool_add(rest);
    segment_drop(chunk);
    signal_guard_end(&before);
}

int chunks_open(const char *directory, uint64_t trace_bits)
{
    fork_watch_begin();
    if (!spool_file_open(directory, trace_bits))
        return -1;
    struct spool_chunk *first = spool_file_begin();
    if (!first) {
        spool_file_give_up(directory);
        return -1;
    }
    chunks.open = true;
    chunk_pool_open(first);
    return 0;
}

bool chunks_end_if_removed(void)
{
    if (chunks.over || !spool_file_is_removed())
        return false;
    __atomic_store_n(&chunks.over, true, __ATOMIC_RELAXED);
    chunk_pool_close();
    segments_give_back();
    spool_file_give_back();
    return true;
}

void chunks_atfork_child(void)
{
    spool_file_atfork_child();
    chunk_pool_atfork_child();
    thread_atfork_child();
    memset(&chunks, 0, sizeof(chunks));
    fork_watch_announced();
}
