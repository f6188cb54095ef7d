#include "analysis/diff/diff_words.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "common/buffer.h"
#include "analysis/diff/diff_judge.h"
#include "analysis/render/render.h"

const char *diff_sure_word(enum diff_sure sure)
{
    static const char *const words[] = {[NOT_SURE] = "not sure", [LIKELY] = "likely", [SURE] = "sure"};
    return words[sure];
}

const char *diff_change_word(enum diff_change change)
{
    static const char *const words[] = {
        [UNCHANGED] = "",    [SLOWER] = "slower",   [FASTER] = "faster",     [MORE] = "more",         [FEWER] = "fewer",
        [LARGER] = "larger", [SMALLER] = "smaller", [APPEARED] = "appeared", [VANISHED] = "vanished",
    };
    return words[change];
}

double diff_percent(double log_value)
{
    return 100 * expm1(log_value);
}

/* --- amounts --- */

struct scale {
    const char *unit;
    double size;
};

static struct scale scale_of(double value, enum column_type type)
{
    static const struct scale times[] = {{"s", 1e9}, {"ms", 1e6}, {"µs", 1e3}, {"ns", 1}, {NULL, 0}};
    static const struct scale sizes[] = {
        {"GiB", 1073741824.0}, {"MiB", 1048576.0}, {"KiB", 1024.0}, {"B", 1}, {NULL, 0}};
    const struct scale *scale = type == TYPE_NS ? times : sizes;
    if (type != TYPE_NS && type != TYPE_BYTES)
        return (struct scale){"", 1};
    while (fabs(value) < scale->size && scale[1].unit)
        scale++;
    return *scale;
}

static bool is_whole(double value)
{
    return value == floor(value);
}

/* Decimals for so many digits in all. */
static int decimals_for(double value, int digits)
{
    int whole = fabs(value) < 1 ? 1 : (int)floor(log10(fabs(value))) + 1;
    return digits > whole ? digits - whole : 0;
}

#define DIGITS 3
#define DIGITS_MOST 5

void diff_write_amount(struct buffer *out, double value, enum column_type type)
{
    struct scale scale = scale_of(value, type);
    double shown = value / scale.size;
    int decimals = is_whole(shown) ? 0 : decimals_for(shown, DIGITS);
    buffer_format(out, "%.*f%s%s", decimals, shown, *scale.unit ? " " : "", scale.unit);
}

void diff_write_change(struct buffer *out, double before, double after, enum column_type type)
{
    double most = fmax(fabs(before), fabs(after));
    struct scale scale = scale_of(most, type);
    bool whole = is_whole(before / scale.size) && is_whole(after / scale.size);
    char texts[DIFF_SIDES][64];
    for (int digits = DIGITS; digits <= DIGITS_MOST + 1; digits++) { /* at last those of two that are the same */
        int shown = digits > DIGITS_MOST ? DIGITS : digits,
            decimals = whole ? 0 : decimals_for(most / scale.size, shown);
        snprintf(texts[BEFORE], sizeof(texts[BEFORE]), "%.*f", decimals, before / scale.size);
        snprintf(texts[AFTER], sizeof(texts[AFTER]), "%.*f", decimals, after / scale.size);
        if (strcmp(texts[BEFORE], texts[AFTER]) != 0)
            break;
    }
    buffer_format(out, "%s → %s%s%s", texts[BEFORE], texts[AFTER], *scale.unit ? " " : "", scale.unit);
}

/* "+14 %", with one decimal below ten. */
static void write_percent(struct buffer *out, double percent)
{
    buffer_format(out, "%+.*f %%", fabs(percent) < 10 ? 1 : 0, percent);
}

static void write_how_sure(struct buffer *out, const struct diff_test *test, enum diff_sure sure)
{
    double percent = diff_percent(test->log.value);
    buffer_char(out, '(');
    if (test->before >= 1 || test->after < 1)
        write_percent(out, percent);
    else
        buffer_text(out, "all of it is new");
    if (fabs(percent) >= 0.05)
        buffer_format(out, ", %s", diff_sure_word(sure));
    buffer_char(out, ')');
}

/* --- rows --- */

#define NAME_MOST 60

/* The first COUNT characters of TEXT, or those from there on. */
static const char *after_characters(const char *text, size_t count)
{
    for (; *text; text++)
        if (((unsigned char)*text & 0xc0) != 0x80 && count-- == 0)
            break;
    return text;
}

void diff_write_row(struct buffer *out, const struct diff *diff, const struct diff_row *row)
{
    const char *name = diff_name(diff, row);
    size_t width = render_width(name, strlen(name)), head = NAME_MOST * 2 / 3, tail = NAME_MOST - head - 1;
    bool idle = diff_comparable(row->section)->part == PART_OF_IDLE_TIME;
    buffer_format(out, "%s ", idle ? "GPU idle:" : diff_comparable(row->section)->noun);
    if (width <= NAME_MOST) {
        render_visible(out, name, "");
        return;
    }
    char start[NAME_MOST * 4];
    snprintf(start, sizeof(start), "%.*s", (int)(after_characters(name, head) - name), name);
    render_visible(out, start, "");
    buffer_text(out, "…");
    render_visible(out, after_characters(name, width - tail), "");
}

static bool is_kernel(const struct diff_row *row)
{
    return row->section == REPORT_KERNELS;
}

