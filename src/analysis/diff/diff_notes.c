/* What a reader of a comparison should know besides its figures. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "common/buffer.h"
#include "analysis/diff/diff_floors.h"
#include "analysis/diff/diff_judge.h"
#include "analysis/diff/diff_modes.h"
#include "analysis/diff/diff_words.h"

struct notes {
    const struct diff *diff;
    void (*say)(void *context, const char *text);
    void *context;
};

static void __attribute__((format(printf, 2, 3))) note(struct notes *notes, const char *format, ...)
{
    struct buffer text;
    va_list args;
    buffer_init_memory(&text);
    va_start(args, format);
    buffer_vformat(&text, format, args);
    va_end(args);
    buffer_char(&text, '\0');
    if (buffer_finish(&text) == 0)
        notes->say(notes->context, text.data);
    buffer_release(&text);
}

static size_t fewest_traces(const struct diff *diff)
{
    const size_t *counts = diff->options->counts;
    return counts[BEFORE] < counts[AFTER] ? counts[BEFORE] : counts[AFTER];
}

static void note_traces(struct notes *notes)
{
    const size_t *counts = notes->diff->options->counts;
    size_t fewest = fewest_traces(notes->diff);
    const char *advice = "";
    if (fewest < FLOOR_FEW)
        advice = " Changes of kernels by less than " FLOOR_GPU_TEXT " cannot be told from chance: three traces on each "
                 "side (--before, --after) show 2 % if the runs of a side agree, and ten if they differ by 1 %.";
    else if (fewest < FLOOR_SEVERAL)
        advice = " Changes of kernels by less than " FLOOR_GPU_TEXT " count only if the runs of a side agree.";
    note(notes, "%zu trace%s before, %zu after.%s", counts[BEFORE], counts[BEFORE] == 1 ? "" : "s", counts[AFTER],
         advice);
}

/* --- modes --- */

#define MODES_CHANGE 0.02 /* modes nearer than this hide only changes that matter less */

/* A row whose change, if it has any, its modes may hide. */
static bool hides_change(const struct diff_row *row)
{
    return row->apart >= MODES_CHANGE && !row->tiny && row->sure != SURE;
}

/* The rows that are compared with each other, for the chance that one of them has to be below. */
static size_t count_compared(const struct diff *diff)
{
    size_t count = 1;
    for (size_t i = 0; i < diff->rows.count; i++) {
        const struct diff_row *row = &diff->rows.items[i];
        count += row->each.known && !row->tiny && diff_comparable(row->section)->floor < FLOOR_HOST;
    }
    return count;
}

/* Names the row that takes the most time. */
static void note_modes(struct notes *notes)
{
    const struct diff *diff = notes->diff;
    const struct diff_row *longest = NULL;
    size_t fewest = fewest_traces(diff), others = 0, compared = count_compared(diff), needed = 0;
    for (size_t i = 0; i < diff->rows.count; i++) {
        const struct diff_row *row = &diff->rows.items[i];
        if (!hides_change(row))
            continue;
        size_t traces = diff_modes_needed(row->deviation, MODES_CHANGE, DIFF_SURE / (double)compared);
        if (traces <= fewest)
            continue;
        others += longest != NULL;
        if (!longest || row->totals[BEFORE] > longest->totals[BEFORE]) {
            longest = row;
            needed = traces;
        }
    }
    if (!longest)
        return;
    struct buffer name;
    buffer_init_memory(&name);
    diff_write_row(&name, diff, longest);
    buffer_char(&name, '\0');
    if (buffer_finish(&name) == 0)
        note(notes, "Runs of %s have two modes %.1f %% apart: %zu traces on each side show a change of 2 %%.%s",
             name.data, diff_percent(longest->apart), needed, others ? " Other rows have modes, too." : "");
    buffer_release(&name);
}

static void note_gpus(struct notes *notes)
{
    const struct diff *diff = notes->diff;
    const struct diff_whole *first = &diff->wholes[0], *last = &diff->wholes[diff->traces - 1];
    if (first->gpu != EVENT_NO_TEXT && last->gpu != EVENT_NO_TEXT && first->gpu != last->gpu)
        note(notes, "The GPUs differ: %s before, %s after.", interned(&diff->names, first->gpu),
             interned(&diff->names, last->gpu));
    if (first->gpus != last->gpus)
        note(notes, "The number of GPUs differs: %zu before, %zu after.", first->gpus, last->gpus);
}

static void note_unrecorded(struct notes *notes)
{
    for (unsigned i = 0; i < REPORT_SECTION_COUNT; i++)
        if (notes->diff->unrecorded[i])
            note(notes, "Not compared: %s, which --trace left out in '%s'.", section_list[i].word,
                 notes->diff->unrecorded[i]);
}

/* --- a change that all kernels share --- */

#define SHARED_ROWS 4      /* fewer say nothing about the GPU as a whole */
#define SHARED_LEAST 0.005 /* of 1: a smaller change is not worth a note */
#define SHARED_NEAR 0.005  /* kernels this near to the middle one changed as it did */
#define SHARED_MOST 0.8    /* of the kernels' time must be near */

static void note_shared(struct notes *notes)
{
    const struct diff *diff = notes->diff;
    struct weighed *items = calloc(diff->rows.count + 1, sizeof(*items));
    size_t count = 0;
    for (size_t i = 0; items && i < diff->rows.count; i++) {
        const struct diff_row *row = &diff->rows.items[i];
        if (row->section == REPORT_KERNELS && row->each.known && !row->tiny)
            items[count++] = (struct weighed){row->each.log.value, row->totals[BEFORE]};
    }
    double all = 0, near = 0, middle = items ? statistics_weighed_median(items, count) : 0;
    for (size_t i = 0; i < count; i++) {
        all += items[i].weight;
        if (fabs(items[i].value - middle) <= SHARED_NEAR)
            near += items[i].weight;
    }
    if (count >= SHARED_ROWS && fabs(middle) >= SHARED_LEAST && near >= SHARED_MOST * all)
        note(notes, "Nearly all kernels take %.1f %% %s: the GPU's clock may have been another.",
             fabs(diff_percent(middle)), middle > 0 ? "longer" : "less long");
    free(items);
}

void diff_notes(const struct diff *diff, void (*say)(void *context, const char *text), void *context)
{
    struct notes notes = {.diff = diff, .say = say, .context = context};
    note_traces(&notes);
    note_modes(&notes);
    note_gpus(&notes);
    note_shared(&notes);
    note_unrecorded(&notes);
}
