/*
 * The columns of the table, and the functions that write their cells.
 */
#include "analysis/hang/hang_table.h"

#include <inttypes.h>

#include "analysis/comm/collectives.h"
#include "analysis/engine/trace_known.h"
#include "analysis/hang/hang_words.h"
#include "common/buffer.h"

/* The hang of a row. */
struct hang_row {
    const struct hangs *hangs;
    const struct hang *hang;
};

static void write_verdict(struct buffer *out, const struct hang_row *item)
{
    hang_write_verdict(out, item->hangs, item->hang);
}

static void write_wait(struct buffer *out, const struct hang_row *item)
{
    if (item->hang->since == FIELD_ABSENT)
        return;
    hang_write_ns(out, item->hang->since - item->hangs->origin);
    buffer_text(out, ", for ");
    hang_write_ns(out, item->hang->waited);
}

static void write_finished(struct buffer *out, const struct hang_row *item)
{
    if (item->hang->init != EVENT_NO_TEXT)
        return;
    if (!item->hang->any_finished)
        buffer_text(out, "no operation of this communicator");
    else
        hang_write_operation(out, item->hangs, &item->hang->finished);
}

#define RANKS_DESCRIBED 4u

static void write_ranks(struct buffer *out, const struct hang_row *item, enum hang_role role)
{
    const struct hangs *hangs = item->hangs;
    const struct hang_rank *ranks = hang_ranks(hangs, item->hang);
    size_t shown = 0;
    for (size_t i = 0; i < item->hang->rank_count && shown < RANKS_DESCRIBED; i++) {
        if (ranks[i].role != role)
            continue;
        buffer_text(out, shown++ ? "; " : "");
        hang_write_member(out, &hangs->fronts.members.items[ranks[i].member]);
        if (role == HANG_MISSING && ranks[i].entered) {
            buffer_text(out, ", which entered ");
            hang_write_operation(out, hangs, &ranks[i].own);
            buffer_text(out, " last");
        }
        buffer_text(out, ": ");
        if (role == HANG_MISSING)
            hang_write_doing(out, hangs, &ranks[i]);
        else
            hang_write_operation(out, hangs, &ranks[i].own);
    }
    if (item->hang->counts[role] > shown)
        buffer_format(out, "; and %zu more", item->hang->counts[role] - shown);
}

/* "rank 2, which entered AllReduce #411 (4 MiB) last: its process exited at 12.3 s; rank 3 …". */
static void write_missing(struct buffer *out, const struct hang_row *item)
{
    write_ranks(out, item, HANG_MISSING);
}

static void write_others(struct buffer *out, const struct hang_row *item)
{
    write_ranks(out, item, HANG_OTHER);
}

static void write_one_of_two(struct buffer *out, const struct hang_row *item, const struct collective *own)
{
    const struct hang_member who = {.rank = own->rank, .process = own->pid};
    hang_write_member(out, &who);
    buffer_text(out, " entered ");
    hang_write_operation(out, item->hangs, own);
}

static void write_difference(struct buffer *out, const struct hang_row *item)
{
    if (!item->hang->differs)
        return;
    write_one_of_two(out, item, &item->hang->one);
    buffer_text(out, ", and ");
    write_one_of_two(out, item, &item->hang->other);
}

/* Fills a cell by the writer whose number is the column's `at`. The cell is empty if the writer writes nothing. */
static struct cell fill_written(struct report_row *row, const struct column *column)
{
    static void (*const writers[])(struct buffer *out, const struct hang_row *item) = {
        write_verdict, write_wait, write_finished, write_missing, write_others, write_difference};
    struct buffer text;
    buffer_init_memory(&text);
    writers[column->at](&text, row->item);
    if (text.length > 0 || text.failure)
        return table_text_from_buffer(row->table, &text);
    buffer_release(&text);
    return (struct cell){0};
}

static struct cell fill_cause(struct report_row *row, const struct column *column)
{
    const struct hang_row *item = row->item;
    return item->hang->follows
               ? table_text(row->table, "the hang of another communicator: the missing ranks wait there")
               : (struct cell){0};
}

/* --- for programs --- */

/* Fills a cell with the ranks of the role that is the column's `at`: "0,1,3". */
static struct cell fill_ranks(struct report_row *row, const struct column *column)
{
    const struct hang_row *item = row->item;
    const struct hang_rank *ranks = hang_ranks(item->hangs, item->hang);
    struct buffer text;
    if (item->hang->counts[column->at] == 0)
        return (struct cell){0};
    buffer_init_memory(&text);
    for (size_t i = 0; i < item->hang->rank_count; i++)
        if (ranks[i].role == column->at)
            buffer_format(&text, "%s%" PRId64, text.length > 0 ? "," : "", hang_number(item->hangs, &ranks[i]));
    return table_text_from_buffer(row->table, &text);
}

static struct cell fill_gone(struct report_row *row, const struct column *column)
{
    const struct hang_row *item = row->item;
    const struct hang_rank *ranks = hang_ranks(item->hangs, item->hang);
    int64_t gone = 0;
    for (size_t i = 0; i < item->hang->rank_count; i++)
        gone += ranks[i].is_gone;
    return cell_integer(gone);
}

