/*
 * The section operators shows PyTorch's operators by name: how long the host was in them, and the GPU operations that
 * they launched. The figures are defined as in torch.profiler's table: an operator's own host time excludes operators
 * and API calls within it; its own GPU time is that of the operations that it launched itself; times of GPU operations
 * are added up even if they overlap. Operations that CUDA graphs replay, which that table lacks, have a column of their
 * own and count for the innermost operator in which they were captured.
 */
#include "common/buffer.h"
#include "common/array.h"
#include "common/map.h"
#include "analysis/base/cost_sum.h"
#include "analysis/engine/section.h"

/* The key of a row. `shapes` is only used with by_shape; else the key is `name` alone. */
struct operator_key {
    uint64_t name, shapes; /* of trace.strings; EVENT_NO_TEXT: the shapes were not recorded */
};

struct operator_row {
    int64_t calls, host, own_host, gpu, own_gpu, launches, replayed;
};

struct operators {
    struct tally rows; /* struct operator_row by struct operator_key */
    bool by_shape;
    struct sorter launched;
    ARRAY(struct open_operator) open; /* outermost first */
};

struct open_operator {
    struct range range;
    int64_t within; /* ns of its direct operators and API calls */
    int64_t gpu, own_gpu, launches;
    uint32_t children;        /* the number of these operators and API calls */
    struct operator_row same; /* figures of its first child, if that has its name, until it closes */
    uint32_t same_shapes;     /* shapes of that child */
};

static void init(void *state, const struct trace *trace)
{
    struct operators *operators = state;
    operators->by_shape = trace->options->by_shape;
    launched_ops_init(&operators->launched, trace->space);
}

static int add_figures(struct operators *operators, uint32_t name, uint32_t shapes, const struct operator_row *figures)
{
    struct operator_key key = {name, shapes};
    struct operator_row *row = operators->by_shape ? tally_item(&operators->rows, &key, struct operator_row)
                                                   : tally_item(&operators->rows, &key.name, struct operator_row);
    if (row) {
        row->calls += figures->calls;
        sum_add(&row->host, figures->host);
        sum_add(&row->own_host, figures->own_host);
        sum_add(&row->gpu, figures->gpu);
        sum_add(&row->own_gpu, figures->own_gpu);
        row->launches += figures->launches;
    }
    return row ? 0 : -1;
}

static struct open_operator *innermost(struct operators *operators)
{
    return operators->open.count > 0 ? &operators->open.items[operators->open.count - 1] : NULL;
}

/* Closes the operators that have ended by TIME on THREAD, and all operators of other threads. Returns 0, or -1: no
 * memory. */
static int close_ended(struct operators *operators, uint32_t thread, int64_t time)
{
    while (operators->open.count > 0) {
        const struct range *last = &operators->open.items[operators->open.count - 1].range;
        if (last->thread == thread && last->end > time)
            return 0;
        const struct open_operator *closed = &operators->open.items[--operators->open.count];
        struct open_operator *outer = innermost(operators);
        /* An operator and its only child count as one call if they have the same name. */
        int64_t host = closed->range.end - closed->range.start;
        struct operator_row figures = {.calls = 1, .host = host, .gpu = closed->gpu};
        figures.own_host = host > closed->within ? host - closed->within : 0;
        figures.own_gpu = closed->own_gpu;
        figures.launches = closed->launches;
        if (closed->children == 1) {
            sum_add(&figures.own_host, closed->same.own_host);
            sum_add(&figures.own_gpu, closed->same.own_gpu);
            figures.launches += closed->same.launches;
        }
        if (outer) {
            outer->children++;
            sum_add(&outer->within, closed->range.end - closed->range.start);
            sum_add(&outer->gpu, closed->gpu);
        }
        uint32_t name = closed->range.name;
        if (closed->same.calls > 0 && closed->children > 1 &&
            add_figures(operators, name, closed->same_shapes, &closed->same) < 0)
            return -1;
        if (outer && outer->range.name == name && outer->children == 1) {
            outer->same = figures;
            outer->same_shapes = closed->range.shapes;
            continue;
        }
        if (add_figures(operators, name, closed->range.shapes, &figures) < 0)
            return -1;
    }
    return 0;
}

