/*
 * GPU operations of one row that overlap, and of which none lies within the other, as programmatic dependent launch
 * makes them. Viewers cannot show these on one row, so each gets a further one, in the file's order.
 */
#include <stdio.h>

#include "common/array.h"
#include "common/log.h"
#include "common/map.h"
#include "trace/json/source_parts.h"
#include "trace/sink.h"

/* Tids of further rows, below those of words (source_parts.c). */
#define FURTHER_TIDS UINT32_C(0x50000000)

void json_overlaps_release(struct json_overlaps *overlaps)
{
    array_release(&overlaps->rows);
    map_release(&overlaps->by_row);
    map_release(&overlaps->moved);
}

static uint64_t key_of(struct row row, uint64_t value)
{
    uint64_t key[] = {(uint64_t)row.pid << 32 | row.tid, value};
    return hash_bytes(key, sizeof(key));
}

/* Whether a slice fits on the row with the last slice that is there. */
static bool fits(const struct json_overlap_row *last, uint64_t start, uint64_t end)
{
    bool apart = start >= last->end || end <= last->start, within = start >= last->start && end <= last->end;
    return apart || within || (start <= last->start && end >= last->end);
}

static struct json_overlap_row *find_row(struct json_overlaps *overlaps, struct row row, unsigned lane)
{
    uint64_t *index = map_put(&overlaps->by_row, key_of(row, lane), NULL);
    struct json_overlap_row *made = index && *index == 0 ? array_push(&overlaps->rows) : NULL;
    if (made) {
        *index = overlaps->rows.count;
        *made = (struct json_overlap_row){.tid = lane == 0 ? row.tid : FURTHER_TIDS + overlaps->further++};
        made->is_new = lane > 0;
    }
    return index && *index > 0 ? &overlaps->rows.items[*index - 1] : NULL;
}

int json_overlaps_place(struct json_overlaps *overlaps, const struct json_rows *rows, struct sink *sink,
                        struct slice *slice)
{
    struct row row = slice->row;
    struct json_overlap_row *place;
    unsigned lane = 0;
    while ((place = find_row(overlaps, row, lane)) && !fits(place, slice->start, slice->end))
        lane++;
    uint64_t *moved = place && lane > 0 ? map_put(&overlaps->moved, key_of(row, slice->start), NULL) : NULL;
    if (!place || (lane > 0 && !moved))
        return error_no_memory("rows of operations that overlap");
    if (slice->end > place->end || slice->start < place->start) {
        place->start = slice->start;
        place->end = slice->end;
    }
    if (place->is_new)
        json_rows_write_further(rows, row, place->tid, lane, sink);
    place->is_new = false;
    slice->row.tid = place->tid;
    if (moved)
        *moved = place->tid;
    return 0;
}

struct row json_overlaps_row(const struct json_overlaps *overlaps, struct row row, uint64_t start)
{
    const uint64_t *moved = overlaps->further > 0 ? map_get(&overlaps->moved, key_of(row, start)) : NULL;
    return moved ? (struct row){row.pid, (uint32_t)*moved} : row;
}
