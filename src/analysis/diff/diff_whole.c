#include "analysis/diff/diff_whole.h"

#include <math.h>
#include <stdlib.h>

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

/* The parts of a step, behind those of the run; else those are the causes. */
static void find_causes(struct diff *diff)
{
    struct diff_part *causes = diff->parts + (diff->by_steps ? diff->part_count : 0);
    diff->causes = causes;
    diff->cause_count = diff->by_steps ? 0 : diff->part_count;
    for (size_t i = 0; i < diff->rows.count && diff->by_steps; i++) {
        const struct diff_row *row = &diff->rows.items[i];
        if (row->section == REPORT_TIME)
            causes[diff->cause_count++] = (struct diff_part){PART_ROW, row, row->totals[BEFORE], row->totals[AFTER]};
    }
    qsort(causes, diff->cause_count, sizeof(*causes), by_difference);
    for (size_t i = 0; i < diff->cause_count; i++) {
        diff->explained[BEFORE] += causes[i].before;
        diff->explained[AFTER] += causes[i].after;
    }
}

int diff_explain(struct diff *diff)
{
    struct diff_part overlap = {.kind = PART_OVERLAP}, idle = {.kind = PART_IDLE};
    diff->parts = calloc(2 * diff->rows.count + 2, sizeof(*diff->parts));
    if (!diff->parts)
        return -1;
    for (size_t i = 0; i < diff->traces; i++) {
        enum diff_side side = diff_side_of(diff, i);
        diff->spans[side] += diff->wholes[i].span / (double)diff->options->counts[side];
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
    find_causes(diff);
    return 0;
}
