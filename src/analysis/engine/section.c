/* Fills the cells of rows, and passes events, operations and the end of the trace to the sections. */
#include "analysis/engine/section.h"

#include <stdlib.h>

#include "common/clock.h"
#include "common/log.h"
#include "common/array.h"
#include "common/threads.h"
#include "analysis/base/cost_sum.h"
#include "analysis/engine/errors.h"
#include "analysis/engine/trace_known.h"
#include "analysis/engine/trace_reader.h"
#include "analysis/engine/trace_stacks.h"
#include "common/buffer.h"

/* --- rows --- */

void tally_release(struct tally *tally, size_t size, unsigned series)
{
    for (size_t i = 0; i < tally->count; i++)
        for (unsigned k = 0; k < series; k++)
            series_release((struct series *)((char *)tally->items + i * size) + k);
    array_release(tally);
    dense_map_release(&tally->keys);
}

void section_row(struct report_row *row, const void *key, const void *item)
{
    struct table *table = row->table;
    struct cell *cells = table_row(table);
    row->key = key;
    row->item = item;
    row->summarised = NULL;
    for (size_t i = 0; cells && i < table->column_count; i++) {
        const struct column *column = &table->columns[i];
        if (column->source & row->trace->unrecorded)
            cells[i].kind = CELL_UNRECORDED;
        else if (column->fill)
            cells[i] = column->fill(row, column);
    }
}

void section_rows(struct report_row *row, const struct dense_map *keys, const void *items, size_t count, size_t size)
{
    /* A column of shares refers to the sum of the totals of all items. */
    int64_t whole = 0;
    for (size_t i = 0; i < row->table->column_count; i++)
        for (size_t k = 0; row->table->columns[i].fill == fill_share && k < count; k++)
            sum_add(&whole, ((const struct series *)(items + k * size + row->table->columns[i].at))->total);
    row->table->whole = whole;
    for (row->number = 0; row->number < count; row->number++) {
        const void *key = keys && keys->count ? dense_map_row(keys, row->number) : NULL;
        section_row(row, key, (const char *)items + row->number * size);
    }
}

struct ordering {
    const char *items;
    size_t size;
    int (*compare)(const void *left, const void *right);
};

static int compare_items(const void *left, const void *right, void *context)
{
    const struct ordering *ordering = context;
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    return ordering->compare(ordering->items + a * ordering->size, ordering->items + b * ordering->size) ?: ORDER(a, b);
}

void section_rows_ordered(struct report_row *row, const struct dense_map *keys, const void *items, size_t count,
                          size_t size, int (*compare)(const void *left, const void *right))
{
    struct ordering ordering = {items, size, compare};
    uint32_t *order = calloc(count + 1, sizeof(*order));
    row->table->no_memory |= !order;
    for (uint32_t i = 0; order && i < count; i++)
        order[i] = i;
    if (order && count > 1)
        qsort_r(order, count, sizeof(*order), compare_items, &ordering);
    for (size_t i = 0; order && i < count; i++) {
        row->number = order[i];
        section_row(row, dense_map_row(keys, order[i]), (const char *)items + order[i] * size);
    }
    free(order);
}

const void *row_field(const struct report_row *row, const struct column *column)
{
    return (const char *)(column->of_key ? row->key : row->item) + column->at;
}

int64_t row_integer(const struct report_row *row, const struct column *column)
{
    const void *at = row_field(row, column);
    return column->size == sizeof(uint32_t) ? *(const uint32_t *)at : *(const int64_t *)at;
}

static const struct summary *summary_of(struct report_row *row, const struct column *column)
{
    const struct series *series = row_field(row, column);
    if (row->summarised != series)
        row->summary = series_summary((struct series *)(uintptr_t)series);
    row->summarised = series;
    return &row->summary;
}

FILL(share, cell_share(summary_of(row, column)->total, row->table->whole))
FILL(count, cell_integer(summary_of(row, column)->count))
FILL(number, cell_integer(row_integer(row, column)))
FILL(name, trace_text_cell(row->trace, row->table, (uint32_t)row_integer(row, column)))
FILL(gpu, cell_integer(trace_device_id(row->trace, (size_t)row_integer(row, column))))
FILL(place, trace_place_cell(row->trace, row->table, row_integer(row, column)))
FILL(stack, trace_stack_cell(row->trace, row->table, row_integer(row, column)))
FILL(errors, errors_cell(row_field(row, column), row->table))
FILL(cell, *(const struct cell *)row_field(row, column))

