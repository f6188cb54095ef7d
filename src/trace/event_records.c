/*
 * The fields of each event are those that a reader of its JSON would find.
 */
#include "trace/event_records.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/map.h"
#include "common/text.h"
#include "trace/json/fast_path.h"
#include "trace/json/scan.h"

/* --- records --- */

static void put_record(struct buffer *buffer, enum event_record_kind kind, const void *data, size_t size)
{
    struct event_record record = {kind, (uint32_t)size};
    char *at = buffer_reserve(buffer, sizeof(record) + size);
    if (!at)
        return;
    memcpy(at, &record, sizeof(record));
    if (size > 0)
        memcpy(at + sizeof(record), data, size);
    buffer_advance(buffer, sizeof(record) + size);
}

void event_records_put_piece(struct buffer *buffer)
{
    put_record(buffer, EVENT_RECORD_PIECE, NULL, 0);
}

/* As JSON would give it: valid UTF-8, up to its first NUL. */
void event_records_put_text(struct buffer *buffer, const char *text, size_t length)
{
    struct buffer clean;
    buffer_init_memory(&clean);
    length = strnlen(text, length);
    for (size_t at = 0, size; at < length; at += size ? size : 1) {
        size = utf8_size(text + at, length - at);
        buffer_bytes(&clean, size ? text + at : UTF8_REPLACEMENT, size ? size : strlen(UTF8_REPLACEMENT));
    }
    put_record(buffer, EVENT_RECORD_TEXT, clean.data, clean.length);
    buffer->failure = buffer->failure ? buffer->failure : clean.failure;
    buffer_release(&clean);
}

/* The head of a run's record; nothing in a buffer is aligned. */
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

/* Whether the run can go on in BUFFER; *HEAD is what it has. */
static bool goes_on(const struct buffer *buffer, const struct event_record_end *end, struct run_head *head)
{
    if (end->end == 0 || buffer->total != end->drained || buffer->length != end->end)
        return false;
    memcpy(head, buffer->data + end->run, sizeof(*head));
    return head->run.count < EVENT_RUN_MOST;
}

void event_records_put_event(struct buffer *buffer, struct event_record_end *end, struct trace_event *event)
{
    struct run_head head;
    event_find_extent(event);
    if (!buffer_reserve(buffer, sizeof(head) + event->extent)) /* from here on what is in the buffer stays there */
        return;
    if (!goes_on(buffer, end, &head)) {
        head = (struct run_head){.record = {EVENT_RECORD_RUN, sizeof(head.run)}};
        *end = (struct event_record_end){.drained = buffer->total, .run = buffer->length};
        buffer_advance(buffer, sizeof(head));
    }
    buffer_bytes(buffer, event, event->extent);
    count_event(buffer->data + end->run, head, event);
    end->end = buffer->length;
}

void event_records_put_metadata(struct buffer *buffer, const char *key, const char *value, size_t size)
{
    struct buffer text;
    buffer_init_memory(&text);
    buffer_bytes(&text, key, strlen(key) + 1);
    buffer_bytes(&text, value, size);
    put_record(buffer, EVENT_RECORD_METADATA, text.data, text.length);
    buffer->failure = buffer->failure ? buffer->failure : text.failure;
    buffer_release(&text);
}

/* --- events of JSON --- */

static int parse_event(struct parser *parser, const char *text, size_t *size, struct trace_event *event)
{
    struct scan scan;
    size_t length;
    switch (fast_path_event(text, parser->strings, event, &length)) {
    case FAST_PATH_EVENT: *size = length; return 1;
    case FAST_PATH_FLOW: *size = length; return 0;
    case FAST_PATH_NOT: break;
    }
    if (!scan_value(text, *size, &scan))
        return 0;
    *size = scan.length;
    enum parse_result result = parser_event(parser, text, &scan, event);
    return result == PARSE_NO_MEMORY ? -1 : result == PARSE_DONE;
}

