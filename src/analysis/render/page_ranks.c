/*
 * The ranks of a job and their steps, as the key `heat` of a chapter:
 *     ranks     the ranks of each row, by number, the first of them
 *     per_row   how many ranks a row has
 *     steps, columns, per_column
 *               how many steps there are, and in how many columns, of so many steps
 *     late      stragglers: [{row, rank, text}]
 *     figures   [{name, unit, cells}]: cells by row and column, in units of ns, the mean of the steps; of several ranks
 *               that of the rank with most. -1: no rank has such a step
 */
#include "analysis/render/page_ranks.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/ranks/stragglers.h"
#include "analysis/ranks/ranks.h"
#include "analysis/render/page.h"

#define ROWS 100
#define COLUMNS 100
#define DIGITS 9999 /* the largest number of a figure */
#define NOTHING (-1)

/* The page shows the first of these that has values. */
enum figure { WAITED, STEP, COMPUTE, COMMUNICATION, IDLE, CAUSES, FIGURES = CAUSES + RANK_STEP_CAUSE_COUNT };

static const char *const figure_names[FIGURES] = {[WAITED] = "Waiting for other ranks",
                                                  [STEP] = "Step time",
                                                  [COMPUTE] = "Computing and copying",
                                                  [COMMUNICATION] = "Communication",
                                                  [IDLE] = "Idle",
#define CAUSE(constant, text) [CAUSES + RANK_STEP_##constant] = text,
                                                  RANK_STEP_CAUSES(CAUSE)
#undef CAUSE
};

#define LEAST_PART 200 /* a cause of idle time that takes less than 1/200 of the longest step is left out */

struct heat {
    const struct ranks *ranks;
    const struct rank **order; /* by number */
    uint32_t *row;             /* by index in ranks.items */
    size_t steps, rows, per_row, columns, per_column;
    double *cells[FIGURES];
};

struct sums {
    double of[FIGURES], steps;
};

/* --- cells --- */

static int place_ranks(struct heat *heat)
{
    size_t count = heat->ranks->items.count;
    heat->order = ranks_by_number(heat->ranks);
    heat->row = calloc(count + 1, sizeof(*heat->row));
    heat->per_row = (count + ROWS - 1) / ROWS;
    heat->rows = (count + heat->per_row - 1) / heat->per_row;
    for (size_t i = 0; heat->order && heat->row && i < count; i++)
        heat->row[heat->order[i] - heat->ranks->items.items] = (uint32_t)(i / heat->per_row);
    return heat->order && heat->row ? 0 : -1;
}

static int make_cells(struct heat *heat)
{
    size_t count = heat->rows * heat->columns;
    for (unsigned figure = 0; figure < FIGURES; figure++) {
        heat->cells[figure] = malloc((count + 1) * sizeof(double));
        for (size_t i = 0; heat->cells[figure] && i < count; i++)
            heat->cells[figure][i] = NOTHING;
        if (!heat->cells[figure])
            return -1;
    }
    return 0;
}

/* --- their values --- */

static void add_step(struct sums *sums, const struct rank_step *step)
{
    int64_t other = step->gpu - step->communication;
    sums->steps += step->count;
    sums->of[STEP] += (double)step->total;
    sums->of[COMPUTE] += other > 0 ? (double)other : 0;
    sums->of[COMMUNICATION] += (double)step->communication;
    sums->of[WAITED] += (double)step->waited;
    for (unsigned cause = 0; cause < RANK_STEP_CAUSE_COUNT; cause++) {
        sums->of[IDLE] += (double)step->idle[cause];
        sums->of[CAUSES + cause] += (double)step->idle[cause];
    }
}

/* Adds the value of an item. Items come by rank. */
static int fill_cells(struct heat *heat)
{
    const struct rank_steps *steps = &heat->ranks->steps;
    size_t bytes = (heat->columns + 1) * sizeof(struct sums);
    struct sums *columns = malloc(bytes);
    if (!columns)
        return -1;
    for (size_t i = 0; i < steps->count;) {
        uint32_t rank = steps->items[i].rank;
        memset(columns, 0, bytes);
        for (; i < steps->count && steps->items[i].rank == rank; i++)
            add_step(&columns[steps->items[i].first / heat->per_column], &steps->items[i]);
        for (size_t k = 0; k < heat->columns; k++)
            for (unsigned figure = 0; figure < FIGURES && columns[k].steps > 0; figure++) {
                double *cell = &heat->cells[figure][heat->row[rank] * heat->columns + k];
                double mean = columns[k].of[figure] / columns[k].steps;
                *cell = mean > *cell ? mean : *cell;
            }
    }
    free(columns);
    return 0;
}