/* The cell is empty if the series has no values. */
#define FILL_SUMMARY(name, value)                                                \
    struct cell fill_##name(struct report_row *row, const struct column *column) \
    {                                                                            \
        const struct summary *summary = summary_of(row, column);                 \
        return summary->count ? (value) : (struct cell){0};                      \
    }
FILL_SUMMARY(total, cell_integer(summary->total))
FILL_SUMMARY(average, cell_real(summary->average))
FILL_SUMMARY(median, cell_real(summary->median))
FILL_SUMMARY(min, cell_integer(summary->min))
FILL_SUMMARY(max, cell_integer(summary->max))
FILL_SUMMARY(deviation, cell_real(summary->deviation))

/* NUMBER is the integer that the column shows. The cell is empty unless the expression KNOWN is true. */
#define FILL_KNOWN(name, known, value)                                           \
    struct cell fill_##name(struct report_row *row, const struct column *column) \
    {                                                                            \
        int64_t number = row_integer(row, column);                               \
        return (known) ? (value) : (struct cell){0};                             \
    }
#define PER (*(const int64_t *)((const char *)row->item + column->per))
FILL_KNOWN(quotient, PER > 0, cell_real((double)number / (double)PER))
FILL_KNOWN(percent, PER > 0, cell_share(number, PER))
FILL_KNOWN(some, number != 0, cell_integer(number))
FILL_KNOWN(time, number != FIELD_ABSENT, cell_integer(number - row->trace->start))
FILL_KNOWN(process, row->trace->host_processes > 1, trace_process_cell(row->trace, row->table, (event_id)number))
FILL_KNOWN(error, number != 0 && number != FIELD_ABSENT, error_cell(row->table, false, number))

struct cell row_phrase(const struct report_row *row, const char *text)
{
    return table_text(row->table, trace_phrase(row->trace, text).text);
}

/* If there are fewer calls, operations and ranges than this, starting threads takes longer than the work. */
#define SMALL 20000

#define TASK_THREADS 8 /* the number of tasks that take long */

const struct section_entry section_list[] = {
#define SECTION(constant, name, word, title, question) {word, title, &section_##name, REPORT_##constant, question},
#define PART(constant, name, word, title, whole) {word, title, &section_##name, REPORT_##whole, NULL},
    REPORT_SECTIONS(SECTION, PART)
#undef SECTION
#undef PART
};

_Static_assert(REPORT_SECTION_COUNT + 2 <= DISPATCHER_CONSUMERS, "all sections and the trace may read events");

const struct section *section_wanted(const struct report_options *options, unsigned number)
{
    if (options->sections != 0 && !(options->sections >> number & 1))
        return NULL;
    bool asked = number == REPORT_MEMORY && options->has_snapshot;
    if (options->usual && section_list[number].section->usual == 0 && !asked)
        return NULL;
    return number == REPORT_MEMORY && options->has_snapshot ? &section_memory_snapshot : section_list[number].section;
}

/* --- events --- */

static int add_to_trace(void *context, const struct event_fields *event, size_t count)
{
    for (;; event = event_after(event)) {
        if (trace_event(context, event) < 0)
            return -1;
        if (--count == 0)
            return 0;
    }
}

static int add_gpu_ops(void *context, const struct event_fields *event, size_t count)
{
    for (;; event = event_after(event)) {
        if (trace_gpu_op(context, event) < 0)
            return -1;
        if (--count == 0)
            return 0;
    }
}

static int add_to_section(void *context, const struct event_fields *event, size_t count)
{
    const struct section_instance *one = context;
    const unsigned sliced = CATEGORIES_GPU_OPS | CATEGORIES_API | CATEGORY_BIT(CATEGORY_CUDA_SYNC);
    for (;; event = event_after(event)) {
        /* Skip events of these categories that are not slices. */
        if (category_in(event->category, one->section->categories) &&
            (event->phase == 'X' || !category_in(event->category, sliced)) &&
            one->section->event(one->state, one->trace, event) < 0)
            return -1;
        if (--count == 0)
            return 0;
    }
}

