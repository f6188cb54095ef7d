/*
 * Follows chains of ranks that send to one another, and averages the steps of the ranks at each position of a chain.
 */
#include "analysis/ranks/stages.h"

#include <stdio.h>
#include <stdlib.h>

#include "trace/windows.h"
#include "analysis/base/cost_sum.h"
#include "common/array.h"
#include "common/map.h"

void stages_release(struct stages *stages)
{
    array_release(&stages->items);
    free(stages->of_rank);
    stages->of_rank = NULL;
}

/* --- chains --- */

/* The ranks with which a rank exchanges data. */
struct place {
    uint32_t others[2], count; /* count: number of others, 3 if more than two */
    uint32_t position;         /* position in its chain; STAGE_NONE: in no chain */
};

static void add_other(struct place *place, uint32_t other)
{
    for (uint32_t i = 0; i < place->count && i < 2; i++)
        if (place->others[i] == other)
            return;
    if (place->count < 2)
        place->others[place->count] = other;
    place->count += place->count < 3;
}

/* Returns whether data go first from A to B, as activations do. */
static bool goes_forward(const struct ranks *ranks, uint32_t a, uint32_t b)
{
    const struct neighbour_row *there = neighbours_find(&ranks->neighbours, a, b);
    const struct neighbour_row *back = neighbours_find(&ranks->neighbours, b, a);
    return there && there->alone > 0 && (!back || there->first < back->first);
}

/* Returns the neighbour of PLACE that is not BEFORE, or its only neighbour. */
static uint32_t next_of(const struct place *place, uint32_t before)
{
    return place->count > 1 && place->others[0] == before ? place->others[1] : place->others[0];
}

/* Follows the chain that begins with FIRST. Returns its length, or 0 if it is not a pipeline. */
static uint32_t follow(const struct ranks *ranks, const struct place *places, uint32_t first)
{
    uint32_t before = first, at = first;
    for (uint32_t length = 1; length <= ranks->items.count; length++) {
        const struct place *place = &places[at];
        uint32_t next = next_of(place, before);
        if (place->count > 2 || ranks->items.items[at].steps <= 0)
            return 0;
        if (length > 1 && place->count == 1)
            return length;
        if (!goes_forward(ranks, at, next))
            return 0;
        before = at;
        at = next;
    }
    return 0;
}

/* Sets the positions of ranks in all chains. Returns the number of stages, or 0 if there are no chains or their lengths
 * differ. */
static uint32_t find_chains(const struct ranks *ranks, struct place *places)
{
    uint32_t stages = 0;
    for (uint32_t i = 0; i < ranks->items.count; i++) {
        uint32_t length =
            places[i].count == 1 && goes_forward(ranks, i, places[i].others[0]) ? follow(ranks, places, i) : 0;
        if (length < 2)
            continue;
        if (stages && length != stages)
            return 0;
        stages = length;
        for (uint32_t at = i, before = i, position = 0; position < length; position++) {
            uint32_t next = next_of(&places[at], before);
            places[at].position = position;
            before = at;
            at = next;
        }
    }
    return stages;
}

/* --- times --- */

static void add_ranks(struct stages *stages, const struct ranks *ranks)
{
    for (size_t i = 0; i < ranks->items.count; i++) {
        const struct rank *rank = &ranks->items.items[i];
        if (stages->of_rank[i] == STAGE_NONE)
            continue;
        struct stage *stage = &stages->items.items[stages->of_rank[i]];
        stage->ranks++;
        sum_add(&stage->step, rank->step_total / rank->steps);
        sum_add(&stage->neighbours, rank->neighbours / rank->steps);
        stages->steps = rank->steps > stages->steps ? rank->steps : stages->steps;
    }
    for (size_t i = 0; i < ranks->steps.count; i++) {
        const struct rank_step *step = &ranks->steps.items[i];
        uint32_t number = stages->of_rank[step->rank];
        int64_t compute = step->gpu - step->communication;
        if (number != STAGE_NONE && compute > 0)
            sum_add(&stages->items.items[number].compute, compute / ranks->items.items[step->rank].steps);
    }
}

/* Sets the means, the slowest stage and its gain. A step with M microbatches takes the time of a microbatch in all
 * stages, plus M - 1 times its time in the slowest stage. */
static void find_gain(struct stages *stages, const struct ranks *ranks)
{
    int64_t sum = 0;
    for (size_t i = 0; i < stages->items.count; i++) {
        struct stage *stage = &stages->items.items[i];
        stage->step /= stage->ranks;
        stage->compute /= stage->ranks;
        stage->neighbours /= stage->ranks;
        stage->gain = FIELD_ABSENT;
        sum_add(&sum, stage->compute);
        stages->slowest = stage->compute > stages->items.items[stages->slowest].compute ? i : stages->slowest;
    }
    struct stage *slowest = &stages->items.items[stages->slowest];
    stages->mean = sum / (int64_t)stages->items.count;
    /* The number of microbatches is how often a step sends to the next stage. */
    int64_t count = 0, steps = 0;
    for (size_t i = 0; i < ranks->neighbours.rows.count; i++) {
        const struct neighbour_key *key = dense_map_row(&ranks->neighbours.keys, i);
        uint32_t from = stages->of_rank[key->from], to = stages->of_rank[key->to];
        if (from == STAGE_NONE || to != from + 1)
            continue;
        count += ranks->neighbours.rows.items[i].count;
        steps += ranks->items.items[key->from].steps;
    }
    stages->microbatches = steps > 0 && count > steps ? (count + steps / 2) / steps : 1;
    if (stages->microbatches > 1)
        slowest->gain = (slowest->compute - stages->mean) / stages->microbatches * (stages->microbatches - 1);
}

