/* What a reader of a comparison should know besides its figures. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "common/buffer.h"
#include "analysis/diff_floors.h"
#include "analysis/diff_judge.h"
#include "analysis/diff_words.h"

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

static void note_traces(struct notes *notes)
{
    const size_t *counts = notes->diff->options->counts;
    size_t fewest = counts[BEFORE] < counts[AFTER] ? counts[BEFORE] : counts[AFTER];
    const char *advice = "";
    if (fewest < FLOOR_FEW)
        advice = " Changes of kernels by less than " FLOOR_GPU_TEXT " cannot be told from chance: three traces on each "
                 "side (--before, --after) show 2 % if the runs of a side agree, and ten if they differ by 1 %.";
    else if (fewest < FLOOR_SEVERAL)
        advice = " Changes of kernels by less than " FLOOR_GPU_TEXT " count only if the runs of a side agree.";
    note(notes, "%zu trace%s before, %zu after.%s", counts[BEFORE], counts[BEFORE] == 1 ? "" : "s", counts[AFTER],
         advice);
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
    note_gpus(&notes);
    note_shared(&notes);
    note_unrecorded(&notes);
}
