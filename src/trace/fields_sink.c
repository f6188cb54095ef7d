/*
 * The analysis as a sink: threads that write pieces put the events' fields into batches (fields_receiver.h). The buffer
 * of a piece holds the addresses of its batches.
 *
 * For speed, a piece interns each kept name once, by its address, and reads each numbered list of arguments once. An
 * argument whose value is JSON is read with the JSON reader's functions.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/buffer.h"
#include "common/map.h"
#include "trace/fields_receiver.h"
#include "trace/json/parse.h"
#include "trace/json/text.h"
#include "trace/sink.h"

#define PATTERNS 512 /* list number N uses entry N % PATTERNS */

/* --- records of a piece --- */

#define RECORD_NAMES 1024 /* names cached by address */

/* The texts of a piece. All zero is empty. */
struct record_texts {
    struct interner texts;
    uint32_t written; /* how many of `texts` are in the records */
    struct known_name {
        const char *text;
        size_t length;
        uint32_t number;
    } names[RECORD_NAMES];
};

static void record_put(struct buffer *records, enum record_kind kind, const void *data, size_t size)
{
    struct record record = {kind, (uint32_t)size};
    char *at = buffer_reserve(records, sizeof(record) + size);
    if (!at)
        return;
    memcpy(at, &record, sizeof(record));
    if (size > 0)
        memcpy(at + sizeof(record), data, size);
    buffer_advance(records, sizeof(record) + size);
}

/* Puts a text as the JSON reader would return it: valid UTF-8, up to its first NUL. */
static void put_valid_text(struct buffer *records, const char *text, size_t length)
{
    struct buffer clean;
    buffer_init_memory(&clean);
    length = strnlen(text, length);
    text = buffer_valid_text(&clean, text, &length);
    record_put(records, RECORD_TEXT, text, length);
    records->failure = records->failure ? records->failure : clean.failure;
    buffer_release(&clean);
}

static void record_fail(struct buffer *records)
{
    records->failure = records->failure ? records->failure : ENOMEM;
}

/* Appends the texts that are not in RECORDS yet. */
static void record_texts_write(struct record_texts *texts, struct buffer *records)
{
    for (; texts->written < texts->texts.count; texts->written++) {
        const struct interned *text = interner_at(&texts->texts, texts->written);
        put_valid_text(records, text->text, text->length);
    }
}

/* Returns the number of a text, and puts a new text into RECORDS. Returns EVENT_NO_TEXT without memory, after setting
 * RECORDS' failure. */
static uint32_t record_texts_put(struct record_texts *texts, struct buffer *records, const char *text, size_t length)
{
    uint32_t number = intern(&texts->texts, length ? text : "", length);
    if (number == INTERN_NO_MEMORY) {
        record_fail(records);
        return EVENT_NO_TEXT;
    }
    record_texts_write(texts, records);
    return number;
}

static inline uint32_t record_texts_put_name(struct record_texts *texts, struct buffer *records,
                                             const struct name *name)
{
    if (!name->kept)
        return record_texts_put(texts, records, name->text, name->length);
    uintptr_t address = (uintptr_t)name->text;
    struct known_name *known = &texts->names[(address >> 4 ^ address >> 14) % RECORD_NAMES];
    if (known->text != name->text || known->length != name->length)
        *known =
            (struct known_name){name->text, name->length, record_texts_put(texts, records, name->text, name->length)};
    return known->number;
}

/* --- the writer --- */

/* An event that has the arguments of a numbered list and nothing else. */
struct pattern {
    uint32_t list; /* 0: the entry is unused */
    enum category category;
    struct event_fields event;
};

/* The state of a sink: of a piece, or of the whole. */
struct fields_writer {
    struct record_texts texts; /* texts of the events */
    struct pattern *patterns;  /* PATTERNS entries; NULL: none yet */
    struct buffer json, plain; /* scratch in memory: an argument as JSON, and its texts without escapes */
    struct event_batch *batch; /* the last one in the sink's buffer; NULL: none yet */
};

/* Returns the sink's state, allocated at the first call. Returns NULL after a failure. */
static struct fields_writer *state_of(struct sink *sink)
{
    struct fields_writer *writer = sink->state;
    if (writer)
        return writer;
    writer = sink->state = calloc(1, sizeof(struct fields_writer));
    if (!writer) {
        record_fail(sink->buffer);
        return NULL;
    }
    buffer_init_memory(&writer->json);
    buffer_init_memory(&writer->plain);
    return writer;
}

