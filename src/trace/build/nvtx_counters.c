#include "trace/build/nvtx_counters.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/json_out.h"
#include "common/log.h"
#include "common/buffer.h"
#include "trace/build/nvtx_write.h"
#include "trace/build/payload_values.h"
#include "trace/build/piece_writer.h"

#define SERIES_NAME_BYTES 96 /* of a path through nested schemas; a longer one is cut */

struct series_value {
    char name[SERIES_NAME_BYTES];
    size_t length;
    const struct spool_nvtx_semantics *semantics; /* NULL: none */
    uint64_t type;                                /* of NVTX's */
    struct payload_number number;
};

struct series {
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

void nvtx_counters_release(struct nvtx_counters *counters)
{
    array_release(&counters->items);
    array_release(&counters->semantics);
    file_vector_release(&counters->samplings);
    file_vector_release(&counters->samples);
    map_release(&counters->by_id);
}

static int see_counter(struct nvtx_counters *counters, const struct event *event)
{
    const struct spool_nvtx_counter *record = event->record;
    struct nvtx_counter *counter = array_push(&counters->items);
    if (!counter)
        return error_no_memory("counters");
    counter->record = record;
    payload_split_text(event->text, event->text_length, record->name_length, &counter->name, &counter->description);
    return 0;
}

static int index_semantics(struct nvtx_counters *counters, const struct event *event)
{
    const struct spool_nvtx_semantics **semantics = array_push(&counters->semantics);
    if (!semantics)
        return error_no_memory("counters");
    *semantics = event->record;
    return 0;
}

static int index_sample(struct nvtx_counters *counters, const struct event *event)
{
    struct nvtx_sampling *sampling = file_vector_push(&counters->samplings);
    if (!sampling)
        return error_no_memory("counters");
    *sampling = (struct nvtx_sampling){.record = event->record, .thread = event->thread};
    return 0;
}

int nvtx_counters_index(struct nvtx_counters *counters, const struct event *event)
{
    const struct spool_record *head = event->record;
    switch (head->type) {
    case SPOOL_RECORD_NVTX_COUNTER: return see_counter(counters, event);
    case SPOOL_RECORD_NVTX_SEMANTICS: return head->flags == 1 ? index_semantics(counters, event) : 0;
    case SPOOL_RECORD_NVTX_SAMPLE: return index_sample(counters, event);
    default: return 0;
    }
}

static int by_number(const void *a, const void *b)
{
    const struct nvtx_counter *left = a, *right = b;
    return left->record->number < right->record->number ? -1 : left->record->number > right->record->number;
}

static struct nvtx_counter *find_number(struct nvtx_counters *counters, uint32_t number)
{
    size_t low = 0, high = counters->items.count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (counters->items.items[middle].record->number < number)
            low = middle + 1;
        else
            high = middle;
    }
    bool found = low < counters->items.count && counters->items.items[low].record->number == number;
    return found ? &counters->items.items[low] : NULL;
}

int nvtx_counters_close(struct nvtx_counters *counters)
{
    if (counters->items.count > 1)
        qsort(counters->items.items, counters->items.count, sizeof(*counters->items.items), by_number);
    for (size_t i = 0; i < counters->semantics.count; i++) {
        struct nvtx_counter *counter = find_number(counters, counters->semantics.items[i]->of);
        if (counter)
            counter->semantics = counters->semantics.items[i];
    }
    for (size_t i = 0; i < counters->items.count; i++) {
        const struct spool_nvtx_counter *record = counters->items.items[i].record;
        uint64_t *index = map_put(&counters->by_id, payload_key(record->domain, record->id), NULL);
        if (!index)
            return error_no_memory("counters");
        *index = i + 1;
    }
    return 0;
}

struct nvtx_counter *nvtx_counters_find(const struct nvtx_counters *counters, uint32_t domain, uint64_t id)
{
    const uint64_t *index = map_get(&counters->by_id, payload_key(domain, id));
    struct nvtx_counter *found = index && *index ? &counters->items.items[*index - 1] : NULL;
    return found && found->record->id == id && found->record->domain == domain ? found : NULL;
}

int nvtx_counters_put(struct nvtx_counters *counters, const struct spool_nvtx_sample *record, uint32_t index,
                      uint64_t time)
{
    struct nvtx_sample *sample = file_vector_push(&counters->samples);
    if (!sample)
        return error_no_memory("counters");
    *sample = (struct nvtx_sample){
        .record = record, .time = time, .index = index, .order = (uint32_t)counters->samples.count};
    return 0;
}