static bool is_before(uint32_t thread, int64_t time, uint32_t other_thread, int64_t other_time)
{
    return thread != other_thread ? thread < other_thread : time <= other_time;
}

/* Merges walks over operators, calls and GPU operations. If all begin at one time on a thread, the operator contains
 * the call, and the call contains the operation. Returns 0, or -1: no memory, or after error(). */
static int add_all(struct operators *operators, const struct trace *trace)
{
    struct sorter_walk ranges, ops;
    struct host_calls_walk calls;
    int status = 0;
    sorter_walk_begin(&ranges, &trace->operators.sorter);
    sorter_walk_begin(&ops, &operators->launched);
    host_calls_walk_begin(&calls, &trace->host_calls);
    const struct range *range = sorter_next(&ranges);
    const struct host_call *call = host_calls_next(&calls);
    const struct launched_op *op = sorter_next(&ops);
    while (status == 0 && (range || operators->open.count > 0) && (range || call || op)) {
        bool range_first = range && (!call || is_before(range->thread, range->start, call->thread, call->start)) &&
                           (!op || is_before(range->thread, range->start, op->thread, op->called));
        bool call_first = call && (!op || is_before(call->thread, call->start, op->thread, op->called));
        if (range_first) {
            status = close_ended(operators, range->thread, range->start);
            struct open_operator *opened = status == 0 ? array_push(&operators->open) : NULL;
            if (opened)
                opened->range = *range;
            status = opened ? 0 : -1;
            range = sorter_next(&ranges);
        } else if (call_first) {
            status = close_ended(operators, call->thread, call->start);
            struct open_operator *around = innermost(operators);
            if (around) {
                sum_add(&around->within, call->end - call->start);
                around->children++;
            }
            call = host_calls_next(&calls);
        } else {
            status = close_ended(operators, op->thread, op->called);
            struct open_operator *around = innermost(operators);
            if (around) {
                sum_add(&around->gpu, op->duration);
                sum_add(&around->own_gpu, op->duration);
                around->launches++;
            }
            op = sorter_next(&ops);
        }
    }
    status = status ?: close_ended(operators, LAUNCHED_NO_THREAD, INT64_MAX);
    int walked_ranges = sorter_walk_end(&ranges), walked_ops = sorter_walk_end(&ops);
    int walked_calls = host_calls_walk_end(&calls);
    return status ? status : walked_ranges ? walked_ranges : walked_ops ? walked_ops : walked_calls;
}

/* Adds replayed operations to the operators in which they were captured. With by_shape nothing is added, because the
 * shapes are not known. Returns 0, or -1: no memory, or after error(). */
static int add_replayed(struct operators *operators, const struct trace *trace)
{
    struct sorter_walk walk;
    const struct launched_op *op;
    if (operators->by_shape || trace->captured.paths.count == 0)
        return 0;
    sorter_walk_begin(&walk, &operators->launched);
    while ((op = sorter_next(&walk))) {
        /* Find the innermost name of the path that is the name of an operator. */
        const struct captured_path *path = op->captured ? captured_path(&trace->captured, op->captured) : NULL;
        uint32_t row = DENSE_MAP_NONE;
        for (uint32_t i = path ? path->count : 0; i-- > 0 && row == DENSE_MAP_NONE;) {
            const uint64_t name = trace->captured.names.items[path->first + i];
            row = dense_map_lookup(&operators->rows.keys, &name, sizeof(name));
        }
        if (row != DENSE_MAP_NONE)
            sum_add(&TALLY_AT(&operators->rows, struct operator_row, row)->replayed, op->duration);
    }
    return sorter_walk_end(&walk);
}

static int gather(void *state, const struct trace *trace)
{
    struct operators *operators = state;
    if (trace->operators.count == 0)
        return 0;
    int status = launched_ops_gather(&operators->launched, &trace->gpu_ops, &trace->calls, &trace->stream_owners);
    return status ?: add_all(operators, trace) ?: add_replayed(operators, trace);
}

/* --- */

