#include "analysis/table.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/sink.h"
#include "analysis/series.h"

static const char *const units[] = {
#define TYPE(name, unit) unit,
    COLUMN_TYPES(TYPE)
#undef TYPE
};

void table_release(struct table *table)
{
    array_release(&table->cells);
    free(table->order);
    interner_release(&table->texts);
    *table = (struct table){0};
}

struct cell *table_row(struct table *table)
{
    for (size_t i = 0; i < table->column_count; i++) {
        if (!array_push(&table->cells)) {
            table->no_memory = true;
            return NULL;
        }
    }
    return &table->cells.items[table->rows++ * table->column_count];
}

struct cell cell_integer(int64_t value)
{
    return (struct cell){.kind = CELL_INTEGER, .integer = value};
}

struct cell cell_real(double value)
{
    return (struct cell){.kind = CELL_REAL, .real = value};
}

struct cell cell_share(int64_t part, int64_t whole)
{
    return cell_real(whole > 0 ? 100 * (double)part / (double)whole : 0);
}

struct cell cell_typed(struct cell cell, enum column_type type)
{
    cell.type = type;
    return cell;
}

struct cell table_text(struct table *table, const char *text)
{
    uint32_t number = intern(&table->texts, text, strlen(text));
    table->no_memory |= number == INTERN_NO_MEMORY;
    return (struct cell){.kind = number == INTERN_NO_MEMORY ? CELL_NONE : CELL_TEXT, .text = number};
}

struct cell table_sink(struct table *table, struct sink *sink)
{
    struct cell cell = {0};
    sink_char(sink, '\0');
    if (sink_finish(sink) == 0)
        cell = table_text(table, sink->data);
    else
        table->no_memory = true;
    sink_release(sink);
    return cell;
}

struct cell table_format(struct table *table, const char *format, ...)
{
    char *text = NULL;
    va_list args;
    va_start(args, format);
    int length = vasprintf(&text, format, args);
    va_end(args);
    if (length < 0) {
        table->no_memory = true;
        return (struct cell){0};
    }
    struct cell cell = table_text(table, text);
    free(text);
    return cell;
}

void table_write_summary(struct cell *first, const struct summary *summary)
{
    if (summary->count == 0)
        return;
    *first++ = cell_real(summary->average);
    *first++ = cell_real(summary->median);
    *first++ = cell_integer(summary->min);
    *first++ = cell_integer(summary->max);
    *first = cell_real(summary->deviation);
}

static bool column_is(const struct column *column, const char *word)
{
    size_t length = strlen(column->word);
    if (strncmp(column->word, word, length) != 0)
        return false;
    return word[length] == '\0' || (word[length] == '_' && strcmp(word + length + 1, units[column->type]) == 0);
}

int table_find_column(const struct column *columns, size_t count, const char *word)
{
    for (size_t i = 0; i < count; i++)
        if (column_is(&columns[i], word))
            return (int)i;
    return -1;
}

struct ordering {
    const struct table *table;
    size_t column;
};

static double cell_value(const struct cell *cell)
{
    return cell->kind == CELL_INTEGER ? (double)cell->integer : cell->real;
}

static int compare_numbers(const struct cell *a, const struct cell *b)
{
    if (a->kind == CELL_INTEGER && b->kind == CELL_INTEGER)
        return (a->integer < b->integer) - (a->integer > b->integer);
    double left = cell_value(a), right = cell_value(b);
    return (left < right) - (left > right);
}

static bool is_unknown(const struct cell *cell)
{
    return cell->kind == CELL_NONE || cell->kind == CELL_UNRECORDED;
}

static int compare_rows(const void *left, const void *right, void *context)
{
    const struct ordering *ordering = context;
    const struct table *table = ordering->table;
    size_t rows[2] = {*(const size_t *)left, *(const size_t *)right};
    const struct cell *a = &table->cells.items[rows[0] * table->column_count + ordering->column];
    const struct cell *b = &table->cells.items[rows[1] * table->column_count + ordering->column];
    int order = 0;
    if (is_unknown(a) != is_unknown(b))
        order = is_unknown(a) ? 1 : -1; /* what is not known comes last */
    else if (a->kind == CELL_TEXT && b->kind == CELL_TEXT)
        order = strcmp(interned(&table->texts, a->text), interned(&table->texts, b->text));
    else if (!is_unknown(a))
        order = compare_numbers(a, b);
    return order ? order : (rows[0] > rows[1]) - (rows[0] < rows[1]);
}

int table_sort(struct table *table, int column, size_t top)
{
    table->order = calloc(table->rows ? table->rows : 1, sizeof(*table->order));
    if (!table->order)
        return -1;
    for (size_t i = 0; i < table->rows; i++)
        table->order[i] = i;
    struct ordering ordering = {.table = table, .column = (size_t)column};
    if (column >= 0 && !table->listing)
        qsort_r(table->order, table->rows, sizeof(*table->order), compare_rows, &ordering);
    table->shown = top && top < table->rows && !table->listing ? top : table->rows;
    return 0;
}

const struct cell *table_cell(const struct table *table, size_t shown, size_t column)
{
    return &table->cells.items[table->order[shown] * table->column_count + column];
}

const char *table_cell_text(const struct table *table, const struct cell *cell)
{
    return interned(&table->texts, cell->text);
}

static int64_t add(int64_t a, int64_t b)
{
    int64_t sum;
    return __builtin_add_overflow(a, b, &sum) ? INT64_MAX : sum;
}

struct cell table_sum(const struct table *table, size_t column)
{
    struct cell sum = {0};
    for (size_t row = 0; row < table->rows; row++) {
        const struct cell *cell = &table->cells.items[row * table->column_count + column];
        if (cell->kind == CELL_INTEGER)
            sum = cell_integer(add(sum.kind == CELL_NONE ? 0 : sum.integer, cell->integer));
        else if (cell->kind == CELL_REAL)
            sum = cell_real(sum.kind == CELL_NONE ? cell->real : sum.real + cell->real);
    }
    return sum;
}

bool table_column_empty(const struct table *table, size_t column)
{
    for (size_t row = 0; row < table->rows; row++)
        if (table->cells.items[row * table->column_count + column].kind != CELL_NONE)
            return false;
    return true;
}
