#include "tool/model/payload_pieces.h"

#include "base/log.h"

void payload_pieces_release(struct payload_pieces *pieces)
{
    array_release(&pieces->items);
    map_release(&pieces->by_number);
}

int payload_pieces_see(struct payload_pieces *pieces, const struct event *event)
{
    const struct spool_nvtx_piece *record = event->record;
    if (record->head.type != SPOOL_RECORD_NVTX_PIECE)
        return 0;
    if (record->head.flags == SPOOL_NVTX_PIECE_LOST) {
        pieces->lost += record->size;
        return 0;
    }
    uint64_t *first = map_put(&pieces->by_number, record->number, NULL);
    struct payload_piece *piece = first ? array_push(&pieces->items) : NULL;
    if (!piece)
        return error_no_memory("payloads");
    uint32_t index = (uint32_t)pieces->items.count;
    *piece = (struct payload_piece){.record = record, .last = index};
    if (*first != 0) {
        struct payload_piece *head = &pieces->items.items[*first - 1];
        pieces->items.items[head->last - 1].next = index;
        head->last = index;
    } else {
        *first = index;
    }
    return 0;
}

const struct payload_piece *payload_pieces_first(const struct payload_pieces *pieces, uint64_t number)
{
    const uint64_t *first = map_get(&pieces->by_number, number);
    return first && *first ? &pieces->items.items[*first - 1] : NULL;
}

const uint8_t *payload_pieces_at(const struct payload_pieces *pieces, uint64_t number, uint64_t address, uint64_t *size)
{
    const struct payload_piece *piece = payload_pieces_first(pieces, number);
    for (; piece; piece = payload_pieces_next(pieces, piece)) {
        const struct spool_nvtx_piece *record = piece->record;
        bool text = record->head.flags == SPOOL_NVTX_PIECE_STRING;
        uint64_t at = address - record->address;
        if (text || address < record->address || at > record->length || (at == record->length && at != 0))
            continue;
        *size = record->length - at;
        return (const uint8_t *)record->text + at;
    }
    return NULL;
}

const uint8_t *payload_pieces_string(const struct payload_pieces *pieces, uint64_t number, uint64_t handle,
                                     uint64_t *size)
{
    const struct payload_piece *piece = payload_pieces_first(pieces, number);
    while (piece && (piece->record->head.flags != SPOOL_NVTX_PIECE_STRING || piece->record->address != handle))
        piece = payload_pieces_next(pieces, piece);
    if (!piece)
        return NULL;
    *size = piece->record->length;
    return (const uint8_t *)piece->record->text;
}
