#include "trace/build/counter_series.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "trace/build/nvtx_extensions.h"

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

void series_read(struct series *series, const struct process *process, const struct nvtx_counter *counter,
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

void series_read_number(struct series *series, const struct nvtx_counter *counter, struct payload_number number)
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

bool series_value_meant(const struct series_value *value, double *total, struct counter_value *out)
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
