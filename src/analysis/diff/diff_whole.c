#include "analysis/diff/diff_whole.h"

#include <math.h>
#include <stdlib.h>

double diff_mean_span(const struct diff *diff, enum diff_side side)
{
    double sum = 0;
    for (size_t i = 0; i < diff->traces; i++)
        if (diff_side_of(diff, i) == side)
            sum += diff->wholes[i].span;
    return sum / (double)diff->options->counts[side];
}

/* Adds VALUE of trace NUMBER to the mean of its side. */
static void add_mean(const struct diff *diff, struct diff_part *part, size_t number, double value)
{
    enum diff_side side = diff_side_of(diff, number);
    *(side == BEFORE ? &part->before : &part->after) += value / (double)diff->options->counts[side];
}

/* Adds a row's totals to PART, and takes them from REST. */
static void add_row(const struct diff *diff, const struct diff_row *row, struct diff_part *part, struct diff_part *rest)
{
    *part = (struct diff_part){.kind = PART_ROW, .row = row};
    for (size_t i = 0; i < diff->traces; i++) {
        double total = row->samples[i].total / (double)diff->wholes[i].gpus;
        add_mean(diff, part, i, total);
        add_mean(diff, rest, i, -total);
    }
}

static bool is_something(const struct diff_part *part)
{
    return fabs(part->before) >= 0.5 || fabs(part->after) >= 0.5;
}

static int by_difference(const void *left, const void *right)
{
    double a = fabs(diff_part_difference(left)), b = fabs(diff_part_difference(right));
    return (a < b) - (a > b);
}

int diff_explain(struct diff *diff)
{
    struct diff_part overlap = {.kind = PART_OVERLAP}, idle = {.kind = PART_IDLE};
    diff->parts = calloc(diff->rows.count + 2, sizeof(*diff->parts));
    if (!diff->parts)
        return -1;
    for (size_t i = 0; i < diff->traces; i++) {
        add_mean(diff, &overlap, i, diff->wholes[i].busy);
        add_mean(diff, &idle, i, diff->wholes[i].idle);
    }
    for (size_t i = 0; i < diff->rows.count; i++) {
        const struct diff_row *row = &diff->rows.items[i];
        enum comparable_part part = diff_comparable(row->section)->part;
        if (part != PART_OF_NONE && diff->compared[row->section])
            add_row(diff, row, &diff->parts[diff->part_count++], part == PART_OF_GPU_TIME ? &overlap : &idle);
    }
    if (is_something(&overlap))
        diff->parts[diff->part_count++] = overlap;
    if (is_something(&idle))
        diff->parts[diff->part_count++] = idle;
    qsort(diff->parts, diff->part_count, sizeof(*diff->parts), by_difference);
    return 0;
}

const struct diff_part *diff_main_part(const struct diff *diff)
{
    double whole = diff_mean_span(diff, AFTER) - diff_mean_span(diff, BEFORE);
    for (size_t i = 0; i < diff->part_count; i++)
        if (diff_part_difference(&diff->parts[i]) * whole > 0)
            return &diff->parts[i];
    return NULL;
}
