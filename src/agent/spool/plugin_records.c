#include "agent/spool/plugin_records.h"

#include "common/clock.h"
#include "agent/spool/record_text.h"

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
