/*
 * The payloads of one event: named numbers in them, and what they say about the event.
 */
#include "trace/meaning/nvtx/payload_view.h"

#include <math.h>
#include <stdio.h>

#include "common/memory.h"
#include "common/text.h"
#include "trace/meaning/nvtx/nvtx_data.h"

#define VALUES_MAX 16384u /* values written for one event: pointers may lead to one place again and again */

/* Converts a binary number with a sign bit, EXPONENT_BITS and FRACTION_BITS. */
static double real_of(uint64_t bits, unsigned exponent_bits, unsigned fraction_bits)
{
    uint64_t fraction = bits & ((UINT64_C(1) << fraction_bits) - 1);
    int exponent = (int)(bits >> fraction_bits & ((UINT64_C(1) << exponent_bits) - 1));
    int most = (1 << exponent_bits) - 1, bias = most / 2;
    bool negative = (bits >> (fraction_bits + exponent_bits) & 1) != 0;
    double value;
    if (exponent == most)
        value = fraction ? NAN : INFINITY;
    else if (exponent == 0)
        value = ldexp((double)fraction, 1 - bias - (int)fraction_bits);
    else
        value = ldexp((double)(fraction | UINT64_C(1) << fraction_bits), exponent - bias - (int)fraction_bits);
    return negative ? -value : value;
}

/* Converts a 128-bit number. The upper 64 bits of its fraction are more than a double holds. */
static double quadruple(const uint8_t *bytes)
{
    uint64_t low = payload_load(bytes, 8), high = payload_load(bytes + 8, 8);
    int exponent = (int)(high >> 48 & 0x7fff);
    uint64_t fraction = high << 16 | low >> 48;
    double value = exponent == 0x7fff ? (fraction ? NAN : INFINITY)
                   : exponent == 0    ? ldexp((double)fraction, -16382 - 64)
                                      : ldexp(1.0 + ldexp((double)fraction, -64), exponent - 16383);
    return high >> 63 ? -value : value;
}

static double real_at(uint64_t type, const uint8_t *bytes)
{
    switch (type) {
    case PAYLOAD_TYPE_FLOAT16: return real_of(payload_load(bytes, 2), 5, 10);
    case PAYLOAD_TYPE_BF16: return real_of(payload_load(bytes, 2), 8, 7);
    case PAYLOAD_TYPE_FLOAT128: return quadruple(bytes);
    case PAYLOAD_TYPE_LONGDOUBLE: return (double)LOAD(long double, bytes);
    case PAYLOAD_TYPE_DOUBLE:
    case PAYLOAD_TYPE_FLOAT64: return LOAD(double, bytes);
    default: return (double)LOAD(float, bytes); /* TF32 is stored as a float */
    }
}

bool payload_number(struct payload_number *number, uint64_t type, const uint8_t *bytes)
{
    unsigned size = payload_bytes_of(type), unused = 64 - 8 * size; /* bits; valid if size is at most 8 */
    switch (payload_value_of(type)) {
    case PAYLOAD_CHARACTER: /* a `char` may hold a number */
    case PAYLOAD_SIGNED:
        if (size > 8)
            return false;
        number->kind = PAYLOAD_NUMBER_SIGNED;
        number->i64 = (int64_t)(payload_load(bytes, size) << unused) >> unused;
        return true;
    case PAYLOAD_BYTES:
    case PAYLOAD_UNSIGNED:
        if (size > 8)
            return false;
        number->kind = PAYLOAD_NUMBER_UNSIGNED;
        number->u64 = payload_load(bytes, size);
        return true;
    case PAYLOAD_REAL:
        number->kind = PAYLOAD_NUMBER_REAL;
        number->real = real_at(type, bytes);
        return true;
    default: return false;
    }
}

double payload_number_real(const struct payload_number *number)
{
    switch (number->kind) {
    case PAYLOAD_NUMBER_SIGNED: return (double)number->i64;
    case PAYLOAD_NUMBER_UNSIGNED: return (double)number->u64;
    default: return number->real;
    }
}

const struct payload_described *payload_view_described(const struct payload_view *view, uint64_t id)
{
    return payload_schemas_find(&view->nvtx->schemas, view->domain, id);
}