int event_records_parse(struct parser *parser, struct buffer *text,
                        void (*put)(void *context, struct trace_event *event), void *context)
{
    static const char padding[FAST_PATH_PADDING];
    size_t length = text->length, passed;
    int result = 0;
    buffer_bytes(text, padding, sizeof(padding));
    if (text->failure)
        return -1;
    for (size_t at = 0; at < length && result >= 0; at += passed) {
        struct trace_event event;
        passed = scan_blank(text->data + at, length - at) + (text->data[at] == ',');
        if (passed > 0)
            continue;
        passed = length - at;
        result = parse_event(parser, text->data + at, &passed, &event);
        if (result > 0)
            put(context, &event);
    }
    return result < 0 ? -1 : 0;
}

/* --- the format --- */

struct state {
    struct interner texts; /* as the events have them, or as they are parsed of JSON */
    uint32_t written;      /* texts of these that are in the records */
    struct parser parser;
    struct event_record_end end;
};

static const char *const keys[ARG_KEY_COUNT] = {
#define KEY(name, text) [ARG_##name] = text,
    ARG_KEYS(KEY)
#undef KEY
};
/* Where arguments go; NULL: they are not wanted. */
static const struct event_field *fields[ARG_KEY_COUNT];

/* The analysis's categories. */
static enum event_category categories[CATEGORY_COUNT];
static pthread_once_t made = PTHREAD_ONCE_INIT;

static void make_tables(void)
{
    event_fields_init();
    for (size_t i = 0; i < ARG_KEY_COUNT; i++)
        fields[i] = event_field_find(keys[i], strlen(keys[i]));
    for (size_t i = 0; i < CATEGORY_COUNT; i++)
        categories[i] = event_category_find(slice_categories[i], strlen(slice_categories[i]));
}

static void no_memory(struct writer *writer)
{
    writer->buffer->failure = writer->buffer->failure ? writer->buffer->failure : ENOMEM;
}

/* The writer's own state, made when it is first needed. NULL after a failure. */
static struct state *state_of(struct writer *writer)
{
    pthread_once(&made, make_tables);
    struct state *state = writer->state;
    if (state)
        return state;
    state = writer->state = calloc(1, sizeof(struct state));
    if (state)
        parser_init(&state->parser, &state->texts);
    else
        no_memory(writer);
    return state;
}

static void begin_piece(struct writer *writer)
{
    writer->state = NULL;
    state_of(writer);
    event_records_put_piece(writer->buffer);
}

static void release(struct writer *writer)
{
    struct state *state = writer->state;
    if (state) {
        parser_release(&state->parser);
        interner_release(&state->texts);
    }
    free(state);
    writer->state = NULL;
}

static void put_new_texts(struct writer *writer)
{
    struct state *state = writer->state;
    for (; state->written < state->texts.count; state->written++) {
        const struct interned *text = interner_at(&state->texts, state->written);
        event_records_put_text(writer->buffer, text->text, text->length);
    }
}

/* Returns the number of a text in the records of WRITER. */
static uint32_t put_text(struct writer *writer, const char *text, size_t length)
{
    struct state *state = writer->state;
    uint32_t number = intern(&state->texts, length ? text : "", length);
    if (number == INTERN_NO_MEMORY) {
        no_memory(writer);
        return EVENT_NO_TEXT;
    }
    put_new_texts(writer);
    return number;
}

/* --- arguments --- */

static void take_number(const struct arg *arg, int64_t *number)
{
    switch (arg->type) {
    case ARG_TYPE_U64: *number = event_unsigned(arg->u64, *number); break;
    case ARG_TYPE_I64: *number = event_signed(arg->i64, *number); break;
    case ARG_TYPE_FIXED:
    case ARG_TYPE_REAL: *number = event_real(arg->real, *number); break;
    case ARG_TYPE_HEX: *number = arg->u64 > INT64_MAX ? INT64_MAX : (int64_t)arg->u64; break;
    case ARG_TYPE_TEXT: *number = event_number_of_text(arg->text, arg->length, *number); break;
    case ARG_TYPE_TRUE: *number = 1; break;
    case ARG_TYPE_FALSE: *number = 0; break;
    default: break;
    }
}

