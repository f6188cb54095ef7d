/*
 * Parses "NOUN:NAME>LIMIT", and looks the noun up among figures of the whole and sections.
 */
#include "analysis/diff/diff_conditions.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/engine/findings.h"
#include "common/buffer.h"
#include "common/log.h"
#include "common/text.h"
#include "analysis/diff/diff_judge.h"
#include "analysis/diff/diff_words.h"

/* --- reading a condition --- */

/* The figures of whole traces that a condition may name, besides rows of sections. */
static const struct {
    const char *noun;
    size_t at; /* of the struct diff_test in struct diff */
} wholes[] = {
    {"total", offsetof(struct diff, span)},
    {"gpu", offsetof(struct diff, busy)},
    {"idle", offsetof(struct diff, idle)},
};
#define WHOLES (sizeof(wholes) / sizeof(*wholes))

static const char *noun_at(size_t i)
{
    if (i < WHOLES)
        return wholes[i].noun;
    return section_list[i - WHOLES].section->comparable.noun; /* NULL: it is not compared */
}

/* Returns WHOLES if it is a section's. */
static size_t find_whole(const char *noun)
{
    size_t i = 0;
    while (i < WHOLES && strcmp(wholes[i].noun, noun) != 0)
        i++;
    return i;
}

void diff_condition_words(char *text, size_t size)
{
    *text = '\0';
    for (size_t i = 0; i < WHOLES + REPORT_SECTION_COUNT; i++)
        if (noun_at(i) && (i < WHOLES || find_whole(noun_at(i)) == WHOLES))
            text_list_add(text, size, noun_at(i));
}

/* Checks that the quantity NUMBER, see noun_at(), can have the unit of the limit. */
static int check_unit(const struct diff_condition *condition, size_t number)
{
    enum column_type type = number < WHOLES ? TYPE_NS : diff_type((unsigned)(number - WHOLES));
    if (condition->of_percent || type == (condition->unit == 't' ? TYPE_NS : TYPE_BYTES))
        return 0;
    return error("--fail-on: '%s': a limit of '%s' cannot have this unit: use %%%s", condition->text, condition->noun,
                 type == TYPE_NS      ? ", s, ms, us or ns"
                 : type == TYPE_BYTES ? ", B, KiB, MiB, GiB, KB, MB or GB"
                                      : "");
}

static int check_noun(const struct diff_condition *condition)
{
    char list[256];
    const char *noun = condition->noun, *text = condition->text;
    struct suggestion nearest = suggestion_for(noun, strlen(noun));
    for (size_t i = 0; i < WHOLES + REPORT_SECTION_COUNT; i++) {
        if (!noun_at(i))
            continue;
        if (strcmp(noun_at(i), noun) == 0)
            return check_unit(condition, i);
        suggestion_consider(&nearest, noun_at(i));
    }
    diff_condition_words(list, sizeof(list));
    if (nearest.word)
        return error("--fail-on: '%s' is about '%s': did you mean '%s'?", text, noun, nearest.word);
    return error("--fail-on: '%s' is about '%s', which is not one of %s", text, noun, list);
}

/* A part of an id is enough, as of other names. */
static int check_finding(const struct diff_condition *condition)
{
    char words[1024];
    for (unsigned i = 0; condition->name && i < FINDING_RULE_COUNT; i++)
        if (strstr(finding_rules[i]->id, condition->name))
            return 0;
    finding_rule_words(words, sizeof(words));
    return !condition->name || strcmp(condition->noun, "finding") != 0
               ? 0
               : error("--fail-on: no finding is called '%s': there are %s", condition->name, words + strlen("any, "));
}

static int read_limit(struct diff_condition *condition, const char *limit)
{
    condition->unit = quantity_read(limit, &condition->limit);
    condition->of_percent = condition->unit == '%';
    if (condition->unit != 0 && condition->unit != '1' && condition->limit < 1e21)
        return 0;
    return error("--fail-on: '%s' does not end in a limit with its unit (try >3%%, >2ms or >100MiB)", condition->text);
}

int diff_conditions_add(struct diff_conditions *conditions, const char *text)
{
    struct diff_condition *condition = array_push(conditions);
    if (!condition)
        return error_no_memory("conditions");
    *condition = (struct diff_condition){.text = text, .of_percent = true, .unit = '%', .noun = strdup(text)};
    if (!condition->noun)
        return error_no_memory("conditions");
    /* names of kernels have '>' of their own, but nothing like a limit after the last */
    char *noun = (char *)(uintptr_t)condition->noun, *limit = strrchr(noun, '>'), *name = strchr(noun, ':');
    if (limit && strspn(limit + 1, " 0123456789.") > 0) {
        if (read_limit(condition, text + (limit + 1 - noun)) < 0)
            return -1;
        *limit = '\0';
    }
    if (name) {
        *name = '\0';
        condition->name = name + 1;
    }
    return check_noun(condition) ?: check_finding(condition);
}

void diff_conditions_release(struct diff_conditions *conditions)
{
    for (size_t i = 0; i < conditions->count; i++)
        free((char *)(uintptr_t)conditions->items[i].noun);
    array_release(conditions);
}

