/*
 * Trace Event JSON. Fixed texts are literals of known length. An event is written into space that is reserved in the
 * buffer once; only names and texts of unknown length use the buffer's own functions.
 */
#include <assert.h>
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "common/json_out.h"
#include "common/text.h"
#include "common/buffer.h"
#include "trace/sink.h"
#include "trace/json/text.h"
#include "trace/tracks.h"

#define LITERAL_SPACE 44

/* A short text of a table. All LITERAL_SPACE bytes are copied, as a copy of constant size needs no loop. */
struct literal {
    char text[LITERAL_SPACE];
    unsigned length;
};
static_assert(sizeof("\"wait_on_cuda_event_record_corr_id\":") <= LITERAL_SPACE, "the longest key");

#define LITERAL(string) {string, sizeof(string) - 1}

/* Appends a string literal, without its NUL. */
#define PUT(at, string) put_bytes(at, string, sizeof(string) - 1)

static inline char *put_bytes(char *at, const char *bytes, size_t size)
{
    memcpy(at, bytes, size);
    return at + size;
}

/* AT must have space for LITERAL_SPACE bytes. */
static inline char *put_literal(char *at, const struct literal *literal)
{
    memcpy(at, literal->text, LITERAL_SPACE);
    return at + literal->length;
}

static inline char *put_row(char *at, struct row row)
{
    at = PUT(at, ",\"pid\":");
    at = number_u64(at, row.pid);
    at = PUT(at, ",\"tid\":");
    return number_u64(at, row.tid);
}

static inline char *put_color(char *at, uint32_t color)
{
    static const char digits[] = "0123456789abcdef";
    at = PUT(at, "\"#");
    for (int shift = color >> 24 == 0xff ? 20 : 28; shift >= 0; shift -= 4)
        *at++ = digits[(color >> shift) & 15];
    *at++ = '"';
    return at;
}

static inline char *put_size3(char *at, const int32_t size[3])
{
    *at++ = '[';
    at = number_i64(at, size[0]);
    *at++ = ',';
    at = number_i64(at, size[1]);
    *at++ = ',';
    at = number_i64(at, size[2]);
    *at++ = ']';
    return at;
}

static inline char *put_hex(char *at, uint64_t value)
{
    *at++ = '"';
    at = number_hex(at, value);
    *at++ = '"';
    return at;
}

/* Adds the bytes that were written up to AT to the buffer. */
static inline void claim(struct sink *sink, const char *at)
{
    buffer_advance(sink->buffer, (size_t)(at - (sink->buffer->data + sink->buffer->length)));
}

#define HEAD_SPACE 128 /* for the members before the name */
#define TAIL_SPACE 256 /* for the row and times after the name */

static inline char *put_time(const struct sink *sink, char *at, uint64_t time)
{
    at = PUT(at, ",\"ts\":");
    return number_us(at, time > sink->base ? time - sink->base : 0);
}

/* Writes the separator from the event before, and reserves SIZE more bytes. Returns NULL after a failure. */
static inline char *next_event(struct sink *sink, size_t size)
{
    char *at = buffer_reserve(sink->buffer, size + 2);
    if (!at)
        return NULL;
    if (sink->any)
        *at++ = ',';
    *at++ = '\n';
    sink->any = true;
    return at;
}

static const struct literal keys[ARG_KEY_COUNT] = {
#define KEY(name, text) [ARG_##name] = LITERAL("\"" text "\":"),
#define FIELD(name, text, ...) KEY(name, text)
    ARG_KEYS(KEY, FIELD)
#undef KEY
#undef FIELD
};

#define ARG_SPACE 128 /* for one argument that is not text */
#define ENDS_SPACE 64 /* for the braces around the arguments */

static void put_text(struct buffer *buffer, const char *text, size_t length)
{
    buffer_char(buffer, '"');
    json_escape(buffer, text, length);
    buffer_char(buffer, '"');
}

/* Writes NaN and infinity as texts, because JSON has no numbers for them. */
static void put_real(struct buffer *buffer, double value)
{
    if (isnan(value)) {
        buffer_text(buffer, "\"NaN\"");
    } else if (isinf(value)) {
        buffer_text(buffer, value > 0 ? "\"Infinity\"" : "\"-Infinity\"");
    } else {
        struct json_out json;
        json_out_init(&json, buffer, false);
        json_double(&json, value, -1);
    }
}

/* Reserves space for further arguments. Returns NULL after a failure. */
static char *make_space(struct sink *sink, char *at)
{
    claim(sink, at);
    return buffer_reserve(sink->buffer, ENDS_SPACE + ARGS_MAX * ARG_SPACE);
}

