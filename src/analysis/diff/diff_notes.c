/*
 * Each note is a function that examines the comparison and passes on a sentence if there is something to note.
 */
#include "analysis/diff/diff_notes.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "common/buffer.h"
#include "common/text.h"
#include "analysis/engine/findings.h"
#include "analysis/diff/diff_values.h"
#include "analysis/diff/diff_judge.h"
#include "analysis/diff/diff_modes.h"
#include "analysis/diff/diff_words.h"

struct notes {
    const struct diff *diff;
    diff_receiver *receive;
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
    diff_end_line(&text, notes->receive, notes->context);
    buffer_release(&text);
}

/* --- modes --- */

#define MODES_CHANGE 0.02 /* modes that are closer hide only changes that matter less */

/* Notes how many traces would show a change of the longest row whose modes hide changes. */
static void note_modes(struct notes *notes, size_t fewest)
{
    const struct diff *diff = notes->diff;
    const struct diff_row *longest = NULL;
    size_t others = 0, needed = 0, compared = 1; /* compared: rows that are corrected together */
    for (size_t i = 0; i < diff->rows.count; i++) {
        const struct diff_row *row = &diff->rows.items[i];
        compared += row->each.known && !row->tiny && diff_comparable(row->section)->floor < FLOOR_HOST;
    }
    for (size_t i = 0; i < diff->rows.count; i++) {
        const struct diff_row *row = &diff->rows.items[i];
        if (row->apart < MODES_CHANGE || row->tiny || row->sure == SURE) /* its modes hide no change */
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

/* --- ranks of jobs --- */

#define RANKS_LISTED 16 /* ranks of a side that a note lists */

/* Returns the trace of the side AFTER with the rank of trace BEFORE, or NULL. */
static const struct diff_whole *same_rank(const struct diff *diff, size_t before)
{
    for (size_t i = diff->options->counts[BEFORE]; i < diff->traces; i++)
        if (diff->wholes[i].rank == diff->wholes[before].rank)
            return &diff->wholes[i];
    return NULL;
}

/* Notes that the traces are of ranks of two jobs and that figures are means over them; names the rank that changed
 * most. */
static void note_ranks(struct notes *notes)
{
    const struct diff *diff = notes->diff;
    size_t pairs = 0, most = 0;
    double change = -1;
    /* Return unless each trace is of one rank and no side has a rank twice. */
    for (size_t i = 0; i < diff->traces; i++) {
        if (diff->wholes[i].rank == FIELD_ABSENT)
            return;
        for (size_t k = 0; k < i; k++)
            if (diff_side_of(diff, i) == diff_side_of(diff, k) && diff->wholes[i].rank == diff->wholes[k].rank)
                return;
    }
    for (size_t i = 0; i < diff->options->counts[BEFORE]; i++) {
        const struct diff_whole *after = same_rank(diff, i);
        double own = after ? fabs(after->span - diff->wholes[i].span) : -1;
        pairs += after != NULL;
        most = own > change ? i : most;
        change = own > change ? own : change;
    }
    if (pairs < diff->options->counts[BEFORE] || pairs < diff->options->counts[AFTER]) {
        struct buffer ranks[DIFF_SIDES];
        for (enum diff_side side = BEFORE; side < DIFF_SIDES; side++) {
            buffer_init_memory(&ranks[side]);
            size_t before = side == BEFORE ? 0 : diff->options->counts[BEFORE], count = diff->options->counts[side];
            for (size_t i = 0; i < count && i < RANKS_LISTED; i++)
                buffer_format(&ranks[side], "%s%" PRId64, i ? ", " : "", diff->wholes[before + i].rank);
            buffer_text(&ranks[side], count > RANKS_LISTED ? " and others" : "");
            buffer_char(&ranks[side], '\0');
        }
        if (!ranks[BEFORE].failure && !ranks[AFTER].failure)
            note(notes, "The ranks differ: %s before, %s after.%s", ranks[BEFORE].data, ranks[AFTER].data,
                 diff->traces > DIFF_SIDES ? " Figures are means over the ranks of a side." : "");
        buffer_release(&ranks[BEFORE]);
        buffer_release(&ranks[AFTER]);
        return;
    }
    if (pairs < 2)
        return;
    const struct diff_whole *after = same_rank(diff, most);
    note(notes,
         "The same %zu ranks of a job on each side: figures are means over them. Rank %" PRId64
         " differs most: its trace takes %s before, %s after.",
         pairs, after->rank, amount_time((int64_t)diff->wholes[most].span).text,
         amount_time((int64_t)after->span).text);
}

/* --- a change that all kernels share --- */

#define SHARED_ROWS 4      /* fewer rows are too few to judge the GPU */
#define SHARED_LEAST 0.005 /* a smaller change is not worth a note */
#define SHARED_NEAR 0.005  /* kernels this close to the median changed alike */
#define SHARED_MOST 0.8    /* this share of the kernels' time must be close */

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

void diff_notes(const struct diff *diff, diff_receiver *receive, void *context)
{
    struct notes notes = {.diff = diff, .receive = receive, .context = context};
    const size_t *counts = diff->options->counts;
    size_t fewest = counts[BEFORE] < counts[AFTER] ? counts[BEFORE] : counts[AFTER];
    const char *advice = "";
    if (fewest < FLOOR_FEW)
        advice = " Changes of kernels by less than " FLOOR_GPU_TEXT " cannot be told from chance: three traces on each "
                 "side (--before, --after) show 2 % if the runs of a side agree, and ten if they differ by 1 %.";
    else if (fewest < FLOOR_SEVERAL)
        advice = " Changes of kernels by less than " FLOOR_GPU_TEXT " count only if the runs of a side agree.";
    note(&notes, "%zu trace%s before, %zu after.%s", counts[BEFORE], counts[BEFORE] == 1 ? "" : "s", counts[AFTER],
         advice);
    note_ranks(&notes);
    note_modes(&notes, fewest);
    const struct diff_whole *first = &diff->wholes[0], *last = &diff->wholes[diff->traces - 1];
    if (first->gpu != EVENT_NO_TEXT && last->gpu != EVENT_NO_TEXT && first->gpu != last->gpu)
        note(&notes, "The GPUs differ: %s before, %s after.", interned(&diff->names, first->gpu),
             interned(&diff->names, last->gpu));
    if (first->gpus != last->gpus)
        note(&notes, "The number of GPUs differs: %zu before, %zu after.", first->gpus, last->gpus);
    if (first->world != FIELD_ABSENT && last->world != FIELD_ABSENT && first->world != last->world)
        note(&notes, "The jobs differ: %s before, %" PRId64 " after.", text_count((uint64_t)first->world, "rank").text,
             last->world);
    note_shared(&notes);
    for (unsigned i = 0; i < REPORT_SECTION_COUNT; i++)
        if (notes.diff->unrecorded[i])
            note(&notes, "Not compared: %s, which --trace left out in '%s'.", section_list[i].word,
                 notes.diff->unrecorded[i]);
}
