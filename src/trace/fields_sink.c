/*
 * The analysis as a sink: threads that write pieces make records of the events (fields_records.h).
 *
 * What a name means is looked up once for each piece, by its address; and so are arguments that many events share.
 * Where JSON alone says what an argument means, the event is written as JSON and parsed.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/buffer.h"
#include "common/map.h"
#include "trace/event_fields.h"
#include "trace/fields_records.h"
#include "trace/json/parse.h"
#include "trace/json/text.h"
#include "trace/shapes.h"
#include "trace/sink.h"

#define PATTERNS 512 /* list N is in N % PATTERNS */

/* An event with the arguments of a list. */
struct pattern {
    uint32_t list; /* 0: none */
    enum category category;
    bool needs_json;
    struct event_fields event;
};

/* Of a piece, or of the whole. */
struct fields_writer {
    struct record_texts texts; /* as the events have them, or as they are parsed of JSON */
    struct pattern *patterns;  /* NULL: none yet */
    struct parser parser;
    /* Where the records in the buffer end, if the last one is a run */
    uint64_t drained; /* the buffer's total then */
    size_t run, end;  /* where the run's record begins, and all records end, in the buffer; 0: there is no run */
    struct event_fields event; /* the last one: only the fields that it has are reset for the next */
};

/* Whether the last run can go on in BUFFER; *HEAD is what it has. */
static bool goes_on(const struct fields_writer *writer, const struct buffer *buffer, struct run_head *head)
{
    if (writer->end == 0 || buffer->total != writer->drained || buffer->length != writer->end)
        return false;
    memcpy(head, buffer->data + writer->run, sizeof(*head));
    return head->count < EVENT_RUN_MOST;
}

/* The event's extent is set. */
static void put_event(struct sink *sink, const struct event_fields *event)
{
    struct fields_writer *writer = sink->state;
    struct buffer *buffer = sink->buffer;
    struct run_head head;
    if (!buffer_reserve(buffer, sizeof(head) + event->extent)) /* from here on what is in the buffer stays there */
        return;
    if (!goes_on(writer, buffer, &head)) {
        head = (struct run_head){.record = {RECORD_RUN, sizeof(head) - sizeof(head.record)}};
        writer->drained = buffer->total;
        writer->run = buffer->length;
        buffer_advance(buffer, sizeof(head));
    }
    buffer_bytes(buffer, event, event->extent);
    head.record.size += event->extent;
    head.count++;
    head.categories |= CATEGORY_BIT(event->category);
    memcpy(buffer->data + writer->run, &head, sizeof(head));
    writer->end = buffer->length;
}

/* The sink's own state, made when it is first needed. NULL after a failure. */
static struct fields_writer *state_of(struct sink *sink)
{
    struct fields_writer *writer = sink->state;
    if (writer)
        return writer;
    writer = sink->state = calloc(1, sizeof(struct fields_writer));
    if (!writer) {
        record_fail(sink);
        return NULL;
    }
    parser_init(&writer->parser, &writer->texts.texts);
    writer->event = event_nothing;
    return writer;
}

static void begin_piece(struct sink *sink)
{
    sink->state = NULL;
    state_of(sink);
    fields_put_record(sink->buffer, RECORD_PIECE, NULL, 0);
}

static void release(struct sink *sink)
{
    struct fields_writer *writer = sink->state;
    if (writer) {
        parser_release(&writer->parser);
        interner_release(&writer->texts.texts);
        free(writer->patterns);
    }
    free(writer);
    sink->state = NULL;
}

/* --- arguments. False: JSON alone says what the argument means, so that the event must be read as JSON. What is not a
 * number leaves the field as it is. --- */

static inline bool take_number(const struct arg *arg, int64_t *number)
{
    switch (arg->type) {
    case ARG_TYPE_U64:
    case ARG_TYPE_HEX: *number = event_unsigned(arg->u64, *number); return true;
    case ARG_TYPE_I64: *number = event_signed(arg->i64, *number); return true;
    case ARG_TYPE_FIXED: *number = event_real(arg->real, *number); return true;
    case ARG_TYPE_TEXT: *number = event_number_of_text(arg->text, arg->length, *number); return true;
    case ARG_TYPE_TRUE: *number = 1; return true;
    case ARG_TYPE_FALSE: *number = 0; return true;
    case ARG_TYPE_SIZE3: return true;
    default: return false;
    }
}