/* Writes a value of unknown length through the buffer. Returns NULL after a failure. */
static char *put_long_value(struct sink *sink, char *at, const struct arg *arg)
{
    claim(sink, at);
    if (arg->type == ARG_TYPE_MEMBERS || arg->type == ARG_TYPE_RAW)
        buffer_bytes(sink->buffer, arg->text, arg->length);
    else if (arg->type == ARG_TYPE_TEXT)
        put_text(sink->buffer, arg->text, arg->length);
    else if (arg->type == ARG_TYPE_JSON)
        arg->json.put(sink->buffer, &arg->json);
    else
        put_real(sink->buffer, arg->real);
    return buffer_reserve(sink->buffer, ENDS_SPACE + ARGS_MAX * ARG_SPACE);
}

static char *put_args(struct sink *sink, char *at, const struct arg *args, size_t count);

/* Writes a list of arguments, or the key of an argument that is not in the table. Returns NULL after a failure. */
static char *put_other(struct sink *sink, char *at, const struct arg *arg)
{
    for (size_t i = 0; arg->type == ARG_TYPE_LIST && i < arg->list->count && at; i++) {
        if (i > 0)
            *at++ = ',';
        at = put_args(sink, at, &arg->list->items[i], 1);
        at = at ? make_space(sink, at) : NULL;
    }
    if (arg->type == ARG_TYPE_LIST || arg->type == ARG_TYPE_MEMBERS)
        return at;
    claim(sink, at);
    put_text(sink->buffer, arg->other, arg->other_length);
    buffer_char(sink->buffer, ':');
    return buffer_reserve(sink->buffer, ENDS_SPACE + ARGS_MAX * ARG_SPACE);
}

/* Writes COUNT > 0 arguments. AT must have space for ARGS_MAX of them. Returns NULL after a failure. */
static char *put_args(struct sink *sink, char *at, const struct arg *args, size_t count)
{
    for (const struct arg *arg = args; arg < args + count; arg++) {
        if (arg->key != ARG_OTHER)
            at = put_literal(at, &keys[arg->key]);
        else if (!(at = put_other(sink, at, arg)))
            return NULL;
        switch (arg->type) {
        case ARG_TYPE_U64: at = number_u64(at, arg->u64); break;
        case ARG_TYPE_I64: at = number_i64(at, arg->i64); break;
        case ARG_TYPE_FIXED: at = number_fixed6(at, arg->real); break;
        case ARG_TYPE_HEX: at = put_hex(at, arg->u64); break;
        case ARG_TYPE_COLOR: at = put_color(at, (uint32_t)arg->u64); break;
        case ARG_TYPE_TRUE: at = PUT(at, "true"); break;
        case ARG_TYPE_FALSE: at = PUT(at, "false"); break;
        case ARG_TYPE_SIZE3: at = put_size3(at, arg->size3); break;
        case ARG_TYPE_LIST: break;
        default:
            if (!(at = put_long_value(sink, at, arg)))
                return NULL;
        }
        *at++ = ',';
    }
    return at - 1;
}

void chrome_json_put_arg(struct buffer *buffer, const struct arg *arg)
{
    struct sink sink = {.format = &chrome_json, .buffer = buffer};
    char *at = buffer_reserve(buffer, ENDS_SPACE + ARGS_MAX * ARG_SPACE);
    at = at ? put_args(&sink, at, arg, 1) : NULL;
    if (at)
        claim(&sink, at);
}

/* A sink whose trace has call stacks has this address as its state. Without it, put_stack() is not called. */
static char has_stacks[1];

/* Writes "sf", the number of the event's call stack, if an argument has it. */
static char *put_stack(char *at, const struct arg *args, size_t count)
{
    uint64_t number;
    for (const struct arg *arg = args; arg < args + count; arg++)
        if (arg->key == ARG_STACK && arg->type == ARG_TYPE_U64)
            return number_u64(PUT(at, ",\"sf\":"), arg->u64);
        else if (arg->type == ARG_TYPE_MEMBERS && json_find_integer(arg->text, arg->length, "stack", &number))
            return number_u64(PUT(at, ",\"sf\":"), number);
        else if (arg->type == ARG_TYPE_LIST)
            at = put_stack(at, arg->list->items, arg->list->count);
    return at;
}

/* Writes `,"sf":…,"args":{…}` and the '}' that ends the event. */
static void end_event(struct sink *sink, char *at, const struct args *args)
{
    at = make_space(sink, at);
    if (!at)
        return;
    if (args && args->count > 0) {
        if (sink->state == has_stacks)
            at = put_stack(at, args->items, args->count);
        at = put_args(sink, PUT(at, ",\"args\":{"), args->items, args->count);
        if (!at)
            return;
        *at++ = '}';
    }
    *at++ = '}';
    claim(sink, at);
}

static const struct literal heads[CATEGORY_COUNT] = {
#define HEAD(name, text) [CATEGORY_##name] = LITERAL("\"cat\":\"" text "\",\"name\":\""),
    CATEGORIES(HEAD)
#undef HEAD
};

