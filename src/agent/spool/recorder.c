#include "agent/spool/recorder.h"

#include <stdarg.h>
#include <stdio.h>

#include "common/clock.h"
#include "common/log.h"

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