static inline bool take_triple(const struct arg *arg, int64_t triple[3])
{
    for (int i = 0; i < 3 && arg->type == ARG_TYPE_SIZE3; i++)
        triple[i] = arg->size3[i];
    return arg->type != ARG_TYPE_RAW && arg->type != ARG_TYPE_JSON;
}

static bool take_text(struct sink *sink, const struct arg *arg, uint32_t *text)
{
    char digits[32];
    int length;
    switch (arg->type) {
    case ARG_TYPE_TEXT:
        *text = record_texts_put(&((struct fields_writer *)sink->state)->texts, sink, arg->text, arg->length);
        return true;
    case ARG_TYPE_U64:
    case ARG_TYPE_I64:
        length =
            snprintf(digits, sizeof(digits), "%.15g", arg->type == ARG_TYPE_U64 ? (double)arg->u64 : (double)arg->i64);
        *text = record_texts_put(&((struct fields_writer *)sink->state)->texts, sink, digits, (size_t)length);
        return true;
    case ARG_TYPE_TRUE:
    case ARG_TYPE_FALSE:
    case ARG_TYPE_SIZE3: return true;
    default: return false;
    }
}

static bool take_shapes(struct sink *sink, const struct arg *arg, uint32_t *text)
{
    struct shapes shapes;
    if (arg->type != ARG_TYPE_RAW)
        return arg->type != ARG_TYPE_JSON;
    if (shapes_read(arg->text, arg->length, &shapes) != arg->length)
        return false;
    *text = record_texts_put(&((struct fields_writer *)sink->state)->texts, sink, shapes.text, shapes.length);
    return true;
}

static inline void raise_extent(struct event_fields *event, size_t extent)
{
    if (event->extent < extent)
        event->extent = (uint16_t)extent;
}

static bool take_args(struct sink *sink, const struct arg *args, size_t count, struct event_fields *event);

/* Of an argument without a field. Numbered lists are in the pattern that the event began with. */
static bool take_other(struct sink *sink, const struct arg *arg, struct event_fields *event)
{
    if (arg->type == ARG_TYPE_LIST)
        return arg->list->number != 0 || take_args(sink, arg->list->items, arg->list->count, event);
    if (arg->key == ARG_FROM && event->category == CATEGORY_GPU_USER_ANNOTATION && arg->type == ARG_TYPE_TEXT &&
        json_is((struct json_text){arg->text, arg->length}, DEVICE_RANGE_WORD))
        event->category = CATEGORY_DEVICE_RANGE;
    return arg->type != ARG_TYPE_MEMBERS;
}

static bool take_args(struct sink *sink, const struct arg *args, size_t count, struct event_fields *event)
{
    bool taken = true;
    for (const struct arg *arg = args; arg < args + count && taken; arg++) {
        const struct arg_field *field = &arg_fields[arg->key];
        if (field->type != FIELD_NONE && !category_in(event->category, field->categories))
            continue;
        void *place = (char *)event + field->offset;
        raise_extent(event, field->extent);
        switch (field->type) {
        case FIELD_NUMBER: taken = take_number(arg, place); break;
        case FIELD_TEXT: taken = take_text(sink, arg, place); break;
        case FIELD_TRIPLE: taken = take_triple(arg, place); break;
        case FIELD_SHAPES: taken = take_shapes(sink, arg, place); break;
        case FIELD_NONE: taken = take_other(sink, arg, event); break;
        }
    }
    return taken;
}