static int by_time(const void *a, const void *b)
{
    const struct nvtx_sample *left = a, *right = b;
    if (left->time != right->time)
        return left->time < right->time ? -1 : 1;
    return left->order < right->order ? -1 : left->order > right->order;
}

int nvtx_counters_sort(struct nvtx_counters *counters)
{
    return file_vector_sort(&counters->samples, by_time) == 0 ? 0 : error_no_memory("counters");
}

#define ELEMENTS_MAX 16u /* of an array of numbers: each is a value of its own */

struct reading {
    struct series *series;
    const struct nvtx_counter *counter;
    bool marked_only; /* of a group that marks which of its entries are counters */
};

static const struct spool_nvtx_semantics *meant(const struct spool_nvtx_semantics *semantics)
{
    return semantics && semantics->meanings & SPOOL_NVTX_COUNTER_MEANT ? semantics : NULL;
}

static void add(struct reading *reading, const char *name, uint64_t type, const struct spool_nvtx_semantics *semantics,
                struct payload_number number)
{
    struct series *series = reading->series;
    if (series->count == NVTX_SERIES_MAX)
        return;
    struct series_value *value = &series->values[series->count++];
    value->length = strlen(name);
    memcpy(value->name, name, value->length + 1);
    value->semantics = meant(semantics) ? semantics : meant(reading->counter->semantics);
    value->type = type;
    value->number = number;
}

/* "outer.name", or "outer.name[2]" */
static void join(char out[SERIES_NAME_BYTES], const char *outer, const struct payload_text *name, uint32_t index,
                 uint64_t element, bool is_element)
{
    int length = name->text
                     ? snprintf(out, SERIES_NAME_BYTES, "%s%s%.*s", outer, *outer ? "." : "",
                                (int)(name->length < SERIES_NAME_BYTES ? name->length : SERIES_NAME_BYTES), name->text)
                     : snprintf(out, SERIES_NAME_BYTES, "%s%s#%u", outer, *outer ? "." : "", index);
    if (is_element && length > 0 && length < SERIES_NAME_BYTES)
        snprintf(out + length, SERIES_NAME_BYTES - (size_t)length, "[%llu]", (unsigned long long)element);
}

static void read_schema(struct reading *reading, struct payload_cursor *cursor, const char *outer);

static void read_field(struct reading *reading, const struct payload_cursor *cursor, const struct payload_field *field,
                       const char *outer)
{
    const struct payload_described *schema = (const struct payload_described *)cursor->schema;
    const struct payload_entry_words *words = &schema->words[field->index];
    bool is_counter = (field->entry->flags & PAYLOAD_FLAG_ROLE) == PAYLOAD_FLAG_COUNTER;
    bool is_array = field->form == PAYLOAD_ARRAY_OF;
    if (field->pointer || field->form == PAYLOAD_TEXT || field->form == PAYLOAD_TEXTS_OF ||
        field->entry->flags & (PAYLOAD_FLAG_TIMESTAMP | PAYLOAD_FLAG_HIDE) ||
        (reading->marked_only && !is_counter && !field->nested))
        return;
    for (uint64_t i = 0; i < field->count && i < ELEMENTS_MAX; i++) {
        char name[SERIES_NAME_BYTES];
        struct payload_cursor inner;
        struct payload_number number;
        join(name, outer, &words->name, field->index, i, is_array);
        if (field->nested && field->nested->kind != PAYLOAD_ENUM && payload_enter(&inner, cursor, field, i))
            read_schema(reading, &inner, name);
        else if (!field->nested &&
                 payload_number(&number, field->entry->type, cursor->bytes + field->at + i * field->unit))
            add(reading, name, field->entry->type, words->semantics, number);
    }
}

static bool marks_counters(const struct payload_schema *schema)
{
    for (uint32_t i = 0; i < schema->count; i++)
        if ((schema->entries[i].flags & PAYLOAD_FLAG_ROLE) == PAYLOAD_FLAG_COUNTER)
            return true;
    return false;
}

static void read_schema(struct reading *reading, struct payload_cursor *cursor, const char *outer)
{
    struct payload_field field;
    bool before = reading->marked_only;
    reading->marked_only = marks_counters(cursor->schema);
    while (reading->series->count < NVTX_SERIES_MAX && payload_next(cursor, &field))
        read_field(reading, cursor, &field, outer);
    reading->marked_only = before;
}

