#include "agent/spool/recorder.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "agent/dispatch/registry.h"
#include "common/clock.h"
#include "common/log.h"
#include "common/settings.h"

bool recorder_on;

void recorder_switch(bool on, uint64_t time, const char *reason)
{
    __atomic_store_n(&recorder_on, on, __ATOMIC_RELAXED);
    struct spool_capture *record;
    if (!record_begin_text(record, SPOOL_RECORD_CAPTURE, time, text_of(reason)))
        return;
    record->head.flags = on;
    writer_commit(&record->head);
}

void recorder_seen(uint16_t what, struct gputrace_text text)
{
    struct spool_seen *record;
    if (!record_begin_text(record, SPOOL_RECORD_SEEN, clock_now(), text))
        return;
    record->head.flags = what;
    writer_commit(&record->head);
}

#define NOTE_BYTES 1024

static void put_note(uint16_t flags, const char *words)
{
    struct spool_note *record;
    if (!record_begin_text(record, SPOOL_RECORD_NOTE, clock_now(), text_of(words)))
        return;
    record->head.flags = flags;
    writer_commit(&record->head);
}

void recorder_note(uint16_t flags, const char *format, ...)
{
    char words[NOTE_BYTES];
    va_list args;
    va_start(args, format);
    vsnprintf(words, sizeof(words), format, args);
    va_end(args);
    put_note(flags, words);
}

void recorder_warn(const char *format, ...)
{
    char words[NOTE_BYTES];
    va_list args;
    va_start(args, format);
    vsnprintf(words, sizeof(words), format, args);
    va_end(args);
    put_note(warning("%s", words) ? SPOOL_NOTE_WARNED : SPOOL_NOTE_WARNING, words);
}

/* --- records of plugins --- */

void plugin_record_client(uint32_t client, const char *name)
{
    struct gputrace_text text = text_of(name);
    struct spool_plugin *record;
    if (!record_begin_text(record, SPOOL_RECORD_PLUGIN, clock_now(), text))
        return;
    record->plugin = client;
    writer_commit(&record->head);
}

void plugin_record_time(uint32_t client, uint64_t calls, uint64_t ns)
{
    struct spool_plugin_time *record = writer_begin(SPOOL_RECORD_PLUGIN_TIME, sizeof(*record), clock_now());
    if (!record)
        return;
    record->plugin = client;
    record->calls = calls;
    record->ns = ns;
    writer_commit(&record->head);
}

void plugin_record_event(const struct plugin_event *event)
{
    struct gputrace_text name = text_of(event->name), detail = text_of(event->detail);
    uint32_t name_length = record_text_cut(name.length), length = name_length + record_text_cut(detail.length);
    struct spool_plugin_event *record;
    uint32_t bytes = spool_record_bytes(sizeof(*record), sizeof(record->text), length);
    record = writer_begin(SPOOL_RECORD_PLUGIN_EVENT, bytes, event->start);
    if (!record)
        return;
    record->head.flags = event->what;
    record->end = event->end;
    record->value = event->value;
    record->plugin = event->client;
    record->thread = writer_thread();
    record_put_text(record->text, &record->name_length, name);
    record_put_text(record->text + name_length, &record->length, detail);
    record->length = length;
    writer_commit(&record->head);
}

void plugin_record_line(uint32_t client, uint32_t stack, const char *words)
{
    struct gputrace_text text = text_of(words);
    struct spool_plugin_line *record;
    if (!record_begin_text(record, SPOOL_RECORD_PLUGIN_LINE, clock_now(), text))
        return;
    record->plugin = client;
    record->stack = stack;
    writer_commit(&record->head);
}

static struct {
    struct spool_chunk *chunk; /* NULL: none */
    uint64_t used;
    struct spool_open_call *calls; /* CRASH_CHUNK_CALLS of them, at its begin */
} last;

/* Where this thread's last call stood: mostly free again. */
struct last_call {
    struct spool_open_call *call; /* NULL: none is open that stands in the table */
    uint32_t correlation;
    uint32_t index;
};
static __thread struct last_call this_call;

int crash_chunk_open(void)
{
    if (last.chunk)
        return 0;
    struct spool_chunk *chunk = chunk_take(SPOOL_RECORDS);
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

static inline struct spool_open_call *take_call(struct last_call *mine, struct spool_open_call *calls)
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

/* Of nested calls the outermost is kept. One whose end is not seen ends with the next. */
static inline void call_begins(struct last_call *mine, const struct gputrace_open_call *what)
{
    struct spool_open_call *calls = __atomic_load_n(&last.calls, __ATOMIC_ACQUIRE);
    if (mine->call && mine->correlation == what->correlation)
        return;
    close_call(mine);
    if (!calls)
        return;
    if (mine->index == 0)
        mine->index = what->thread; /* threads begin to look in different places */
    struct spool_open_call *call = take_call(mine, calls);
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
    __asm__("" : "+r"(mine)); /* found once: to find a thread's own takes a call */
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
    if (!last.chunk || last.used + bytes > chunk_room(last.chunk))
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
