/*
 * NVTX's counters in the trace: an event for each sample, and in the metadata what the counters are.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "common/buffer.h"
#include "common/json_out.h"
#include "trace/build/nvtx.h"
#include "trace/build/piece_writer.h"

/* --- the values of a sample --- */

#define SERIES_NAME_BYTES 96 /* of a path through nested schemas; a longer one is cut */

struct series_value {
    char name[SERIES_NAME_BYTES];
    size_t length;
    const struct spool_nvtx_semantics *semantics; /* NULL: none */
    uint64_t type;                                /* of NVTX's */
    struct payload_number number;
};

/* The values of one sample of COUNTER. */
struct series {
    const struct process *process;
    const struct nvtx_counter *counter;
    bool marked_only; /* of a group that marks which of its entries are counters */
    size_t count;
    struct series_value values[NVTX_SERIES_MAX];
};

enum {
    SERIES_NORMALIZE = 1 << 1,
    SERIES_LIMIT_MIN = 1 << 2,
    SERIES_LIMIT_MAX = 1 << 3,
    SERIES_VALUE_TYPE = 3 << 4, /* of these bits one of: */
    SERIES_ABSOLUTE = 1 << 4,
    SERIES_DELTA = 2 << 4,
    SERIES_DELTA_SINCE_START = 3 << 4,
    SERIES_INTERPOLATION = 7 << 8,
};

#define ELEMENTS_MAX 16u /* of an array of numbers: each is a value of its own */

static void begin(struct series *series, const struct process *process, const struct nvtx_counter *counter)
{
    series->process = process;
    series->counter = counter;
    series->marked_only = false;
    series->count = 0;
}

static const struct spool_nvtx_semantics *meant(const struct spool_nvtx_semantics *semantics)
{
    return semantics && semantics->meanings & SPOOL_NVTX_COUNTER_MEANT ? semantics : NULL;
}

static void add(struct series *series, const char *name, uint64_t type, const struct spool_nvtx_semantics *semantics,
                struct payload_number number)
{
    if (series->count == NVTX_SERIES_MAX)
        return;
    struct series_value *value = &series->values[series->count++];
    value->length = strlen(name);
    memcpy(value->name, name, value->length + 1);
    value->semantics = meant(semantics) ? semantics : meant(series->counter->semantics);
    value->type = type;
    value->number = number;
}

/* "outer.name", or "outer.name[2]" */
static void join(char out[SERIES_NAME_BYTES], const char *outer, const struct nvtx_text *name, uint32_t index,
                 uint64_t element, bool is_element)
{
    int length = name->text
                     ? snprintf(out, SERIES_NAME_BYTES, "%s%s%.*s", outer, *outer ? "." : "",
                                (int)(name->length < SERIES_NAME_BYTES ? name->length : SERIES_NAME_BYTES), name->text)
                     : snprintf(out, SERIES_NAME_BYTES, "%s%s#%u", outer, *outer ? "." : "", index);
    if (is_element && length > 0 && length < SERIES_NAME_BYTES)
        snprintf(out + length, SERIES_NAME_BYTES - (size_t)length, "[%llu]", (unsigned long long)element);
}

static void read_schema(struct series *series, struct payload_cursor *cursor, const char *outer);

