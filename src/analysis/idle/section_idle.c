/* Sections of why GPUs were idle (idle.h): the causes of each GPU, the causes by call, range and operator, and the
 * largest gaps. */
#include <stdlib.h>
#include <string.h>

#include "common/buffer.h"
#include "analysis/base/cost_sum.h"
#include "analysis/engine/trace_known.h"
#include "analysis/idle/idle.h"
#include "analysis/idle/idle_gaps.h"
#include "analysis/engine/section.h"

/* A row of any of these sections. */
struct line {
    struct idle_sum sum;
    struct idle_what what;
    struct cell of_run, of_idle, word, why, mostly, host, stream;
};

#define WHAT(field) fill_name, FROM_ITEM(line, what.field)

#define COLUMNS_IDLE                                                                                    \
    {"share", "Of run", TYPE_PERCENT, 0, fill_cell, FROM_ITEM(line, of_run)},                           \
        {"of_idle", "Of idle", TYPE_PERCENT, 0, fill_cell, FROM_ITEM(line, of_idle), .importance = 60}, \
        {"total", "Total", TYPE_NS, COLUMN_APART, fill_number, FROM_ITEM(line, sum.total)},             \
        {"count", "Gaps", TYPE_COUNT, 0, fill_number, FROM_ITEM(line, sum.count)},                      \
        {"max", "Max", TYPE_NS, 0, fill_number, FROM_ITEM(line, sum.longest)},                          \
        {"gpu", "GPU", TYPE_NUMBER, 0, fill_gpu, FROM_ITEM(line, what.device)},                         \
        {"cause", "Word", TYPE_TEXT, COLUMN_MACHINE, fill_cell, FROM_ITEM(line, word)},                 \
    {                                                                                                   \
        "why", "Cause", TYPE_TEXT, 0, fill_cell, FROM_ITEM(line, why)                                   \
    }

/* The column "mostly" shows the first of these fields that is known. */
enum shown { SHOWN_CALL, SHOWN_ACTIVITY, SHOWN_RANGE, SHOWN_OPERATION, SHOWN_STREAM, SHOWN_NOTHING };

static enum shown shown_of(const struct idle_what *what, uint32_t *number)
{
    const uint32_t numbers[] = {what->call, what->activity, what->range, what->operation, what->stream};
    unsigned i = 0;
    while (i < SHOWN_NOTHING && numbers[i] == EVENT_NO_TEXT)
        i++;
    *number = i < SHOWN_NOTHING ? numbers[i] : EVENT_NO_TEXT;
    return i;
}

static struct line line_of(struct report_row *row, const struct idle *idle, const struct idle_what *what,
                           const struct idle_sum *sum)
{
    uint32_t number;
    enum shown shown = shown_of(what, &number);
    struct line line = {
        .sum = *sum,
        .what = *what,
        .of_run = cell_share(sum->total, idle->run),
        .of_idle = cell_share(sum->total, idle->devices.items[what->device].idle),
        .word = table_text(row->table, idle_cause_words[what->cause].word),
        .why = row_phrase(row, idle_cause_words[what->cause].text),
        .stream = what->stream == EVENT_NO_TEXT ? (struct cell){0} : cell_integer(what->stream),
    };
    if (what->activity != EVENT_NO_TEXT) { /* what the host did outside calls */
        struct buffer text;
        buffer_init_memory(&text);
        host_activity_write(&text, &idle->host, what->activity);
        line.host = table_text_from_buffer(row->table, &text);
    }
    line.mostly = shown == SHOWN_ACTIVITY ? line.host
                  : shown == SHOWN_STREAM ? table_format(row->table, "stream %u", number)
                                          : trace_text_cell(row->trace, row->table, number);
    return line;
}

static const struct column columns[] = {
    COLUMNS_IDLE,
    {"mostly", "Mostly", TYPE_TEXT, COLUMN_OPTIONAL, fill_cell, FROM_ITEM(line, mostly)},
};

