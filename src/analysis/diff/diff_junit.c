/*
 * Each condition of --fail-on is a test case; without conditions, each section is one, which fails if a row of it
 * surely became slower, larger or more frequent.
 */
#include "analysis/diff/diff_junit.h"

#include <string.h>

#include "common/buffer.h"
#include "common/text.h"
#include "analysis/diff/diff_words.h"
#include "analysis/diff/diff_conditions.h"

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