static const struct payload_schema *find_layout(const void *context, uint64_t id)
{
    const struct payload_view *view = context;
    const struct payload_described *found = payload_view_described(view, id);
    return found ? &found->layout : NULL;
}

void payload_view_open(struct payload_view *view, const struct nvtx *nvtx, uint32_t domain, uint64_t number)
{
    view->nvtx = nvtx;
    view->number = number;
    view->domain = domain;
    view->values_left = VALUES_MAX;
    view->reader =
        (struct payload_reader){.find = find_layout, .context = view, .blobs = view->blobs, .budget = PAYLOAD_BUDGET};
    const struct payload_copy *copy = payload_copies_first(&nvtx->copies, number);
    for (; copy; copy = payload_copies_next(&nvtx->copies, copy)) {
        const struct spool_nvtx_piece *record = copy->record;
        if (record->head.flags != SPOOL_NVTX_PIECE_PAYLOAD || record->index >= PAYLOAD_BLOBS_MAX)
            continue;
        while (view->reader.blob_count <= record->index)
            view->blobs[view->reader.blob_count++] = (struct payload_blob){.schema = PAYLOAD_TYPE_REFERENCED};
        view->blobs[record->index] = (struct payload_blob){
            .schema = record->schema,
            .bytes = record->address ? (const uint8_t *)record->text : NULL,
            .size = record->length,
        };
    }
}

bool payload_view_shows(const struct payload_view *view, const struct payload_blob *blob)
{
    const struct payload_described *schema = payload_view_described(view, blob->schema);
    return blob->schema != PAYLOAD_TYPE_REFERENCED && !(schema && schema->layout.flags & PAYLOAD_SCHEMA_REFERENCED);
}

unsigned payload_view_shown(const struct payload_view *view)
{
    unsigned shown = 0;
    for (size_t i = 0; i < view->reader.blob_count; i++)
        shown += payload_view_shows(view, &view->blobs[i]);
    return shown;
}

struct nvtx_text payload_view_schema(const struct payload_view *view)
{
    for (size_t i = 0; i < view->reader.blob_count; i++) {
        const struct payload_described *schema = payload_view_described(view, view->blobs[i].schema);
        if (schema && schema->name.text && payload_view_shows(view, &view->blobs[i]))
            return schema->name;
    }
    return (struct nvtx_text){NULL, 0};
}

const uint8_t *payload_view_bytes(const struct payload_view *view, const struct payload_cursor *cursor,
                                  struct payload_field *field, uint64_t *size)
{
    if (!field->pointer) {
        *size = cursor->size - field->at;
        return cursor->bytes + field->at;
    }
    const uint8_t *bytes =
        field->address ? payload_copies_at(&view->nvtx->copies, view->number, field->address, size) : NULL;
    if (bytes)
        payload_found(field, bytes, *size);
    return bytes;
}

/* --- what payloads say about their event --- */

static void read_time(struct payload_facts *facts, const struct payload_entry *entry,
                      const struct spool_nvtx_semantics *semantics, int64_t ticks)
{
    uint64_t clock = semantics && semantics->meanings & SPOOL_NVTX_TIME_MEANT ? semantics->time_domain : 0;
    struct payload_time time = {.known = true, .ticks = ticks, .clock = clock};
    switch (entry->flags & PAYLOAD_FLAG_ROLE) {
    case PAYLOAD_FLAG_RANGE_BEGIN: facts->begin = time; break;
    case PAYLOAD_FLAG_RANGE_END: facts->end = time; break;
    case PAYLOAD_FLAG_MARK: facts->mark = time; break;
    default: *(facts->begin.known ? &facts->end : &facts->begin) = time; break; /* without a role: begin, then end */
    }
}

static void read_scope(struct payload_facts *facts, uint64_t scope, unsigned rank)
{
    if (rank < facts->scope_rank || scope == NVTX_SCOPES_NONE)
        return;
    facts->scope = scope;
    facts->scope_rank = rank;
}

static bool has_role(const struct payload_entry *entry)
{
    return (entry->flags & (PAYLOAD_FLAG_ROLE | PAYLOAD_FLAG_TIMESTAMP)) != 0;
}