static void series_read(struct series *series, const struct process *process, const struct nvtx_counter *counter,
                        const uint8_t *bytes, uint64_t size)
{
    struct payload_sources sources = process_payload_sources(process);
    const struct payload_described *schema =
        payload_schemas_find(sources.schemas, counter->record->domain, counter->record->schema);
    struct reading reading = {.series = series, .counter = counter};
    struct payload_view view;
    struct payload_cursor cursor;
    struct payload_number number;
    series->count = 0;
    payload_view_open(&view, &sources, counter->record->domain, 0);
    if (schema) {
        payload_begin(&cursor, &view.reader, &schema->layout, bytes, size, 0);
        read_schema(&reading, &cursor, "");
    } else if (payload_bytes_of(counter->record->schema) > 0 && payload_bytes_of(counter->record->schema) <= size &&
               payload_number(&number, counter->record->schema, bytes)) {
        add(&reading, "value", counter->record->schema, NULL, number);
    }
}

static void series_read_number(struct series *series, const struct nvtx_counter *counter, struct payload_number number)
{
    struct reading reading = {.series = series, .counter = counter};
    bool real = number.kind == PAYLOAD_NUMBER_REAL;
    series->count = 0;
    add(&reading, "value", real ? PAYLOAD_TYPE_DOUBLE : PAYLOAD_TYPE_INT64, NULL, number);
}

/* A fixed-point number of its type as a part of the most that the type holds. */
static double normalized(const struct series_value *value, double number)
{
    uint32_t bits = payload_bytes_of(value->type) * 8;
    if (value->number.kind == PAYLOAD_NUMBER_REAL || bits == 0)
        return number;
    return number / (ldexp(1, (int)bits - (value->number.kind == PAYLOAD_NUMBER_SIGNED)) - 1);
}

static bool series_value_meant(const struct series_value *value, double *total, struct counter_value *out)
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

/*
 * NVTX's counters: an event for each sample, and in the metadata what the counters are.
 */

/* Why a sample has no value. */
enum { NO_VALUE_ZERO = 0, NO_VALUE_UNCHANGED = 1 };

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
    nvtx_scopes_put(process->nvtx_scopes, name, counter->record->domain, counter->record->scope);
    buffer_char(name, ')');
}

/* --- samples --- */

static void read_bytes(struct series *series, const struct process *process, const struct nvtx_counter *counter,
                       const struct spool_nvtx_sample *record, uint32_t index)
{
    const uint8_t *bytes = (const uint8_t *)record->text;
    bool batch = record->head.flags != SPOOL_NVTX_SAMPLE_BYTES;
    uint64_t at = batch ? (uint64_t)record->count * sizeof(int64_t) + index * record->stride : 0;
    series_read(series, process, counter, bytes + at, batch ? record->stride : record->length);
}

static void read_zeros(struct series *series, const struct process *process, const struct nvtx_counter *counter)
{
    static const uint8_t zeros[4096];
    const struct payload_described *schema =
        payload_schemas_find(process->payload_schemas, counter->record->domain, counter->record->schema);
    uint64_t size = schema ? schema->layout.size : sizeof(uint64_t[2]);
    series_read(series, process, counter, zeros, size < sizeof(zeros) ? size : sizeof(zeros));
}

static void read_sample(struct series *series, const struct process *process, const struct nvtx_counter *counter,
                        const struct spool_nvtx_sample *record, uint32_t index)
{
    struct payload_number number = {.kind = PAYLOAD_NUMBER_SIGNED, .i64 = (int64_t)record->bits};
    switch (record->head.flags) {
    case SPOOL_NVTX_SAMPLE_INTEGER: series_read_number(series, counter, number); break;
    case SPOOL_NVTX_SAMPLE_REAL:
        number.kind = PAYLOAD_NUMBER_REAL;
        memcpy(&number.real, &record->bits, sizeof(number.real));
        series_read_number(series, counter, number);
        break;
    case SPOOL_NVTX_SAMPLE_NONE: read_zeros(series, process, counter); break;
    case SPOOL_NVTX_SAMPLE_BYTES:
    case SPOOL_NVTX_SAMPLE_BATCH:
    case SPOOL_NVTX_SAMPLE_EVERY: read_bytes(series, process, counter, record, index); break;
    default: series->count = 0; break;
    }
}

static bool is_none(const struct spool_nvtx_sample *record, uint64_t reason)
{
    return record->head.flags == SPOOL_NVTX_SAMPLE_NONE && record->bits == reason;
}