/* --- checking it --- */

struct growth {
    double percent, amount;
    enum column_type type; /* of the amount */
};

static bool is_beyond(const struct diff_condition *condition, const struct growth *growth)
{
    if (condition->of_percent)
        return growth->percent > condition->limit;
    return growth->type == (condition->unit == 't' ? TYPE_NS : TYPE_BYTES) && growth->amount > condition->limit;
}

static const struct diff_test *whole_test(const struct diff *diff, const struct diff_condition *condition)
{
    size_t i = condition->name ? WHOLES : find_whole(condition->noun);
    return i < WHOLES ? (const void *)((const char *)diff + wholes[i].at) : NULL;
}

static const struct diff_test *row_test(const struct diff_row *row)
{
    return row->each.known ? &row->each : row->total.known ? &row->total : &row->count;
}

static struct growth row_growth(const struct diff_row *row)
{
    const struct diff_test *test = row_test(row);
    bool counted = test == &row->count;
    struct growth growth = {.type = counted ? TYPE_COUNT : diff_type(row->section)};
    if (row->present[BEFORE] == 0) {
        growth.percent = HUGE_VAL;
        growth.amount = row->totals[AFTER];
    } else if (test->known) {
        growth.percent = diff_percent(test->log.value);
        growth.amount = test->after - test->before;
    }
    return growth;
}

/* Whether a change is sure. A condition on a named row asks one question; a condition on any row picks a row out of
 * many, so its test is corrected for their number. */
static bool is_sure(const struct diff_row *row, bool named)
{
    if (row->present[BEFORE] == 0)
        return row->sure == SURE;
    const struct diff_test *test = row_test(row);
    return test->known && (named ? test->log.p : test->adjusted) <= DIFF_SURE;
}

static bool is_meant(const struct diff *diff, const struct diff_row *row, const struct diff_condition *condition,
                     bool exactly)
{
    if (strcmp(diff_comparable(row->section)->noun, condition->noun) != 0 || !diff->compared[row->section])
        return false;
    const char *wanted = condition->name, *names[] = {diff_name(diff, row), interned(&diff->names, row->name)};
    for (size_t i = 0; wanted && i < sizeof(names) / sizeof(*names); i++)
        if (exactly ? strcmp(names[i], wanted) == 0 : strstr(names[i], wanted) != NULL)
            return true;
    return !wanted;
}

/* A name that no row has exactly is part of one. */
static bool any_exactly(const struct diff *diff, const struct diff_condition *condition)
{
    for (size_t i = 0; i < diff->rows.count; i++)
        if (is_meant(diff, &diff->rows.items[i], condition, true))
            return true;
    return false;
}

static void check_row(const struct diff *diff, struct diff_outcome *outcome, const struct diff_row *row)
{
    const struct diff_condition *condition = outcome->condition;
    struct growth growth = row_growth(row), most = outcome->row ? row_growth(outcome->row) : growth;
    bool beyond = is_beyond(condition, &growth);
    bool met = beyond && (diff->options->any || is_sure(row, condition->name != NULL));
    if (!outcome->row || (met && !outcome->met) || (met == outcome->met && growth.percent > most.percent))
        outcome->row = row;
    outcome->met |= met;
    outcome->grown |= beyond;
}

static int check_recorded(const struct diff *diff, const struct diff_condition *condition)
{
    for (unsigned i = 0; i < REPORT_SECTION_COUNT; i++) {
        const char *noun = diff_comparable(i)->noun;
        if (noun && strcmp(noun, condition->noun) == 0 && diff->unrecorded[i])
            return error("--fail-on: '%s' cannot be checked: --trace left it out in '%s'", condition->text,
                         diff->unrecorded[i]);
    }
    return 0;
}

int diff_conditions_check(const struct diff *diff, const struct diff_condition *condition, struct diff_outcome *outcome)
{
    const struct diff_test *test = whole_test(diff, condition);
    *outcome = (struct diff_outcome){.condition = condition};
    if (test) {
        struct growth growth = {diff_percent(test->log.value), test->after - test->before, TYPE_NS};
        outcome->grown = is_beyond(condition, &growth);
        outcome->met = outcome->grown && (diff->options->any || diff_sure_alone(test) == SURE);
        return 0;
    }
    if (check_recorded(diff, condition) < 0)
        return -1;
    bool exactly = any_exactly(diff, condition);
    for (size_t i = 0; i < diff->rows.count; i++)
        if (is_meant(diff, &diff->rows.items[i], condition, exactly))
            check_row(diff, outcome, &diff->rows.items[i]);
    /* A finding or error that no trace has is good news; the name of anything else is probably wrong. */
    bool may_be_absent =
        !condition->name || strcmp(condition->noun, "finding") == 0 || strcmp(condition->noun, "error") == 0;
    if (!outcome->row && !may_be_absent)
        return error("--fail-on: no trace has a %s '%s'", condition->noun, condition->name);
    return 0;
}