static void read_number(struct payload_facts *facts, const struct payload_field *field,
                        const struct spool_nvtx_semantics *semantics, const uint8_t *bytes)
{
    struct payload_number number;
    switch (payload_value_of(field->entry->type)) {
    case PAYLOAD_CATEGORY:
        facts->category = (uint32_t)payload_load(bytes, 4);
        facts->has_category = true;
        break;
    case PAYLOAD_COLOR:
        facts->color = (uint32_t)payload_load(bytes, 4);
        facts->has_color = true;
        break;
    case PAYLOAD_SCOPE:
        read_scope(facts, payload_load(bytes, 8),
                   has_role(field->entry) ? PAYLOAD_SCOPE_BY_ROLE_ENTRY : PAYLOAD_SCOPE_BY_ENTRY);
        break;
    default:
        if ((field->entry->flags & PAYLOAD_FLAG_TIMESTAMP) && payload_number(&number, field->entry->type, bytes))
            read_time(facts, field->entry, semantics,
                      number.kind == PAYLOAD_NUMBER_REAL ? (int64_t)number.real : number.i64);
    }
}

static void read_schema(struct payload_facts *facts, struct payload_view *view, struct payload_cursor *cursor);

static void read_field(struct payload_facts *facts, struct payload_view *view, const struct payload_cursor *cursor,
                       struct payload_field *field)
{
    const struct payload_described *schema = (const struct payload_described *)cursor->schema;
    const struct spool_nvtx_semantics *semantics = schema->words[field->index].semantics;
    uint64_t size = 0;
    const uint8_t *bytes = payload_view_bytes(view, cursor, field, &size);
    struct payload_cursor inner;
    if (semantics && semantics->meanings & SPOOL_NVTX_SCOPE_MEANT)
        read_scope(facts, semantics->scope,
                   has_role(field->entry) ? PAYLOAD_SCOPE_BY_ROLE_SEMANTICS : PAYLOAD_SCOPE_BY_SEMANTICS);
    if (!bytes || field->count == 0)
        return;
    if (field->form == PAYLOAD_TEXT) {
        if (field->entry->flags & PAYLOAD_FLAG_EVENT_MESSAGE) {
            uint64_t width = payload_bytes_of(field->entry->type);
            uint64_t length = payload_text_length(bytes, field->count * width, width);
            facts->message = (struct nvtx_text){(const char *)bytes, (uint32_t)length};
            if (width > 1)
                facts->message =
                    (struct nvtx_text){facts->wide, (uint32_t)utf8_from_units(facts->wide, sizeof(facts->wide), bytes,
                                                                              (size_t)length, (size_t)width)};
        }
    } else if (field->nested && field->nested->kind != PAYLOAD_ENUM && !field->pointer) {
        if (field->form == PAYLOAD_ONE && payload_enter(&inner, cursor, field, 0))
            read_schema(facts, view, &inner);
    } else if (!field->nested && field->form == PAYLOAD_ONE && size >= field->unit) {
        if (payload_value_of(field->entry->type) == PAYLOAD_HANDLE &&
            field->entry->flags & PAYLOAD_FLAG_EVENT_MESSAGE) {
            const uint8_t *text =
                payload_copies_string(&view->nvtx->copies, view->number, payload_load(bytes, 8), &size);
            if (text)
                facts->message = (struct nvtx_text){(const char *)text, (uint32_t)size};
        }
        read_number(facts, field, semantics, bytes);
    }
}

static void read_schema(struct payload_facts *facts, struct payload_view *view, struct payload_cursor *cursor)
{
    struct payload_field field;
    while (payload_next(cursor, &field))
        read_field(facts, view, cursor, &field);
}

/* Reads the event that lies at START of a payload. */
static void read_blob(struct payload_facts *facts, struct payload_view *view, const struct payload_blob *blob,
                      uint64_t start)
{
    const struct payload_described *schema = payload_view_described(view, blob->schema);
    struct payload_cursor cursor;
    if (!blob->bytes || !schema || schema->layout.kind == PAYLOAD_ENUM)
        return;
    if (schema->layout.flags & PAYLOAD_SCHEMA_ROLE)
        facts->role = schema->layout.flags & PAYLOAD_SCHEMA_ROLE;
    payload_begin(&cursor, &view->reader, &schema->layout, blob->bytes, blob->size, start);
    read_schema(facts, view, &cursor);
}