/* Fills a cell with the text at the column's `at` in the hang. */
static struct cell fill_text(struct report_row *row, const struct column *column)
{
    const char *hang = (const char *)((const struct hang_row *)row->item)->hang;
    return trace_text_cell(row->trace, row->table, *(const uint32_t *)(const void *)(hang + column->at));
}

static struct cell fill_value(struct report_row *row, const struct column *column)
{
    const char *hang = (const char *)((const struct hang_row *)row->item)->hang;
    return cell_integer(*(const int64_t *)(const void *)(hang + column->at));
}

static struct cell fill_operation(struct report_row *row, const struct column *column)
{
    const struct hang_row *item = row->item;
    if (item->hang->init == EVENT_NO_TEXT)
        return fill_text(row, column);
    return table_text(row->table, interned(&item->hangs->fronts.texts, item->hang->init));
}

static struct cell fill_since(struct report_row *row, const struct column *column)
{
    const struct hang_row *item = row->item;
    return item->hang->since == FIELD_ABSENT ? (struct cell){0} : cell_integer(item->hang->since - item->hangs->origin);
}

#define WHAT(field) .at = offsetof(struct hang, what.field)

const struct column hang_columns[HANG_COLUMNS] = {
    {"verdict", "Verdict", TYPE_TEXT, 0, .fill = fill_written, .at = 0},
    {"waiting", "Waiting since", TYPE_TEXT, 0, .fill = fill_written, .at = 1},
    {"finished", "Last finished by all", TYPE_TEXT, 0, .fill = fill_written, .at = 2},
    {"missing", "Missing", TYPE_TEXT, 0, .fill = fill_written, .at = 3},
    {"others", "Entered another", TYPE_TEXT, 0, .fill = fill_written, .at = 4},
    {"difference", "First difference", TYPE_TEXT, 0, .fill = fill_written, .at = 5},
    {"cause", "Cause", TYPE_TEXT, 0, .fill = fill_cause},
    {"communicator", "Communicator", TYPE_TEXT, COLUMN_MACHINE, .fill = fill_text, WHAT(communicator)},
    {"operation", "Operation", TYPE_TEXT, COLUMN_MACHINE, .fill = fill_operation, WHAT(name)},
    {"sequence", "Sequence", TYPE_NUMBER, COLUMN_MACHINE, .fill = fill_value, WHAT(sequence)},
    {"size", "Size", TYPE_BYTES, COLUMN_MACHINE, .fill = fill_value, WHAT(bytes)},
    {"type", "Type", TYPE_TEXT, COLUMN_MACHINE, .fill = fill_text, WHAT(dtype)},
    {"ranks", "Ranks", TYPE_COUNT, COLUMN_MACHINE, .fill = fill_value, WHAT(group_size)},
    {"waiting_ranks", "Waiting ranks", TYPE_TEXT, COLUMN_MACHINE, .fill = fill_ranks, .at = HANG_WAITS},
    {"finished_ranks", "Ranks that finished", TYPE_TEXT, COLUMN_MACHINE, .fill = fill_ranks, .at = HANG_PASSED},
    {"other_ranks", "Ranks elsewhere", TYPE_TEXT, COLUMN_MACHINE, .fill = fill_ranks, .at = HANG_OTHER},
    {"missing_ranks", "Missing ranks", TYPE_TEXT, COLUMN_MACHINE, .fill = fill_ranks, .at = HANG_MISSING},
    {"gone", "Ended before", TYPE_COUNT, COLUMN_MACHINE, .fill = fill_gone},
    {"unrecorded", "Not recorded", TYPE_COUNT, COLUMN_MACHINE, .fill = fill_value,
     .at = offsetof(struct hang, unknown)},
    {"since", "Since", TYPE_NS, COLUMN_MACHINE, .fill = fill_since},
    {"waited", "Waited", TYPE_NS, COLUMN_MACHINE, .fill = fill_value, .at = offsetof(struct hang, waited)},
};

void hang_fill(struct report_row *row, const struct hangs *hangs)
{
    for (unsigned follows = 0; follows < 2; follows++)
        for (size_t i = 0; i < hangs->items.count; i++) {
            const struct hang_row item = {hangs, &hangs->items.items[i]};
            if (item.hang->follows == (follows == 1))
                section_row(row, NULL, &item);
        }
}

const struct hangs *hangs_found(const struct trace *trace)
{
    struct hang_state *state = (struct hang_state *)section_state(trace, REPORT_HANG); /* sections finish one by one */
    struct hangs *hangs = &state->hangs;
    if (state->found)
        return hangs;
    hangs_init(hangs, &trace->strings);
    hangs->origin = trace->start;
    state->found = true;
    int status = hang_facts_add_ranks(trace, &hangs->fronts);
    if (status == 0) {
        struct collectives_walk walk;
        const struct collective *ranks;
        collectives_walk_begin(&walk, &((const struct collectives *)section_state(trace, REPORT_COMM))->all);
        for (size_t count; status == 0 && (count = collectives_next(&walk, &ranks));)
            status = hang_fronts_operation(&hangs->fronts, ranks, count);
        status = collectives_walk_end(&walk) ?: status;
    }
    status = status ?: hang_facts_publish(&state->facts, trace, &hangs->fronts);
    status = status ?: hangs_finish(hangs);
    return status == 0 ? hangs : NULL;
}