static void begin_piece(struct sink *sink)
{
    sink->state = NULL;
}

/* Begins the sink's next batch. A buffer that does not hold the whole piece first drains the batches before it. Returns
 * NULL after a failure. */
static struct event_batch *begin_batch(struct sink *sink)
{
    struct fields_writer *writer = state_of(sink);
    if (!writer || buffer_finish(sink->buffer) != 0)
        return NULL;
    bool first = !writer->batch;
    writer->batch = event_batches_take(sink->context);
    if (!writer->batch) {
        record_fail(sink->buffer);
        return NULL;
    }
    writer->batch->begins_piece = first;
    buffer_bytes(sink->buffer, &writer->batch, sizeof(writer->batch));
    return writer->batch;
}

/* Returns where to write the next event; its content is undefined. Returns NULL after a failure. */
static inline struct event_fields *place_of(struct sink *sink)
{
    struct fields_writer *writer = sink->state;
    struct event_batch *batch = writer ? writer->batch : NULL;
    if (!batch || event_batch_is_full(batch))
        batch = begin_batch(sink);
    return batch ? event_batch_place(batch) : NULL;
}

/* Adds the event that was written to place_of(). */
static inline void put_event(struct sink *sink)
{
    event_batch_add(((struct fields_writer *)sink->state)->batch);
}

static void release(struct sink *sink)
{
    struct fields_writer *writer = sink->state;
    if (writer) {
        buffer_release(&writer->json);
        buffer_release(&writer->plain);
        interner_release(&writer->texts.texts);
        free(writer->patterns);
    }
    free(writer);
    sink->state = NULL;
}

/* --- arguments --- */

/* Each function returns false if the argument must be read as JSON. A value that is not a number leaves a number as it
 * is. */

static inline bool take_triple(const struct arg *arg, int64_t triple[3])
{
    for (int i = 0; i < 3 && arg->type == ARG_TYPE_SIZE3; i++)
        triple[i] = arg->size3[i];
    return arg->type != ARG_TYPE_RAW && arg->type != ARG_TYPE_JSON;
}

static uint32_t put_text(struct fields_writer *writer, const char *text, size_t length)
{
    return record_texts_put(&writer->texts, &writer->batch->records, text, length);
}

static bool take_text(struct fields_writer *writer, const struct arg *arg, uint32_t *text)
{
    char digits[32];
    int length;
    switch (arg->type) {
    case ARG_TYPE_TEXT: *text = put_text(writer, arg->text, arg->length); return true;
    case ARG_TYPE_U64:
    case ARG_TYPE_I64:
        length =
            snprintf(digits, sizeof(digits), "%.15g", arg->type == ARG_TYPE_U64 ? (double)arg->u64 : (double)arg->i64);
        *text = put_text(writer, digits, (size_t)length);
        return true;
    case ARG_TYPE_TRUE:
    case ARG_TYPE_FALSE:
    case ARG_TYPE_SIZE3: return true;
    default: return false;
    }
}

static bool take_shapes(struct fields_writer *writer, const struct arg *arg, uint32_t *text)
{
    struct shapes_text shapes;
    if (arg->type != ARG_TYPE_RAW)
        return arg->type != ARG_TYPE_JSON && arg->type != ARG_TYPE_SIZE3;
    if (shapes_read(arg->text, arg->length, &shapes) != arg->length)
        return false;
    *text = put_text(writer, shapes.text, shapes.length);
    return true;
}

/* Writes ARG as JSON and reads the fields of its members. Skips a value that is not valid JSON. */
static void take_json(struct fields_writer *writer, const struct arg *arg, struct event_fields *event)
{
    static const char padding[FAST_PATH_PADDING];
    struct json_text key, value;
    struct json_fault fault;
    writer->json.length = writer->plain.length = 0;
    buffer_char(&writer->json, '{');
    chrome_json_put_arg(&writer->json, arg);
    buffer_char(&writer->json, '}');
    size_t length = writer->json.length;
    buffer_bytes(&writer->json, padding, sizeof(padding));
    bool failed = !buffer_reserve(&writer->plain, 4 * length) || writer->json.failure;
    if (!failed && json_check(writer->json.data, length, &fault)) {
        const char *at = writer->json.data + 1, *end = writer->json.data + length;
        while (json_member(&at, end, &key, &value)) {
            const struct arg_field *field = arg_field_find(key.at, key.length, (enum category)event->category);
            failed |= field && !event_read_field(value, field, &writer->texts.texts, &writer->plain, event);
        }
    }
    record_texts_write(&writer->texts, &writer->batch->records);
    if (failed)
        record_fail(&writer->batch->records);
}

