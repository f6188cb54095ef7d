#include "common/payload_shape.h"

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

/* A string without a length and without flags is a pointer, too: `const char *`. */
static bool is_elsewhere(const struct payload_entry *entry, enum payload_value value)
{
    uint64_t elsewhere = PAYLOAD_FLAG_POINTER | PAYLOAD_FLAG_OFFSET_FROM_BASE | PAYLOAD_FLAG_OFFSET_FROM_HERE;
    return (entry->flags & elsewhere) != 0 || (value == PAYLOAD_STRING && entry->detail == 0 &&
                                               ((entry->flags & PAYLOAD_FLAG_ARRAY) == 0 ||
                                                (entry->flags & PAYLOAD_FLAG_ARRAY) == PAYLOAD_FLAG_ARRAY_FIXED));
}

bool payload_shape_of(struct payload_shape *shape, const struct payload_entry *entry,
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
    shape->pointer = is_elsewhere(entry, shape->value);
    return true;
}

uint32_t payload_alignment(const struct payload_shape *shape, const struct payload_schema *schema)
{
    uint64_t align = shape->pointer ? sizeof(void *) : shape->align ? shape->align : 1;
    return (uint32_t)(schema->pack && schema->pack < align ? schema->pack : align);
}

/* Bytes of an entry whose length does not depend on a payload; 0: it does. */
static uint64_t fixed_bytes(const struct payload_shape *shape, const struct payload_entry *entry)
{
    if (shape->pointer)
        return sizeof(void *);
    if (shape->array == PAYLOAD_FLAG_ARRAY_FIXED || (shape->value == PAYLOAD_STRING && shape->array == 0))
        return payload_product(shape->unit, entry->detail);
    return shape->array == 0 ? shape->unit : 0;
}

static bool matters(const struct payload_shape *shape, const struct payload_entry *entry)
{
    bool attribute = shape->value == PAYLOAD_CATEGORY || shape->value == PAYLOAD_COLOR;
    return shape->pointer || attribute || shape->value == PAYLOAD_HANDLE || (shape->nested && shape->nested->walks) ||
           (entry->flags & PAYLOAD_FLAG_EVENT_MESSAGE) != 0;
}

void payload_measure(struct payload_schema *schema, const struct payload_reader *reader)
{
    uint64_t end = 0, most = 0;
    bool known = schema->kind != PAYLOAD_DYNAMIC;
    schema->align = 1;
    for (uint32_t i = 0; i < schema->count && schema->kind != PAYLOAD_ENUM; i++) {
        struct payload_shape shape;
        if (!payload_shape_of(&shape, &schema->entries[i], reader)) {
            schema->walks = true; /* it may come to be known later */
            known = false;
            continue;
        }
        uint32_t align = payload_alignment(&shape, schema);
        uint64_t bytes = fixed_bytes(&shape, &schema->entries[i]);
        schema->walks |= matters(&shape, &schema->entries[i]);
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
