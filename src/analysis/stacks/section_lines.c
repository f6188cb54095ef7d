/*
 * The section lines shows what lines of the program cost: the GPU time that they launched, the time that they waited
 * for the GPU, and the memory that they allocated. The line of a call stack is the place that represents it
 * (frames_place()).
 *
 * PyTorch's threads of the backward pass run no Python. Their launches count for the line of the operator of the
 * forward pass, if the trace has it ("forward at"), else for the line that called the backward pass ("backward at"), if
 * only one line did. Launches whose stack has no line of the program count for the operator that launched them, else
 * for the function of the library.
 *
 * Usually only some launches have a stack. It is assumed that all launches of a kernel and grid are spread over lines
 * as the launches with a stack are, so the time of the latter is scaled to the time of all. Launches of kernels without
 * any stack are a row of their own.
 */
#include <ctype.h>
#include <string.h>

#include "common/buffer.h"
#include "analysis/base/cost_sum.h"
#include "analysis/engine/section.h"
#include "analysis/engine/trace_stacks.h"
#include "trace/frames.h"

/* The key of launches that are assumed to be spread over lines alike. */
struct lines_launched {
    uint64_t name;
    int64_t size;     /* blocks of a kernel; binary digits of the bytes of a copy or set */
    int64_t backward; /* 1: launched by a backward pass that has the line of its caller */
};

struct lines_sum {
    int64_t ns, count;
};

struct lines_all {
    struct lines_sum all, sampled;
    struct lines_sum forward,
        in_operator; /* parts of `sampled`: with a line of the forward pass; with only an operator */
};

struct lines_sampled {
    uint64_t launched; /* number of a struct lines_launched */
    int64_t stack;
};

struct line {
    int64_t gpu_ns, measured_ns, operations;
    int64_t wait_ns, waits;
    int64_t bytes, allocations;
    int64_t stack, stack_cost; /* the stack that costs most, and its cost: GPU time or waits, ns */
};

struct lines_sums {
    struct lines_sum *items;
    size_t count, capacity;
};

enum line_kind { LINE_PLACE, LINE_FORWARD, LINE_BACKWARD, LINE_OPERATOR };

struct line_key {
    uint64_t name; /* a place, or the name of an operator; EVENT_NO_TEXT: no stack */
    uint64_t kind; /* enum line_kind */
};

struct lines {
    struct tally lines; /* struct line by struct line_key */
    struct dense_map launched, sampled, waits, allocations;
    ARRAY(struct lines_all) launched_sums;
    struct lines_sums sampled_sums, wait_sums, allocation_sums; /* allocation_sums: `ns` has bytes */
    struct call_kinds kinds;
    int64_t gpu_ns;
};

static void add_sum(struct lines_sum *sum, const struct lines_sum *more)
{
    sum_add(&sum->ns, more->ns);
    sum->count += more->count;
}

static int add_gpu_op(struct lines *lines, const struct gpu_op *op)
{
    bool backward = op->stack & GPU_OP_BACKWARD;
    int64_t digits = op->size > 0 ? 64 - __builtin_clzll((unsigned long long)op->size) : 0;
    const struct lines_launched launched = {op->name, op->kernel ? op->size : digits, backward};
    struct lines_all *all = dense_map_item(&lines->launched, &launched, &lines->launched_sums);
    if (!all)
        return -1;
    sum_add(&all->all.ns, op->duration);
    all->all.count++;
    if (op->stack == 0)
        return 0;
    const struct lines_sampled key = {(uint64_t)(all - lines->launched_sums.items), op->stack};
    struct lines_sum *sampled = dense_map_item(&lines->sampled, &key, &lines->sampled_sums);
    if (!sampled)
        return -1;
    sum_add(&all->sampled.ns, op->duration);
    all->sampled.count++;
    sum_add(&sampled->ns, op->duration);
    sampled->count++;
    return 0;
}

/* Adds launches and waits if the profiler recorded Python functions, so that all launches and calls have stacks.
 * Returns 0, or -1: no memory, or after error(). */
