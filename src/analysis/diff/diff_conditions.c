/*
 * Parses "NOUN:NAME>LIMIT", and looks the noun up among figures of whole traces and sections. In JUnit's XML each
 * condition is a test case; without conditions, each section is a test case.
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
    size_t at; /* offset of the struct diff_test in struct diff */
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
    return section_list[i - WHOLES].section->comparable.noun; /* NULL: the section is not compared */
}

/* Returns the index of NOUN in `wholes`, or WHOLES if `wholes` does not have it. */
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

/* Checks that the noun exists and that its quantity can have the unit of the limit. Returns 0, or -1 after error(). */
static int check_noun(const struct diff_condition *condition)
{
    char list[256];
    const char *noun = condition->noun, *text = condition->text;
    struct suggestion nearest = suggestion_for(noun, strlen(noun));
    size_t number; /* argument of noun_at() */
    for (number = 0; number < WHOLES + REPORT_SECTION_COUNT; number++) {
        if (!noun_at(number))
            continue;
        if (strcmp(noun_at(number), noun) == 0)
            break;
        suggestion_consider(&nearest, noun_at(number));
    }
    if (number < WHOLES + REPORT_SECTION_COUNT) {
        enum column_type type = number < WHOLES ? TYPE_NS : diff_type((unsigned)(number - WHOLES));
        if (condition->of_percent || type == (condition->unit == 't' ? TYPE_NS : TYPE_BYTES))
            return 0;
        return error("--fail-on: '%s': a limit of '%s' cannot have this unit: use %%%s", text, noun,
                     type == TYPE_NS      ? ", s, ms, us or ns"
                     : type == TYPE_BYTES ? ", B, KiB, MiB, GiB, KB, MB or GB"
                                          : "");
    }
    diff_condition_words(list, sizeof(list));
    if (nearest.word)
        return error("--fail-on: '%s' is about '%s': did you mean '%s'?", text, noun, nearest.word);
    return error("--fail-on: '%s' is about '%s', which is not one of %s", text, noun, list);
}

/* Checks that the name of a finding is a part of the id of a rule. Returns 0, or -1 after error(). */
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

int diff_conditions_add(struct diff_conditions *conditions, const char *text)
{
    struct diff_condition *condition = array_push(conditions);
    if (!condition)
        return error_no_memory("conditions");
    *condition = (struct diff_condition){.text = text, .of_percent = true, .unit = '%', .noun = strdup(text)};
    if (!condition->noun)
        return error_no_memory("conditions");
    /* names of kernels may contain '>', but never with a limit after the last one */
    char *noun = (char *)(uintptr_t)condition->noun, *limit = strrchr(noun, '>'), *name = strchr(noun, ':');
    if (limit && strspn(limit + 1, " 0123456789.") > 0) {
        condition->unit = quantity_read(text + (limit + 1 - noun), &condition->limit);
        condition->of_percent = condition->unit == '%';
        if (condition->unit == 0 || condition->unit == '1' || condition->limit >= 1e21)
            return error("--fail-on: '%s' does not end in a limit with its unit (try >3%%, >2ms or >100MiB)", text);
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
    enum column_type type; /* type of the amount */
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
    for (unsigned i = 0; i < REPORT_SECTION_COUNT; i++) {
        const char *noun = diff_comparable(i)->noun;
        if (noun && strcmp(noun, condition->noun) == 0 && diff->unrecorded[i])
            return error("--fail-on: '%s' cannot be checked: --trace left it out in '%s'", condition->text,
                         diff->unrecorded[i]);
    }
    bool exactly = false; /* a row has exactly the wanted name; otherwise the name is searched in the names of rows */
    for (size_t i = 0; i < diff->rows.count && !exactly; i++)
        exactly = is_meant(diff, &diff->rows.items[i], condition, true);
    for (size_t i = 0; i < diff->rows.count; i++) {
        const struct diff_row *row = &diff->rows.items[i];
        if (!is_meant(diff, row, condition, exactly))
            continue;
        struct growth growth = row_growth(row), most = outcome->row ? row_growth(outcome->row) : growth;
        bool beyond = is_beyond(condition, &growth);
        /* A condition on a named row asks one question; a condition on any row picks a row out of many, so its test is
         * corrected for their number. */
        double p = condition->name ? row_test(row)->log.p : row_test(row)->adjusted;
        bool sure = row->present[BEFORE] == 0 ? row->sure == SURE : row_test(row)->known && p <= DIFF_SURE;
        bool met = beyond && (diff->options->any || sure);
        if (!outcome->row || (met && !outcome->met) || (met == outcome->met && growth.percent > most.percent))
            outcome->row = row;
        outcome->met |= met;
        outcome->grown |= beyond;
    }
    /* A finding or error that no trace has is good news. Any other name that no row has is probably wrong. */
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

/* Writes TEXT as an attribute's value or between tags. XML allows only two of the control characters, and only
 * UTF-8. */
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

int diff_write_junit(const struct diff *diff, const struct diff_outcome *outcomes, struct buffer *out)
{
    size_t conditions = diff->options->conditions.count, cases = conditions, failures = 0;
    struct buffer summary;
    for (size_t i = 0; i < conditions; i++)
        failures += outcomes[i].met;
    for (unsigned i = 0; i < REPORT_SECTION_COUNT && conditions == 0; i++) {
        cases += diff->compared[i];
        bool worse = false;
        for (size_t k = 0; k < diff->rows.count; k++)
            worse |= diff->rows.items[k].section == i && is_worse(&diff->rows.items[k]);
        failures += diff->compared[i] && worse;
    }
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
