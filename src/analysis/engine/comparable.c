/*
 * Finds the columns of a section by their words, and reads cells of rows in their original order.
 */
#include "analysis/engine/comparable.h"

#include "common/buffer.h"

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