static FILL(own_share, cell_share(row_integer(row, column), row->table->whole))

    /* Sorting by this column also puts operators first whose work is mostly replayed. */
    static FILL(all_gpu, cell_integer(ROW_ITEM(operator_row)->own_gpu + ROW_ITEM(operator_row)->replayed))

        static struct cell fill_shapes(struct report_row *row, const struct column *column)
{
    const struct report_options *options = row->trace->options;
    uint64_t shapes = options->by_shape ? *(const uint64_t *)row_field(row, column) : EVENT_NO_TEXT;
    if (shapes == EVENT_NO_TEXT)
        return (struct cell){0};
    const struct interned *text = interner_at(&row->trace->strings, (uint32_t)shapes);
    if (text->length < 2 || *text->text != '[')
        return (struct cell){0};
    struct buffer buffer;
    buffer_init_memory(&buffer);
    bool whole = text->text[text->length - 1] == ']'; /* the text was not cut */
    /* Write "8×128, 50257×768"; an input without dimensions is "-", a list of tensors "[8, 4×2]". The outermost
     * brackets of the text are left out. */
    for (const char *at = text->text + 1; at < text->text + text->length - whole; at++) {
        char c = *at, before = at[-1], next = at[1];
        if (c == '[' && next == ']')
            buffer_char(&buffer, '-');
        else if (c == '[' ? next == '[' : c == ']' && before == ']')
            buffer_char(&buffer, c);
        else if (c == ',')
            buffer_text(&buffer, before == ']' || next == '[' ? ", " : options->ascii ? "x" : "×");
        else if (c != '[' && c != ']')
            buffer_char(&buffer, c);
    }
    return table_text_from_buffer(row->table, &buffer);
}

static const struct column columns[] = {
    {"time", "Time", TYPE_PERCENT, COLUMN_SUM, fill_own_share, FROM_ITEM(operator_row, own_host)},
    {"self_host", "Self host", TYPE_NS, COLUMN_SUM, fill_number, FROM_ITEM(operator_row, own_host)},
    {"host", "Host", TYPE_NS, 0, fill_number, FROM_ITEM(operator_row, host)},
    {"avg", "Avg host", TYPE_NS, 0, fill_quotient, FROM_ITEM(operator_row, host), PER_ITEM(operator_row, calls)},
    {"self_gpu", "Self GPU", TYPE_NS, COLUMN_SUM, fill_number, FROM_ITEM(operator_row, own_gpu)},
    {"gpu", "GPU", TYPE_NS, 0, fill_number, FROM_ITEM(operator_row, gpu)},
    {"replayed", "Replayed", TYPE_NS, COLUMN_OPTIONAL | COLUMN_SUM, fill_some, FROM_ITEM(operator_row, replayed)},
    {"all_gpu", "Self GPU and replayed", TYPE_NS, COLUMN_MACHINE, .fill = fill_all_gpu},
    {"calls", "Calls", TYPE_COUNT, COLUMN_SUM, fill_number, FROM_ITEM(operator_row, calls)},
    {"launches", "Launches", TYPE_COUNT, COLUMN_SUM, fill_number, FROM_ITEM(operator_row, launches)},
    {"shapes", "Input shapes", TYPE_TEXT, COLUMN_OPTIONAL, fill_shapes, FROM_KEY(operator_key, shapes)},
    COLUMN_NAME,
};

ORDER_WITH(longest_first, struct operator_row, ORDER(b->own_host, a->own_host))

/* Adds the rows by own host time, so that rows that are equal in the column that sorts have this order. */
static void finish(struct report_row *row)
{
    const struct operators *operators = row->state;
    const struct operator_row *items = operators->rows.items;
    for (size_t i = 0; i < operators->rows.count; i++)
        sum_add(&row->table->whole, items[i].own_host);
    section_rows_ordered(row, &operators->rows.keys, items, operators->rows.count, sizeof(*items), longest_first);
}

static void release(void *state)
{
    struct operators *operators = state;
    sorter_release(&operators->launched);
    array_release(&operators->open);
}

const struct section section_operators = {
    SECTION_COLUMNS(columns),
    .state_size = sizeof(struct operators),
    SECTION_STATE_PLAIN_TALLY(struct operator_row),
    .comparable =
        {.noun = "operator", .keys = {"name"}, .total = "self_gpu", .count = "calls", .floor = FLOOR_OPERATOR},
    .sort = "all_gpu",
    .indexes = {.calls = true, .operators = true, .host_calls = true, .timeline = true},
    .init = init,
    .gather = gather,
    .finish = finish,
    .release = release,
};