static void write_count(struct buffer *out, const struct diff_row *row, double count)
{
    diff_write_amount(out, round(count), TYPE_COUNT);
    const char *word = is_kernel(row) ? "launch" : "time";
    buffer_format(out, " %s%s", word, round(count) == 1 ? "" : is_kernel(row) ? "es" : "s");
}

static void write_presence(struct buffer *out, const struct diff *diff, const struct diff_row *row)
{
    enum diff_side side = row->present[AFTER] ? AFTER : BEFORE;
    enum column_type type = diff_type(row->section);
    buffer_format(out, ", which %s", side == AFTER ? "is new" : "is gone");
    buffer_text(out, " (");
    if (type != TYPE_COUNT) {
        diff_write_amount(out, row->totals[side], type);
        buffer_text(out, ", ");
    }
    if (diff_comparable(row->section)->count) {
        write_count(out, row, row->counts[side]);
        buffer_text(out, ", ");
    }
    if (row->present[side] < diff->options->counts[side])
        buffer_format(out, "in %zu of %zu traces, ", row->present[side], diff->options->counts[side]);
    buffer_format(out, "%s)", diff_sure_word(row->sure));
}

void diff_write_row_change(struct buffer *out, const struct diff *diff, const struct diff_row *row)
{
    diff_write_row(out, diff, row);
    if (row->present[BEFORE] == 0 || row->present[AFTER] == 0) {
        write_presence(out, diff, row);
        return;
    }
    buffer_text(out, ", ");
    if (row->count.known && (row->why == &row->count || (!row->each.known && !row->total.known))) {
        diff_write_change(out, row->counts[BEFORE], row->counts[AFTER], TYPE_COUNT);
        buffer_text(out, is_kernel(row) ? " launches (" : " times (");
        write_percent(out, diff_percent(row->count.log.value));
        buffer_text(out, ", ");
    } else if (row->each.known) {
        diff_write_change(out, row->each.before, row->each.after, diff_type(row->section));
        buffer_text(out, is_kernel(row) ? " per launch (" : " each (");
        write_percent(out, diff_percent(row->each.log.value));
        buffer_text(out, ", ");
        if (diff_comparable(row->section)->count) {
            write_count(out, row, row->counts[AFTER]);
            buffer_text(out, ", ");
        }
    } else {
        diff_write_change(out, row->totals[BEFORE], row->totals[AFTER], diff_type(row->section));
        buffer_text(out, " (");
        write_percent(out, diff_percent(row->total.log.value));
        buffer_text(out, ", ");
    }
    buffer_format(out, "%s)", diff_sure_word(row->sure));
}

/* --- the whole --- */

const char *diff_part_kind(const struct diff_part *part)
{
    if (part->kind == PART_ROW)
        return diff_comparable(part->row->section)->noun;
    return part->kind == PART_IDLE ? "GPU idle" : "at the same time";
}

/* A difference of the whole that is not worth a word, of 1. */
#define AS_LONG 0.005

static void write_main_part(struct buffer *out, const struct diff *diff, double whole)
{
    const struct diff_part *part = diff_main_part(diff);
    if (!part)
        return;
    buffer_format(out, "; %.0f %% of it: ", 100 * diff_part_difference(part) / whole);
    if (part->kind == PART_ROW) {
        diff_write_row_change(out, diff, part->row);
        return;
    }
    buffer_text(out, part->kind == PART_IDLE ? "idle time of the GPU, " : "time with several GPU operations at once, ");
    diff_write_change(out, fabs(part->before), fabs(part->after), TYPE_NS);
}

void diff_write_summary(struct buffer *out, const struct diff *diff)
{
    double before = diff_mean_span(diff, BEFORE), after = diff_mean_span(diff, AFTER);
    double growth = before > 0 ? after / before - 1 : 0;
    buffer_text(out, "After takes ");
    diff_write_amount(out, after, TYPE_NS);
    if (before <= 0 && after > 0) {
        buffer_text(out, "; before takes no time: nothing is in it");
        return;
    }
    if (fabs(growth) < AS_LONG) {
        buffer_text(out, ", as long as before (");
        diff_write_amount(out, before, TYPE_NS);
        buffer_format(out, ", %+.1f %%)", 100 * growth);
        return;
    }
    buffer_format(out, ", %.1f %% %s than before (", 100 * fabs(growth), growth > 0 ? "longer" : "shorter");
    diff_write_amount(out, before, TYPE_NS);
    buffer_format(out, ", %s)", diff_sure_word(diff_sure_alone(&diff->span)));
    write_main_part(out, diff, after - before);
}

void diff_write_gpu(struct buffer *out, const struct diff *diff)
{
    size_t gpus = diff->wholes[diff->traces - 1].gpus;
    buffer_text(out, "GPU busy: ");
    diff_write_change(out, diff->busy.before, diff->busy.after, TYPE_NS);
    buffer_char(out, ' ');
    write_how_sure(out, &diff->busy, diff_sure_alone(&diff->busy));
    buffer_text(out, "; idle: ");
    diff_write_change(out, diff->idle.before, diff->idle.after, TYPE_NS);
    buffer_char(out, ' ');
    write_how_sure(out, &diff->idle, diff_sure_alone(&diff->idle));
    if (gpus > 1)
        buffer_format(out, "; means of %zu GPUs", gpus);
}
