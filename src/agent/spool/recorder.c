/*
 * Writes records that belong to no single API: notes for the user, switches of recording, records of plugins, and the
 * calls that each thread is in, which a crash needs.
 */
#include "agent/spool/recorder.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "agent/dispatch/registry.h"
#include "agent/spool/chunk_pool.h"
#include "agent/spool/writer.h"
#include "common/clock.h"
#include "common/log.h"
#include "common/map.h"
#include "common/settings.h"

bool recorder_on;

static struct {
    bool (*wake)(void);
    uint32_t generation; /* generation of the process for which `recorded` was determined; 0: none */
    bool recorded;       /* the process is recorded */
} process;

void recorder_init(bool (*wake)(void))
{
    process.wake = wake;
}

bool recorder_has_process(void)
{
    uint32_t generation = __atomic_load_n(&process.generation, __ATOMIC_ACQUIRE);
    if (generation != 0 && generation == fork_generation())
        return __atomic_load_n(&process.recorded, __ATOMIC_RELAXED);
    int saved = errno;
    if (fork_turned_away())
        return false;
    bool recorded = process.wake();
    __atomic_store_n(&process.recorded, recorded, __ATOMIC_RELAXED);
    __atomic_store_n(&process.generation, fork_generation(), __ATOMIC_RELEASE);
    errno = saved;
    return recorded;
}

void recorder_switch(bool on, uint64_t time, const char *reason)
{
    __atomic_store_n(&recorder_on, on, __ATOMIC_RELAXED);
    record_write_text(SPOOL_RECORD_CAPTURE, capture, time, text_of(reason), .head.flags = on);
}

void recorder_note_unrecorded(uint16_t what, struct gputrace_text text)
{
    record_write_text(SPOOL_RECORD_SEEN, seen, clock_now(), text, .head.flags = what);
}

#define NOTE_BYTES 1024

void recorder_note(uint16_t flags, const char *format, ...)
{
    char words[NOTE_BYTES];
    va_list args;
    va_start(args, format);
    vsnprintf(words, sizeof(words), format, args);
    va_end(args);
    record_write_text(SPOOL_RECORD_NOTE, note, clock_now(), text_of(words), .head.flags = flags);
}

void recorder_warn(const char *format, ...)
{
    char words[NOTE_BYTES];
    va_list args;
    va_start(args, format);
    vsnprintf(words, sizeof(words), format, args);
    va_end(args);
    uint16_t flags = warning("%s", words) ? SPOOL_NOTE_WARNED : SPOOL_NOTE_WARNING;
    record_write_text(SPOOL_RECORD_NOTE, note, clock_now(), text_of(words), .head.flags = flags);
}

/* --- records of plugins --- */

void plugin_record_client(uint32_t client, const char *name)
{
    record_write_text(SPOOL_RECORD_PLUGIN, plugin, clock_now(), text_of(name), .plugin = client);
}

void plugin_record_event(const struct plugin_event *event)
{
    struct gputrace_text name = text_of(event->name);
    struct spool_plugin_event record = {
        .head.flags = event->what,
        .end = event->end,
        .value = event->value,
        .plugin = event->client,
        .thread = writer_thread(),
        .name_length = record_text_kept(name.length),
    };
    record_write_texts(SPOOL_RECORD_PLUGIN_EVENT, 0, event->start, &record.head, sizeof(record),
                       offsetof(struct spool_plugin_event, text), name, text_of(event->detail));
}

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
