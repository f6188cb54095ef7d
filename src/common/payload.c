/*
 * Walks over the bytes of a payload by its schema. An entry's place follows from the entries before it, or is given;
 * its length is fixed, stands in another field, or ends with a zero. Everything read is checked against the payload's
 * size.
 */
#include "common/payload.h"

#include <string.h>
#include <wchar.h>

#define TYPE_COUNT 128

static const struct {
    uint8_t bytes, value;
} types[TYPE_COUNT] = {
#define TYPE(name, number, size, kind) [(number)] = {(size), PAYLOAD_##kind},
    PAYLOAD_TYPES(TYPE)
#undef TYPE
        [PAYLOAD_TYPE_UNION_SELECTOR] = {4, PAYLOAD_SELECTOR},
};

enum payload_value payload_value_of(uint64_t type)
{
    return type < TYPE_COUNT ? (enum payload_value)types[type].value : PAYLOAD_NONE;
}

uint32_t payload_bytes_of(uint64_t type)
{
    return type < TYPE_COUNT ? types[type].bytes : 0;
}

uint64_t payload_load(const uint8_t *bytes, uint64_t size)
{
    uint64_t value = 0;
    memcpy(&value, bytes, size < sizeof(value) ? size : sizeof(value));
    return value;
}

uint64_t payload_text_length(const uint8_t *bytes, uint64_t size, uint64_t width)
{
    static const uint8_t zero[4];
    uint64_t length = 0;
    while ((length + 1) * width <= size && memcmp(bytes + length * width, zero, width) != 0)
        length++;
    return length;
}

/* What is known of an entry without the bytes of a payload. */
struct payload_shape {
    const struct payload_schema *nested;
    enum payload_value value;
    uint64_t unit; /* bytes of an element or character; 0: unknown */
    uint32_t align;
    uint32_t array; /* PAYLOAD_FLAG_ARRAY_…, 0: none */
    bool pointer;   /* the payload has 8 bytes for it: a pointer or an offset */
};

/* Returns whether the schema tells where entry INDEX lies, so that its place does not follow from the entries before
 * it. */
static bool payload_is_explicit(const struct payload_schema *schema, uint32_t index)
{
    bool overlaid = schema->kind == PAYLOAD_UNION || schema->kind == PAYLOAD_UNION_SELECTED;
    return index == 0 || overlaid || schema->entries[index].offset != 0;
}

static uint64_t payload_align_up(uint64_t at, uint64_t align)
{
    return align > 1 ? (at + align - 1) / align * align : at;
}

static uint64_t payload_product(uint64_t a, uint64_t b)
{
    return b && a > UINT64_MAX / 2 / b ? UINT64_MAX / 2 : a * b;
}

/* Sets SHAPE. Returns false if the type is unknown; the places of the following entries are unknown then, too. */
static bool payload_shape_of(struct payload_shape *shape, const struct payload_entry *entry,
                             const struct payload_reader *reader)
{
    *shape = (struct payload_shape){.value = payload_value_of(entry->type),
                                    .unit = payload_bytes_of(entry->type),
                                    .align = payload_bytes_of(entry->type),
                                    .array = (uint32_t)(entry->flags & PAYLOAD_FLAG_ARRAY)};
    if (shape->value == PAYLOAD_NONE && entry->type >= PAYLOAD_FIRST_SCHEMA) {
        shape->nested = reader->find(reader->context, entry->type);
        if (!shape->nested)
            return false;
        shape->unit = shape->nested->kind == PAYLOAD_DYNAMIC ? 0 : shape->nested->size;
        shape->align = shape->nested->align;
    } else if (shape->value == PAYLOAD_NONE) {
        return false;
    }
    uint64_t elsewhere = PAYLOAD_FLAG_POINTER | PAYLOAD_FLAG_OFFSET_FROM_BASE | PAYLOAD_FLAG_OFFSET_FROM_HERE;
    /* A string without a length and without flags is a pointer, too: `const char *`. */
    bool plain = shape->value == PAYLOAD_STRING && entry->detail == 0 &&
                 (shape->array == 0 || shape->array == PAYLOAD_FLAG_ARRAY_FIXED);
    shape->pointer = (entry->flags & elsewhere) != 0 || plain;
    return true;
}

static uint32_t payload_alignment(const struct payload_shape *shape, const struct payload_schema *schema)
{
    uint64_t align = shape->pointer ? sizeof(void *) : shape->align ? shape->align : 1;
    return (uint32_t)(schema->pack && schema->pack < align ? schema->pack : align);
}