static int gather_python(struct lines *lines, const struct trace *trace)
{
    struct sorter_walk walk;
    const struct launched_op *op;
    int status = 0;
    sorter_walk_begin(&walk, &trace->launched_ops);
    while (status == 0 && (op = sorter_next(&walk))) {
        const struct gpu_op one = {
            .name = op->name, .duration = op->duration, .kernel = op->kernel, .stack = op->stack};
        status = add_gpu_op(lines, &one);
    }
    int walked = sorter_walk_end(&walk);
    for (size_t i = 0; status == 0 && i < trace->python_sums.count; i++) {
        const struct python_call *key = dense_map_row(&trace->python_calls, i);
        const struct python_sum *sum = &trace->python_sums.items[i];
        if (!call_kind_waits(call_kinds_find(&lines->kinds, &trace->strings, (uint32_t)key->name)))
            continue;
        struct lines_sum *waits = dense_map_item(&lines->waits, &key->stack, &lines->wait_sums);
        status = waits ? 0 : -1;
        if (waits)
            add_sum(waits, &(struct lines_sum){sum->ns, sum->count});
    }
    return status ?: walked;
}

/* Adds the operations of the trace, unless it has no stacks. */
static int gather(void *state, const struct trace *trace)
{
    const struct gpu_op *op;
    if (trace->frames.count == 0)
        return 0;
    if (trace->python_sums.count > 0)
        return gather_python(state, trace);
    return SORTER_EACH(&trace->gpu_ops, op, add_gpu_op(state, op));
}

static int add(struct dense_map *stacks, struct lines_sums *sums, const struct event_fields *event, int64_t amount)
{
    struct lines_sum *sum = dense_map_item(stacks, &event->stack, sums);
    if (!sum)
        return -1;
    sum_add(&sum->ns, amount);
    sum->count++;
    return 0;
}

static int event(void *state, const struct trace *trace, const struct event_fields *event)
{
    struct lines *lines = state;
    if (event->stack < 0 || event->stack >= GPU_OP_STACKS) /* key_of() takes larger numbers for texts */
        return 0;
    if (event->category != CATEGORY_MEMORY)
        return call_kind_waits(call_kinds_find(&lines->kinds, &trace->strings, event->name))
                   ? add(&lines->waits, &lines->wait_sums, event, event->duration)
                   : 0;
    bool failed = event->return_value != FIELD_ABSENT && event->return_value != 0;
    return failed ? 0 : add(&lines->allocations, &lines->allocation_sums, event, event->bytes > 0 ? event->bytes : 0);
}

/* Returns the key of the line of a stack, or of a text in place of a stack (GPU_OP_STACKS and above). */
static struct line_key key_of(const struct trace *trace, int64_t stack)
{
    if (stack != FIELD_ABSENT && stack >= GPU_OP_STACKS)
        return (struct line_key){(uint64_t)stack % GPU_OP_STACKS,
                                 stack & GPU_OP_FORWARD ? LINE_FORWARD : LINE_BACKWARD};
    const struct trace_frame *place = trace_stack_place(trace, stack);
    uint32_t within = place && place->owner < FRAME_PYTHON_LIBRARY ? trace_stack_operator(trace, stack) : EVENT_NO_TEXT;
    if (within != EVENT_NO_TEXT)
        return (struct line_key){within, LINE_OPERATOR};
    return (struct line_key){place ? place->place : EVENT_NO_TEXT, LINE_PLACE};
}

/* Returns the line of a stack, which is added if it is new. COST is the ns that this use of the stack costs. Returns
 * NULL without memory. */
static struct line *line_of(struct report_row *row, int64_t stack, int64_t cost)
{
    struct lines *lines = row->state;
    const struct line_key key = key_of(row->trace, stack);
    size_t known = lines->lines.count;
    struct line *line = tally_item(&lines->lines, &key, struct line);
    if (line && (lines->lines.count > known || cost > line->stack_cost)) {
        line->stack = key.name == EVENT_NO_TEXT || stack >= GPU_OP_STACKS ? FIELD_ABSENT : stack;
        line->stack_cost = cost;
    }
    return line;
}

static int64_t scaled(int64_t part, int64_t sampled, int64_t all)
{
    return sampled > 0 ? whole_of((double)part * ((double)all / (double)sampled) + 0.5) : 0;
}

/* Returns the part of ALL that SUM, of launches with lines of KIND, stands for. If some launches of a kernel have a
 * line of the forward pass, launches with only an operator are distributed to these lines, because no launch in their
 * forward operators has a stack. */
