/*
 * Writes amounts, changes and causes with enough digits to distinguish before and after.
 */
#include "analysis/diff/diff_words.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "common/buffer.h"
#include "common/text.h"
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

/* Returns the number of decimals with which VALUE has DIGITS digits. */
static int decimals_for(double value, int digits)
{
    int whole = fabs(value) < 1 ? 1 : (int)floor(log10(fabs(value))) + 1;
    return digits > whole ? digits - whole : 0;
}

#define DIGITS 3
#define DIGITS_MOST 5

/* Writes an amount of TYPE_NS, TYPE_BYTES or a count: "1.84 s", "3.5 MiB", "300". */
static void diff_write_amount(struct buffer *out, double value, enum column_type type)
{
    struct scale scale = scale_of(value, type);
    double shown = value / scale.size;
    int decimals = is_whole(shown) ? 0 : decimals_for(shown, DIGITS);
    buffer_format(out, "%.*f%s%s", decimals, shown, *scale.unit ? " " : "", scale.unit);
}

void diff_write_change(struct buffer *out, double before, double after, enum column_type type)
{
    double most = fmax(fabs(before), fabs(after)), least = fmin(fabs(before), fabs(after));
    if (least > 0 && least < most / 100 && type != TYPE_COUNT) { /* each number gets its own unit */
        diff_write_amount(out, before, type);
        buffer_text(out, " → ");
        diff_write_amount(out, after, type);
        return;
    }
    struct scale scale = scale_of(most, type);
    bool whole = is_whole(before / scale.size) && is_whole(after / scale.size);
    char texts[DIFF_SIDES][64];
    for (int digits = DIGITS; digits <= DIGITS_MOST + 1; digits++) { /* equal values get DIGITS */
        int shown = digits > DIGITS_MOST ? DIGITS : digits,
            decimals = whole ? 0 : decimals_for(most / scale.size, shown);
        snprintf(texts[BEFORE], sizeof(texts[BEFORE]), "%.*f", decimals, before / scale.size);
        snprintf(texts[AFTER], sizeof(texts[AFTER]), "%.*f", decimals, after / scale.size);
        if (strcmp(texts[BEFORE], texts[AFTER]) != 0)
            break;
    }
    buffer_format(out, "%s → %s%s%s", texts[BEFORE], texts[AFTER], *scale.unit ? " " : "", scale.unit);
}

static void write_difference(struct buffer *out, double ns)
{
    buffer_text(out, ns >= 0 ? "  +" : "  ");
    diff_write_amount(out, ns, TYPE_NS);
}

/* Writes "+14 %", with one decimal below ten; "12 times" for more than ten times as much. */
static void write_percent(struct buffer *out, double percent)
{
    if (percent >= 900)
        buffer_format(out, "%.0f times", 1 + percent / 100);
    else
        buffer_format(out, "%+.*f %%", fabs(percent) < 10 ? 1 : 0, percent);
}

/* --- rows --- */

void diff_write_row(struct buffer *out, const struct diff *diff, const struct diff_row *row)
{
    bool idle = diff_comparable(row->section)->part == PART_OF_IDLE_TIME;
    if (row->section != REPORT_TIME)
        buffer_format(out, "%s ", idle ? "GPU idle:" : diff_comparable(row->section)->noun);
    render_visible(out, diff_name(diff, row), "");
}

