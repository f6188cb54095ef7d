/*
 * Picks the unit by the size of a value, rounds to three digits, and moves on to the next unit if rounding reached it
 * (999.7 µs is 1.00 ms).
 */
#include "analysis/base/value_text.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

struct scale {
    const char *unit;
    double size;
};

static const struct scale times[] = {{"ns", 1}, {"µs", 1e3}, {"ms", 1e6}, {"s", 1e9}};
static const struct scale sizes[] = {{"B", 1},        {"KiB", 0x1p10}, {"MiB", 0x1p20}, {"GiB", 0x1p30},
                                     {"TiB", 0x1p40}, {"PiB", 0x1p50}, {"EiB", 0x1p60}};
static const struct scale rates[] = {{"B/s", 1e-9}, {"kB/s", 1e-6}, {"MB/s", 1e-3}, {"GB/s", 1}};

#define COUNT(list) (sizeof(list) / sizeof(*(list)))

/* Puts commas into NUMBER, which has digits, and perhaps a sign and decimals. */
static void separate(char number[VALUE_NUMBER_BYTES])
{
    char plain[VALUE_NUMBER_BYTES];
    snprintf(plain, sizeof(plain), "%s", number);
    size_t sign = plain[0] == '-', whole = strcspn(plain, "."), length = 0;
    for (size_t i = 0; plain[i] && length + 2 < VALUE_NUMBER_BYTES; i++) {
        if (i > sign && i < whole && (whole - i) % 3 == 0)
            number[length++] = ',';
        number[length++] = plain[i];
    }
    number[length] = '\0';
}

/* Writes VALUE in SCALE with three digits. In the SMALLEST unit only averages have a decimal. Returns the rounded
 * value. */
static double write_scaled(char number[VALUE_NUMBER_BYTES], double value, const struct scale *scale, bool smallest)
{
    double scaled = value / scale->size, size = fabs(scaled);
    int decimals = smallest ? size != floor(size) && size < 9.95 : size < 9.995 ? 2 : size < 99.95 ? 1 : 0;
    double factor = pow(10, decimals);
    snprintf(number, VALUE_NUMBER_BYTES, "%.*f", decimals, scaled);
    return round(size * factor) / factor;
}

/* Writes VALUE in the largest unit that is not greater than it. */
static struct value_text scaled_text(double value, const struct scale *scales, size_t count, bool ascii)
{
    struct value_text text;
    size_t i = count - 1;
    while (i > 0 && fabs(value) < scales[i].size)
        i--;
    double written = write_scaled(text.number, value, &scales[i], i == 0);
    if (i + 1 < count && written * scales[i].size >= scales[i + 1].size)
        write_scaled(text.number, value, &scales[++i], false); /* 999.7 µs is 1.00 ms */
    separate(text.number);
    text.unit = ascii && strcmp(scales[i].unit, "µs") == 0 ? "us" : scales[i].unit;
    return text;
}

struct value_text value_text_of(const struct cell *cell, enum column_type type, unsigned flags, bool ascii)
{
    struct value_text text = {.unit = ""};
    double value = cell_value(cell);
    switch (type) {
    case TYPE_NS:
        if (!(flags & COLUMN_MOMENT) || fabs(value) < 1e6)
            return scaled_text(value, times, COUNT(times), ascii);
        /* A moment has digits down to a microsecond. */
        snprintf(text.number, sizeof(text.number), "%.*f", fabs(value) < 1e9 ? 3 : 6,
                 value / (fabs(value) < 1e9 ? 1e6 : 1e9));
        separate(text.number);
        text.unit = fabs(value) < 1e9 ? "ms" : "s";
        return text;
    case TYPE_BYTES: return scaled_text(value, sizes, COUNT(sizes), ascii);
    case TYPE_RATE: return scaled_text(value, rates, COUNT(rates), ascii);
    case TYPE_PERCENT: snprintf(text.number, sizeof(text.number), "%.1f", value); return text;
    case TYPE_NUMBER: snprintf(text.number, sizeof(text.number), "%.0f", value); break;
    default: break;
    }
    if (cell->kind == CELL_INTEGER)
        snprintf(text.number, sizeof(text.number), "%lld", (long long)cell->integer);
    else if (type != TYPE_NUMBER)
        snprintf(text.number, sizeof(text.number), "%.1f", value);
    if (cell->kind == CELL_INTEGER && type != TYPE_NUMBER)
        separate(text.number);
    return text;
}