/* NULL without memory. */
static const struct pattern *pattern_of(struct sink *sink, const struct arg_list *list, enum category category)
{
    struct fields_writer *writer = sink->state;
    if (!writer->patterns && !(writer->patterns = calloc(PATTERNS, sizeof(*writer->patterns)))) {
        record_fail(sink);
        return NULL;
    }
    struct pattern *pattern = &writer->patterns[list->number % PATTERNS];
    if (pattern->list != list->number || pattern->category != category) {
        pattern->list = list->number;
        pattern->category = category;
        pattern->event = event_nothing;
        pattern->event.category = (uint8_t)category;
        pattern->event.extent = FIELD_EXTENT(duration);
        pattern->needs_json = !take_args(sink, list->items, list->count, &pattern->event);
    }
    return pattern;
}

/* Makes the sink's event one without fields, but for those of a numbered list. False: it must be read as JSON. */
static bool begin_event(struct sink *sink, const struct args *args, enum category category)
{
    struct event_fields *event = &((struct fields_writer *)sink->state)->event;
    const struct pattern *pattern = NULL;
    for (size_t i = 0; args && i < args->count && !pattern; i++)
        if (args->items[i].type == ARG_TYPE_LIST && args->items[i].list->number != 0)
            pattern = pattern_of(sink, args->items[i].list, category);
    if (pattern)
        event_copy(event, &pattern->event);
    else
        event_put(event, (const char *)&event_nothing, FIELD_EXTENT(duration));
    return !pattern || !pattern->needs_json;
}

/* --- events --- */

/* As readers of JSON have it: what is later is not a time. */
static bool is_time(const struct sink *sink, uint64_t time)
{
    return time <= sink->base || time - sink->base <= EVENT_TIME_LIMIT;
}

static inline void set_event(struct sink *sink, struct event_fields *event, char phase, enum category category,
                             const struct name *name, struct row row, uint64_t time)
{
    event->phase = phase;
    event->category = (uint8_t)category;
    event->name = record_texts_put_name(&((struct fields_writer *)sink->state)->texts, sink, name);
    event->process = event_id_number(row.pid);
    event->thread = event_id_number(row.tid);
    event->start = time > sink->base ? (int64_t)(time - sink->base) : 0;
}

/* TEXT: events of JSON with ',' between them, as chrome_json writes them. */
static void put_parsed(struct sink *sink, struct buffer *text)
{
    static const char padding[FAST_PATH_PADDING];
    struct fields_writer *writer = sink->state;
    size_t length = text->length, passed;
    buffer_bytes(text, padding, sizeof(padding));
    enum parse_result result = text->failure ? PARSE_NO_MEMORY : PARSE_DONE;
    for (size_t at = 0; at < length && result != PARSE_NO_MEMORY; at += passed) {
        struct event_fields event;
        passed = scan_blank(text->data + at, length - at) + (text->data[at] == ',');
        if (passed > 0)
            continue;
        passed = length - at;
        result = parser_event(&writer->parser, text->data + at, &passed, &event);
        record_texts_write(&writer->texts, sink);
        if (result != PARSE_DONE)
            continue;
        event_find_extent(&event);
        put_event(sink, &event);
    }
    if (result == PARSE_NO_MEMORY)
        record_fail(sink);
}

#define PUT_BY_JSON(sink_, what, thing)                                                      \
    do {                                                                                     \
        struct buffer text;                                                                  \
        buffer_init_memory(&text);                                                           \
        struct sink json = {.format = &chrome_json, .buffer = &text, .base = (sink_)->base}; \
        chrome_json.what(&json, thing);                                                      \
        put_parsed(sink_, &text);                                                            \
        buffer_release(&text);                                                               \
    } while (0)

/* Sets what all events with arguments have. False: it must be read as JSON. */
static inline bool take_event(struct sink *sink, char phase, enum category category, const struct name *name,
                              struct row row, uint64_t time, const struct args *args)
{
    struct event_fields *event = &((struct fields_writer *)sink->state)->event;
    if (!begin_event(sink, args, category))
        return false;
    set_event(sink, event, phase, category, name, row, time);
    return !args || take_args(sink, args->items, args->count, event);
}

