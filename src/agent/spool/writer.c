/*
 * A writer for each thread: fills a chunk with records, takes another chunk when it is full, and writes the thread's
 * name first. No lock is taken while the chunk has space. Records that cannot be written are counted. The last part
 * keeps the chunk for a crash, with the calls that each thread is in.
 */
#include "agent/spool/writer.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "agent/dispatch/registry.h"
#include "agent/spool/chunk_pool.h"
#include "agent/spool/process.h"
#include "agent/spool/segments.h"
#include "common/clock.h"
#include "common/log.h"
#include "common/map.h"
#include "common/settings.h"
#include "common/text.h"
#include "common/threads.h"

static struct {
    bool open;
    bool warned; /* the user was warned that there is no space */
    bool over;   /* the file was removed: no chunk is handed out */
    uint64_t sequence;
} chunks;

static struct spool_chunk *get_from_pool(enum spool_chunk_type type, uint64_t least, uint64_t most)
{
    if (!chunks.open || __atomic_load_n(&chunks.over, __ATOMIC_RELAXED))
        return NULL;
    struct spool_chunk *chunk = chunk_pool_get(type, least, most);
    if (!chunk) {
        if (spool_file_is_removed() || __atomic_exchange_n(&chunks.warned, true, __ATOMIC_RELAXED))
            return NULL;
        errno = chunk_pool_failure();
        if (errno == EBADF)
            warning("the program closed the spool file, and a sandbox prevents opening it again: recording stops");
        else
            warning("the spool cannot grow (%m): recording stops until there is space; --spool-dir chooses another "
                    "disk");
        return NULL;
    }
    chunk->opened = clock_now();
    chunk->opened_monotonic = clock_monotonic();
    chunk->done_monotonic = 0;
    chunk->thread = (uint32_t)syscall(SYS_gettid);
    chunk->used = 0;
    chunk->type = (uint16_t)type;
    chunk->sequence = __atomic_add_fetch(&chunks.sequence, 1, __ATOMIC_RELAXED);
    __atomic_store_n(&chunk->state, SPOOL_IN_USE, __ATOMIC_RELEASE);
    return chunk;
}

