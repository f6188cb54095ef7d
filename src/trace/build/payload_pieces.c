#include "trace/build/payload_pieces.h"

#include "common/log.h"

void payload_pieces_release(struct payload_pieces *pieces)
{
    big_array_release(&pieces->items);
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
    struct payload_piece *piece = big_array_push(&pieces->items);
    if (!piece)
        return error_no_memory("payloads");
    *piece = (struct payload_piece){.record = record, .number = record->number, .order = pieces->items.count};
    return 0;
}

static int by_number(const void *a, const void *b)
{
    const struct payload_piece *left = a, *right = b;
    if (left->number != right->number)
        return left->number < right->number ? -1 : 1;
    return left->order < right->order ? -1 : left->order > right->order;
}

int payload_pieces_close(struct payload_pieces *pieces)
{
    return big_array_sort(&pieces->items, by_number) == 0 ? 0 : error_no_memory("payloads");
}

const struct payload_piece *payload_pieces_first(const struct payload_pieces *pieces, uint64_t number)
{
    size_t low = 0, high = pieces->items.count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (pieces->items.items[middle].number < number)
            low = middle + 1;
        else
            high = middle;
    }
    return low < pieces->items.count && pieces->items.items[low].number == number ? &pieces->items.items[low] : NULL;
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
