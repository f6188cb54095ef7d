/*
 * Pieces of the program's memory that were recorded with payloads, by the payloads' numbers. Their bytes lie in the
 * spool.
 */
#ifndef GPUTRACE_TOOL_MODEL_PAYLOAD_PIECES_H
#define GPUTRACE_TOOL_MODEL_PAYLOAD_PIECES_H

#include <stdint.h>

#include "base/array.h"
#include "base/map.h"
#include "tool/model/event.h"
#include "wire/spool.h"

struct payload_piece {
    const struct spool_nvtx_piece *record;
    uint32_t next; /* index + 1 of the next of its number, 0: none */
    uint32_t last; /* of the first of a number: index + 1 of the last */
};

struct payload_pieces {
    ARRAY(struct payload_piece) items;
    struct map by_number; /* -> index + 1 of the first */
    uint64_t lost;        /* that the library did not keep */
};

void payload_pieces_release(struct payload_pieces *pieces);

/* Remembers a record of a piece; others are passed over. Gives 0, or -1 after error(). */
int payload_pieces_see(struct payload_pieces *pieces, const struct event *event);

/* The first piece of a payload, in their order; NULL: there is none. */
const struct payload_piece *payload_pieces_first(const struct payload_pieces *pieces, uint64_t number);
static inline const struct payload_piece *payload_pieces_next(const struct payload_pieces *pieces,
                                                              const struct payload_piece *piece)
{
    return piece->next ? &pieces->items.items[piece->next - 1] : NULL;
}

/* The bytes that lay at ADDRESS, *SIZE of them; NULL: they were not recorded. */
const uint8_t *payload_pieces_at(const struct payload_pieces *pieces, uint64_t number, uint64_t address,
                                 uint64_t *size);
/* The text of a registered string with this handle, likewise. */
const uint8_t *payload_pieces_string(const struct payload_pieces *pieces, uint64_t number, uint64_t handle,
                                     uint64_t *size);

#endif