/* For a cause of a GPU: the value of "mostly" whose rows together take most time. */
struct most {
    const struct idle_row *row; /* one of these rows; NULL: the GPU has no row of the cause */
    int64_t total;
};

/* Fills MOST, which has an item for each cause of each GPU, by GPU. Returns 0, or -1: no memory. */
static int find_most(const struct idle *idle, struct most *most)
{
    const struct idle_rows *rows = idle->host.trace ? &idle->active : &idle->rows;
    struct dense_map alike = {0};
    ARRAY(int64_t) totals = {0};
    int status = 0;
    for (size_t i = 0; i < rows->count && status == 0; i++) {
        const struct idle_row *row = &rows->items[i];
        uint32_t number;
        uint64_t shown = shown_of(&row->what, &number);
        const uint64_t key[] = {(uint64_t)row->what.device << 32 | row->what.cause, shown << 32 | number};
        int64_t *total = dense_map_item(&alike, &key, &totals);
        struct most *of = &most[row->what.device * IDLE_CAUSE_COUNT + row->what.cause];
        status = total ? 0 : -1;
        if (total)
            *total = sum_of(*total, row->sum.total);
        if (total && (!of->row || *total > of->total))
            *of = (struct most){row, *total};
    }
    dense_map_release(&alike);
    array_release(&totals);
    return status;
}

static void finish(struct report_row *row)
{
    const struct idle *idle = &((const struct idle_causes *)row->state)->idle;
    struct most *most = calloc(idle->devices.count * IDLE_CAUSE_COUNT + 1, sizeof(*most));
    int status = most ? find_most(idle, most) : -1;
    for (size_t i = 0; status == 0 && i < idle->devices.count * IDLE_CAUSE_COUNT; i++) {
        const struct idle_what *what = most[i].row ? &most[i].row->what : NULL;
        if (!what)
            continue;
        const struct line line = line_of(row, idle, what, &idle->devices.items[what->device].causes[what->cause]);
        section_row(row, NULL, &line);
    }
    free(most);
    row->table->no_memory |= status < 0;
}

const struct section section_idle = {
    SECTION_COLUMNS(columns),
    .state_size = sizeof(struct idle_causes),
    .sources = {TRACE_GPU_WORK},
    .parts = TRACE_GPU_WORK | TRACE_API,
    .comparable = {.noun = "idle", .keys = {"why"}, .total = "total", .part = PART_OF_IDLE_TIME, .floor = FLOOR_HOST},
    .sort = "total",
    .categories = CATEGORY_BIT(CATEGORY_CUDA_SYNC) | CATEGORY_BIT(CATEGORY_COMPILATION),
    .indexes = {.ranges = true, .operators = true, .timeline = true, .host_calls = true, .samples = true},
    .init = idle_gaps_init,
    .event = idle_gaps_event,
    .gather = idle_gaps_gather,
    .finish = finish,
    .release = idle_gaps_release,
};

static const struct column where_columns[] = {
    COLUMNS_IDLE,
    {"call", "Call", TYPE_TEXT, COLUMN_OPTIONAL, WHAT(call)},
    {"range", "Range", TYPE_TEXT, COLUMN_OPTIONAL, WHAT(range), .importance = 86},
    {"operator", "Operator", TYPE_TEXT, COLUMN_OPTIONAL, WHAT(operation)},
    {"host", "Host", TYPE_TEXT, COLUMN_OPTIONAL, fill_cell, FROM_ITEM(line, host)},
    {"stream", "Stream", TYPE_NUMBER, COLUMN_OPTIONAL, fill_cell, FROM_ITEM(line, stream)},
};

static void finish_where(struct report_row *row)
{
    const struct idle *idle = section_state(row->trace, REPORT_IDLE);
    const struct idle_rows *rows = idle->host.trace ? &idle->active : &idle->rows;
    for (size_t i = 0; i < rows->count; i++) {
        const struct line line = line_of(row, idle, &rows->items[i].what, &rows->items[i].sum);
        section_row(row, NULL, &line);
    }
}

