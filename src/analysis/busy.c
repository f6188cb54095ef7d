#include "analysis/busy.h"

int busy_add(struct busy *busy, int64_t start, int64_t end)
{
    if (busy->intervals.count > 0) {
        struct busy_interval *last = &busy->intervals.items[busy->intervals.count - 1];
        if (start >= last->start && start <= last->end) {
            last->end = end > last->end ? end : last->end;
            return 0;
        }
        busy->disordered |= start < last->start;
    }
    struct busy_interval *added = array_push(&busy->intervals);
    if (!added)
        return -1;
    *added = (struct busy_interval){start, end};
    return 0;
}

static int compare_starts(const void *left, const void *right)
{
    const struct busy_interval *a = left, *b = right;
    return (a->start > b->start) - (a->start < b->start);
}

/* Sorts the intervals and joins those that touch. */
static void write_in_order(struct busy *busy)
{
    struct busy_interval *items = busy->intervals.items;
    size_t kept = 0;
    qsort(items, busy->intervals.count, sizeof(*items), compare_starts);
    for (size_t i = 1; i < busy->intervals.count; i++) {
        if (items[i].start > items[kept].end)
            items[++kept] = items[i];
        else if (items[i].end > items[kept].end)
            items[kept].end = items[i].end;
    }
    busy->intervals.count = kept + 1;
    busy->disordered = false;
}

int64_t busy_total(struct busy *busy)
{
    int64_t total = 0;
    if (busy->disordered)
        write_in_order(busy);
    for (size_t i = 0; i < busy->intervals.count; i++)
        total += busy->intervals.items[i].end - busy->intervals.items[i].start;
    return total;
}

void busy_release(struct busy *busy)
{
    array_release(&busy->intervals);
}

struct piece {
    int64_t start, end;
    uint32_t part; /* index */
};

static int by_start(const void *left, const void *right)
{
    const struct piece *a = left, *b = right;
    return (a->start > b->start) - (a->start < b->start);
}

void range_busy_init(struct range_busy *busy, struct sorter_room *room)
{
    sorter_init(&busy->pieces, room, sizeof(struct piece), by_start);
}

void range_busy_release(struct range_busy *busy)
{
    groups_release(&busy->ids);
    array_release(&busy->parts);
    array_release(&busy->totals);
    sorter_release(&busy->pieces);
}

static int end_piece(struct range_busy *busy, const struct range_busy_part *part)
{
    struct piece piece = {.start = part->start, .end = part->end, .part = (uint32_t)(part - busy->parts.items)};
    return part->any ? sorter_add(&busy->pieces, &piece) : 0;
}

static struct range_busy_part *part_of(struct range_busy *busy, uint32_t row, uint32_t gpu)
{
    struct {
        uint64_t row, gpu;
    } id = {row, gpu};
    return groups_item(&busy->ids, &id, &busy->parts);
}

int range_busy_add(struct range_busy *busy, uint32_t row, uint32_t gpu, int64_t start, int64_t duration)
{
    struct range_busy_part *part = part_of(busy, row, gpu);
    int64_t end = start + duration;
    if (!part)
        return -1;
    if (part->any && start >= part->start && start <= part->end) {
        part->end = end > part->end ? end : part->end;
        return 0;
    }
    if (end_piece(busy, part) < 0)
        return -1;
    *part = (struct range_busy_part){.row = row, .any = true, .start = start, .end = end, .until = INT64_MIN};
    return 0;
}

static void add_up(struct range_busy *busy, const struct piece *piece)
{
    struct range_busy_part *part = &busy->parts.items[piece->part];
    int64_t from = piece->start > part->until ? piece->start : part->until;
    if (piece->end <= from)
        return;
    busy->totals.items[part->row] += piece->end - from;
    part->total += piece->end - from;
    part->until = piece->end;
}

static int make_total(struct range_busy *busy, uint32_t row)
{
    while (busy->totals.count <= row)
        if (!array_push(&busy->totals))
            return -1;
    return 0;
}

int range_busy_finish(struct range_busy *busy)
{
    struct sorter_walk walk;
    const struct piece *piece;
    for (size_t i = 0; i < busy->parts.count; i++) {
        if (end_piece(busy, &busy->parts.items[i]) < 0 || make_total(busy, busy->parts.items[i].row) < 0)
            return -1;
    }
    if (sorter_ready(&busy->pieces) < 0)
        return -1;
    sorter_walk_begin(&walk, &busy->pieces);
    while ((piece = sorter_next(&walk)))
        add_up(busy, piece);
    int status = sorter_walk_end(&walk);
    sorter_release(&busy->pieces);
    return status;
}

int range_busy_put(struct range_busy *busy, uint32_t row, uint32_t gpu, int64_t total)
{
    struct range_busy_part *part = part_of(busy, row, gpu);
    if (!part || make_total(busy, row) < 0)
        return -1;
    part->row = row;
    part->total = total;
    busy->totals.items[row] = total == RANGE_BUSY_UNKNOWN ? total : busy->totals.items[row] + total;
    return 0;
}

int64_t range_busy_on(struct range_busy *busy, uint32_t row, uint32_t gpu)
{
    const struct range_busy_part *part = part_of(busy, row, gpu);
    return part ? part->total : 0;
}
