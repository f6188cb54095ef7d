#include "trace/build/payload_view.h"

#define VALUES_MAX 16384u /* of one event: pointers may lead to the same place again and again */

static const struct payload_schema *find_layout(const void *context, uint64_t id)
{
    const struct payload_view *view = context;
    const struct payload_described *found = payload_schemas_find(view->sources->schemas, view->domain, id);
    return found ? &found->layout : NULL;
}

const struct payload_described *payload_view_described(const struct payload_view *view, uint64_t id)
{
    return payload_schemas_find(view->sources->schemas, view->domain, id);
}

void payload_view_open(struct payload_view *view, const struct payload_sources *sources, uint32_t domain,
                       uint64_t number)
{
    view->sources = sources;
    view->number = number;
    view->domain = domain;
    view->values_left = VALUES_MAX;
    view->reader =
        (struct payload_reader){.find = find_layout, .context = view, .blobs = view->blobs, .budget = PAYLOAD_BUDGET};
    const struct payload_piece *piece = payload_pieces_first(sources->pieces, number);
    for (; piece; piece = payload_pieces_next(sources->pieces, piece)) {
        const struct spool_nvtx_piece *record = piece->record;
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

struct payload_text payload_view_schema(const struct payload_view *view)
{
    for (size_t i = 0; i < view->reader.blob_count; i++) {
        const struct payload_described *schema = payload_view_described(view, view->blobs[i].schema);
        if (schema && schema->name.text && payload_view_shows(view, &view->blobs[i]))
            return schema->name;
    }
    return (struct payload_text){NULL, 0};
}

const uint8_t *payload_view_bytes(const struct payload_view *view, const struct payload_cursor *cursor,
                                  struct payload_field *field, uint64_t *size)
{
    if (!field->pointer) {
        *size = cursor->size - field->at;
        return cursor->bytes + field->at;
    }
    const uint8_t *bytes =
        field->address ? payload_pieces_at(view->sources->pieces, view->number, field->address, size) : NULL;
    if (bytes)
        payload_found(field, bytes, *size);
    return bytes;
}
