/*
 * What one entry of a schema takes, as far as its schema tells: between payload.c, which measures schemas, and
 * payload_walk.c, which walks over payloads.
 */
#ifndef GPUTRACE_COMMON_PAYLOAD_SHAPE_H
#define GPUTRACE_COMMON_PAYLOAD_SHAPE_H

#include "common/payload.h"

/* An entry, as far as it can be told without bytes. */
struct payload_shape {
    const struct payload_schema *nested;
    enum payload_value value;
    uint64_t unit; /* of one element or character; 0: not known */
    uint32_t align;
    uint32_t array; /* PAYLOAD_FLAG_ARRAY_…, 0: none */
    bool pointer;   /* 8 bytes stand for it: a pointer or an offset */
};

/* False: the type is not known, and so nothing of what follows. */
bool payload_shape_of(struct payload_shape *shape, const struct payload_entry *entry,
                      const struct payload_reader *reader);
uint32_t payload_alignment(const struct payload_shape *shape, const struct payload_schema *schema);

/* Whether where entry INDEX lies is told, and does not follow from what is before it. */
static inline bool payload_is_explicit(const struct payload_schema *schema, uint32_t index)
{
    bool overlaid = schema->kind == PAYLOAD_UNION || schema->kind == PAYLOAD_UNION_SELECTED;
    return index == 0 || overlaid || schema->entries[index].offset != 0;
}

static inline uint64_t payload_align_up(uint64_t at, uint64_t align)
{
    return align > 1 ? (at + align - 1) / align * align : at;
}

static inline uint64_t payload_product(uint64_t a, uint64_t b)
{
    return b && a > UINT64_MAX / 2 / b ? UINT64_MAX / 2 : a * b;
}

#endif