static void read_field(struct series *series, const struct payload_cursor *cursor, const struct payload_field *field,
                       const char *outer)
{
    const struct payload_described *schema = (const struct payload_described *)cursor->schema;
    const struct payload_entry_words *words = &schema->words[field->index];
    bool is_counter = (field->entry->flags & PAYLOAD_FLAG_ROLE) == PAYLOAD_FLAG_COUNTER;
    bool is_array = field->form == PAYLOAD_ARRAY_OF;
    if (field->pointer || field->form == PAYLOAD_TEXT || field->form == PAYLOAD_TEXTS_OF ||
        field->entry->flags & (PAYLOAD_FLAG_TIMESTAMP | PAYLOAD_FLAG_HIDE) ||
        (series->marked_only && !is_counter && !field->nested))
        return;
    for (uint64_t i = 0; i < field->count && i < ELEMENTS_MAX; i++) {
        char name[SERIES_NAME_BYTES];
        struct payload_cursor inner;
        struct payload_number number;
        join(name, outer, &words->name, field->index, i, is_array);
        if (field->nested && field->nested->kind != PAYLOAD_ENUM && payload_enter(&inner, cursor, field, i))
            read_schema(series, &inner, name);
        else if (!field->nested &&
                 payload_number(&number, field->entry->type, cursor->bytes + field->at + i * field->unit))
            add(series, name, field->entry->type, words->semantics, number);
    }
}

static bool marks_counters(const struct payload_schema *schema)
{
    for (uint32_t i = 0; i < schema->count; i++)
        if ((schema->entries[i].flags & PAYLOAD_FLAG_ROLE) == PAYLOAD_FLAG_COUNTER)
            return true;
    return false;
}

static void read_schema(struct series *series, struct payload_cursor *cursor, const char *outer)
{
    struct payload_field field;
    bool before = series->marked_only;
    series->marked_only = marks_counters(cursor->schema);
    while (series->count < NVTX_SERIES_MAX && payload_next(cursor, &field))
        read_field(series, cursor, &field, outer);
    series->marked_only = before;
}

static void read_bytes(struct series *series, const uint8_t *bytes, uint64_t size)
{
    const struct spool_nvtx_counter *counter = series->counter->record;
    const struct nvtx *nvtx = series->process->nvtx;
    const struct payload_described *schema = payload_schemas_find(&nvtx->schemas, counter->domain, counter->schema);
    uint64_t plain_size = payload_bytes_of(counter->schema);
    struct payload_view view;
    struct payload_cursor cursor;
    struct payload_number number;
    if (schema) {
        payload_view_open(&view, nvtx, counter->domain, 0);
        payload_begin(&cursor, &view.reader, &schema->layout, bytes, size, 0);
        read_schema(series, &cursor, "");
    } else if (plain_size > 0 && plain_size <= size && payload_number(&number, counter->schema, bytes)) {
        add(series, "value", counter->schema, NULL, number);
    }
}

static void read_zeros(struct series *series)
{
    static const uint8_t zeros[4096];
    const struct spool_nvtx_counter *counter = series->counter->record;
    const struct payload_described *schema =
        payload_schemas_find(&series->process->nvtx->schemas, counter->domain, counter->schema);
    uint64_t size = schema ? schema->layout.size : sizeof(uint64_t[2]);
    read_bytes(series, zeros, size < sizeof(zeros) ? size : sizeof(zeros));
}

/* A fixed-point number of its type as a part of the most that the type holds. */
static double normalized(const struct series_value *value, double number)
{
    uint32_t bits = payload_bytes_of(value->type) * 8;
    if (value->number.kind == PAYLOAD_NUMBER_REAL || bits == 0)
        return number;
    return number / (ldexp(1, (int)bits - (value->number.kind == PAYLOAD_NUMBER_SIGNED)) - 1);
}

static bool read_value(const struct series_value *value, double *total, struct counter_value *out)
{
    const struct spool_nvtx_semantics *semantics = value->semantics;
    bool scaled = semantics && semantics->numerator != 0 && semantics->denominator != 0 &&
                  semantics->numerator != semantics->denominator;
    bool normalize = semantics && semantics->flags & SERIES_NORMALIZE;
    bool delta = semantics && (semantics->flags & SERIES_VALUE_TYPE) == SERIES_DELTA;
    double number = payload_number_real(&value->number);
    *out = (struct counter_value){.name = value->name, .length = value->length};
    if (!scaled && !normalize && !delta && value->number.kind != PAYLOAD_NUMBER_REAL) {
        out->kind = value->number.kind == PAYLOAD_NUMBER_SIGNED ? COUNTER_SIGNED : COUNTER_UNSIGNED;
        out->u64 = value->number.u64;
        return true;
    }
    if (normalize)
        number = normalized(value, number);
    if (scaled)
        number = number * (double)semantics->numerator / (double)semantics->denominator;
    if (delta && isfinite(number))
        number = *total += number;
    out->kind = COUNTER_REAL;
    out->real = number;
    return isfinite(number);
}

