/*
 * One walk over ranges and operations by thread and call. It adds each operation to all open rows, until that takes too
 * many steps; the spans of all rows are recorded, so that range_depth.h can compute the times then.
 */
#include "analysis/ranges/range_rows.h"

#include "common/buffer.h"
#include "analysis/base/table.h"

/* A row with a range that is, or was lately, open on the thread of the walk. */
struct open_row {
    uint32_t row;
    size_t span; /* index in depth.spans */
};

struct gathering {
    const struct range_rows *rows;
    struct range_busy outside, inside, captured;
    struct range_depth depth;
    ARRAY(struct open_row) open;
    ARRAY(uint32_t) places; /* by row: index + 1 in open */
    uint32_t thread;
    int64_t latest; /* the last end of its ranges so far */
    uint64_t steps; /* that are left */
    bool too_deep;
};

/* Opens RANGE in ROW. Overlapping ranges of a row are one. */
static int open_row(struct gathering *gathering, uint32_t row, const struct range *range)
{
    if (range->thread != gathering->thread) {
        for (size_t i = 0; i < gathering->open.count; i++)
            gathering->places.items[gathering->open.items[i].row] = 0;
        gathering->open.count = 0;
        gathering->thread = range->thread;
        gathering->latest = INT64_MIN;
    }
    gathering->latest = range->end > gathering->latest ? range->end : gathering->latest;
    uint32_t *place = array_at(&gathering->places, row);
    if (!place)
        return -1;
    struct range_depth_span *span =
        *place ? &gathering->depth.spans.items[gathering->open.items[*place - 1].span] : NULL;
    if (span && span->last >= range->start) {
        span->last = range->end > span->last ? range->end : span->last;
        return 0;
    }
    if (*place == 0) {
        if (!array_push(&gathering->open))
            return -1;
        *place = (uint32_t)gathering->open.count;
    }
    gathering->open.items[*place - 1] = (struct open_row){row, gathering->depth.spans.count};
    return range_depth_span(&gathering->depth, row, range);
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

/* Adds an operation to all rows that are open. */
static int add_inside(struct gathering *gathering, const struct launched_op *op, uint32_t gpu)
{
    if (gathering->open.count > gathering->steps) {
        gathering->too_deep = true;
        range_busy_release(&gathering->inside);
        return 0;
    }
    gathering->steps -= gathering->open.count;
    for (size_t i = 0; i < gathering->open.count;) {
        struct open_row *open = &gathering->open.items[i];
        if (gathering->depth.spans.items[open->span].last < op->called) {
            gathering->places.items[open->row] = 0;
            *open = gathering->open.items[--gathering->open.count];
            if (i < gathering->open.count)
                gathering->places.items[open->row] = (uint32_t)i + 1;
        } else if (range_busy_add(&gathering->inside, open->row, gpu, op->start, op->duration) < 0)
            return -1;
        else
            i++;
    }
    return 0;
}

/* Adds an operation to the rows of the ranges that it was captured in. */
static int add_captured(struct gathering *gathering, const struct launched_op *op, uint32_t gpu)
{
    const struct range_rows *rows = gathering->rows;
    const struct captured *captured = &rows->trace->captured;
    const struct captured_path *path = captured_path(captured, op->captured);
    for (uint32_t i = 0; i < path->count; i++) {
        uint32_t row = rows->captured(rows->context, captured->names.items[path->first + i]);
        if (row == RANGE_ROW_NONE || range_busy_add(&gathering->captured, row, gpu, op->start, op->duration) < 0)
            return -1;
    }
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
    uint32_t gpu = range_rows_gpu(rows, op);
    if (is_captured && add_captured(gathering, op, gpu) < 0)
        return -1;
    if (rows->operation && rows->operation(rows->context, op, outside) < 0)
        return -1;
    if (outside)
        return range_busy_add(&gathering->outside, RANGE_ROW_OUTSIDE, gpu, op->start, op->duration);
    return in_none || gathering->too_deep ? 0 : add_inside(gathering, op, gpu);
}

static int add_rest(void *context, struct range_walk *walk)
{
    return open_ranges(context, walk, UINT32_MAX, INT64_MAX);
}

static int add_all(struct range_busy *busy, struct range_busy *from)
{
    if (range_busy_finish(from) < 0)
        return -1;
    for (size_t i = 0; i < from->gpus.count; i++) {
        const uint64_t *row_and_gpu = dense_map_row(&from->ids, i);
        if (range_busy_put(busy, (uint32_t)row_and_gpu[0], (uint32_t)row_and_gpu[1], from->gpus.items[i].sum.total) < 0)
            return -1;
    }
    return 0;
}

/* Computes the times of all rows by their spans, after too many rows were open at once. */
static int measure_depth(struct range_depth *depth, const struct range_rows *rows, struct range_busy *busy)
{
    struct sorter_walk walk;
    const struct launched_op *op;
    int status = 0;
    sorter_walk_begin(&walk, &rows->trace->launched_ops);
    while (status == 0 && (op = sorter_next(&walk)) && op->thread != LAUNCHED_NO_THREAD) {
        const struct cover_operation operation = {.called = op->called,
                                                  .start = op->start,
                                                  .end = op->start + op->duration,
                                                  .thread = op->thread,
                                                  .gpu = range_rows_gpu(rows, op)};
        status = ADD(file_vector_push, &depth->operations, operation) ? 0 : -1;
    }
    status = sorter_walk_end(&walk) ?: status;
    return status ?: range_depth_measure(depth, &rows->limit, busy);
}

int range_rows_gather(const struct range_rows *rows, struct range_busy *busy)
{
    struct gathering gathering = {.rows = rows, .steps = rows->limit.all, .thread = UINT32_MAX, .latest = INT64_MIN};
    const struct trace *trace = rows->trace;
    if (!trace_has_ranges(trace))
        return 0;
    range_busy_init(&gathering.outside, trace->space);
    range_busy_init(&gathering.captured, trace->space);
    range_busy_init(&gathering.inside, trace->space);
    range_depth_init(&gathering.depth, temporary_directory());
    int status = range_walk_ops(&trace->ranges, rows->nesting, &trace->launched_ops, add_op, add_rest, &gathering);
    status = status ?: add_all(busy, &gathering.outside);
    status = status ?: add_all(busy, &gathering.captured);
    if (status == 0 && !gathering.too_deep)
        status = add_all(busy, &gathering.inside);
    else if (status == 0)
        status = measure_depth(&gathering.depth, rows, busy);
    range_busy_release(&gathering.outside);
    range_busy_release(&gathering.captured);
    if (!gathering.too_deep)
        range_busy_release(&gathering.inside);
    range_depth_release(&gathering.depth);
    array_release(&gathering.open);
    array_release(&gathering.places);
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

struct cell fill_range_name(struct report_row *row, const struct column *column)
{
    const struct range_kind *kind = row->key;
    return kind->form == RANGE_IN_NONE ? table_text(row->table, RANGE_OUTSIDE) : fill_name(row, column);
}

#define PATH_NAMES 32u /* at most: recursion makes very long paths */

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

/* Returns the part of RANGE that no earlier inner range of PARENT covers. Inner ranges come by their start. */
static int64_t cover_time(struct range_open *parent, const struct range *range)
{
    int64_t from = range->start > parent->covered ? range->start : parent->covered;
    if (range->end <= from)
        return 0;
    parent->covered = range->end;
    return range->end - from;
}

int range_forest_place(struct range_forest *forest, struct range_walk *walk, int64_t *taken)
{
    struct range_open *last = &walk->open.items[walk->open.count - 1];
    struct range_open *parent = last->outer ? &walk->open.items[last->outer - 1] : NULL;
    struct range_node *node = find_node(forest, &last->range, parent ? parent->node + 1 : 0);
    if (!node)
        return -1;
    last->node = (uint32_t)(node - forest->nodes.items);
    *taken = parent ? cover_time(parent, &last->range) : 0;
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