static void take_text(struct writer *writer, const struct arg *arg, uint32_t *text)
{
    char digits[32];
    if (arg->type == ARG_TYPE_TEXT)
        *text = put_text(writer, arg->text, arg->length);
    if (arg->type != ARG_TYPE_U64 && arg->type != ARG_TYPE_I64)
        return;
    double value = arg->type == ARG_TYPE_U64 ? (double)arg->u64 : (double)arg->i64;
    int length = snprintf(digits, sizeof(digits), "%.15g", value);
    *text = put_text(writer, digits, (size_t)length);
}

static void take_triple(const struct arg *arg, int64_t triple[3])
{
    for (int i = 0; i < 3 && arg->type == ARG_TYPE_SIZE3; i++)
        triple[i] = arg->size3[i];
}

static bool args_need_json(const struct args *args)
{
    for (size_t i = 0; args && i < args->count; i++) {
        const struct arg *arg = &args->items[i];
        bool odd = arg->type == ARG_TYPE_JSON || arg->type == ARG_TYPE_REAL || arg->type == ARG_TYPE_COLOR;
        if (arg->type == ARG_TYPE_MEMBERS || (odd && fields[arg->key]))
            return true;
        if (arg->type == ARG_TYPE_HEX && fields[arg->key] && fields[arg->key]->type == FIELD_TEXT)
            return true;
    }
    return false;
}

static void take_args(struct writer *writer, const struct args *args, struct trace_event *event)
{
    for (size_t i = 0; args && i < args->count; i++) {
        const struct arg *arg = &args->items[i];
        const struct event_field *field = fields[arg->key];
        void *place = field ? (char *)event + field->offset : NULL;
        if (!field) {
            if (arg->key == ARG_FROM && event->category == EVENT_GPU_RANGE && arg->type == ARG_TYPE_TEXT &&
                arg->length == strlen(EVENT_DEVICE_RANGE_WORD) &&
                memcmp(arg->text, EVENT_DEVICE_RANGE_WORD, arg->length) == 0)
                event->category = EVENT_DEVICE_RANGE;
        } else if (field->type == FIELD_NUMBER) {
            take_number(arg, place);
        } else if (field->type == FIELD_TEXT) {
            take_text(writer, arg, place);
        } else {
            take_triple(arg, place);
        }
    }
}

/* --- events --- */

static struct trace_event begin_event(struct writer *writer, char phase, const struct name *name, struct row row,
                                      uint64_t time)
{
    struct trace_event event = event_nothing;
    event.phase = phase;
    event.name = put_text(writer, name->text, name->length);
    event.process = event_id_number(row.pid);
    event.thread = event_id_number(row.tid);
    event.start = time > writer->base ? (int64_t)(time - writer->base) : 0;
    return event;
}

static void put_event(struct writer *writer, struct trace_event *event)
{
    struct state *state = writer->state;
    event_records_put_event(writer->buffer, &state->end, event);
}

static enum event_category category_of(enum category category, const char *other)
{
    return other ? event_category_find(other, strlen(other)) : categories[category];
}

static void put_parsed(void *context, struct trace_event *event)
{
    struct writer *writer = context;
    put_new_texts(writer);
    put_event(writer, event);
}

/* An argument of a form that JSON alone has: the event is written as JSON and parsed again. */
#define PUT_BY_JSON(writer, what, thing)                                                        \
    do {                                                                                        \
        struct buffer text;                                                                     \
        buffer_init_memory(&text);                                                              \
        struct writer json = {.format = &chrome_json, .buffer = &text, .base = (writer)->base}; \
        chrome_json.what(&json, thing);                                                         \
        struct state *state = (writer)->state;                                                  \
        if (event_records_parse(&state->parser, &text, put_parsed, writer) < 0)                 \
            no_memory(writer);                                                                  \
        put_new_texts(writer);                                                                  \
        buffer_release(&text);                                                                  \
    } while (0)