static struct lines_sum part_of(const struct lines_all *all, const struct lines_sum *sum, uint64_t kind)
{
    if (all->forward.count == 0 || kind == LINE_PLACE || kind == LINE_BACKWARD)
        return *sum;
    if (kind == LINE_OPERATOR)
        return (struct lines_sum){0};
    return (struct lines_sum){scaled(sum->ns, all->forward.ns, all->forward.ns + all->in_operator.ns),
                              scaled(sum->count, all->forward.count, all->forward.count + all->in_operator.count)};
}

static int gather_launches(struct report_row *row)
{
    struct lines *lines = row->state;
    for (size_t i = 0; i < lines->sampled_sums.count; i++) {
        const struct lines_sampled *key = dense_map_row(&lines->sampled, i);
        struct lines_all *all = &lines->launched_sums.items[key->launched];
        uint64_t kind = key_of(row->trace, key->stack).kind;
        if (kind == LINE_FORWARD || kind == LINE_OPERATOR)
            add_sum(kind == LINE_FORWARD ? &all->forward : &all->in_operator, &lines->sampled_sums.items[i]);
    }
    for (size_t i = 0; i < lines->sampled_sums.count; i++) {
        const struct lines_sampled *key = dense_map_row(&lines->sampled, i);
        const struct lines_all *all = &lines->launched_sums.items[key->launched];
        const struct lines_sum *sum = &lines->sampled_sums.items[i];
        struct lines_sum part = part_of(all, sum, key_of(row->trace, key->stack).kind);
        int64_t ns = scaled(part.ns, all->sampled.ns, all->all.ns);
        struct line *line = part.count > 0 ? line_of(row, key->stack, ns) : NULL;
        if (!line && part.count > 0)
            return -1;
        if (!line)
            continue;
        sum_add(&line->gpu_ns, ns);
        sum_add(&line->measured_ns, sum->ns);
        line->operations += scaled(part.count, all->sampled.count, all->all.count);
    }
    for (size_t i = 0; i < lines->launched_sums.count; i++) {
        const struct lines_all *all = &lines->launched_sums.items[i];
        sum_add(&lines->gpu_ns, all->all.ns);
        if (all->sampled.count > 0 || lines->sampled_sums.count == 0)
            continue;
        struct line *line = line_of(row, FIELD_ABSENT, 0);
        if (!line)
            return -1;
        sum_add(&line->gpu_ns, all->all.ns);
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
        sum_add(&line->wait_ns, sum->ns);
        line->waits += sum->count;
    }
    for (size_t i = 0; i < lines->allocation_sums.count; i++) {
        const struct lines_sum *sum = &lines->allocation_sums.items[i];
        struct line *line = line_of(row, *(const int64_t *)dense_map_row(&lines->allocations, i), 0);
        if (!line)
            return -1;
        sum_add(&line->bytes, sum->ns);
        line->allocations += sum->count;
    }
    return 0;
}

static void finish(struct report_row *row)
{
    struct lines *lines = row->state;
    row->table->no_memory |= gather_launches(row) < 0 || gather_others(row) < 0;
    section_rows(row, &lines->lines.keys, lines->lines.items, lines->lines.count, sizeof(struct line));
}

/* --- columns --- */

static struct cell fill_gpu_share(struct report_row *row, const struct column *column)
{
    const struct lines *lines = row->state;
    int64_t part = row_integer(row, column);
    return part > 0 ? cell_share(part, lines->gpu_ns) : (struct cell){0};
}

/* Returns the position behind the bracket that closes the bracket at AT. */
static const char *pass_brackets(const char *at, char open, char close)
{
    for (int depth = 0; *at; at++) {
        depth += (*at == open) - (*at == close);
        if (depth == 0)
            return at + 1;
    }
    return at;
}

/* Returns the position behind a part of a name whose brackets are not arguments: "operator()", "operator<", "(anonymous
 * namespace)". Returns AT if there is no such part. */
static const char *pass_word(const char *at)
{
    static const char anonymous[] = "(anonymous namespace)", function[] = "operator";
    const size_t length = sizeof(function) - 1;
    if (strncmp(at, anonymous, sizeof(anonymous) - 1) == 0)
        return at + sizeof(anonymous) - 1;
    if (strncmp(at, function, length) != 0 || !ispunct((unsigned char)at[length]) || at[length] == '_')
        return at;
    return at + length + 1 + strcspn(at + length + 1, "(");
}

