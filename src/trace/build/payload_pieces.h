/*
 * Pieces of the program's memory that were recorded with payloads, by the payloads' numbers. Their bytes lie in the
 * spool.
 */
#ifndef GPUTRACE_TRACE_BUILD_PAYLOAD_PIECES_H
#define GPUTRACE_TRACE_BUILD_PAYLOAD_PIECES_H

#include <stdint.h>

#include "common/big_array.h"
#include "trace/spool/event_record.h"
#include "common/spool_records.h"

struct payload_piece {
    const struct spool_nvtx_piece *record;
    uint64_t number; /* of its payload */
    uint64_t order;  /* in which it was read */
};

struct payload_pieces {
    BIG_ARRAY(struct payload_piece) items; /* once closed: by number and order */
    uint64_t lost;                         /* that the library did not keep */
};

void payload_pieces_release(struct payload_pieces *pieces);

/* Remembers a record of a piece; others are passed over. Gives 0, or -1 after error(). */
int payload_pieces_see(struct payload_pieces *pieces, const struct event *event);
/* After the last, before any is asked for. Gives 0, or -1 after error(). */
int payload_pieces_close(struct payload_pieces *pieces);

/* The first piece of a payload, in their order; NULL: there is none. */
const struct payload_piece *payload_pieces_first(const struct payload_pieces *pieces, uint64_t number);
static inline const struct payload_piece *payload_pieces_next(const struct payload_pieces *pieces,
                                                              const struct payload_piece *piece)
{
    const struct payload_piece *next = piece + 1;
    return next < pieces->items.items + pieces->items.count && next->number == piece->number ? next : NULL;
}

/* The bytes that lay at ADDRESS, *SIZE of them; NULL: they were not recorded. */
const uint8_t *payload_pieces_at(const struct payload_pieces *pieces, uint64_t number, uint64_t address,
                                 uint64_t *size);
/* The text of a registered string with this handle, likewise. */
const uint8_t *payload_pieces_string(const struct payload_pieces *pieces, uint64_t number, uint64_t handle,
                                     uint64_t *size);

#endif