/* --- what is written --- */

static double most_of(const struct heat *heat, enum figure figure)
{
    double most = 0;
    for (size_t i = 0; i < heat->rows * heat->columns; i++)
        most = heat->cells[figure][i] > most ? heat->cells[figure][i] : most;
    return most;
}

static void write_figure(struct page *page, const struct heat *heat, enum figure figure)
{
    struct json_out *json = &page->json;
    const double *cells = heat->cells[figure];
    size_t count = heat->rows * heat->columns;
    double most = most_of(heat, figure);
    int64_t unit = (int64_t)(most / DIGITS) + 1;
    if (most <= 0 || (figure >= CAUSES && most < most_of(heat, STEP) / LEAST_PART))
        return;
    json_begin_object(json);
    page_put_text(page, "name", figure_names[figure]);
    json_put_i64(json, "unit", unit);
    json_key_array(json, "cells");
    for (size_t i = 0; i < count; i++)
        json_i64(json, cells[i] < 0 ? NOTHING : (int64_t)(cells[i] / (double)unit + 0.5));
    json_end(json);
    json_end(json);
}

struct marking {
    struct page *page;
    const struct heat *heat;
};

static int write_late(void *context, const struct straggler *straggler)
{
    struct marking *marking = context;
    struct page *page = marking->page;
    for (int64_t i = 0; i < (straggler->members ? straggler->ranks : 1); i++) {
        uint32_t index = straggler->members ? straggler->members[i] : straggler->index;
        json_begin_object(&page->json);
        json_put_i64(&page->json, "row", marking->heat->row[index]);
        json_put_i64(&page->json, "rank", marking->heat->ranks->items.items[index].rank);
        page_put_text(page, "text", straggler->text);
        json_end(&page->json);
    }
    return 0;
}

static int write_heat(struct page *page, const struct heat *heat, int64_t least)
{
    struct json_out *json = &page->json;
    struct marking marking = {page, heat};
    json_key_object(json, "heat");
    json_key_array(json, "ranks");
    for (size_t i = 0; i < heat->ranks->items.count; i += heat->per_row)
        json_i64(json, heat->order[i]->rank);
    json_end(json);
    json_put_u64(json, "per_row", heat->per_row);
    json_put_u64(json, "steps", heat->steps);
    json_put_u64(json, "columns", heat->columns);
    json_put_u64(json, "per_column", heat->per_column);
    json_key_array(json, "late");
    int status = stragglers_each(heat->ranks, least, write_late, &marking);
    json_end(json);
    json_key_array(json, "figures");
    for (unsigned figure = 0; figure < FIGURES; figure++)
        write_figure(page, heat, figure);
    json_end(json);
    json_end(json);
    return status;
}

int page_ranks(struct page *page, const struct ranks *ranks, int64_t least)
{
    struct heat heat = {.ranks = ranks};
    int status = 0;
    if (ranks->items.count < 2 || ranks->steps.count == 0)
        return 0;
    /* Columns have as many steps as the widest item, or twice as many, and so on: an item is in one column. */
    const struct rank_steps *steps = &heat.ranks->steps;
    heat.per_column = 1;
    for (size_t i = 0; i < steps->count; i++) {
        const struct rank_step *step = &steps->items[i];
        size_t end = (size_t)step->first + step->count;
        heat.steps = end > heat.steps ? end : heat.steps;
        heat.per_column = step->width > heat.per_column ? step->width : heat.per_column;
    }
    while (heat.steps > heat.per_column * COLUMNS)
        heat.per_column *= 2;
    heat.columns = (heat.steps + heat.per_column - 1) / heat.per_column;
    status = place_ranks(&heat) ?: make_cells(&heat) ?: fill_cells(&heat) ?: write_heat(page, &heat, least);
    free(heat.order);
    free(heat.row);
    for (unsigned i = 0; i < FIGURES; i++)
        free(heat.cells[i]);
    return status;
}