/* Returns the bytes of an entry, or 0 if its length depends on the payload. */
static uint64_t fixed_bytes(const struct payload_shape *shape, const struct payload_entry *entry)
{
    if (shape->pointer)
        return sizeof(void *);
    if (shape->array == PAYLOAD_FLAG_ARRAY_FIXED || (shape->value == PAYLOAD_STRING && shape->array == 0))
        return payload_product(shape->unit, entry->detail);
    return shape->array == 0 ? shape->unit : 0;
}

void payload_measure(struct payload_schema *schema, const struct payload_reader *reader)
{
    uint64_t end = 0, most = 0;
    bool known = schema->kind != PAYLOAD_DYNAMIC;
    schema->align = 1;
    for (uint32_t i = 0; i < schema->count && schema->kind != PAYLOAD_ENUM; i++) {
        struct payload_shape shape;
        if (!payload_shape_of(&shape, &schema->entries[i], reader)) {
            schema->walks = true; /* the type may become known later */
            known = false;
            continue;
        }
        uint32_t align = payload_alignment(&shape, schema);
        uint64_t bytes = fixed_bytes(&shape, &schema->entries[i]);
        schema->walks |= shape.pointer || shape.value == PAYLOAD_CATEGORY || shape.value == PAYLOAD_COLOR ||
                         shape.value == PAYLOAD_HANDLE || (shape.nested && shape.nested->walks) ||
                         (schema->entries[i].flags & PAYLOAD_FLAG_EVENT_MESSAGE) != 0;
        schema->align = align > schema->align ? align : schema->align;
        known &= bytes != 0;
        end = (payload_is_explicit(schema, i) ? schema->entries[i].offset : payload_align_up(end, align)) + bytes;
        most = end > most ? end : most;
    }
    if (schema->kind == PAYLOAD_ENUM)
        schema->align = (uint32_t)(schema->size > 0 && schema->size <= 8 ? schema->size : 1);
    else if (schema->size == 0 && known)
        schema->size = payload_align_up(most, schema->align);
}

void payload_begin(struct payload_cursor *cursor, struct payload_reader *reader, const struct payload_schema *schema,
                   const uint8_t *bytes, uint64_t size, uint64_t start)
{
    cursor->reader = reader;
    cursor->schema = schema;
    cursor->bytes = bytes;
    cursor->size = size;
    cursor->start = cursor->end = start;
    cursor->next = 0;
    cursor->member = PAYLOAD_NO_MEMBER;
    cursor->depth = 0;
}

bool payload_enter(struct payload_cursor *inner, const struct payload_cursor *outer, const struct payload_field *field,
                   uint64_t n)
{
    uint64_t at = field->at + payload_product(field->unit, n);
    if (outer->depth + 1 >= PAYLOAD_DEPTH || at > outer->size || (n > 0 && field->unit == 0))
        return false;
    payload_begin(inner, outer->reader, field->nested, outer->bytes, outer->size, at);
    inner->depth = outer->depth + 1;
    inner->member = field->member;
    return true;
}

/* Sets the length of FIELD from COUNT numbers of UNIT bytes: one number is a length, several are dimensions. */
static void set_lengths(struct payload_field *field, const uint8_t *bytes, uint64_t unit, uint64_t count,
                        enum payload_value value)
{
    field->count = count > 0 ? 1 : 0;
    field->dimensions = count > 1 ? (uint32_t)(count < PAYLOAD_DIMENSIONS ? count : PAYLOAD_DIMENSIONS) : 0;
    for (uint64_t i = 0; i < count && i < PAYLOAD_DIMENSIONS; i++) {
        uint64_t bits = payload_load(bytes + i * unit, unit);
        bool negative = value == PAYLOAD_SIGNED && unit > 0 && unit <= 8 && (bits >> (unit * 8 - 1) & 1) != 0;
        field->dimension[i] = negative ? 0 : bits; /* a length may not be below 0 */
        field->count = payload_product(field->count, field->dimension[i]);
    }
}

static void length_by_entry(const struct payload_cursor *cursor, struct payload_field *field)
{
    uint64_t index = field->entry->detail;
    field->count = 0;
    if (index >= field->index || index >= PAYLOAD_LENGTHS || cursor->seen[index].unit == 0)
        return;
    set_lengths(field, cursor->bytes + cursor->seen[index].at, cursor->seen[index].unit, cursor->seen[index].count,
                payload_value_of(cursor->schema->entries[index].type));
}

/* Sets the length of FIELD from another payload of the event, which is a number, or has a schema that begins with a
 * number. */
