#include <stdbool.h>
#include <string.h>

#include "common/utf8.h"
#include "cli/event_records.h"
#include "trace/trace_event.h"
#include "trace/json/fast_path.h"

static void put_record(struct sink *sink, enum event_record_kind kind, const void *data, size_t size)
{
    struct event_record record = {kind, (uint32_t)size};
    char *at = sink_reserve(sink, sizeof(record) + size);
    if (!at)
        return;
    memcpy(at, &record, sizeof(record));
    if (size > 0)
        memcpy(at + sizeof(record), data, size);
    sink_advance(sink, sizeof(record) + size);
}

void event_records_put_piece(struct sink *sink)
{
    put_record(sink, EVENT_RECORD_PIECE, NULL, 0);
}

/* As JSON would give it: valid UTF-8, up to its first NUL. */
void event_records_put_text(struct sink *sink, const char *text, size_t length)
{
    struct sink clean;
    sink_init_memory(&clean);
    length = strnlen(text, length);
    for (size_t at = 0, size; at < length; at += size ? size : 1) {
        size = utf8_size(text + at, length - at);
        sink_bytes(&clean, size ? text + at : UTF8_REPLACEMENT, size ? size : strlen(UTF8_REPLACEMENT));
    }
    put_record(sink, EVENT_RECORD_TEXT, clean.data, clean.length);
    sink->failure = sink->failure ? sink->failure : clean.failure;
    sink_release(&clean);
}

/* The head of a run's record; nothing in a sink is aligned. */
struct run_head {
    struct event_record record;
    struct event_record_run run;
};

/* Adds an event to the head of its run at AT, which has BEFORE until now. */
static void count_event(char *at, struct run_head before, const struct trace_event *event)
{
    before.record.size += event->extent;
    before.run.count++;
    before.run.categories |= EVENT_BIT(event->category);
    memcpy(at, &before, sizeof(before));
}

/* Whether the run can go on in SINK; *HEAD is what it has. */
static bool goes_on(const struct sink *sink, const struct event_record_end *end, struct run_head *head)
{
    if (end->end == 0 || sink->total != end->drained || sink->length != end->end)
        return false;
    memcpy(head, sink->data + end->run, sizeof(*head));
    return head->run.count < EVENT_RUN_MOST;
}

void event_records_put_event(struct sink *sink, struct event_record_end *end, struct trace_event *event)
{
    struct run_head head;
    event_find_extent(event);
    if (!sink_reserve(sink, sizeof(head) + event->extent)) /* from here on what is in the sink stays there */
        return;
    if (!goes_on(sink, end, &head)) {
        head = (struct run_head){.record = {EVENT_RECORD_RUN, sizeof(head.run)}};
        *end = (struct event_record_end){.drained = sink->total, .run = sink->length};
        sink_advance(sink, sizeof(head));
    }
    sink_bytes(sink, event, event->extent);
    count_event(sink->data + end->run, head, event);
    end->end = sink->length;
}

void event_records_put_json(struct sink *sink, struct sink *text)
{
    static const char padding[FAST_PATH_PADDING];
    sink_bytes(text, padding, sizeof(padding));
    put_record(sink, EVENT_RECORD_JSON, text->data, text->length);
    sink->failure = sink->failure ? sink->failure : text->failure;
}

void event_records_put_metadata(struct sink *sink, const char *key, const char *value, size_t size)
{
    struct sink text;
    sink_init_memory(&text);
    sink_bytes(&text, key, strlen(key) + 1);
    sink_bytes(&text, value, size);
    put_record(sink, EVENT_RECORD_METADATA, text.data, text.length);
    sink->failure = sink->failure ? sink->failure : text.failure;
    sink_release(&text);
}