static int add_section(struct sections *sections, unsigned number)
{
    struct trace *trace = &sections->trace;
    struct section_instance *one = &sections->all[number];
    const struct section *section = section_wanted(trace->options, number);
    *one = (struct section_instance){.section = section ? section : section_list[number].section,
                                     .shown = section,
                                     .number = number,
                                     .trace = trace};
    section = one->section;
    struct trace_wanted *wanted = &trace->wanted;
    for (size_t i = 0; i < sizeof(*wanted); i++)
        ((bool *)wanted)[i] |= ((const bool *)&section->indexes)[i];
    bool joins = section->gpu_op || wanted->launched_ops || wanted->timeline;
    wanted->gpu_ops |= joins;
    wanted->calls |= joins;
    wanted->stacks |= wanted->heap || wanted->samples;
    trace->heap = wanted->heap ? &sections->heap : NULL;
    if (section->state_size > 0 && !(one->state = calloc(1, section->state_size)))
        return error_no_memory("a report");
    sections->states[number] = one->state;
    if (section->init)
        section->init(one->state, trace);
    if (section->event)
        dispatcher_add(&sections->dispatcher, &(struct dispatcher_consumer){section->categories, add_to_section, one,
                                                                            .what = section_list[number].word});
    return 0;
}

int sections_init(struct sections *sections, const struct report_options *options)
{
    struct trace *trace = &sections->trace;
    *sections = (struct sections){.began = clock_monotonic()};
    trace_init(trace, options);
    heap_init(&sections->heap, &trace->strings);
    dispatcher_init(&sections->dispatcher, options->workers);
    dispatcher_add(&sections->dispatcher,
                   &(struct dispatcher_consumer){~0u, add_to_trace, trace, .what = "the trace's rows"});
    dispatcher_add(&sections->dispatcher, &(struct dispatcher_consumer){CATEGORIES_GPU_OPS, add_gpu_ops, trace,
                                                                        .what = "the trace's GPU work"});
    trace->states = sections->states;
    if (options->format == REPORT_HTML) /* the charts of a page read these */
        trace->wanted.timeline = trace->wanted.host_calls = trace->wanted.launched_ops = trace->wanted.host_frames =
            trace->wanted.ranges = trace->wanted.gpu_ops = trace->wanted.calls = true;
    uint64_t wanted = 0;
    for (unsigned i = 0; i < REPORT_SECTION_COUNT; i++)
        wanted |= section_wanted(options, i) ? REPORT_BIT(i) : 0;
    uint64_t needed = wanted | (options->fail_on ? REPORT_BIT(REPORT_FINDINGS) : 0);
    do {
        wanted = needed;
        for (unsigned i = 0; i < REPORT_SECTION_COUNT; i++)
            needed |= wanted >> i & 1 ? section_list[i].section->needs : 0;
    } while (needed != wanted);
    for (unsigned i = 0; i < REPORT_SECTION_COUNT; i++)
        if (needed >> i & 1 && add_section(sections, i) < 0)
            return -1;
    return 0;
}

void sections_release(struct sections *sections)
{
    dispatcher_release(&sections->dispatcher);
    for (unsigned i = 0; i < REPORT_SECTION_COUNT; i++) {
        struct section_instance *one = &sections->all[i];
        if (one->state && one->section->release)
            one->section->release(one->state);
        if (one->state && one->section->item_size)
            tally_release(one->state, one->section->item_size, one->section->series);
        free(one->state);
    }
    heap_release(&sections->heap);
    trace_release(&sections->trace);
}

/* --- the end --- */

static int pass_gpu_op(void *context, const struct gpu_op *op, const struct call *call)
{
    const struct section_instance *one = context;
    return one->section->gpu_op(one->state, one->trace, op, call);
}

static int pass_gpu_ops(void *context)
{
    const struct section_instance *one = context;
    uint64_t since = clock_monotonic();
    int status =
        gpu_ops_each(&one->trace->gpu_ops, &one->trace->calls, &one->trace->stream_owners, pass_gpu_op, context);
    verbose_step(&since, section_list[one->number].word);
    return status;
}

static int gather(void *context)
{
    const struct section_instance *one = context;
    uint64_t since = clock_monotonic();
    int status = one->section->gather(one->state, one->trace);
    verbose_step(&since, section_list[one->number].word);
    return status;
}