static inline void write_event(struct sink *sink, char phase, const struct slice *slice)
{
    struct fields_writer *writer = state_of(sink);
    sink->events++;
    if (!writer || !is_time(sink, slice->start) || (phase == 'X' && !is_time(sink, slice->end)))
        return;
    if (!take_event(sink, phase, slice->category, &slice->name, slice->row, slice->start, slice->args)) {
        if (phase == 'X')
            PUT_BY_JSON(sink, slice, slice);
        else
            PUT_BY_JSON(sink, instant, slice);
        return;
    }
    if (phase == 'X')
        writer->event.duration = (int64_t)(slice->end - slice->start);
    if (phase == 'X' && slice->other_category && *slice->other_category) {
        writer->event.label =
            record_texts_put(&writer->texts, sink, slice->other_category, strlen(slice->other_category));
        raise_extent(&writer->event, FIELD_EXTENT(label));
    }
    put_event(sink, &writer->event);
}

static void write_slice(struct sink *sink, const struct slice *slice)
{
    write_event(sink, 'X', slice);
}

static void write_instant(struct sink *sink, const struct slice *instant)
{
    write_event(sink, 'i', instant);
}

static void put_with_id(struct sink *sink, uint64_t id)
{
    struct fields_writer *writer = sink->state;
    writer->event.id = event_id_number((int64_t)id);
    raise_extent(&writer->event, FIELD_EXTENT(id));
    put_event(sink, &writer->event);
}

static void write_async(struct sink *sink, const struct async_slice *slice)
{
    struct fields_writer *writer = state_of(sink);
    sink->events++;
    if (!writer || slice->instant || !is_time(sink, slice->start) || !is_time(sink, slice->end))
        return;
    if (!take_event(sink, 'b', slice->category, &slice->name, slice->begin, slice->start, slice->args)) {
        PUT_BY_JSON(sink, async, slice);
        return;
    }
    put_with_id(sink, slice->id);
    begin_event(sink, NULL, CATEGORY_OTHER);
    set_event(sink, &writer->event, 'e', slice->category, &slice->name, slice->end_row, slice->end);
    put_with_id(sink, slice->id);
}

static void write_counter(struct sink *sink, const struct counter *counter)
{
    struct fields_writer *writer = state_of(sink);
    sink->events++;
    if (!writer || !is_time(sink, counter->time))
        return;
    if (counter->value_count > 0) {
        PUT_BY_JSON(sink, counter, counter);
        return;
    }
    begin_event(sink, NULL, CATEGORY_OTHER);
    set_event(sink, &writer->event, 'C', CATEGORY_OTHER, &counter->name, (struct row){.pid = counter->pid},
              counter->time);
    if (!counter->real) {
        writer->event.bytes = event_unsigned(counter->bytes, FIELD_ABSENT);
        raise_extent(&writer->event, FIELD_EXTENT(bytes));
    }
    put_event(sink, &writer->event);
}

/* --- rows and metadata --- */

static void put_naming(struct sink *sink, struct row row, const char *what, const char *label)
{
    struct fields_writer *writer = state_of(sink);
    struct name name = name_plain(what);
    if (!writer)
        return;
    begin_event(sink, NULL, CATEGORY_OTHER);
    set_event(sink, &writer->event, 'M', CATEGORY_OTHER, &name, row, 0);
    writer->event.label = record_texts_put(&writer->texts, sink, label, strlen(label));
    raise_extent(&writer->event, FIELD_EXTENT(label));
    put_event(sink, &writer->event);
}

static void write_process(struct sink *sink, const struct row_name *process)
{
    put_naming(sink, process->row, "process_name", process->name);
    if (process->label)
        put_naming(sink, process->row, "process_labels", process->label);
}

static void write_thread(struct sink *sink, const struct row_name *thread)
{
    put_naming(sink, thread->row, "thread_name", thread->name);
}

const struct sink_format fields_format = {
    .name = "report",
    .piece_scale = 1,
    .metadata = fields_put_metadata,
    .begin = sink_set_base,
    .process = write_process,
    .thread = write_thread,
    .piece = begin_piece,
    .slice = write_slice,
    .instant = write_instant,
    .async = write_async,
    .counter = write_counter,
    .flow = sink_pass_flow, /* it says nothing that the events at its ends do not */
    .finish = sink_pass_end,
    .release = release,
};
