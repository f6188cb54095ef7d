/*
 * One walk over ranges and operations by thread and call adds each operation to all open rows. If that would take too
 * many steps, the operation is added only to the rows that were opened last, and the other rows are marked.
 */
#include "analysis/ranges/range_rows.h"

#include "common/buffer.h"
#include "common/log.h"
#include "common/text.h"
#include "analysis/base/table.h"

#define CROWDED 128

/* A row with a range that is, or recently was, open on the thread of the walk. */
struct open_row {
    int64_t until; /* the end of its ranges so far; INT64_MIN: a later entry has the row */
    uint32_t row;
};

struct gathering {
    const struct range_rows *rows;
    struct range_busy *busy;
    ARRAY(struct open_row) open; /* in the order in which they were opened */
    ARRAY(uint32_t) places;      /* by row: index + 1 in open */
    ARRAY(char) left_out;        /* by row: 1 if it lacks an operation */
    size_t crowded;              /* rows that have ended are removed when `open` reaches this count */
    size_t passed;               /* rows of `open` before this index have ended or are left out */
    uint32_t thread;
    int64_t latest; /* the latest end of the thread's ranges so far */
    uint64_t steps; /* the number of steps that are left */
};

/* Removes the entries of `open` from index FIRST on that have ended by TIME. */
static void drop_ended(struct gathering *gathering, size_t first, int64_t time)
{
    struct open_row *open = gathering->open.items;
    size_t kept = first;
    for (size_t i = first; i < gathering->open.count; i++) {
        uint32_t *place = &gathering->places.items[open[i].row];
        bool ended = open[i].until < time;
        if (*place == i + 1)
            *place = ended ? 0 : (uint32_t)kept + 1;
        if (!ended)
            open[kept++] = open[i];
    }
    gathering->open.count = kept;
}

/* Opens RANGE in ROW; overlapping ranges of a row are merged. Returns 0, or -1: no memory. */
static int open_row(struct gathering *gathering, uint32_t row, const struct range *range)
{
    if (range->thread != gathering->thread) {
        for (size_t i = 0; i < gathering->open.count; i++)
            gathering->places.items[gathering->open.items[i].row] = 0;
        gathering->open.count = gathering->passed = 0;
        gathering->thread = range->thread;
        gathering->latest = INT64_MIN;
    }
    gathering->latest = range->end > gathering->latest ? range->end : gathering->latest;
    uint32_t *place = array_at(&gathering->places, row);
    struct open_row *known = place && *place ? &gathering->open.items[*place - 1] : NULL;
    if (known && known->until >= range->start) {
        known->until = range->end > known->until ? range->end : known->until;
        return 0;
    }
    if (known)
        known->until = INT64_MIN;
    if (gathering->open.count >= gathering->crowded) {
        drop_ended(gathering, 0, range->start);
        gathering->passed = 0;
        gathering->crowded = 2 * gathering->open.count > CROWDED ? 2 * gathering->open.count : CROWDED;
    }
    if (!place || !ADD(array_push, &gathering->open, (struct open_row){range->end, row}))
        return -1;
    *place = (uint32_t)gathering->open.count;
    return 0;
}

static int open_ranges(struct gathering *gathering, struct range_walk *walk, uint32_t thread, int64_t time)
{
    const struct range_rows *rows = gathering->rows;
    while (range_walk_open(walk, thread, time)) {
        uint32_t row = rows->row(rows->context, walk);
        gathering->steps += rows->limit.each;
        if (row == RANGE_ROW_NONE || open_row(gathering, row, &walk->open.items[walk->open.count - 1].range) < 0)
            return -1;
    }
    return 0;
}

/* Adds an operation to the rows that were opened last, as far as the steps allow, and marks the other open rows as left
 * out. Returns 0, or -1: no memory. */
static int add_inside(struct gathering *gathering, const struct launched_op *op, uint32_t gpu)
{
    const struct open_row *open = gathering->open.items;
    size_t from = gathering->open.count;
    for (; from > 0 && gathering->steps > 0; from--)
        gathering->steps -= open[from - 1].until >= op->called;
    for (size_t i = gathering->passed; i < from; i++) {
        char *left_out = array_at(&gathering->left_out, open[i].row);
        if (!left_out)
            return -1;
        *left_out |= open[i].until >= op->called;
    }
    gathering->passed = from;
    drop_ended(gathering, from, op->called);
    for (size_t i = from; i < gathering->open.count; i++)
        if (range_busy_add(gathering->busy, open[i].row, gpu, op->start, op->duration) < 0)
            return -1;
    return 0;
}