/* Why a sample has no value. */
enum { NO_VALUE_ZERO = 0, NO_VALUE_UNCHANGED = 1 };

static void read_sample(struct series *series, const struct spool_nvtx_sample *record, uint32_t index)
{
    const uint8_t *bytes = (const uint8_t *)record->text;
    struct payload_number number = {.kind = PAYLOAD_NUMBER_SIGNED, .u64 = record->bits};
    switch (record->head.flags) {
    case SPOOL_NVTX_SAMPLE_INTEGER: add(series, "value", PAYLOAD_TYPE_INT64, NULL, number); break;
    case SPOOL_NVTX_SAMPLE_REAL:
        number.kind = PAYLOAD_NUMBER_REAL;
        add(series, "value", PAYLOAD_TYPE_DOUBLE, NULL, number);
        break;
    case SPOOL_NVTX_SAMPLE_NONE: read_zeros(series); break;
    case SPOOL_NVTX_SAMPLE_BYTES: read_bytes(series, bytes, record->length); break;
    case SPOOL_NVTX_SAMPLE_BATCH:
    case SPOOL_NVTX_SAMPLE_EVERY:
        read_bytes(series, bytes + record->count * sizeof(int64_t) + index * record->stride, record->stride);
        break;
    default: break;
    }
}

static bool is_none(const struct spool_nvtx_sample *record, uint64_t reason)
{
    return record->head.flags == SPOOL_NVTX_SAMPLE_NONE && record->bits == reason;
}

/* The values that hold from now on; none when they are not known. */
static void read_values(struct series *series, struct nvtx_counter *counter, const struct nvtx_sample *sample)
{
    bool unchanged = is_none(sample->record, NO_VALUE_UNCHANGED);
    bool known = sample->record->head.flags != SPOOL_NVTX_SAMPLE_NONE || is_none(sample->record, NO_VALUE_ZERO);
    if (known) {
        counter->last = sample->record;
        counter->last_index = sample->index;
    }
    if (known || (unchanged && counter->last))
        read_sample(series, counter->last, counter->last_index);
    for (size_t i = 0; unchanged && i < series->count; i++) /* a difference of nothing */
        if (series->values[i].semantics && (series->values[i].semantics->flags & SERIES_VALUE_TYPE) == SERIES_DELTA)
            series->values[i].number = (struct payload_number){.kind = PAYLOAD_NUMBER_REAL, .real = 0};
}

/* --- write pass --- */

/* "domain: name (scope)": those of different domains and scopes are different. To be released. */
static void counter_name(struct buffer *name, const struct process *process, const struct nvtx_counter *counter)
{
    struct nvtx_text domain = nvtx_domain_name(process->nvtx, counter->record->domain);
    buffer_init_memory(name);
    if (domain.text)
        buffer_format(name, "%.*s: ", (int)domain.length, domain.text);
    if (counter->name.text)
        buffer_bytes(name, counter->name.text, counter->name.length);
    else
        buffer_format(name, "counter %llu", (unsigned long long)counter->record->id);
    if (counter->record->scope == NVTX_SCOPES_NONE)
        return;
    buffer_text(name, " (");
    nvtx_scopes_put(&process->nvtx->scopes, name, counter->record->domain, counter->record->scope);
    buffer_char(name, ')');
}

