/*
 * Explains the difference of the whole run by terms that add up to exactly this difference. The terms of a step are the
 * rows of the section `time`.
 *
 * The terms of a run are busy and idle time of its GPU. Busy time is the time of kernels, copies and sets, minus the
 * time in which several ran at once. With several GPUs, all terms are means over the GPUs that were used.
 */
#include "analysis/diff/diff.h"

#include <math.h>
#include <stdlib.h>

#include "common/log.h"
#include "analysis/diff/diff_conditions.h"
#include "analysis/diff/diff_judge.h"
#include "analysis/diff/diff_rows.h"
#include "analysis/diff/diff_write.h"

/* Adds VALUE of trace NUMBER to the mean of its side. */
static void add_mean(const struct diff *diff, struct diff_term *term, size_t number, double value)
{
    enum diff_side side = diff_side_of(diff, number);
    *(side == BEFORE ? &term->before : &term->after) += value / (double)diff->options->counts[side];
}

static int by_difference(const void *left, const void *right)
{
    double a = fabs(diff_term_difference(left)), b = fabs(diff_term_difference(right));
    return (a < b) - (a > b);
}

/* Sets the causes: the terms of a step, which are stored behind those of the run, or the terms of the run. */
static void find_causes(struct diff *diff)
{
    struct diff_term *causes = diff->terms + (diff->by_steps ? diff->term_count : 0);
    diff->causes = causes;
    diff->cause_count = diff->by_steps ? 0 : diff->term_count;
    for (size_t i = 0; i < diff->rows.count && diff->by_steps; i++) {
        const struct diff_row *row = &diff->rows.items[i];
        if (row->section == REPORT_TIME)
            causes[diff->cause_count++] = (struct diff_term){TERM_ROW, row, row->totals[BEFORE], row->totals[AFTER]};
    }
    qsort(causes, diff->cause_count, sizeof(*causes), by_difference);
    for (size_t i = 0; i < diff->cause_count; i++) {
        diff->explained[BEFORE] += causes[i].before;
        diff->explained[AFTER] += causes[i].after;
    }
}

/* Sets diff.terms, the largest first, and the causes. Returns 0, or -1: no memory. */
static int explain(struct diff *diff)
{
    struct diff_term overlap = {.kind = TERM_OVERLAP}, idle = {.kind = TERM_IDLE};
    diff->terms = calloc(2 * diff->rows.count + 2, sizeof(*diff->terms));
    if (!diff->terms)
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
        if (part == PART_OF_NONE || !diff->compared[row->section])
            continue;
        struct diff_term *term = &diff->terms[diff->term_count++];
        *term = (struct diff_term){.kind = TERM_ROW, .row = row};
        for (size_t k = 0; k < diff->traces; k++) {
            double total = row->samples[k].total / (double)diff->wholes[k].gpus;
            add_mean(diff, term, k, total);
            add_mean(diff, part == PART_OF_GPU_TIME ? &overlap : &idle, k, -total);
        }
    }
    const struct diff_term *const others[] = {&overlap, &idle};
    for (unsigned i = 0; i < 2; i++)
        if (fabs(others[i]->before) >= 0.5 || fabs(others[i]->after) >= 0.5)
            diff->terms[diff->term_count++] = *others[i];
    qsort(diff->terms, diff->term_count, sizeof(*diff->terms), by_difference);
    find_causes(diff);
    return 0;
}

int diff_files(struct diff_options *options, struct buffer *out)
{
    struct diff diff;
    struct diff_outcome *outcomes = calloc(options->conditions.count + 1, sizeof(*outcomes));
    if (!outcomes)
        return error_no_memory("conditions");
    int met = 0, status = diff_read(&diff, options);
    if (status == 0 && (diff_judge(&diff) < 0 || explain(&diff) < 0))
        status = error_no_memory("a comparison");
    for (size_t i = 0; i < options->conditions.count && status == 0; i++) {
        status = diff_conditions_check(&diff, &options->conditions.items[i], &outcomes[i]);
        met += outcomes[i].met;
    }
    if (status == 0)
        status =
            options->format == DIFF_JUNIT ? diff_write_junit(&diff, outcomes, out) : diff_write(&diff, outcomes, out);
    diff_release(&diff);
    free(outcomes);
    return status < 0 ? -1 : met > 0;
}