static int add_op(void *context, struct range_walk *walk, const struct launched_op *op)
{
    struct gathering *gathering = context;
    const struct range_rows *rows = gathering->rows;
    gathering->steps += rows->limit.each;
    if (open_ranges(gathering, walk, op->thread, op->called) < 0)
        return -1;
    bool is_captured = rows->captured && op->captured != 0;
    bool in_none = gathering->thread != op->thread || gathering->latest < op->called, outside = in_none && !is_captured;
    uint32_t gpu = rows->gpu ? rows->gpu(rows->context, op) : rows->trace->streams.items[op->stream].device;
    /* Add the operation to the rows of the ranges in which it was captured. */
    const struct captured *captured = &rows->trace->captured;
    const struct captured_path *path = is_captured ? captured_path(captured, op->captured) : NULL;
    for (uint32_t i = 0; path && i < path->count; i++) {
        uint32_t row = rows->captured(rows->context, captured->names.items[path->first + i]);
        if (row == RANGE_ROW_NONE || range_busy_add(gathering->busy, row, gpu, op->start, op->duration) < 0)
            return -1;
    }
    if (rows->operation && rows->operation(rows->context, op, outside) < 0)
        return -1;
    if (outside)
        return range_busy_add(gathering->busy, RANGE_ROW_OUTSIDE, gpu, op->start, op->duration);
    return in_none ? 0 : add_inside(gathering, op, gpu);
}

static int add_rest(void *context, struct range_walk *walk)
{
    return open_ranges(context, walk, UINT32_MAX, INT64_MAX);
}

static int leave_out(const struct gathering *gathering)
{
    uint64_t count = 0;
    for (uint32_t row = 0; row < gathering->left_out.count; row++) {
        if (!gathering->left_out.items[row])
            continue;
        if (range_busy_leave_out(gathering->busy, row) < 0)
            return -1;
        count++;
    }
    if (count > 0)
        warning("the GPU busy time of %s of NVTX ranges is left out: too many ranges are open at once",
                text_count(count, "row").text);
    return 0;
}

int range_rows_gather(const struct range_rows *rows, struct range_busy *busy)
{
    struct gathering gathering = {.rows = rows,
                                  .busy = busy,
                                  .steps = rows->limit.all,
                                  .crowded = CROWDED,
                                  .thread = UINT32_MAX,
                                  .latest = INT64_MIN};
    const struct trace *trace = rows->trace;
    if (!trace_has_ranges(trace))
        return 0;
    busy_init(&busy->busy, trace->space);
    int status = range_walk_ops(&trace->ranges, rows->nesting, &trace->launched_ops, add_op, add_rest, &gathering);
    status = status ?: range_busy_finish(busy) ?: leave_out(&gathering);
    array_release(&gathering.open);
    array_release(&gathering.places);
    array_release(&gathering.left_out);
    return status;
}

struct cell range_rows_cell(const struct range_busy *busy, uint32_t row)
{
    int64_t total = range_busy_total(busy, row);
    return total == RANGE_BUSY_UNKNOWN ? (struct cell){0} : cell_integer(total);
}

struct cell fill_range_form(struct report_row *row, const struct column *column)
{
    static const char *const forms[] = {"range", "start/end", "mark", "outside", "captured"};
    return table_text(row->table, forms[row_integer(row, column)]);
}

FILL(range_name,
     ROW_KEY(range_kind)->form == RANGE_IN_NONE ? table_text(row->table, RANGE_OUTSIDE) : fill_name(row, column))

#define PATH_NAMES 32u /* the most names of a path that are shown, as recursion makes very long paths */

void range_forest_release(struct range_forest *forest)
{
    dense_map_release(&forest->ids);
    array_release(&forest->nodes);
}

static struct range_node *find_node(struct range_forest *forest, const struct range *range, uint32_t parent)
{
    struct {
        uint64_t parent, name, domain;
    } id = {parent, range->name, range->domain};
    size_t before = forest->nodes.count;
    struct range_node *node = dense_map_item(&forest->ids, &id, &forest->nodes);
    if (node && forest->nodes.count > before)
        *node = (struct range_node){.parent = parent,
                                    .depth = parent ? forest->nodes.items[parent - 1].depth + 1 : 0,
                                    .name = range->name,
                                    .domain = range->domain};
    return node;
}

int range_forest_place(struct range_forest *forest, struct range_walk *walk, int64_t *taken)
{
    struct range_open *last = &walk->open.items[walk->open.count - 1];
    struct range_open *parent = last->outer ? &walk->open.items[last->outer - 1] : NULL;
    struct range_node *node = find_node(forest, &last->range, parent ? parent->node + 1 : 0);
    if (!node)
        return -1;
    last->node = (uint32_t)(node - forest->nodes.items);
    /* Inner ranges are opened in the order of their starts. */
    int64_t from = parent && parent->covered > last->range.start ? parent->covered : last->range.start;
    *taken = parent && last->range.end > from ? last->range.end - from : 0;
    if (*taken > 0)
        parent->covered = last->range.end;
    return 0;
}

struct cell range_forest_path_cell(const struct range_forest *forest, const struct trace *trace, struct table *table,
                                   uint32_t node)
{
    const struct range_node *way[PATH_NAMES], *nodes = forest->nodes.items;
    unsigned count = 0;
    for (; node && count < PATH_NAMES; node = nodes[node - 1].parent)
        way[count++] = &nodes[node - 1];
    struct buffer path;
    buffer_init_memory(&path);
    if (node)
        buffer_text(&path, "…/");
    for (unsigned i = count; i-- > 0;) {
        buffer_text(&path, trace_text(trace, way[i]->name));
        if (i > 0)
            buffer_char(&path, '/');
    }
    return table_text_from_buffer(table, &path);
}
