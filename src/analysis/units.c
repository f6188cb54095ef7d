#include "analysis/units.h"

#include <math.h>

#include "common/sink.h"

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
    {"EiB", "eib", 1024.0 * 1024 * 1024 * 1024 * 1024 * 1024, 2}, /* what -1 asks for: 16 of them */
};

static const struct unit size_for_each = {"", "bytes", 0, 0};

struct range {
    double least, most; /* of the values shown that are not 0 */
    bool real;
};

static double value_of(const struct cell *cell)
{
    return fabs(cell->kind == CELL_INTEGER ? (double)cell->integer : cell->kind == CELL_REAL ? cell->real : 0);
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

/* Totals, where the great ones matter: from ten milliseconds on in milliseconds, and from a thousand seconds in
 * seconds. */
static struct unit unit_apart(double most)
{
    if (most >= 1000 * times[REPORT_UNIT_S].size)
        return times[REPORT_UNIT_S];
    return most >= 10 * times[REPORT_UNIT_MS].size ? times[REPORT_UNIT_MS] : largest_below(fmin(most, 1e6 - 1));
}

/* Of values to be compared the least decides, and 0.012 µs is still well told. */
static struct unit unit_together(const struct range *range)
{
    if (range->most >= times[REPORT_UNIT_US].size && range->least < times[REPORT_UNIT_US].size)
        return times[REPORT_UNIT_US];
    return largest_below(range->least);
}

static struct unit time_unit(const struct table *table, size_t column)
{
    struct range range = {0}, apart = {0};
    for (size_t i = 0; i < table->column_count; i++)
        if (table->columns[i].type == TYPE_NS && !(table->columns[i].flags & COLUMN_APART))
            widen(&range, table, i);
    struct unit unit = unit_together(&range);
    if (table->columns[column].flags & COLUMN_APART) {
        widen(&apart, table, column);
        struct unit own = unit_apart(apart.most);
        return own.size < unit.size ? unit : own; /* a total in a smaller unit than its parts would mislead */
    }
    if (range.real && unit.decimals == 0)
        unit.decimals = 1; /* averages of nanoseconds */
    return unit;
}

static struct unit size_unit(double size)
{
    for (size_t i = sizeof(sizes) / sizeof(*sizes) - 1; i > 0; i--)
        if (size >= sizes[i].size)
            return sizes[i];
    return sizes[0];
}

static struct unit plain_unit(enum column_type type)
{
    switch (type) {
    case TYPE_PERCENT: return (struct unit){"%", "percent", 1, 1};
    case TYPE_RATE: return (struct unit){"GB/s", "gb_s", 1, 3};
    default: return (struct unit){"", "", 1, 0};
    }
}

/* The unit that the user chose, with decimals enough for four digits of LEAST, but for none below a nanosecond. */
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
    static const int decimals[] = {3, 3, 3, 6, 9}; /* nothing below a nanosecond but of averages */
    if (type == TYPE_NS) {
        struct unit unit = times[time == REPORT_UNIT_AUTO ? REPORT_UNIT_NS : time];
        unit.decimals = decimals[time];
        return unit;
    }
    struct unit unit = type == TYPE_BYTES ? sizes[0] : plain_unit(type);
    unit.decimals = 3;
    return unit;
}

void unit_write(struct sink *sink, const struct cell *cell, enum column_type type, const struct unit *unit)
{
    if (type == TYPE_BYTES && !*unit->name) {
        struct unit own = size_unit(value_of(cell));
        unit_write(sink, cell, type, &own);
        sink_format(sink, " %s", own.name);
    } else if (cell->kind == CELL_INTEGER && unit->size == 1) {
        sink_i64(sink, cell->integer);
    } else {
        double value = cell->kind == CELL_INTEGER ? (double)cell->integer : cell->real;
        sink_format(sink, "%.*f", unit->decimals, value / unit->size);
    }
}