static void write_count(struct buffer *out, const struct diff_row *row, double count)
{
    diff_write_amount(out, round(count), TYPE_COUNT);
    bool kernel = row->section == REPORT_KERNELS;
    buffer_format(out, " %s%s", kernel ? "launch" : "time", round(count) == 1 ? "" : kernel ? "es" : "s");
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
        buffer_text(out, row->section == REPORT_KERNELS ? " launches (" : " times (");
        write_percent(out, diff_percent(row->count.log.value));
        buffer_text(out, ", ");
    } else if (row->each.known) {
        diff_write_change(out, row->each.before, row->each.after, diff_type(row->section));
        buffer_text(out, row->section == REPORT_KERNELS ? " per launch (" : " each (");
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

const char *diff_term_kind(const struct diff_term *term)
{
    if (term->kind == TERM_ROW)
        return diff_comparable(term->row->section)->noun;
    return term->kind == TERM_IDLE ? "GPU idle" : "at the same time";
}

/* A difference of the whole run below this share counts as none. */
#define AS_LONG 0.005

/* A cause below this share of the difference is part of the rest. */
#define LITTLE 0.01

#define CAUSES 3

static void write_headline(struct buffer *out, const struct diff *diff)
{
    double before = diff->explained[BEFORE], after = diff->explained[AFTER];
    double growth = before > 0 ? after / before - 1 : 0;
    buffer_text(out, diff->by_steps ? "A step takes " : "After takes ");
    diff_write_amount(out, after, TYPE_NS);
    if (before <= 0 && after > 0) {
        buffer_text(out, "; before takes no time: nothing is in it");
        return;
    }
    bool differs = fabs(growth) >= AS_LONG;
    if (!differs)
        buffer_text(out, ", as long as before (");
    else
        buffer_format(out, ", %.1f %% %s than before (", 100 * fabs(growth), growth > 0 ? "longer" : "shorter");
    diff_write_amount(out, before, TYPE_NS);
    if (!differs)
        buffer_format(out, ", %+.1f %%)", 100 * growth);
    else
        buffer_format(out, ", %s)", diff_sure_word(diff_sure_alone(diff->by_steps ? &diff->step : &diff->span)));
}

void diff_end_line(struct buffer *line, diff_receiver *receive, void *context)
{
    buffer_char(line, '\0');
    if (!line->failure)
        receive(context, line->data);
    line->length = 0;
}

/* Passes on how much longer the run or step takes, and the causes that add up to the difference. */
static void list_summary(const struct diff *diff, diff_receiver *receive, void *context)
{
    double before = diff->explained[BEFORE], whole = diff->explained[AFTER] - before, rest = whole;
    bool differs = before > 0 && fabs(whole) >= AS_LONG * before;
    const struct filter_options *filter = &diff->options->report.filter;
    struct buffer line;
    buffer_init_memory(&line);
    write_headline(&line, diff);
    if (filter_wanted(filter)) {
        buffer_text(&line, " · only");
        filter_write(&line, filter);
    }
    diff_end_line(&line, receive, context);
    for (size_t i = 0; differs && i < diff->cause_count && i < CAUSES; i++) {
        const struct diff_term *cause = &diff->causes[i];
        double difference = diff_term_difference(cause);
        if (fabs(difference) < LITTLE * fabs(whole))
            break;
        rest -= difference;
        write_difference(&line, difference);
        buffer_char(&line, ' ');
        if (cause->kind == TERM_ROW)
            diff_write_row_change(&line, diff, cause->row);
        else {
            buffer_text(&line, cause->kind == TERM_IDLE ? "idle time of the GPU, "
                                                        : "GPU operations that others run beside, ");
            diff_write_change(&line, fabs(cause->before), fabs(cause->after), TYPE_NS);
        }
        diff_end_line(&line, receive, context);
    }
    if (differs && fabs(rest) >= LITTLE * fabs(whole)) {
        write_difference(&line, rest);
        buffer_text(&line, " all others");
        diff_end_line(&line, receive, context);
    }
    buffer_release(&line);
}

static void append_line(void *sentence, const char *text)
{
    struct buffer *out = sentence;
    buffer_text(out, out->length > 0 ? "; " : "");
    buffer_text(out, text + strspn(text, " "));
}

void diff_write_summary(struct buffer *out, const struct diff *diff)
{
    list_summary(diff, append_line, out);
}

static void write_test(struct buffer *out, const char *label, const struct diff_test *test)
{
    buffer_text(out, label);
    diff_write_change(out, test->before, test->after, TYPE_NS);
    double percent = diff_percent(test->log.value);
    buffer_text(out, " (");
    if (test->before >= 1 || test->after < 1)
        write_percent(out, percent);
    else
        buffer_text(out, "all of it is new");
    if (fabs(percent) >= 0.05)
        buffer_format(out, ", %s", diff_sure_word(diff_sure_alone(test)));
    buffer_char(out, ')');
}

void diff_lines(const struct diff *diff, diff_receiver *receive, void *context)
{
    const struct diff_whole *last = &diff->wholes[diff->traces - 1];
    struct buffer line;
    buffer_init_memory(&line);
    list_summary(diff, receive, context);
    if (diff->by_steps) {
        write_test(&line, "Run: ", &diff->span);
        buffer_format(&line, "; steps: %s → %s", text_count((uint64_t)diff->wholes[0].steps, NULL).text,
                      text_count((uint64_t)last->steps, NULL).text);
        diff_end_line(&line, receive, context);
    }
    if (diff->busy.before > 0 || diff->busy.after > 0) {
        write_test(&line, "GPU busy: ", &diff->busy);
        write_test(&line, "; idle: ", &diff->idle);
        if (last->gpus > 1)
            buffer_format(&line, "; means of %zu GPUs", last->gpus);
        diff_end_line(&line, receive, context);
    }
    buffer_release(&line);
}