static void take_args(struct fields_writer *writer, const struct arg *args, size_t count, struct event_fields *event);

/* Reads an argument that has no field itself. Numbered lists are skipped, as the event began as a copy of their
 * pattern. */
static bool take_other(struct fields_writer *writer, const struct arg *arg, struct event_fields *event)
{
    if (arg->type == ARG_TYPE_LIST && arg->list->number == 0)
        take_args(writer, arg->list->items, arg->list->count, event);
    if (arg->key == ARG_FROM && event->category == CATEGORY_GPU_USER_ANNOTATION && arg->type == ARG_TYPE_TEXT &&
        json_is((struct json_text){arg->text, arg->length}, DEVICE_RANGE_WORD))
        event->category = CATEGORY_DEVICE_RANGE;
    return arg->type != ARG_TYPE_MEMBERS;
}

static void take_args(struct fields_writer *writer, const struct arg *args, size_t count, struct event_fields *event)
{
    for (const struct arg *arg = args; arg < args + count; arg++) {
        const struct arg_field *field = &arg_fields[arg->key];
        bool taken = true;
        if (field->type != FIELD_NONE && !category_in(event->category, field->categories))
            continue;
        void *place = (char *)event + field->offset;
        switch (field->type) {
        case FIELD_NUMBER: taken = event_take_number(arg, place); break;
        case FIELD_TEXT: taken = take_text(writer, arg, place); break;
        case FIELD_TRIPLE: taken = take_triple(arg, place); break;
        case FIELD_SHAPES: taken = take_shapes(writer, arg, place); break;
        case FIELD_NONE: taken = take_other(writer, arg, event); break;
        }
        if (!taken)
            take_json(writer, arg, event);
    }
}

/* Returns the pattern of LIST, from the cache if possible, or NULL without memory. */
static const struct pattern *pattern_of(struct fields_writer *writer, const struct arg_list *list,
                                        enum category category)
{
    if (!writer->patterns && !(writer->patterns = calloc(PATTERNS, sizeof(*writer->patterns)))) {
        record_fail(&writer->batch->records);
        return NULL;
    }
    struct pattern *pattern = &writer->patterns[list->number % PATTERNS];
    if (pattern->list != list->number || pattern->category != category) {
        pattern->list = list->number;
        pattern->category = category;
        event_begin(&pattern->event, category);
        take_args(writer, list->items, list->count, &pattern->event);
    }
    return pattern;
}

/* --- events --- */

/* Whether TIME is within the limit that JSON readers apply. */
static bool is_time(const struct sink *sink, uint64_t time)
{
    return time <= sink->base || time - sink->base <= EVENT_TIME_LIMIT;
}

static inline void set_event(struct sink *sink, struct event_fields *event, char phase, const struct name *name,
                             struct row row, uint64_t time)
{
    struct fields_writer *writer = sink->state;
    event->phase = phase;
    event->name = record_texts_put_name(&writer->texts, &writer->batch->records, name);
    event->process = event_id_number(row.pid);
    event->thread = event_id_number(row.tid);
    event->start = time > sink->base ? (int64_t)(time - sink->base) : 0;
}

/* Begins EVENT, and sets the fields of its name, row, time and arguments. */
static inline void take_event(struct sink *sink, struct event_fields *event, char phase, enum category category,
                              const struct name *name, struct row row, uint64_t time, const struct args *args)
{
    /* The event begins as the pattern of its numbered list, or without fields. */
    const struct pattern *pattern = NULL;
    for (size_t i = 0; args && i < args->count && !pattern; i++)
        if (args->items[i].type == ARG_TYPE_LIST && args->items[i].list->number != 0)
            pattern = pattern_of(sink->state, args->items[i].list, category);
    if (pattern)
        event_copy(event, &pattern->event);
    else
        event_begin(event, category);
    set_event(sink, event, phase, name, row, time);
    if (args)
        take_args(sink->state, args->items, args->count, event);
}

