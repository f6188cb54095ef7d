/* Cells and rows of tables, their order, sums, and the choice of units for whole columns. */
#include "analysis/base/table.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/buffer.h"
#include "analysis/base/cost_sum.h"

static const char *const type_units[] = {
#define TYPE(name, unit) unit,
    COLUMN_TYPES(TYPE)
#undef TYPE
};

void table_release(struct table *table)
{
    array_release(&table->cells);
    free(table->order);
    free(table->view);
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
    return (struct cell){.kind = value == INT64_MIN ? CELL_NONE : CELL_INTEGER, .integer = value};
}

struct cell cell_real(double value)
{
    return (struct cell){.kind = CELL_REAL, .real = value};
}

struct cell cell_share(int64_t part, int64_t whole)
{
    return cell_real(whole > 0 ? 100 * (double)part / (double)whole : 0);
}

struct cell table_text(struct table *table, const char *text)
{
    uint32_t number = intern(&table->texts, text, strlen(text));
    table->no_memory |= number == INTERN_NO_MEMORY;
    return (struct cell){.kind = number == INTERN_NO_MEMORY ? CELL_NONE : CELL_TEXT, .text = number};
}

struct cell table_text_from_buffer(struct table *table, struct buffer *buffer)
{
    struct cell cell = {0};
    buffer_char(buffer, '\0');
    if (buffer_finish(buffer) == 0)
        cell = table_text(table, buffer->data);
    else
        table->no_memory = true;
    buffer_release(buffer);
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

int table_find_column(const struct column *columns, size_t count, const char *word)
{
    for (size_t i = 0; i < count; i++) {
        size_t length = strlen(columns[i].word);
        if (strncmp(columns[i].word, word, length) == 0 &&
            (word[length] == '\0' ||
             (word[length] == '_' && strcmp(word + length + 1, type_units[columns[i].type]) == 0)))
            return (int)i;
    }
    return -1;
}

int table_choose(struct table *table, const char *choice)
{
    char word[64];
    if (!choice || table->listing)
        return 0;
    table->view = calloc(strlen(choice) + table->column_count + 1, sizeof(*table->view));
    if (!table->view)
        return -1;
    table->chosen = strcmp(choice, "all") == 0;
    if (table->chosen) {
        for (size_t i = 0; i < table->column_count; i++)
            if (!(table->columns[i].flags & COLUMN_OPTIONAL) || !table_column_empty(table, i))
                table->view[table->view_count++] = i;
        return 0;
    }
    for (size_t length; *choice; choice += length + (choice[length] == ',')) {
        length = strcspn(choice, ",");
        snprintf(word, sizeof(word), "%.*s", (int)(length < sizeof(word) ? length : sizeof(word)), choice);
        int column = table_find_column(table->columns, table->column_count, word);
        if (column >= 0)
            table->view[table->view_count++] = (size_t)column;
    }
    table->chosen = table->view_count > 0;
    return 0;
}

struct ordering {
    const struct table *table;
    size_t column;
};

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
        order = is_unknown(a) ? 1 : -1; /* unknown values come last */
    else if (a->kind == CELL_TEXT && b->kind == CELL_TEXT)
        order = strcmp(interned(&table->texts, a->text), interned(&table->texts, b->text));
    else if (a->kind == CELL_INTEGER && b->kind == CELL_INTEGER)
        order = ORDER(b->integer, a->integer);
    else if (!is_unknown(a))
        order = ORDER(cell_value(b), cell_value(a));
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

struct cell table_sum(const struct table *table, size_t column)
{
    struct cell sum = {0};
    for (size_t row = 0; row < table->rows; row++) {
        const struct cell *cell = &table->cells.items[row * table->column_count + column];
        if (cell->kind == CELL_INTEGER)
            sum = cell_integer(sum_of(sum.kind == CELL_NONE ? 0 : sum.integer, cell->integer));
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

static const struct unit times[] = {
    [REPORT_UNIT_NS] = {"ns", "ns", 1, 0},
    [REPORT_UNIT_US] = {"µs", "us", 1e3, 3},
    [REPORT_UNIT_MS] = {"ms", "ms", 1e6, 3},
    [REPORT_UNIT_S] = {"s", "s", 1e9, 3},
};

static const struct unit sizes[] = {
    {"B", "bytes", 1, 0},
    {"KiB", "kib", 1024, 2},
    {"MiB", "mib", 1024.0 * 1024, 2},
    {"GiB", "gib", 1024.0 * 1024 * 1024, 2},
    {"TiB", "tib", 1024.0 * 1024 * 1024 * 1024, 2},
    {"PiB", "pib", 1024.0 * 1024 * 1024 * 1024 * 1024, 2},
    {"EiB", "eib", 1024.0 * 1024 * 1024 * 1024 * 1024 * 1024, 2}, /* a size of -1, unsigned, is 16 EiB */
};

static const struct unit size_for_each = {"", "bytes", 0, 0};

struct range {
    double least, most; /* of the absolute values that are shown and not 0 */
    bool real;
};

static double value_of(const struct cell *cell)
{
    return cell->kind == CELL_INTEGER || cell->kind == CELL_REAL ? fabs(cell_value(cell)) : 0;
}

static void widen(struct range *range, const struct table *table, size_t column)
{
    for (size_t row = 0; row < table->shown; row++) {
        const struct cell *cell = table_cell(table, row, column);
        double value = value_of(cell);
        range->real |= cell->kind == CELL_REAL;
        range->most = fmax(range->most, value);
        if (value > 0)
            range->least = range->least > 0 ? fmin(range->least, value) : value;
    }
}

static struct unit largest_below(double value)
{
    for (int i = REPORT_UNIT_S; i > REPORT_UNIT_NS; i--)
        if (value >= times[i].size)
            return times[i];
    return times[REPORT_UNIT_NS];
}

static struct unit time_unit(const struct table *table, size_t column)
{
    struct range range = {0}, apart = {0};
    for (size_t i = 0; i < table->column_count; i++)
        if (table->columns[i].type == TYPE_NS && !(table->columns[i].flags & COLUMN_APART))
            widen(&range, table, i);
    /* The smallest value decides the unit, but µs are used if some values are below 1 µs and others are not. */
    const struct unit *us = &times[REPORT_UNIT_US], *ms = &times[REPORT_UNIT_MS], *s = &times[REPORT_UNIT_S];
    struct unit unit = range.most >= us->size && range.least < us->size ? *us : largest_below(range.least);
    if (table->columns[column].flags & COLUMN_APART) {
        /* For totals, the greatest value decides the unit: milliseconds from 10 ms on, seconds from 1000 s on. */
        widen(&apart, table, column);
        struct unit own = apart.most >= 1000 * s->size  ? *s
                          : apart.most >= 10 * ms->size ? *ms
                                                        : largest_below(fmin(apart.most, 1e6 - 1));
        return own.size < unit.size ? unit : own; /* a total in a smaller unit than its parts would mislead */
    }
    if (range.real && unit.decimals == 0)
        unit.decimals = 1; /* averages of nanoseconds */
    return unit;
}

static struct unit plain_unit(enum column_type type)
{
    switch (type) {
    case TYPE_PERCENT: return (struct unit){"%", "percent", 1, 1};
    case TYPE_MEAN: return (struct unit){"", "", 1, 2};
    case TYPE_RATE: return (struct unit){"GB/s", "gb_s", 1, 3};
    default: return (struct unit){"", "", 1, 0};
    }
}

/* Returns the unit that the user chose, with enough decimals for four digits of LEAST, but not finer than a
 * nanosecond. */
static struct unit chosen_unit(enum report_unit time, double least)
{
    static const int decimals_most[] = {
        [REPORT_UNIT_NS] = 0, [REPORT_UNIT_US] = 3, [REPORT_UNIT_MS] = 6, [REPORT_UNIT_S] = 9};
    struct unit unit = times[time];
    while (least > 0 && least / unit.size * pow(10, unit.decimals) < 1000 && unit.decimals < decimals_most[time])
        unit.decimals++;
    return unit;
}

struct unit unit_of_value(enum column_type type, double value, enum report_unit time)
{
    if (type == TYPE_NS)
        return time == REPORT_UNIT_AUTO ? largest_below(value) : chosen_unit(time, value);
    return type == TYPE_BYTES ? size_for_each : plain_unit(type);
}

struct unit unit_of_column(const struct table *table, size_t column, enum report_unit time)
{
    enum column_type type = table->columns[column].type;
    if (type == TYPE_NS && time != REPORT_UNIT_AUTO) {
        struct range range = {0};
        widen(&range, table, column);
        return chosen_unit(time, range.least);
    }
    if (type == TYPE_NS)
        return time_unit(table, column);
    return type == TYPE_BYTES ? size_for_each : plain_unit(type);
}

struct unit unit_for_machines(enum column_type type, enum report_unit time)
{
    static const int decimals[] = {3, 3, 3, 6, 9}; /* not finer than a nanosecond, except for averages in nanoseconds */
    if (type == TYPE_NS) {
        struct unit unit = times[time == REPORT_UNIT_AUTO ? REPORT_UNIT_NS : time];
        unit.decimals = decimals[time];
        return unit;
    }
    struct unit unit = type == TYPE_BYTES ? sizes[0] : plain_unit(type);
    unit.decimals = 3;
    return unit;
}

void unit_write(struct buffer *buffer, const struct cell *cell, enum column_type type, const struct unit *unit)
{
    if (type == TYPE_BYTES && !*unit->name) {
        size_t i = sizeof(sizes) / sizeof(*sizes) - 1;
        while (i > 0 && value_of(cell) < sizes[i].size)
            i--;
        unit_write(buffer, cell, type, &sizes[i]);
        buffer_format(buffer, " %s", sizes[i].name);
    } else if (cell->kind == CELL_INTEGER && unit->size == 1) {
        buffer_i64(buffer, cell->integer);
    } else {
        buffer_format(buffer, "%.*f", unit->decimals, cell_value(cell) / unit->size);
    }
}