static void length_by_payload(const struct payload_reader *reader, struct payload_field *field)
{
    field->count = 0;
    if (field->entry->detail >= reader->blob_count)
        return;
    const struct payload_blob *blob = &reader->blobs[field->entry->detail];
    const struct payload_schema *schema = reader->find(reader->context, blob->schema);
    uint64_t type = schema && schema->count > 0 ? schema->entries[0].type : blob->schema;
    enum payload_value value = payload_value_of(type);
    uint64_t unit = payload_bytes_of(type);
    if ((value == PAYLOAD_SIGNED || value == PAYLOAD_UNSIGNED) && unit <= 8 && blob->bytes)
        set_lengths(field, blob->bytes, unit, blob->size / unit, value);
}

static bool has_bits(const uint8_t *bytes, uint64_t size)
{
    while (size > 0 && *bytes == 0) {
        bytes++;
        size--;
    }
    return size > 0;
}

uint64_t payload_found(struct payload_field *field, const uint8_t *bytes, uint64_t size)
{
    bool terminated = field->count == PAYLOAD_TERMINATED;
    if (field->unit == 0)
        return field->count ? size : 0; /* a dynamic schema has its length in itself */
    uint64_t fits = size / field->unit, elements = 0;
    if (terminated && field->form == PAYLOAD_TEXT)
        elements = payload_text_length(bytes, size, field->unit);
    else if (terminated) /* up to the first element that is all zero */
        while (elements < fits && has_bits(bytes + elements * field->unit, field->unit))
            elements++;
    if (terminated)
        field->count = elements;
    if (field->count > fits) {
        field->count = fits;
        field->dimensions = 0;
    }
    uint64_t taken = (field->count + (terminated && field->count < fits)) * field->unit;
    return taken;
}

/* Sets form and count by the schema, without regard to the size of the payload. */
static void set_form(const struct payload_cursor *cursor, struct payload_field *field,
                     const struct payload_shape *shape)
{
    const struct payload_entry *entry = field->entry;
    bool text = shape->value == PAYLOAD_STRING;
    uint64_t stated = entry->detail < PAYLOAD_TERMINATED ? entry->detail : PAYLOAD_TERMINATED - 1;
    field->form = text ? PAYLOAD_TEXT : shape->array ? PAYLOAD_ARRAY_OF : PAYLOAD_ONE;
    switch (shape->array) {
    case 0: field->count = !text ? 1 : stated ? stated : PAYLOAD_TERMINATED; break;
    case PAYLOAD_FLAG_ARRAY_FIXED: field->count = !text || stated ? stated : PAYLOAD_TERMINATED; break;
    case PAYLOAD_FLAG_ARRAY_LENGTH: length_by_entry(cursor, field); break;
    case PAYLOAD_FLAG_ARRAY_LENGTH_PAYLOAD: length_by_payload(cursor->reader, field); break;
    default: field->count = PAYLOAD_TERMINATED; break;
    }
    if (text && shape->array == PAYLOAD_FLAG_ARRAY_TERMINATED && entry->detail > 0) {
        field->form = PAYLOAD_TEXTS_OF;
        field->characters = entry->detail;
        field->unit = payload_product(field->unit, entry->detail);
    }
}

/* Returns the member of a union that an entry of the enclosing schema selects. */
static uint32_t member_by_entry(const struct payload_cursor *cursor, const struct payload_field *field)
{
    uint64_t index = field->entry->detail;
    if (index >= field->index || index >= PAYLOAD_LENGTHS || cursor->seen[index].unit == 0 ||
        cursor->seen[index].count == 0)
        return PAYLOAD_NO_MEMBER;
    uint64_t member = payload_load(cursor->bytes + cursor->seen[index].at, cursor->seen[index].unit);
    return member < field->nested->count ? (uint32_t)member : PAYLOAD_NO_MEMBER;
}

/* Returns the member that the union's own selector selects. NVTX does not tell the selector's size: it ends where
 * another entry begins. At most 4 bytes are read, which hold the low bits of any size. */
uint32_t payload_selected(const struct payload_cursor *cursor, const struct payload_schema *schema, uint64_t start)
{
    const struct payload_entry *selector = NULL;
    uint64_t size = 4;
    for (uint32_t i = 0; i < schema->count && !selector; i++)
        if (schema->entries[i].type == PAYLOAD_TYPE_UNION_SELECTOR)
            selector = &schema->entries[i];
    for (uint32_t i = 0; selector && i < schema->count; i++)
        if (schema->entries[i].offset > selector->offset && schema->entries[i].offset - selector->offset < size)
            size = schema->entries[i].offset - selector->offset;
    if (!selector || start > cursor->size || selector->offset > cursor->size - start ||
        size > cursor->size - start - selector->offset)
        return PAYLOAD_NO_MEMBER;
    uint64_t member = payload_load(cursor->bytes + start + selector->offset, size);
    return member < schema->count && &schema->entries[member] != selector ? (uint32_t)member : PAYLOAD_NO_MEMBER;
}