const struct section section_idle_where = {
    SECTION_COLUMNS(where_columns),   .sources = {TRACE_GPU_WORK}, .parts = TRACE_GPU_WORK | TRACE_API, .sort = "total",
    .needs = REPORT_BIT(REPORT_IDLE), .finish = finish_where,
};

/* --- the largest gaps, with the operations before and after --- */

struct gap_line {
    struct line main; /* the main cause */
    struct idle_gap gap;
    struct cell length, share, thread, before, after; /* before, after: numbers of streams */
};

static const struct column gap_columns[] = {
    {"length", "Length", TYPE_NS, COLUMN_APART, fill_cell, FROM_ITEM(gap_line, length)},
    {"start", "Start", TYPE_NS, COLUMN_APART, fill_time, FROM_ITEM(gap_line, gap.start)},
    {"gpu", "GPU", TYPE_NUMBER, 0, fill_gpu, FROM_ITEM(gap_line, gap.device)},
    {"cause", "Word", TYPE_TEXT, COLUMN_MACHINE, fill_cell, FROM_ITEM(line, word)},
    {"why", "Mostly", TYPE_TEXT, 0, fill_cell, FROM_ITEM(line, why)},
    {"share", "Of gap", TYPE_PERCENT, 0, fill_cell, FROM_ITEM(gap_line, share)},
    {"call", "Call", TYPE_TEXT, COLUMN_OPTIONAL, WHAT(call)},
    {"range", "Range", TYPE_TEXT, COLUMN_OPTIONAL, WHAT(range)},
    {"operator", "Operator", TYPE_TEXT, COLUMN_OPTIONAL, WHAT(operation)},
    {"host", "Host", TYPE_TEXT, COLUMN_OPTIONAL, fill_cell, FROM_ITEM(line, host)},
    {"thread", "Thread", TYPE_TEXT, COLUMN_OPTIONAL, fill_cell, FROM_ITEM(gap_line, thread)},
    {"stream_before", "Stream", TYPE_NUMBER, COLUMN_OPTIONAL, fill_cell, FROM_ITEM(gap_line, before)},
    {"before", "After", TYPE_TEXT, COLUMN_OPTIONAL, fill_name, FROM_ITEM(gap_line, gap.before.name)},
    {"stream_after", "Stream", TYPE_NUMBER, COLUMN_OPTIONAL, fill_cell, FROM_ITEM(gap_line, after)},
    {"after", "Before", TYPE_TEXT, COLUMN_OPTIONAL, fill_name, FROM_ITEM(gap_line, gap.after.name)},
};

static struct cell stream_cell(const struct trace *trace, const struct idle_neighbour *of)
{
    return of->stream == EVENT_NO_TEXT ? (struct cell){0} : cell_integer(trace_stream_id(trace, of->stream)->stream);
}

static void finish_gaps(struct report_row *row)
{
    const struct idle *idle = section_state(row->trace, REPORT_IDLE);
    for (size_t i = 0; i < idle->largest_count; i++) {
        const struct idle_gap *gap = &idle->largest[i];
        const struct idle_cause_time *part = idle_main_cause(gap);
        struct idle_what what = part->what;
        what.activity = gap->activity;
        const struct gap_line line = {
            .main = line_of(row, idle, &what, &(struct idle_sum){.total = part->total}),
            .gap = *gap,
            .length = cell_integer(gap->end - gap->start),
            .share = cell_share(part->total, gap->end - gap->start),
            .thread = gap->thread == LAUNCHED_NO_THREAD ? (struct cell){0}
                                                        : trace_thread_cell(row->trace, row->table, gap->thread),
            .before = stream_cell(row->trace, &gap->before),
            .after = stream_cell(row->trace, &gap->after),
        };
        section_row(row, NULL, &line);
    }
}

const struct section section_gaps = {
    SECTION_COLUMNS(gap_columns),        .sources = {TRACE_GPU_WORK},
    .parts = TRACE_GPU_WORK | TRACE_API, .sort = "length",
    .needs = REPORT_BIT(REPORT_IDLE),    .finish = finish_gaps,
};