static inline void write_event(struct sink *sink, char phase, const struct slice *slice)
{
    struct event_fields *event = place_of(sink);
    sink->events++;
    if (!event || !is_time(sink, slice->start) || (phase == 'X' && !is_time(sink, slice->end)))
        return;
    take_event(sink, event, phase, slice->category, &slice->name, slice->row, slice->start, slice->args);
    if (phase == 'X')
        event->duration = (int64_t)(slice->end - slice->start);
    if (phase == 'X' && slice->other_category && *slice->other_category) {
        event->label = put_text(sink->state, slice->other_category, strlen(slice->other_category));
    }
    put_event(sink);
}

static void write_slice(struct sink *sink, const struct slice *slice)
{
    write_event(sink, 'X', slice);
}

static void write_instant(struct sink *sink, const struct slice *instant)
{
    write_event(sink, 'i', instant);
}

static void put_with_id(struct sink *sink, struct event_fields *event, uint64_t id)
{
    event->id = event_id_number((int64_t)id);
    put_event(sink);
}

static void write_async(struct sink *sink, const struct async_slice *slice)
{
    struct event_fields *event = place_of(sink);
    sink->events++;
    if (!event || slice->instant || !is_time(sink, slice->start) || !is_time(sink, slice->end))
        return;
    take_event(sink, event, 'b', slice->category, &slice->name, slice->begin, slice->start, slice->args);
    put_with_id(sink, event, slice->id);
    if (!(event = place_of(sink)))
        return;
    event_begin(event, slice->category);
    set_event(sink, event, 'e', &slice->name, slice->end_row, slice->end);
    put_with_id(sink, event, slice->id);
}

static void write_counter(struct sink *sink, const struct counter *counter)
{
    struct event_fields *event = place_of(sink);
    sink->events++;
    if (!event || !is_time(sink, counter->time))
        return;
    event_begin(event, CATEGORY_OTHER);
    set_event(sink, event, 'C', &counter->name, (struct row){.pid = counter->pid}, counter->time);
    for (size_t i = 0; i < counter->value_count; i++) {
        const struct counter_value *value = &counter->values[i]; /* read like an argument of this name */
        struct arg arg = {.key = arg_key_find(value->name, value->length), .u64 = value->u64};
        switch (value->kind) {
        case COUNTER_UNSIGNED: arg.type = ARG_TYPE_U64; break;
        case COUNTER_SIGNED: arg.type = ARG_TYPE_I64; break;
        case COUNTER_REAL: arg.type = ARG_TYPE_REAL; break;
        }
        take_args(sink->state, &arg, 1, event);
    }
    if (counter->value_count == 0 && !counter->real)
        event->bytes = event_unsigned(counter->bytes, FIELD_ABSENT);
    put_event(sink);
}

/* --- rows and metadata --- */

/* Metadata precedes the events of its batch: a batch with events is closed. */
static void write_metadata(struct sink *sink, const char *key, const char *value, size_t size)
{
    struct fields_writer *writer = sink->state;
    struct event_batch *batch = writer ? writer->batch : NULL;
    if (!batch || batch->count > 0)
        batch = begin_batch(sink);
    if (batch) {
        struct buffer text;
        buffer_init_memory(&text);
        buffer_bytes(&text, key, strlen(key) + 1);
        buffer_bytes(&text, value, size);
        record_put(&batch->records, RECORD_METADATA, text.data, text.length);
        batch->records.failure = batch->records.failure ? batch->records.failure : text.failure;
        buffer_release(&text);
    }
}

static void put_naming(struct sink *sink, struct row row, const char *what, const char *label)
{
    struct event_fields *event = place_of(sink);
    struct name name = name_plain(what);
    if (!event)
        return;
    event_begin(event, CATEGORY_OTHER);
    set_event(sink, event, 'M', &name, row, 0);
    event->label = put_text(sink->state, label, strlen(label));
    put_event(sink);
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
    .metadata = write_metadata,
    .begin = sink_set_base,
    .process = write_process,
    .thread = write_thread,
    .piece = begin_piece,
    .slice = write_slice,
    .instant = write_instant,
    .async = write_async,
    .counter = write_counter,
    .flow = sink_pass_flow, /* the analysis finds flows by correlation */
    .finish = sink_pass_end,
    .release = release,
};