struct spool_chunk *chunk_get(enum spool_chunk_type type, uint64_t least, uint64_t most)
{
    struct signal_guard before;
    if (fork_unannounced())
        return NULL;
    signal_guard_begin(&before);
    struct spool_chunk *chunk = get_from_pool(type, least, most);
    signal_guard_end(&before);
    return chunk;
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
        spool_file_abandon(directory);
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
    segments_release();
    spool_file_release();
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

/* --- a thread's writer --- */

/* Size of a thread's first chunk; each later chunk is four times as large as the one before, up to RECORDS_CHUNK_BYTES.
 */
#define FIRST_CHUNK_BYTES ((uint64_t)4 << 10)
#define COMM_BYTES sizeof(this_writer.comm) /* a thread's name with its NUL */

__thread struct writer this_writer;

static struct thread_key at_thread_end;

static void forget_chunk(struct writer *mine)
{
    mine->chunk = NULL;
    mine->next = mine->end = NULL;
}

/* Whether the thread's name has changed since it was recorded. The name is a thread's first record, and is recorded
 * again in a new chunk, or at the thread's end. */
static bool has_new_name(struct writer *mine)
{
    char comm[COMM_BYTES] = "";
    prctl(PR_GET_NAME, comm, 0, 0, 0);
    if (strcmp(comm, mine->comm) == 0)
        return false;
    memcpy(mine->comm, comm, sizeof(comm));
    return true;
}

static void name_thread(struct writer *mine)
{
    if (!has_new_name(mine))
        return;
    uint32_t length = (uint32_t)strlen(mine->comm);
    struct spool_thread_name record = {.thread = mine->thread, .length = length};
    uint32_t bytes = spool_record_bytes(sizeof(record), sizeof(record.text), length);
    record.head = (struct spool_record){.type = SPOOL_RECORD_THREAD_NAME, .bytes = bytes, .time = clock_now()};
    char *at = mine->next;
    memcpy(at, &record, sizeof(record));
    memcpy(at + offsetof(struct spool_thread_name, text), mine->comm, length);
    mine->next += bytes;
}

static void thread_ended(void *unused)
{
    struct writer *mine = &this_writer;
    (void)unused;
    if (mine->chunk && mine->generation == fork_generation()) {
        if (has_new_name(mine))
            record_write_text(SPOOL_RECORD_THREAD_NAME, thread_name, clock_now(), text_of(mine->comm),
                              .thread = mine->thread);
        if (mine->chunk)
            chunk_done(mine->chunk, writer_used(mine));
    }
    forget_chunk(mine);
}

#define COUNT_LOSS(counter) __atomic_add_fetch(&spool_file_header()->losses.counter, 1, __ATOMIC_RELAXED)

/* Gets a chunk with space for BYTES. In a forked child, leaves the parent's chunk first. */
static bool get_chunk(struct writer *mine, uint32_t bytes)
{
    uint32_t generation = fork_generation();
    if (mine->generation != generation) {
        forget_chunk(mine);
        mine->thread = (uint32_t)syscall(SYS_gettid);
        mine->comm[0] = '\0';
        mine->generation = generation;
        mine->next_bytes = 0;
    }
    if (mine->chunk)
        chunk_done(mine->chunk, writer_used(mine));
    forget_chunk(mine);
    /* Chunks are small at first, because a thread with few records should take little space. */
    uint64_t least = sizeof(struct spool_chunk) + sizeof(struct spool_thread_name) + COMM_BYTES + bytes;
    uint64_t most = mine->next_bytes ? mine->next_bytes : FIRST_CHUNK_BYTES;
    while (most < least)
        most *= 4;
    mine->next_bytes = (uint32_t)(4 * most < RECORDS_CHUNK_BYTES ? 4 * most : RECORDS_CHUNK_BYTES);
    struct spool_chunk *chunk = chunk_get(SPOOL_RECORDS, least, most);
    if (!chunk)
        return false;
    mine->chunk = chunk;
    mine->next = chunk_data(chunk);
    mine->end = mine->next + chunk_space(chunk);
    return true;
}

bool writer_renew(struct writer *mine, uint32_t bytes)
{
    struct signal_guard before; /* a signal handler that leaves by siglongjmp() would leave the writer half changed */
    if (fork_turned_away())
        return false;
    signal_guard_begin(&before);
    bool renewed = get_chunk(mine, bytes);
    if (renewed) {
        thread_key_set(&at_thread_end, thread_ended);
        name_thread(mine);
    } else {
        COUNT_LOSS(no_space);
    }
    signal_guard_end(&before);
    return renewed;
}

/* The kernel puts at least this many bytes on the stack before a handler runs: a function less deep than that did not
 * interrupt the function that began the record. */
#define SIGNAL_FRAME_LEAST 1024u

#define ASLEEP UINTPTR_MAX

void writer_sleep(void)
{
    this_writer.begun = ASLEEP;
}

bool writer_abandon(struct writer *mine)
{
    if (mine->begun == ASLEEP) {
        COUNT_LOSS(no_space);
        return false;
    }
    stack_t stack;
    int saved = errno;
    bool gone = (uintptr_t)__builtin_frame_address(0) + SIGNAL_FRAME_LEAST > mine->begun;
    if (gone && sigaltstack(NULL, &stack) == 0)
        gone = (stack.ss_flags & SS_ONSTACK) == 0;
    errno = saved;
    COUNT_LOSS(nested);
    if (!gone && ++mine->turned_away < WRITER_BUDGET)
        return false;
    if (!gone)
        forget_chunk(mine); /* the chunk stays in use, because the interrupted function may go on writing there */
    mine->turned_away = 0;
    return true;
}

void writer_name_threads(void)
{
    int saved = errno;
    DIR *tasks = prctl(PR_GET_SECCOMP, 0, 0, 0, 0) == 0 ? opendir("/proc/self/task") : NULL;
    for (struct dirent *task; tasks && (task = readdir(tasks));) {
        char path[64], comm[COMM_BYTES + 1] = ""; /* one more byte for the newline */
        uint32_t thread = (uint32_t)strtoul(task->d_name, NULL, 10);
        snprintf(path, sizeof(path), "/proc/self/task/%u/comm", thread);
        size_t got = thread != 0 ? process_read_file(path, comm, sizeof(comm)) : 0;
        if (got <= 1)
            continue; /* not a thread, or one that has ended */
        comm[got - 1] = '\0';
        record_write_text(SPOOL_RECORD_THREAD_NAME, thread_name, clock_now(), text_of(comm), .thread = thread);
    }
    if (tasks)
        closedir(tasks);
    errno = saved;
}

uint32_t writer_thread(void)
{
    struct writer *mine = &this_writer;
    if (mine->generation != fork_generation() || mine->thread == 0)
        return (uint32_t)syscall(SYS_gettid);
    return mine->thread;
}

/* --- records that end with a text --- */

void record_put_cut(char *at, struct gputrace_text text, uint32_t kept)
{
    text_cut(at, text.bytes, kept, hash_bytes(text.bytes, text.length));
}

bool record_write_texts(enum spool_record_type type, uint16_t flags, uint64_t time, const struct spool_record *record,
                        uint32_t size, uint32_t text_at, struct gputrace_text text, struct gputrace_text more)
{
    bool is_symbol =
        type == SPOOL_RECORD_POINTER_NAME || type == SPOOL_RECORD_LAUNCH_NAME || type == SPOOL_RECORD_FUNCTION_NAME;
    bool is_binary = type == SPOOL_RECORD_NVTX_PIECE;
    uint32_t first =
        is_symbol ? (text.length < SPOOL_SYMBOL_MAX ? text.length : SPOOL_SYMBOL_MAX) : record_text_cut(text.length);
    uint32_t second = record_text_cut(more.length), length = first + second;
    struct writer *mine = writer_mine();
    struct spool_record *written =
        writer_begin_in(mine, type, sizeof(*written), spool_record_bytes(size, size - text_at, length), time);
    if (!written)
        return false;
    char *at = (char *)written + text_at;
    written->flags = record->flags | flags;
    memcpy(written + 1, record + 1, text_at - sizeof(length) - sizeof(*written));
    memcpy(at - sizeof(length), &length, sizeof(length));
    record_put_text(at, is_binary ? text_of_bytes(text.bytes, first) : text, first);
    record_put_text(at + first, more, second);
    writer_commit_in(mine, written);
    return true;
}

/* --- the crash chunk --- */

static struct {
    struct spool_chunk *chunk; /* NULL if there is none */
    uint64_t used;
    struct spool_open_call *calls; /* array of CRASH_CHUNK_CALLS at the beginning of the chunk */
} last;

/* The table entry of this thread's last call; usually the entry is still free for the next call. */
struct last_call {
    struct spool_open_call *call; /* NULL if this thread has no open call in the table */
    uint32_t correlation;
    uint32_t index;
};
static __thread struct last_call this_call;

int crash_chunk_open(void)
{
    if (last.chunk)
        return 0;
    struct spool_chunk *chunk = chunk_get(SPOOL_RECORDS, RECORDS_CHUNK_BYTES, CRASH_CHUNK_BYTES);
    if (!chunk)
        return -1;
    struct spool_open_call *calls = (struct spool_open_call *)chunk_data(chunk);
    for (unsigned i = 0; i < CRASH_CHUNK_CALLS; i++)
        calls[i] = (struct spool_open_call){
            .head = {.type = SPOOL_RECORD_OPEN_CALL, .flags = SPOOL_CALL_RETURNED, .bytes = sizeof(*calls)}};
    last.used = CRASH_CHUNK_CALLS * sizeof(*calls);
    __atomic_store_n(&chunk->used, last.used, __ATOMIC_RELEASE);
    last.chunk = chunk;
    __atomic_store_n(&last.calls, calls, __ATOMIC_RELEASE);
    return 0;
}

/* --- open calls --- */

static inline struct spool_open_call *claim_call(struct last_call *mine, struct spool_open_call *calls)
{
    for (unsigned tried = 0; tried < CRASH_CHUNK_CALLS; tried++) {
        unsigned index = (mine->index + tried) % CRASH_CHUNK_CALLS;
        uint16_t returned = SPOOL_CALL_RETURNED;
        if (__atomic_compare_exchange_n(&calls[index].head.flags, &returned, (uint16_t)SPOOL_CALL_TAKEN, false,
                                        __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) {
            mine->index = index;
            return &calls[index];
        }
    }
    return NULL;
}

static inline void close_call(struct last_call *mine)
{
    if (mine->call)
        __atomic_store_n(&mine->call->head.flags, (uint16_t)SPOOL_CALL_RETURNED, __ATOMIC_RELEASE);
    mine->call = NULL;
}

/* Puts an open call into the table. Nested calls do not replace the outermost. A call whose end was not seen ends when
 * the next begins. */
static inline void call_begins(struct last_call *mine, const struct gputrace_open_call *what)
{
    struct spool_open_call *calls = __atomic_load_n(&last.calls, __ATOMIC_ACQUIRE);
    if (mine->call && mine->correlation == what->correlation)
        return;
    close_call(mine);
    if (!calls)
        return;
    if (mine->index == 0)
        mine->index = what->thread; /* threads start their search at different entries */
    struct spool_open_call *call = claim_call(mine, calls);
    if (!call)
        return;
    call->head.time = what->start;
    call->object = what->object;
    call->what = what->what;
    call->cbid = what->cbid;
    call->correlation = what->correlation;
    call->thread = what->thread;
    mine->call = call;
    mine->correlation = what->correlation;
    __atomic_store_n(&call->head.flags, (uint16_t)SPOOL_CALL_OPEN, __ATOMIC_RELEASE);
}

static void call_changed(void *data, const struct gputrace_open_call *what)
{
    (void)data;
    struct last_call *mine = &this_call;
    __asm__("" : "+r"(mine)); /* finds the thread's variable only once: compilers would repeat the call for it */
    if (!what->returned)
        call_begins(mine, what);
    else if (mine->call && mine->correlation == what->correlation && mine->call->cbid == what->cbid)
        close_call(mine);
}

int crash_chunk_subscribe(uint64_t trace_bits)
{
    return trace_bits & TRACE_SYNC ? registry_open_call_register(call_changed, NULL) : 0;
}

/* --- a crashing thread --- */

void *crash_chunk_begin(enum spool_record_type type, uint32_t bytes, uint64_t time)
{
    if (!last.chunk || last.used + bytes > chunk_space(last.chunk))
        return NULL;
    char *at = chunk_data(last.chunk) + last.used;
    memset(at, 0, bytes);
    *(struct spool_record *)at = (struct spool_record){.type = (uint16_t)type, .bytes = bytes, .time = time};
    return at;
}

void crash_chunk_commit(const struct spool_record *record)
{
    last.used += record->bytes;
    __atomic_store_n(&last.chunk->used, last.used, __ATOMIC_RELEASE);
}

void crash_chunk_atfork_child(void)
{
    last.chunk = NULL;
    last.calls = NULL;
    last.used = 0;
    this_call.call = NULL;
}