/* Returns the bytes of FIELD, whose nested schema is dynamic. */
static uint64_t extent(const struct payload_cursor *outer, const struct payload_field *field)
{
    struct payload_cursor inner;
    struct payload_field each;
    uint64_t end = field->at;
    if (!payload_enter(&inner, outer, field, 0))
        return 0;
    while (payload_next(&inner, &each))
        end = inner.end > end ? inner.end : end;
    return end - field->at;
}

static void remember(struct payload_cursor *cursor, const struct payload_field *field)
{
    if (field->index >= PAYLOAD_LENGTHS)
        return;
    bool number = !field->pointer && (field->form == PAYLOAD_ONE || field->form == PAYLOAD_ARRAY_OF) &&
                  field->unit <= 8 && (!field->nested || field->nested->kind == PAYLOAD_ENUM);
    cursor->seen[field->index].at = field->at;
    cursor->seen[field->index].unit = number ? (uint32_t)field->unit : 0;
    cursor->seen[field->index].count = number && field->count < UINT32_MAX ? (uint32_t)field->count : 0;
}

/* Resolves the 8 bytes of FIELD: a pointer, or an offset to a place in the payload. Returns false if an offset leads
 * beyond the payload. */
static bool resolve(const struct payload_cursor *cursor, struct payload_field *field)
{
    uint64_t word = payload_load(cursor->bytes + field->at, sizeof(word));
    if (!(field->entry->flags & (PAYLOAD_FLAG_OFFSET_FROM_BASE | PAYLOAD_FLAG_OFFSET_FROM_HERE))) {
        field->pointer = true;
        field->address = word;
        return true;
    }
    uint64_t from = field->entry->flags & PAYLOAD_FLAG_OFFSET_FROM_BASE ? 0 : field->at + sizeof(word);
    if (word > cursor->size || from > cursor->size - word)
        return false;
    field->at = from + word;
    payload_found(field, cursor->bytes + field->at, cursor->size - field->at);
    return true;
}

/* Sets FIELD by its entry. Returns false if its type is unknown, or if it lies beyond the payload. */
static bool place(struct payload_cursor *cursor, struct payload_field *field)
{
    struct payload_shape shape;
    if (!payload_shape_of(&shape, field->entry, cursor->reader))
        return false;
    uint64_t align = payload_alignment(&shape, cursor->schema), offset = field->entry->offset;
    field->nested = shape.nested;
    field->unit = shape.unit;
    if (payload_is_explicit(cursor->schema, field->index))
        field->at = offset > cursor->size ? UINT64_MAX / 2 : cursor->start + offset;
    else
        field->at = cursor->start + payload_align_up(cursor->end - cursor->start, align);
    if (field->at > cursor->size)
        return false;
    set_form(cursor, field, &shape);
    uint64_t left = cursor->size - field->at, taken;
    if (shape.pointer) {
        taken = sizeof(void *);
        cursor->end = field->at + taken;
        return taken <= left && resolve(cursor, field);
    }
    if (field->nested && field->nested->kind == PAYLOAD_UNION)
        field->member = member_by_entry(cursor, field);
    else if (field->nested && field->nested->kind == PAYLOAD_UNION_SELECTED)
        field->member = payload_selected(cursor, field->nested, field->at);
    if (field->unit == 0 && field->nested && field->form == PAYLOAD_ONE)
        taken = extent(cursor, field);
    else if (field->form == PAYLOAD_ONE && field->unit > left)
        return false;
    else
        taken = payload_found(field, cursor->bytes + field->at, left);
    cursor->end = field->at + taken;
    return true;
}

bool payload_next(struct payload_cursor *cursor, struct payload_field *field)
{
    const struct payload_schema *schema = cursor->schema;
    while (cursor->next < schema->count && cursor->reader->budget > 0) {
        uint32_t index = cursor->next++;
        if (cursor->member != PAYLOAD_NO_MEMBER && index != cursor->member)
            continue;
        cursor->reader->budget--;
        memset(field, 0, offsetof(struct payload_field, dimension));
        field->entry = &schema->entries[index];
        field->index = index;
        field->member = PAYLOAD_NO_MEMBER;
        if (index < PAYLOAD_LENGTHS)
            cursor->seen[index].unit = 0;
        if (place(cursor, field)) {
            remember(cursor, field);
            return true;
        }
        if (index + 1 < schema->count && payload_is_explicit(schema, index + 1))
            continue; /* the schema tells where the next entry is */
        cursor->next = schema->count;
    }
    return false;
}