void diff_outcome_write(struct buffer *out, const struct diff *diff, const struct diff_outcome *outcome)
{
    const struct diff_test *test = whole_test(diff, outcome->condition);
    buffer_format(out, "%s: %s", outcome->condition->text,
                  outcome->met     ? "met"
                  : outcome->grown ? "not sure, so not met"
                                   : "not met");
    if (test) {
        buffer_text(out, ": ");
        diff_write_change(out, test->before, test->after, TYPE_NS);
        buffer_format(out, " (%+.1f %%, %s)", diff_percent(test->log.value), diff_sure_word(diff_sure_alone(test)));
    } else if (outcome->row && outcome->grown) {
        buffer_text(out, ": ");
        diff_write_row_change(out, diff, outcome->row);
    }
}

/* --- JUnit --- */

/* Writes TEXT for an attribute or between tags. XML has only two control characters, and no bytes that are not UTF-8.
 */
static void write_escaped(struct buffer *out, const char *text)
{
    for (size_t left = strlen(text), size; left > 0; text += size, left -= size) {
        size = utf8_size(text, left);
        switch (*text) {
        case '<': buffer_text(out, "&lt;"); break;
        case '>': buffer_text(out, "&gt;"); break;
        case '&': buffer_text(out, "&amp;"); break;
        case '"': buffer_text(out, "&quot;"); break;
        case '\n': buffer_text(out, "&#10;"); break;
        case '\t': buffer_text(out, "&#9;"); break;
        default:
            if (size == 0 || (unsigned char)*text < ' ')
                buffer_text(out, UTF8_REPLACEMENT);
            else
                buffer_bytes(out, text, size);
        }
        size = size ? size : 1;
    }
}

static void write_text(struct buffer *out, struct buffer *text)
{
    buffer_char(text, '\0');
    if (buffer_finish(text) == 0)
        write_escaped(out, text->data);
    else
        out->failure = out->failure ? out->failure : text->failure;
    buffer_release(text);
}

static void begin_case(struct buffer *out, const char *name)
{
    buffer_text(out, "  <testcase classname=\"gputrace diff\" name=\"");
    write_escaped(out, name);
    buffer_text(out, "\">\n");
}

static void write_failure(struct buffer *out, struct buffer *message)
{
    buffer_text(out, "    <failure message=\"");
    write_text(out, message);
    buffer_text(out, "\"/>\n");
}

static bool is_worse(const struct diff_row *row)
{
    static const bool worse[] = {[SLOWER] = true, [FASTER] = false,  [MORE] = true,     [FEWER] = false,
                                 [LARGER] = true, [SMALLER] = false, [APPEARED] = true, [VANISHED] = false};
    return row->sure == SURE && worse[row->change];
}

static size_t count_worse(const struct diff *diff, unsigned section)
{
    size_t count = 0;
    for (size_t i = 0; i < diff->rows.count; i++)
        count += diff->rows.items[i].section == section && is_worse(&diff->rows.items[i]);
    return count;
}

static void count_cases(const struct diff *diff, const struct diff_outcome *outcomes, size_t *cases, size_t *failures)
{
    *cases = diff->options->conditions.count;
    *failures = 0;
    for (size_t i = 0; i < diff->options->conditions.count; i++)
        *failures += outcomes[i].met;
    for (unsigned i = 0; i < REPORT_SECTION_COUNT && diff->options->conditions.count == 0; i++) {
        *cases += diff->compared[i];
        *failures += diff->compared[i] && count_worse(diff, i) > 0;
    }
}

int diff_write_junit(const struct diff *diff, const struct diff_outcome *outcomes, struct buffer *out)
{
    size_t cases, failures, conditions = diff->options->conditions.count;
    struct buffer summary;
    count_cases(diff, outcomes, &cases, &failures);
    buffer_text(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    buffer_format(out, "<testsuite name=\"gputrace diff\" tests=\"%zu\" failures=\"%zu\">\n", cases, failures);
    for (size_t i = 0; i < conditions; i++) {
        struct buffer message;
        buffer_init_memory(&message);
        diff_outcome_write(&message, diff, &outcomes[i]);
        begin_case(out, outcomes[i].condition->text);
        if (outcomes[i].met)
            write_failure(out, &message);
        buffer_release(&message);
        buffer_text(out, "  </testcase>\n");
    }
    for (unsigned section = 0; section < REPORT_SECTION_COUNT && conditions == 0; section++) {
        if (!diff->compared[section])
            continue;
        begin_case(out, section_list[section].word);
        for (size_t i = 0; i < diff->rows.count; i++) {
            const struct diff_row *row = &diff->rows.items[i];
            struct buffer message;
            if (row->section != section || !is_worse(row))
                continue;
            buffer_init_memory(&message);
            diff_write_row_change(&message, diff, row);
            write_failure(out, &message);
        }
        buffer_text(out, "  </testcase>\n");
    }
    buffer_init_memory(&summary);
    diff_write_summary(&summary, diff);
    buffer_text(out, "  <system-out>");
    write_text(out, &summary);
    buffer_text(out, "</system-out>\n</testsuite>\n");
    return 0;
}