static void write_sample(struct piece_writer *out, const struct process *process, struct nvtx_counter *counter,
                         const struct nvtx_sample *sample)
{
    struct counter_value values[NVTX_SERIES_MAX];
    struct series series;
    struct buffer name;
    begin(&series, process, counter);
    struct counter written = {.pid = process->pid, .time = sample->time, .values = values};
    read_values(&series, counter, sample);
    for (size_t i = 0; i < series.count; i++)
        written.value_count += read_value(&series.values[i], &counter->total[i], &values[written.value_count]);
    if (written.value_count == 0)
        return;
    counter_name(&name, process, counter);
    written.name = name_passing(name.data, name.length);
    out->writer.format->counter(&out->writer, &written);
    buffer_release(&name);
}

int write_nvtx_counters(struct piece_writer *out, struct process *process)
{
    struct nvtx_counters *counters = &process->nvtx->counters;
    for (size_t i = 0; i < counters->samples.count; i++) {
        const struct nvtx_sample *sample = &counters->samples.items[i];
        struct nvtx_counter *counter = nvtx_counters_find(counters, sample->record->domain, sample->record->counter);
        if (counter)
            write_sample(out, process, counter, sample);
        piece_writer_passed(out, process);
    }
    return 0;
}

/* --- metadata --- */

static void put_text(struct json_out *json, const char *key, const char *text, size_t length)
{
    json_key(json, key);
    json_string_n(json, text ? text : "", length);
}

static void put_semantics(struct json_out *json, const struct spool_nvtx_semantics *semantics)
{
    static const char *const types[] = {NULL, "absolute", "delta", "delta since start"};
    static const char *const interpolations[] = {NULL, "point", "since last", "until next", "linear", NULL, NULL, NULL};
    const char *type = types[(semantics->flags & SERIES_VALUE_TYPE) >> 4], *unit = semantics->text;
    const char *interpolation = interpolations[(semantics->flags & SERIES_INTERPOLATION) >> 8];
    bool limits = semantics->limit_type >= 1 && semantics->limit_type <= 3; /* signed, unsigned, real */
    struct payload_number least = {.kind = semantics->limit_type - 1, .u64 = semantics->least}, most = least;
    most.u64 = semantics->most;
    if (semantics->length > 0)
        put_text(json, "unit", unit, semantics->length);
    if (limits && semantics->flags & SERIES_LIMIT_MIN) {
        json_key(json, "min");
        payload_put_number(json, &least);
    }
    if (limits && semantics->flags & SERIES_LIMIT_MAX) {
        json_key(json, "max");
        payload_put_number(json, &most);
    }
    if (type)
        put_text(json, "value_type", type, strlen(type));
    if (interpolation)
        put_text(json, "interpolation", interpolation, strlen(interpolation));
    if (semantics->flags & SERIES_NORMALIZE) {
        json_key(json, "normalized");
        json_bool(json, true);
    }
}

static void put_series(struct json_out *json, const struct process *process, const struct nvtx_counter *counter)
{
    struct series series;
    begin(&series, process, counter);
    read_zeros(&series);
    json_key(json, "series");
    json_begin_array(json);
    for (size_t i = 0; i < series.count; i++) {
        json_begin_object(json);
        put_text(json, "name", series.values[i].name, series.values[i].length);
        if (series.values[i].semantics)
            put_semantics(json, series.values[i].semantics);
        json_end(json);
    }
    json_end(json);
}

static void put_counter(struct json_out *json, const struct conversion *conversion, const struct process *process,
                        size_t i)
{
    const struct nvtx_counter *counter = &process->nvtx->counters.items.items[i];
    struct buffer text;
    (void)conversion;
    counter_name(&text, process, counter);
    put_text(json, "name", text.data, text.length);
    buffer_release(&text);
    if (counter->description.text)
        put_text(json, "description", counter->description.text, counter->description.length);
    put_series(json, process, counter);
}

static size_t counter_count(const struct nvtx *nvtx)
{
    return nvtx->counters.items.count;
}

void put_nvtx_counters(const struct conversion *conversion, struct json_out *json)
{
    put_nvtx_items(conversion, json, "nvtx_counters", counter_count, put_counter);
}