/* --- stages --- */

int stages_find(struct stages *stages, const struct ranks *ranks)
{
    struct place *places = calloc(ranks->items.count + 1, sizeof(*places));
    for (size_t i = 0; places && i < ranks->items.count; i++)
        places[i].position = STAGE_NONE;
    for (size_t i = 0; places && i < ranks->neighbours.rows.count; i++) {
        const struct neighbour_key *key = dense_map_row(&ranks->neighbours.keys, i);
        add_other(&places[key->from], (uint32_t)key->to);
        add_other(&places[key->to], (uint32_t)key->from);
    }
    int64_t *numbers = calloc(ranks->items.count + 1, sizeof(*numbers));
    stages->of_rank = calloc(ranks->items.count + 1, sizeof(*stages->of_rank));
    int status = places && numbers && stages->of_rank ? 0 : -1;
    uint32_t count = status == 0 ? find_chains(ranks, places) : 0;
    for (uint32_t i = 0; i < count && status == 0; i++)
        status = ADD(array_push, &stages->items, (struct stage){.number = i}) ? 0 : -1;
    for (size_t i = 0; i < ranks->items.count && status == 0; i++)
        stages->of_rank[i] = count ? places[i].position : STAGE_NONE;
    if (count && status == 0) {
        add_ranks(stages, ranks);
        find_gain(stages, ranks);
    }
    for (size_t i = 0; i < count && status == 0; i++) {
        struct stage *stage = &stages->items.items[i];
        size_t members = 0;
        for (size_t k = 0; k < ranks->items.count; k++)
            if (stages->of_rank[k] == i)
                numbers[members++] = ranks->items.items[k].rank;
        number_list_write(stage->list, sizeof(stage->list), numbers, members);
    }
    free(places);
    free(numbers);
    return status;
}

/* --- the table --- */

static struct cell fill_list(struct report_row *row, const struct column *column)
{
    return table_text(row->table, ((const struct stage *)row->item)->list);
}

const struct column stages_columns[STAGES_COLUMNS] = {
    {"stage", "Stage", TYPE_NUMBER, 0, fill_number, FROM_ITEM(stage, number), .importance = 100},
    {"step", "Step avg", TYPE_NS, 0, fill_number, FROM_ITEM(stage, step), .importance = 80},
    {"compute", "Compute", TYPE_NS, 0, fill_number, FROM_ITEM(stage, compute), .importance = 90},
    {"neighbours", "Waiting", TYPE_NS, 0, fill_number, FROM_ITEM(stage, neighbours), .importance = 85},
    {"bubble", "Of step", TYPE_PERCENT, 0, fill_percent, FROM_ITEM(stage, neighbours), PER_ITEM(stage, step),
     .importance = 84},
    {"gain", "Gain if balanced", TYPE_NS, COLUMN_OPTIONAL, fill_number, FROM_ITEM(stage, gain), .importance = 75},
    {"count", "Number", TYPE_COUNT, COLUMN_MACHINE, fill_number, FROM_ITEM(stage, ranks)},
    {"ranks", "Ranks", TYPE_TEXT, 0, .fill = fill_list, .importance = 70},
};

int stages_fill(struct report_row *row, const struct ranks *ranks)
{
    struct stages stages = {0};
    int status = stages_find(&stages, ranks);
    for (size_t i = 0; i < stages.items.count && status == 0; i++)
        section_row(row, NULL, &stages.items.items[i]);
    stages_release(&stages);
    return status;
}

/* --- the finding --- */

const char imbalance_advice[] =
    "Move layers from this stage to the others until all compute as long (the embedding and the loss count, too). More "
    "microbatches in a step make the rest of the waiting smaller.";

int stages_find_imbalance(struct imbalance *imbalance, const struct ranks *ranks)
{
    struct stages stages = {0};
    int status = stages_find(&stages, ranks);
    *imbalance = (struct imbalance){.cost = 0};
    const struct stage *slowest = stages.items.count ? &stages.items.items[stages.slowest] : NULL;
    if (status == 0 && slowest && slowest->gain > 0 && slowest->compute >= stages.mean / 100 * FINDING_STAGE_PERCENT) {
        imbalance->cost = slowest->gain * stages.steps;
        imbalance->ranks = slowest->ranks;
        imbalance->steps = stages.steps;
        while (stages.of_rank[imbalance->index] != stages.slowest)
            imbalance->index++;
        snprintf(imbalance->text, sizeof(imbalance->text),
                 "Stage %lld of the pipeline (%s %s) computes %s in a step, the %s stages %s on average: balanced, a "
                 "step of %s would be %s shorter",
                 (long long)slowest->number, slowest->ranks == 1 ? "rank" : "ranks", slowest->list,
                 amount_time(slowest->compute).text, amount_count((int64_t)stages.items.count).text,
                 amount_time(stages.mean).text, amount_time(slowest->step).text, amount_time(slowest->gain).text);
    }
    stages_release(&stages);
    return status;
}