int sections_finish(struct sections *sections)
{
    struct trace *trace = &sections->trace;
    uint64_t since = sections->began;
    if (dispatcher_wait(&sections->dispatcher) < 0)
        return -1;
    verbose_step(&since, "trace read");
    bool small = trace->gpu_ops.count + trace->calls.count + trace->busy.intervals.count + trace->ranges.count < SMALL;
    unsigned workers = small ? 1 : ordered_loop_workers(trace->options->workers, TASK_THREADS);
    int status = trace_finish(trace, workers);
    verbose_step(&since, "operations and calls joined");
    if (status == 0) {
        /* The last tasks of the trace run together with those of the sections. */
        struct task tasks[TRACE_LAST_TASKS + REPORT_SECTION_COUNT];
        size_t count = trace_last_tasks(&sections->trace, tasks);
        for (unsigned i = 0; i < REPORT_SECTION_COUNT; i++) {
            struct section_instance *one = &sections->all[i];
            if (one->section && one->section->gpu_op)
                tasks[count++] = (struct task){pass_gpu_ops, one};
            else if (one->section && one->section->gather)
                tasks[count++] = (struct task){gather, one};
        }
        status = tasks_run(tasks, count, workers);
    }
    const struct pretty_names *more = &trace->names_in_flight;
    bool pretty = trace->options->names == REPORT_NAMES_PRETTY;
    for (uint32_t i = 0; pretty && status == 0 && i < more->is_kernel.count; i++)
        status = more->is_kernel.items[i] ? pretty_names_add(&trace->pretty_names, i) : 0;
    if (status == 0 && pretty)
        status = pretty_names_make(&trace->pretty_names, &trace->strings);
    verbose_step(&since, "sections and names made");
    return status < 0 ? error_no_memory("a report") : 0;
}

int sections_fill(struct sections *sections, unsigned number, struct table *table)
{
    const struct section_instance *one = &sections->all[number];
    struct report_row row = {.trace = one->trace, .table = table, .state = one->state};
    const struct tally *tally = one->state;
    if (one->section->finish)
        one->section->finish(&row);
    else if (one->section->order)
        section_rows_ordered(&row, &tally->keys, tally->items, tally->count, one->section->item_size,
                             one->section->order);
    else
        section_rows(&row, &tally->keys, tally->items, tally->count, one->section->item_size);
    return table->no_memory ? -1 : 0;
}

/* --- rows of sections that are compared, in their original order --- */

int comparable_column(const struct section *section, const char *word)
{
    return word ? table_find_column(section->columns, section->column_count, word) : -1;
}

struct comparable_columns comparable_columns_of(const struct section *section)
{
    const struct comparable *comparable = &section->comparable;
    struct comparable_columns columns = {.total = comparable_column(section, comparable->total),
                                         .count = comparable_column(section, comparable->count)};
    for (size_t i = 0; i < COMPARABLE_KEYS; i++)
        columns.keys[i] = comparable_column(section, comparable->keys[i]);
    return columns;
}

const struct cell *comparable_cell(const struct table *table, size_t row, int column)
{
    static const struct cell none;
    return column < 0 ? &none : &table->cells.items[row * table->column_count + (size_t)column];
}

bool comparable_has_number(const struct table *table, size_t row, int column)
{
    const struct cell *cell = comparable_cell(table, row, column);
    return cell->kind == CELL_INTEGER || cell->kind == CELL_REAL;
}

double comparable_number(const struct table *table, size_t row, int column)
{
    return comparable_has_number(table, row, column) ? cell_value(comparable_cell(table, row, column)) : 0;
}

void comparable_write_name(struct buffer *name, const struct table *table, size_t row,
                           const struct comparable_columns *columns)
{
    for (size_t i = 0; i < COMPARABLE_KEYS; i++) {
        const struct cell *cell = comparable_cell(table, row, columns->keys[i]);
        if (cell->kind == CELL_NONE || cell->kind == CELL_UNRECORDED)
            continue;
        if (name->length > 0)
            buffer_char(name, ' ');
        if (cell->kind == CELL_TEXT)
            buffer_text(name, table_cell_text(table, cell));
        else
            buffer_format(name, "%s %lld", table->columns[columns->keys[i]].title, (long long)cell_value(cell));
    }
}
