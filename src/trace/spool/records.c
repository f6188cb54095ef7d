#include "trace/spool/records.h"

#include <stddef.h>
#include <string.h>

#include "common/spool_records.h"

void cupti_walk_begin(struct cupti_walk *walk, const struct spool_part *part, const uint8_t *data,
                      const uint16_t *sizes)
{
    *walk = (struct cupti_walk){.at = data, .end = data, .sizes = sizes, .done = part->state == SPOOL_DONE};
    if (data)
        walk->end += part->size;
    else
        walk->damaged = 1;
}

bool cupti_walk_next(struct cupti_walk *walk)
{
    size_t left = (size_t)(walk->end - walk->at);
    uint32_t kind = 0;
    if (left >= sizeof(kind))
        memcpy(&kind, walk->at, sizeof(kind));
    if (left == 0 || (kind == 0 && !walk->done))
        return false;
    walk->in_flight = (kind & SPOOL_IN_FLIGHT) != 0;
    walk->kind = kind & ~SPOOL_IN_FLIGHT;
    uint16_t bytes = walk->kind < SPOOL_CUPTI_KINDS ? walk->sizes[walk->kind] : 0;
    if (walk->kind == 0 || bytes == 0 || bytes > left) {
        walk->damaged++;
        walk->at = walk->end;
        return false;
    }
    walk->record = walk->at;
    walk->bytes = bytes;
    walk->at += bytes;
    return true;
}

/* Where each type's text is; types without one have no length field. */
struct layout {
    uint32_t size;   /* of the struct, its text field's room counted in */
    uint32_t length; /* offset of the text's length, 0: no text */
    uint32_t text;
};

#define LAYOUT_FIXED(structure)        \
    {                                  \
        sizeof(struct structure), 0, 0 \
    }
#define LAYOUT_TEXT(structure)                                                                         \
    {                                                                                                  \
        sizeof(struct structure), offsetof(struct structure, length), offsetof(struct structure, text) \
    }
#define LAYOUT(type, structure, holds) [SPOOL_RECORD_##type] = LAYOUT_##holds(structure),

static const struct layout layouts[SPOOL_RECORD_TYPE_COUNT] = {SPOOL_RECORD_TYPES(LAYOUT)};

void own_walk_begin(struct own_walk *walk, const struct spool_part *part)
{
    *walk = (struct own_walk){.at = part->data, .end = part->size > 0 ? part->data + part->size : part->data};
}

/* Whether the record, which lies within the chunk, holds all that its type has. */
static bool whole(struct own_walk *walk, const struct spool_record *record)
{
    if (record->type == SPOOL_RECORD_NONE || record->type >= SPOOL_RECORD_TYPE_COUNT)
        return false;
    const struct layout *layout = &layouts[record->type];
    if (layout->size == 0 || record->bytes < layout->size)
        return false;
    walk->text = NULL;
    walk->length = 0;
    if (layout->length == 0)
        return true;
    const uint8_t *bytes = (const uint8_t *)record;
    memcpy(&walk->length, bytes + layout->length, sizeof(walk->length));
    walk->text = (const char *)bytes + layout->text;
    return walk->length <= record->bytes - layout->text;
}

bool own_walk_next(struct own_walk *walk)
{
    while (walk->at < walk->end) {
        size_t left = (size_t)(walk->end - walk->at);
        const struct spool_record *record = (const struct spool_record *)(const void *)walk->at;
        if (left < sizeof(*record) || record->bytes < sizeof(*record) || record->bytes % 8 != 0 ||
            record->bytes > left) {
            walk->damaged++;
            walk->at = walk->end;
            return false;
        }
        walk->at += record->bytes;
        walk->record = record;
        if (whole(walk, record))
            return true;
        walk->damaged++;
    }
    return false;
}

void own_walk_at(struct own_walk *walk, const void *record)
{
    *walk = (struct own_walk){.record = record};
    if (!whole(walk, record)) { /* the file was changed since */
        walk->text = NULL;
        walk->length = 0;
    }
}
