#include "injected/record/writer.h"

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/thread_key.h"
#include "injected/record/chunks.h"
#include "injected/record/spool_file.h"

__thread struct writer this_writer;

static pthread_once_t once = PTHREAD_ONCE_INIT;
static struct thread_key at_thread_end;

static void thread_ended(void *writer)
{
    struct writer *mine = writer;
    struct spool_chunk *chunk = mine->chunk;
    mine->chunk = NULL;
    if (chunk && mine->generation == fork_generation())
        chunk_done(chunk, mine->used);
}

static void make_key(void)
{
    thread_key_make(&at_thread_end, thread_ended);
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

/* Also leaves the parent's chunk, in a forked child. */
static bool take_chunk(struct writer *mine)
{
    uint32_t generation = fork_generation();
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
    return mine->chunk != NULL;
}

bool writer_renew(struct writer *mine)
{
    if (fork_turned_away())
        return false;
    if (!take_chunk(mine)) {
        count_loss(&spool_file_header()->losses.no_room);
        return false;
    }
    pthread_once(&once, make_key);
    thread_key_set(&at_thread_end, mine);
    if (!mine->named)
        name_thread(mine);
    return true;
}

void writer_turned_away(void)
{
    count_loss(&spool_file_header()->losses.nested);
}

uint32_t writer_thread(void)
{
    struct writer *mine = &this_writer;
    if (mine->generation != fork_generation() || mine->thread == 0)
        return (uint32_t)syscall(SYS_gettid);
    return mine->thread;
}
