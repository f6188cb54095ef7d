/*
 * Lines of the program, by what they cost: the GPU time that they launched, the time that they waited for the GPU, and
 * the memory that they asked for. A line is the place that a call stack is known by (frames_place()).
 *
 * As a rule only some launches have their stack. Those of one kernel and grid are taken to be spread over the program's
 * lines as the ones with a stack are, so their time is scaled to the time of all of them. What has no stack in any
 * launch is a row of its own.
 */
#include "analysis/model/section.h"

/* What launches have in common that one of them stands for. */
struct lines_launched {
    uint64_t name;
    int64_t size; /* blocks of a kernel; of copies and sets the number of binary digits of their bytes */
};

struct lines_sum {
    int64_t ns, count;
};

struct lines_all {
    struct lines_sum all, sampled;
};

struct lines_sampled {
    uint64_t launched; /* number of a struct lines_launched */
    int64_t stack;
};

struct line {
    int64_t gpu_ns, measured_ns, operations;
    int64_t wait_ns, waits;
    int64_t bytes, allocations;
    int64_t stack, stack_cost; /* the stack that costs most: ns, or bytes where no time is spent */
};

struct lines_sums {
    struct lines_sum *items;
    size_t count, capacity;
};

struct lines {
    struct tally lines; /* struct line by struct name_key; the name is a place */
    struct dense_map launched, sampled, waits, allocations;
    ARRAY(struct lines_all) launched_sums;
    struct lines_sums sampled_sums, wait_sums, allocation_sums; /* of the last, bytes in place of ns */
    struct call_kinds kinds;
    int64_t gpu_ns;
};

static int64_t digits_of(int64_t bytes)
{
    return bytes > 0 ? 64 - __builtin_clzll((unsigned long long)bytes) : 0;
}

static int add_gpu_op(struct lines *lines, const struct gpu_op *op)
{
    const struct lines_launched launched = {op->name, op->kernel ? op->size : digits_of(op->size)};
    struct lines_all *all = dense_map_item(&lines->launched, &launched, &lines->launched_sums);
    if (!all)
        return -1;
    all->all.ns += op->duration;
    all->all.count++;
    if (op->stack == 0)
        return 0;
    const struct lines_sampled key = {(uint64_t)(all - lines->launched_sums.items), op->stack};
    struct lines_sum *sampled = dense_map_item(&lines->sampled, &key, &lines->sampled_sums);
    if (!sampled)
        return -1;
    all->sampled.ns += op->duration;
    all->sampled.count++;
    sampled->ns += op->duration;
    sampled->count++;
    return 0;
}

/* In a trace without stacks there is nothing to do. */
static int gather(void *state, const struct trace *trace)
{
    struct sorter_walk walk;
    const struct gpu_op *op;
    int status = 0;
    if (trace->frames.count == 0)
        return 0;
    sorter_walk_begin(&walk, &trace->gpu_ops);
    while (status == 0 && (op = sorter_next(&walk)))
        status = add_gpu_op(state, op);
    int walked = sorter_walk_end(&walk);
    return status ? status : walked;
}

static int add(struct dense_map *stacks, struct lines_sums *sums, const struct event_fields *event, int64_t amount)
{
    struct lines_sum *sum = dense_map_item(stacks, &event->stack, sums);
    if (!sum)
        return -1;
    sum->ns += amount;
    sum->count++;
    return 0;
}

static int event(void *state, const struct trace *trace, const struct event_fields *event)
{
    struct lines *lines = state;
    if (event->stack == EVENT_NONE)
        return 0;
    if (event->category != CATEGORY_MEMORY)
        return call_kind_waits(call_kinds_find(&lines->kinds, &trace->strings, event->name))
                   ? add(&lines->waits, &lines->wait_sums, event, event->duration)
                   : 0;
    bool failed = event->return_value != EVENT_NONE && event->return_value != 0;
    return failed ? 0 : add(&lines->allocations, &lines->allocation_sums, event, event->bytes > 0 ? event->bytes : 0);
}

/* The line of a stack, of which this costs COST. NULL: no memory. */
static struct line *line_of(struct report_row *row, int64_t stack, int64_t cost)
{
    struct lines *lines = row->state;
    const struct trace_frame *place = trace_stack_place(row->trace, stack);
    const struct name_key key = {place ? place->place : EVENT_NO_TEXT};
    size_t known = lines->lines.count;
    struct line *line = tally_item(&lines->lines, &key, struct line);
    if (line && (lines->lines.count > known || cost > line->stack_cost)) {
        line->stack = place ? stack : EVENT_NONE;
        line->stack_cost = cost;
    }
    return line;
}

static int64_t scaled(int64_t part, int64_t sampled, int64_t all)
{
    return sampled > 0 ? (int64_t)((double)part * ((double)all / (double)sampled) + 0.5) : 0;
}

static int gather_launches(struct report_row *row)
{
    struct lines *lines = row->state;
    for (size_t i = 0; i < lines->sampled_sums.count; i++) {
        const struct lines_sampled *key = dense_map_row(&lines->sampled, i);
        const struct lines_all *all = &lines->launched_sums.items[key->launched];
        const struct lines_sum *sum = &lines->sampled_sums.items[i];
        int64_t ns = scaled(sum->ns, all->sampled.ns, all->all.ns);
        struct line *line = line_of(row, key->stack, ns);
        if (!line)
            return -1;
        line->gpu_ns += ns;
        line->measured_ns += sum->ns;
        line->operations += scaled(sum->count, all->sampled.count, all->all.count);
    }
    for (size_t i = 0; i < lines->launched_sums.count; i++) {
        const struct lines_all *all = &lines->launched_sums.items[i];
        lines->gpu_ns += all->all.ns;
        if (all->sampled.count > 0 || lines->sampled_sums.count == 0)
            continue;
        struct line *line = line_of(row, EVENT_NONE, 0);
        if (!line)
            return -1;
        line->gpu_ns += all->all.ns;
        line->operations += all->all.count;
    }
    return 0;
}