static void write_slice(struct writer *writer, const struct slice *slice)
{
    writer->events++;
    if (!state_of(writer))
        return;
    if (args_need_json(slice->args)) {
        PUT_BY_JSON(writer, slice, slice);
        return;
    }
    struct trace_event event = begin_event(writer, 'X', &slice->name, slice->row, slice->start);
    event.category = (uint8_t)category_of(slice->category, slice->other_category);
    event.duration = (int64_t)(slice->end - slice->start);
    take_args(writer, slice->args, &event);
    put_event(writer, &event);
}

static void write_instant(struct writer *writer, const struct slice *instant)
{
    writer->events++;
    if (!state_of(writer))
        return;
    if (args_need_json(instant->args)) {
        PUT_BY_JSON(writer, instant, instant);
        return;
    }
    struct trace_event event = begin_event(writer, 'i', &instant->name, instant->row, instant->start);
    event.category = (uint8_t)category_of(instant->category, instant->other_category);
    take_args(writer, instant->args, &event);
    put_event(writer, &event);
}

static void write_async(struct writer *writer, const struct async_slice *slice)
{
    writer->events++;
    if (!state_of(writer))
        return;
    if (args_need_json(slice->args)) {
        PUT_BY_JSON(writer, async, slice);
        return;
    }
    struct trace_event begin = begin_event(writer, 'b', &slice->name, slice->begin, slice->start);
    begin.category = (uint8_t)category_of(slice->category, slice->other_category);
    begin.id = event_id_number((int64_t)slice->id);
    struct trace_event end = begin_event(writer, 'e', &slice->name, slice->end_row, slice->end);
    end.category = begin.category;
    end.id = begin.id;
    take_args(writer, slice->args, &begin);
    put_event(writer, &begin);
    put_event(writer, &end);
}

static void write_counter(struct writer *writer, const struct counter *counter)
{
    writer->events++;
    if (!state_of(writer))
        return;
    if (counter->value_count > 0) {
        PUT_BY_JSON(writer, counter, counter);
        return;
    }
    struct trace_event event =
        begin_event(writer, 'C', &counter->name, (struct row){.pid = counter->pid}, counter->time);
    if (!counter->real)
        event.bytes = event_unsigned(counter->bytes, EVENT_NONE);
    put_event(writer, &event);
}

/* --- rows and metadata --- */

static void put_naming(struct writer *writer, struct row row, const char *what, const char *label)
{
    if (!state_of(writer))
        return;
    struct name name = name_plain(what);
    struct trace_event event = begin_event(writer, 'M', &name, row, 0);
    event.label = put_text(writer, label, strlen(label));
    put_event(writer, &event);
}

static void write_process(struct writer *writer, const struct row_name *process)
{
    put_naming(writer, process->row, "process_name", process->name);
    if (process->label)
        put_naming(writer, process->row, "process_labels", process->label);
}

static void write_thread(struct writer *writer, const struct row_name *thread)
{
    put_naming(writer, thread->row, "thread_name", thread->name);
}

static void write_metadata(struct writer *writer, const char *key, const char *value, size_t size)
{
    event_records_put_metadata(writer->buffer, key, value, size);
}

static void write_begin(struct writer *writer, uint64_t base)
{
    writer->base = base;
}

/* A flow says nothing that the events at its ends do not. */
static void write_flow(struct writer *writer, const struct flow *flow)
{
    (void)writer, (void)flow;
}

static void finish(struct writer *writer)
{
    (void)writer;
}

const struct writer_format event_records = {
    .name = "event_records",
    .piece_scale = 1,
    .metadata = write_metadata,
    .begin = write_begin,
    .process = write_process,
    .thread = write_thread,
    .piece = begin_piece,
    .slice = write_slice,
    .instant = write_instant,
    .async = write_async,
    .counter = write_counter,
    .flow_start = write_flow,
    .flow_end = write_flow,
    .finish = finish,
    .release = release,
};