bool payload_facts_read(struct payload_facts *facts, struct payload_view *view, uint64_t stride, uint64_t n)
{
    memset(facts, 0, offsetof(struct payload_facts, wide));
    view->reader.budget = PAYLOAD_BUDGET;
    if (stride != 0) {
        bool there = view->reader.blob_count > 0 && stride <= view->blobs[0].size && n < view->blobs[0].size / stride;
        if (there)
            read_blob(facts, view, &view->blobs[0], n * stride);
        return there;
    }
    for (size_t i = 0; i < view->reader.blob_count; i++)
        read_blob(facts, view, &view->blobs[i], 0);
    return n == 0 && view->reader.blob_count > 0;
}

/* --- named numbers of a payload --- */

#define ELEMENTS_MAX 16u /* elements of an array that become values; further ones are ignored */

void payload_series_add(struct payload_series *series, const char *name, uint64_t type,
                        const struct spool_nvtx_semantics *semantics, struct payload_number number)
{
    if (series->count == PAYLOAD_SERIES_MAX)
        return;
    struct payload_series_value *value = &series->values[series->count++];
    value->length = strlen(name);
    memcpy(value->name, name, value->length + 1);
    value->semantics = semantics && semantics->meanings & SPOOL_NVTX_COUNTER_MEANT ? semantics : NULL;
    value->type = type;
    value->number = number;
}

/* Writes "outer.name", or "outer.name[2]" for an element of an array. */
static void join(char out[PAYLOAD_SERIES_NAME], const char *outer, const struct nvtx_text *name, uint32_t index,
                 uint64_t element, bool is_element)
{
    int length = name->text ? snprintf(out, PAYLOAD_SERIES_NAME, "%s%s%.*s", outer, *outer ? "." : "",
                                       (int)(name->length < PAYLOAD_SERIES_NAME ? name->length : PAYLOAD_SERIES_NAME),
                                       name->text)
                            : snprintf(out, PAYLOAD_SERIES_NAME, "%s%s#%u", outer, *outer ? "." : "", index);
    if (is_element && length > 0 && length < PAYLOAD_SERIES_NAME)
        snprintf(out + length, PAYLOAD_SERIES_NAME - (size_t)length, "[%llu]", (unsigned long long)element);
}

static void read_series(struct payload_series *series, struct payload_cursor *cursor, const char *outer);

static void read_series_field(struct payload_series *series, const struct payload_cursor *cursor,
                              const struct payload_field *field, const char *outer)
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
        char name[PAYLOAD_SERIES_NAME];
        struct payload_cursor inner;
        struct payload_number number;
        join(name, outer, &words->name, field->index, i, is_array);
        if (field->nested && field->nested->kind != PAYLOAD_ENUM && payload_enter(&inner, cursor, field, i))
            read_series(series, &inner, name);
        else if (!field->nested &&
                 payload_number(&number, field->entry->type, cursor->bytes + field->at + i * field->unit))
            payload_series_add(series, name, field->entry->type, words->semantics, number);
    }
}

static void read_series(struct payload_series *series, struct payload_cursor *cursor, const char *outer)
{
    struct payload_field field;
    bool before = series->marked_only;
    series->marked_only = false;
    for (uint32_t i = 0; i < cursor->schema->count; i++)
        series->marked_only |= (cursor->schema->entries[i].flags & PAYLOAD_FLAG_ROLE) == PAYLOAD_FLAG_COUNTER;
    while (series->count < PAYLOAD_SERIES_MAX && payload_next(cursor, &field))
        read_series_field(series, cursor, &field, outer);
    series->marked_only = before;
}

void payload_series_read(struct payload_series *series, const struct nvtx *nvtx, uint32_t domain, uint64_t schema,
                         const uint8_t *bytes, uint64_t size)
{
    const struct payload_described *found = payload_schemas_find(&nvtx->schemas, domain, schema);
    uint64_t plain_size = payload_bytes_of(schema);
    struct payload_view view;
    struct payload_cursor cursor;
    struct payload_number number;
    series->count = 0;
    series->marked_only = false;
    if (found) {
        payload_view_open(&view, nvtx, domain, 0);
        payload_begin(&cursor, &view.reader, &found->layout, bytes, size, 0);
        read_series(series, &cursor, "");
    } else if (plain_size > 0 && plain_size <= size && payload_number(&number, schema, bytes)) {
        payload_series_add(series, "value", schema, NULL, number);
    }
}