static int gather_others(struct report_row *row)
{
    struct lines *lines = row->state;
    for (size_t i = 0; i < lines->wait_sums.count; i++) {
        const struct lines_sum *sum = &lines->wait_sums.items[i];
        struct line *line = line_of(row, *(const int64_t *)dense_map_row(&lines->waits, i), sum->ns);
        if (!line)
            return -1;
        line->wait_ns += sum->ns;
        line->waits += sum->count;
    }
    for (size_t i = 0; i < lines->allocation_sums.count; i++) {
        const struct lines_sum *sum = &lines->allocation_sums.items[i];
        struct line *line = line_of(row, *(const int64_t *)dense_map_row(&lines->allocations, i), 0);
        if (!line)
            return -1;
        line->bytes += sum->ns;
        line->allocations += sum->count;
    }
    return 0;
}

static int finish(struct report_row *row)
{
    struct lines *lines = row->state;
    if (gather_launches(row) < 0 || gather_others(row) < 0)
        return -1;
    return section_rows(row, &lines->lines.keys, lines->lines.items, lines->lines.count, sizeof(struct line));
}

/* --- columns --- */

static struct cell fill_gpu_share(struct report_row *row, const struct column *column)
{
    const struct lines *lines = row->state;
    int64_t part = row_integer(row, column);
    return part > 0 ? cell_share(part, lines->gpu_ns) : (struct cell){0};
}

static struct cell fill_measured(struct report_row *row, const struct column *column)
{
    const struct line *line = row->item;
    (void)column;
    return line->gpu_ns > 0 ? cell_share(line->measured_ns, line->gpu_ns) : (struct cell){0};
}

static struct cell fill_line(struct report_row *row, const struct column *column)
{
    const struct name_key *key = row->key;
    return key->name == EVENT_NO_TEXT ? table_text(row->table, "(no stack recorded)") : fill_name(row, column);
}

static struct cell fill_stack(struct report_row *row, const struct column *column)
{
    return trace_stack_cell(row->trace, row->table, row_integer(row, column));
}

/* Rows with GPU time come first, and those that only ask for memory last. */
static struct cell fill_cost(struct report_row *row, const struct column *column)
{
    const struct line *line = row->item;
    (void)column;
    return cell_integer(line->gpu_ns + line->wait_ns);
}

static const struct column columns[] = {
    {"share", "GPU", TYPE_PERCENT, COLUMN_OPTIONAL | COLUMN_SUM, fill_gpu_share, FROM_ITEM(line, gpu_ns)},
    {"gpu", "GPU time", TYPE_NS, COLUMN_OPTIONAL | COLUMN_SUM, fill_some, FROM_ITEM(line, gpu_ns)},
    {"measured", "Measured", TYPE_PERCENT, COLUMN_OPTIONAL, .fill = fill_measured, .importance = 40},
    {"operations", "Operations", TYPE_COUNT, COLUMN_OPTIONAL | COLUMN_SUM, fill_some, FROM_ITEM(line, operations)},
    {"waited", "Waited", TYPE_NS, COLUMN_OPTIONAL, fill_some, FROM_ITEM(line, wait_ns)},
    {"waits", "Waits", TYPE_COUNT, COLUMN_OPTIONAL | COLUMN_SUM, fill_some, FROM_ITEM(line, waits), .importance = 60},
    {"bytes", "Allocated", TYPE_BYTES, COLUMN_OPTIONAL | COLUMN_SUM, fill_some, FROM_ITEM(line, bytes)},
    {"allocations", "Allocations", TYPE_COUNT, COLUMN_OPTIONAL | COLUMN_SUM, fill_some, FROM_ITEM(line, allocations),
     .importance = 60},
    {"cost", "GPU time and waits", TYPE_NS, COLUMN_MACHINE, .fill = fill_cost},
    {"name", "Line", TYPE_TEXT, 0, fill_line, FROM_KEY(name_key, name)},
    {"stack", "Call stack", TYPE_TEXT, COLUMN_MACHINE, fill_stack, FROM_ITEM(line, stack)},
};

static void release(void *state)
{
    struct lines *lines = state;
    struct dense_map *const maps[] = {&lines->launched, &lines->sampled, &lines->waits, &lines->allocations};
    for (size_t i = 0; i < sizeof(maps) / sizeof(*maps); i++)
        dense_map_release(maps[i]);
    array_release(&lines->launched_sums);
    array_release(&lines->sampled_sums);
    array_release(&lines->wait_sums);
    array_release(&lines->allocation_sums);
    array_release(&lines->kinds.items);
}

const struct section section_lines = {
    SECTION_COLUMNS(columns),
    .state_size = sizeof(struct lines),
    SECTION_STATE_TALLY(struct line, 0),
    .usual = 10,
    .sort = "cost",
    .categories = CATEGORIES_API | CATEGORY_BIT(CATEGORY_MEMORY),
    .stacks = true,
    .launched_ops = true,
    .event = event,
    .gather = gather,
    .finish = finish,
    .release = release,
};