/* Writes the name of a C++ function without its result, parameters and template arguments, but with its library.
 * TEXT is "RESULT SPACE::NAME<…>(…) (LIBRARY+OFFSET)". */
static void put_function(struct buffer *buffer, const char *text)
{
    const char *at = text;
    for (const char *end; *at && (*at != '(' || pass_word(at) > at); at = end) {
        end = *at == '<' ? pass_brackets(at, '<', '>') : pass_word(at);
        bool is_result = *at == ' ' && at[1] != '(';
        if (end == at)
            end = at + 1;
        if (is_result)
            buffer->length = 0;
        else if (*at != '<')
            buffer_bytes(buffer, at, (size_t)(end - at));
    }
    const char *library = strrchr(at, '(');
    if (library && library > text && library[-1] == ' ') {
        buffer_text(buffer, buffer->length > 0 && buffer->data[buffer->length - 1] == ' ' ? "" : " ");
        buffer_text(buffer, library);
    }
}

static struct cell fill_line(struct report_row *row, const struct column *column)
{
    static const char *const formats[] = {
        [LINE_FORWARD] = "backward of %s",
        [LINE_BACKWARD] = "backward pass of %s",
        [LINE_OPERATOR] = "%s (operator)",
    };
    const struct line_key *key = row->key;
    const struct line *line = row->item;
    const struct trace_frame *place = trace_stack_place(row->trace, line->stack);
    struct buffer buffer;
    if (key->name == EVENT_NO_TEXT)
        return table_text(row->table, "(no stack recorded)");
    bool is_library = key->kind == LINE_PLACE && place && place->owner == FRAME_LIBRARY;
    if (!is_library && key->kind == LINE_PLACE)
        return fill_name(row, column);
    const char *text = trace_text(row->trace, (uint32_t)key->name);
    buffer_init_memory(&buffer);
    if (is_library)
        put_function(&buffer, text);
    else
        buffer_format(&buffer, formats[key->kind], text);
    return table_text_from_buffer(row->table, &buffer);
}

/* Sorting by this column puts rows that only allocate memory last. */
static struct cell fill_cost(struct report_row *row, const struct column *column)
{
    const struct line *line = row->item;
    return cell_integer(sum_of(line->gpu_ns, line->wait_ns));
}

static const struct column columns[] = {
    {"share", "GPU", TYPE_PERCENT, COLUMN_OPTIONAL | COLUMN_SUM, fill_gpu_share, FROM_ITEM(line, gpu_ns)},
    {"gpu", "GPU time", TYPE_NS, COLUMN_OPTIONAL | COLUMN_SUM, fill_some, FROM_ITEM(line, gpu_ns)},
    {"measured", "Measured", TYPE_PERCENT, COLUMN_OPTIONAL, fill_percent, FROM_ITEM(line, measured_ns),
     PER_ITEM(line, gpu_ns), .importance = 40},
    {"operations", "Operations", TYPE_COUNT, COLUMN_OPTIONAL | COLUMN_SUM, fill_some, FROM_ITEM(line, operations)},
    {"waited", "Waited", TYPE_NS, COLUMN_OPTIONAL, fill_some, FROM_ITEM(line, wait_ns)},
    {"waits", "Waits", TYPE_COUNT, COLUMN_OPTIONAL | COLUMN_SUM, fill_some, FROM_ITEM(line, waits), .importance = 60},
    {"bytes", "Allocated", TYPE_BYTES, COLUMN_OPTIONAL | COLUMN_SUM, fill_some, FROM_ITEM(line, bytes)},
    {"allocations", "Allocations", TYPE_COUNT, COLUMN_OPTIONAL | COLUMN_SUM, fill_some, FROM_ITEM(line, allocations),
     .importance = 60},
    {"cost", "GPU time and waits", TYPE_NS, COLUMN_MACHINE, .fill = fill_cost},
    {"name", "Line", TYPE_TEXT, 0, fill_line, FROM_KEY(line_key, name)},
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
    SECTION_STATE_PLAIN_TALLY(struct line),
    .sort = "cost",
    .categories = CATEGORIES_API | CATEGORY_BIT(CATEGORY_MEMORY),
    .indexes = {.stacks = true, .launched_ops = true, .host_calls = true},
    .event = event,
    .gather = gather,
    .finish = finish,
    .release = release,
};