static inline char *put_name(struct sink *sink, char *at, const struct name *name)
{
    if (name->json)
        return put_bytes(at, name->json, name->json_length); /* within the space of next_event() */
    claim(sink, at);
    json_escape(sink->buffer, name->text, name->length);
    return buffer_reserve(sink->buffer, TAIL_SPACE);
}

/* Writes the start of an event, up to the quote after its name. Returns NULL after a failure. */
static char *put_head(struct sink *sink, const char *phase, enum category category, const char *other,
                      const struct name *name)
{
    size_t other_length = other ? strlen(other) : 0;
    char *at = next_event(sink, HEAD_SPACE + TAIL_SPACE + other_length + (name->json ? name->json_length : 0));
    if (!at)
        return NULL;
    at = put_bytes(at, phase, 10); /* {"ph":"X", */
    if (other) {
        at = PUT(at, "\"cat\":\"");
        at = put_bytes(at, other, other_length);
        at = PUT(at, "\",\"name\":\"");
    } else {
        at = put_literal(at, &heads[category]);
    }
    at = put_name(sink, at, name);
    if (at)
        *at++ = '"';
    return at;
}

static void write_metadata(struct sink *sink, const char *key, const char *value, size_t size)
{
    buffer_text(sink->buffer, sink->any ? ",\n\"" : "{\n\"");
    json_escape(sink->buffer, key, strlen(key));
    buffer_text(sink->buffer, "\":");
    buffer_bytes(sink->buffer, value, size);
    sink->any = true;
    if (strcmp(key, "stackFrames") == 0)
        sink->state = has_stacks;
}

static void write_begin(struct sink *sink, uint64_t base)
{
    buffer_text(sink->buffer, sink->any ? ",\n\"traceEvents\":[" : "{\n\"traceEvents\":[");
    sink->any = false;
    sink->base = base;
}

/* Writes a metadata event: {"ph":"M","name":NAME,"pid":…,"tid":…,"args":{KEY:VALUE}}. NAME_AND_KEY is NAME, NUL,
 * KEY. VALUE is TEXT or, if TEXT is NULL, NUMBER. */
static void write_naming(struct sink *sink, struct row row, const char *name_and_key, const char *text, int64_t number)
{
    char *at = next_event(sink, HEAD_SPACE + TAIL_SPACE);
    if (!at)
        return;
    const char *key = name_and_key + strlen(name_and_key) + 1;
    at = PUT(at, "{\"ph\":\"M\",\"name\":\"");
    at = put_bytes(at, name_and_key, strlen(name_and_key));
    *at++ = '"';
    at = put_row(at, row);
    at = PUT(at, ",\"ts\":0.000,\"args\":{\"");
    at = put_bytes(at, key, strlen(key));
    at = PUT(at, "\":");
    claim(sink, at);
    if (text)
        put_text(sink->buffer, text, strlen(text));
    else
        buffer_i64(sink->buffer, number);
    buffer_bytes(sink->buffer, "}}", 2);
}

/* Empty names are left out, as Perfetto counts them as errors. */
static void write_process(struct sink *sink, const struct row_name *process)
{
    if (*process->name)
        write_naming(sink, process->row, "process_name\0name", process->name, 0);
    if (process->label)
        write_naming(sink, process->row, "process_labels\0labels", process->label, 0);
    write_naming(sink, process->row, "process_sort_index\0sort_index", NULL, process->sort_index);
}

static void write_thread(struct sink *sink, const struct row_name *thread)
{
    if (*thread->name)
        write_naming(sink, thread->row, "thread_name\0name", thread->name, 0);
    write_naming(sink, thread->row, "thread_sort_index\0sort_index", NULL, thread->sort_index);
}

/* Writes an event up to its time. ID is the id of an asynchronous range; NULL: none. Returns NULL after a failure. */
__attribute__((always_inline)) static inline char *begin_event(struct sink *sink, const char *phase,
                                                               enum category category, const char *other,
                                                               const struct name *name, const uint64_t *id,
                                                               struct row row, uint64_t time)
{
    char *at = put_head(sink, phase, category, other, name);
    if (!at)
        return NULL;
    if (id)
        at = number_u64(PUT(at, ",\"id\":"), *id);
    return put_time(sink, put_row(at, row), time);
}

static void write_slice(struct sink *sink, const struct slice *slice)
{
    sink->events++;
    char *at = begin_event(sink, "{\"ph\":\"X\",", slice->category, slice->other_category, &slice->name, NULL,
                           slice->row, slice->start);
    if (at)
        end_event(sink, number_us(PUT(at, ",\"dur\":"), slice->end - slice->start), slice->args);
}