/* The values that hold from now on; none when nobody knows them. */
static void read_values(struct series *series, const struct process *process, struct nvtx_counter *counter,
                        const struct nvtx_sample *sample)
{
    bool unchanged = is_none(sample->record, NO_VALUE_UNCHANGED);
    bool known = sample->record->head.flags != SPOOL_NVTX_SAMPLE_NONE || is_none(sample->record, NO_VALUE_ZERO);
    series->count = 0;
    if (known) {
        counter->last = sample->record;
        counter->last_index = sample->index;
    }
    if (known || (unchanged && counter->last))
        read_sample(series, process, counter, counter->last, counter->last_index);
    for (size_t i = 0; unchanged && i < series->count; i++) /* a difference of nothing */
        if (series->values[i].semantics && (series->values[i].semantics->flags & SERIES_VALUE_TYPE) == SERIES_DELTA)
            series->values[i].number = (struct payload_number){.kind = PAYLOAD_NUMBER_REAL, .real = 0};
}

static void write_sample(struct piece_writer *out, const struct process *process, struct nvtx_counter *counter,
                         const struct nvtx_sample *sample)
{
    struct counter_value values[NVTX_SERIES_MAX];
    struct series series;
    struct buffer name;
    struct counter written = {.pid = process->pid, .time = sample->time, .values = values};
    read_values(&series, process, counter, sample);
    for (size_t i = 0; i < series.count; i++)
        written.value_count += series_value_meant(&series.values[i], &counter->total[i], &values[written.value_count]);
    if (written.value_count == 0)
        return;
    counter_name(&name, process, counter);
    written.name = name_passing(name.data, name.length);
    out->sink.format->counter(&out->sink, &written);
    buffer_release(&name);
}

int emit_nvtx_counters(struct piece_writer *out, struct process *process)
{
    struct nvtx_counters *counters = process->nvtx_counters;
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

static void put_limit(struct json_out *json, const char *key, uint32_t type, uint64_t bits)
{
    struct payload_number number = {.kind = PAYLOAD_NUMBER_REAL};
    json_key(json, key);
    if (type == 1)
        json_i64(json, (int64_t)bits);
    else if (type == 2)
        json_u64(json, bits);
    else
        memcpy(&number.real, &bits, sizeof(bits));
    if (type == 3)
        payload_put_number(json, &number);
}

static void put_semantics(struct json_out *json, const struct spool_nvtx_semantics *semantics)
{
    static const char *const types[] = {NULL, "absolute", "delta", "delta since start"};
    static const char *const interpolations[] = {NULL, "point", "since last", "until next", "linear", NULL, NULL, NULL};
    const char *type = types[(semantics->flags & SERIES_VALUE_TYPE) >> 4], *unit = semantics->text;
    const char *interpolation = interpolations[(semantics->flags & SERIES_INTERPOLATION) >> 8];
    bool limits = semantics->limit_type >= 1 && semantics->limit_type <= 3;
    if (semantics->length > 0)
        put_text(json, "unit", unit, semantics->length);
    if (limits && semantics->flags & SERIES_LIMIT_MIN)
        put_limit(json, "min", semantics->limit_type, semantics->least);
    if (limits && semantics->flags & SERIES_LIMIT_MAX)
        put_limit(json, "max", semantics->limit_type, semantics->most);
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
    read_zeros(&series, process, counter);
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

static void put_counter(struct json_out *json, const struct process *process, const struct nvtx_counter *counter)
{
    struct buffer text;
    counter_name(&text, process, counter);
    json_begin_object(json);
    json_key(json, "pid");
    json_u64(json, process->pid);
    put_text(json, "name", text.data, text.length);
    buffer_release(&text);
    if (counter->description.text)
        put_text(json, "description", counter->description.text, counter->description.length);
    put_series(json, process, counter);
    json_end(json);
}

void put_nvtx_counters(const struct conversion *conversion, struct json_out *json)
{
    bool any = false;
    for (size_t i = 0; i < conversion->processes.count; i++)
        any |= conversion_process(conversion, i)->nvtx_counters->items.count > 0;
    if (!any)
        return;
    json_key(json, "nvtx_counters");
    json_begin_array(json);
    for (size_t i = 0; i < conversion->processes.count; i++) {
        const struct process *process = conversion_process(conversion, i);
        for (size_t k = 0; k < process->nvtx_counters->items.count; k++)
            put_counter(json, process, &process->nvtx_counters->items.items[k]);
    }
    json_end(json);
}
