/*
 * The reading side of event_records.h.
 */
#include <errno.h>
#include <string.h>

#include <cjson/cJSON.h>

#include "common/log.h"
#include "common/map.h"
#include "trace/event_records.h"
#include "trace/json/scan.h"

void event_feed_init(struct event_feed *feed, struct interner *strings, const struct event_sink *buffer)
{
    *feed = (struct event_feed){.buffer = buffer};
    parser_init(&feed->parser, strings);
    buffer_init_memory(&feed->rest);
}

void event_feed_release(struct event_feed *feed)
{
    array_release(&feed->numbers);
    parser_release(&feed->parser);
    buffer_release(&feed->rest);
}

static int take_text(struct event_feed *feed, const char *text, size_t size)
{
    uint32_t *number = array_push(&feed->numbers);
    if (!number || (*number = intern(feed->parser.strings, text, size)) == INTERN_NO_MEMORY)
        return error_no_memory("the trace's names");
    return 0;
}

static int take_one_by_one(struct event_feed *feed, const struct event_run *run)
{
    const struct event_sink *buffer = feed->buffer;
    const char *at = run->bytes;
    struct trace_event own = event_nothing;
    int status = 0;
    for (size_t i = 0; i < run->count && status == 0; i++) {
        struct trace_event *event = event_sink_place(buffer, &own);
        at = event_run_take(at, run->numbers, event);
        status = buffer->event(buffer->context, event);
    }
    return status;
}

static int take_run(struct event_feed *feed, const char *data, size_t size)
{
    struct event_record_run head;
    memcpy(&head, data, sizeof(head));
    const struct event_run run = {
        .bytes = data + sizeof(head),
        .size = size - sizeof(head),
        .count = head.count,
        .categories = head.categories,
        .numbers = feed->numbers.items,
        .number_count = feed->numbers.count,
    };
    return feed->buffer->run ? feed->buffer->run(feed->buffer->context, &run) : take_one_by_one(feed, &run);
}

static int take_metadata(struct event_feed *feed, const char *data, size_t size)
{
    const char *value = data + strlen(data) + 1;
    struct scan scan = {.length = size - (size_t)(value - data)};
    int status = 0;
    if (parser_json(&feed->parser, value, &scan) == PARSE_DONE)
        status = feed->buffer->metadata(feed->buffer->context, data, feed->parser.root);
    parser_clear(&feed->parser);
    return status;
}

static int take_record(struct event_feed *feed, const struct event_record *record, const char *data)
{
    switch ((enum event_record_kind)record->kind) {
    case EVENT_RECORD_PIECE: feed->numbers.count = 0; return 0;
    case EVENT_RECORD_TEXT: return take_text(feed, data, record->size);
    case EVENT_RECORD_RUN: return take_run(feed, data, record->size);
    case EVENT_RECORD_METADATA: return take_metadata(feed, data, record->size);
    }
    return 0;
}

/* Takes the whole records among the bytes, and sets *USED to theirs. */
static int take_records(struct event_feed *feed, const char *data, size_t size, size_t *used)
{
    struct event_record record;
    int status = 0;
    for (*used = 0; status == 0 && size - *used >= sizeof(record); *used += sizeof(record) + record.size) {
        memcpy(&record, data + *used, sizeof(record));
        if (size - *used - sizeof(record) < record.size)
            break;
        status = take_record(feed, &record, data + *used + sizeof(record));
    }
    return status;
}

static int take(struct event_feed *feed, const char *data, size_t size)
{
    size_t used;
    bool had_rest = feed->rest.length > 0;
    if (had_rest) {
        buffer_bytes(&feed->rest, data, size);
        if (feed->rest.failure)
            return error_no_memory("the trace's events");
        data = feed->rest.data;
        size = feed->rest.length;
    }
    if (take_records(feed, data, size, &used) < 0)
        return -1;
    if (had_rest) {
        memmove(feed->rest.data, data + used, size - used);
        feed->rest.length = size - used;
    } else if (used < size) {
        buffer_bytes(&feed->rest, data + used, size - used);
    }
    return feed->rest.failure ? error_no_memory("the trace's events") : 0;
}

int event_feed_take(void *context, const char *data, size_t size)
{
    if (take(context, data, size) == 0)
        return 0;
    errno = ECANCELED; /* a buffer remembers it */
    return -1;
}