static void write_instant(struct sink *sink, const struct slice *instant)
{
    sink->events++;
    char *at = begin_event(sink, "{\"ph\":\"i\",", instant->category, instant->other_category, &instant->name, NULL,
                           instant->row, instant->start);
    if (at)
        end_event(sink, PUT(at, ",\"s\":\"t\""), instant->args);
}

static void write_async(struct sink *sink, const struct async_slice *slice)
{
    sink->events++;
    const char *phase = slice->instant ? "{\"ph\":\"n\"," : "{\"ph\":\"b\",";
    char *at = begin_event(sink, phase, slice->category, slice->other_category, &slice->name, &slice->id, slice->begin,
                           slice->start);
    if (at)
        end_event(sink, at, slice->args);
    if (slice->instant)
        return;
    at = begin_event(sink, "{\"ph\":\"e\",", slice->category, slice->other_category, &slice->name, &slice->id,
                     slice->end_row, slice->end);
    if (at)
        end_event(sink, at, NULL);
}

static void put_counter_values(struct buffer *buffer, const struct counter *counter)
{
    const struct counter_value only = counter_only_value(counter);
    buffer_text(buffer, ",\"args\":{");
    for (size_t i = 0; i < counter->value_count || i == 0; i++) {
        const struct counter_value *value = counter->value_count > 0 ? &counter->values[i] : &only;
        if (i > 0)
            buffer_char(buffer, ',');
        put_text(buffer, value->name, value->length);
        buffer_char(buffer, ':');
        switch (value->kind) {
        case COUNTER_UNSIGNED: buffer_u64(buffer, value->u64); break;
        case COUNTER_SIGNED: buffer_i64(buffer, value->i64); break;
        case COUNTER_REAL: put_real(buffer, value->real); break;
        }
    }
    buffer_bytes(buffer, "}}", 2);
}

/* Writes the id at the end of a counter's name, as a number if possible. Returns NULL after a failure. */
static char *put_counter_id(struct sink *sink, char *at, const struct counter *counter)
{
    const char *id = counter->name.text + counter->name.length - counter->id_length;
    size_t digits = 0;
    while (digits < counter->id_length && id[digits] >= '0' && id[digits] <= '9')
        digits++;
    bool quoted = digits < counter->id_length || (*id == '0' && counter->id_length > 1);
    at = quoted ? PUT(at, "\",\"id\":\"") : PUT(at, "\",\"id\":");
    claim(sink, at);
    json_escape(sink->buffer, id, counter->id_length);
    at = buffer_reserve(sink->buffer, TAIL_SPACE);
    return !at ? NULL : quoted ? PUT(at, "\"") : at;
}

static void write_counter(struct sink *sink, const struct counter *counter)
{
    sink->events++;
    struct name name = counter->name;
    if (counter->id_length > 0)
        name = name_passing(name.text, name.length - counter->id_length - strlen(COUNTER_ID_WORD));
    char *at = next_event(sink, HEAD_SPACE + TAIL_SPACE + (name.json ? name.json_length : 0));
    if (!at)
        return;
    at = PUT(at, "{\"ph\":\"C\",\"name\":\"");
    at = put_name(sink, at, &name);
    if (at)
        at = counter->id_length > 0 ? put_counter_id(sink, at, counter) : PUT(at, "\"");
    if (!at)
        return;
    at = PUT(at, ",\"pid\":");
    at = number_u64(at, counter->pid);
    at = put_time(sink, at, counter->time);
    claim(sink, at);
    put_counter_values(sink->buffer, counter);
}

static void write_flow(struct sink *sink, const struct flow *flow)
{
    char *at = next_event(sink, HEAD_SPACE + TAIL_SPACE);
    if (!at)
        return;
    at = put_bytes(at, flow->ends ? "{\"ph\":\"f\"," : "{\"ph\":\"s\",", 10);
    at = PUT(at, "\"id\":");
    at = number_u64(at, flow->id);
    at = put_row(at, flow->row);
    at = put_time(sink, at, flow->time);
    if (flow->category == CATEGORY_FWDBWD)
        at = PUT(at, ",\"cat\":\"fwdbwd\",\"name\":\"fwdbwd\"");
    else
        at = PUT(at, ",\"cat\":\"ac2g\",\"name\":\"ac2g\"");
    if (flow->ends)
        at = PUT(at, ",\"bp\":\"e\"");
    *at++ = '}';
    claim(sink, at);
}

static void write_finish(struct sink *sink)
{
    buffer_text(sink->buffer, "\n]}\n");
}

const struct sink_format chrome_json = {
    .name = "chrome_json",
    .piece_scale = 1,
    .all_flows = true,
    .metadata = write_metadata,
    .begin = write_begin,
    .process = write_process,
    .thread = write_thread,
    .slice = write_slice,
    .instant = write_instant,
    .async = write_async,
    .counter = write_counter,
    .flow = write_flow,
    .finish = write_finish,
};
