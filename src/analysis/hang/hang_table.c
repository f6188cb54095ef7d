/*
 * Sentences about hangs, the columns of the table, and the finding.
 */
#include "analysis/hang/hang_table.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "analysis/comm/collectives.h"
#include "analysis/engine/trace_known.h"
#include "common/buffer.h"
#include "analysis/base/value_text.h"
#include "analysis/engine/findings.h"

/* --- sentences --- */

static const char *text_of(const struct hangs *hangs, uint32_t text)
{
    return text == EVENT_NO_TEXT ? "" : interned(&hangs->fronts.texts, text);
}

static void write_value(struct buffer *out, int64_t value, enum column_type type)
{
    struct cell cell = cell_integer(value);
    struct value_text text = value_text_of(&cell, type, 0, false);
    buffer_format(out, "%s%s%s", text.number, *text.unit ? " " : "", text.unit);
}

/* Writes WORD and TIME, or nothing if TIME is not known. */
static void write_time(struct buffer *out, const struct hangs *hangs, const char *word, int64_t time)
{
    if (time == FIELD_ABSENT)
        return;
    buffer_text(out, word);
    write_value(out, time - hangs->origin, TYPE_NS);
}

static void write_member(struct buffer *out, const struct hang_member *member)
{
    if (member->rank != FIELD_ABSENT)
        buffer_format(out, "rank %" PRId64, member->rank);
    else
        buffer_format(out, "process %" PRId64, event_id_value(member->process));
}

static void write_operation(struct buffer *out, const struct hangs *hangs, const struct collective *own)
{
    const char *name = own->name == EVENT_NO_TEXT ? "operation" : interned(hangs->fronts.strings, own->name);
    name += strncmp(name, "nccl", strlen("nccl")) == 0 && name[strlen("nccl")] != '\0' ? strlen("nccl") : 0;
    buffer_text(out, name);
    if (own->sequence != FIELD_ABSENT)
        buffer_format(out, " #%" PRId64, own->sequence);
    const char *gap = " (";
    if (own->bytes != FIELD_ABSENT) {
        buffer_text(out, gap);
        write_value(out, own->bytes, TYPE_BYTES);
        gap = ", ";
    }
    if (own->source >= 0) {
        buffer_format(out, "%sfrom rank %" PRId32 " to rank %" PRId32, gap, own->source, own->target);
        gap = ", ";
    } else if (own->peer != FIELD_ABSENT) {
        buffer_format(out, "%sroot %" PRId64, gap, own->peer);
        gap = ", ";
    }
    if (*gap == ',')
        buffer_char(out, ')');
}

/* --- ranks --- */

static int64_t number_of(const struct hangs *hangs, const struct hang_rank *rank)
{
    const struct hang_member *member = &hangs->fronts.members.items[rank->member];
    return member->rank != FIELD_ABSENT ? member->rank : event_id_value(member->process);
}

/* Returns the index of the next rank of ROLE from AT on, or rank_count. */
static size_t next_of(const struct hangs *hangs, const struct hang *hang, enum hang_role role, size_t at)
{
    const struct hang_rank *ranks = hang_ranks(hangs, hang);
    while (at < hang->rank_count && ranks[at].role != role)
        at++;
    return at;
}

#define RANKS_SHOWN 16u

/* Writes the ranks of ROLE: "0, 1 and 3", or "0 to 61 and 63". Processes without a rank are written as their pids. */
static void write_role(struct buffer *out, const struct hangs *hangs, const struct hang *hang, enum hang_role role)
{
    const struct hang_rank *ranks = hang_ranks(hangs, hang);
    size_t at = next_of(hangs, hang, role, 0), shown = 0;
    while (at < hang->rank_count) {
        size_t last = at, length = 1, next;
        while ((next = next_of(hangs, hang, role, last + 1)) < hang->rank_count &&
               number_of(hangs, &ranks[next]) == number_of(hangs, &ranks[last]) + 1) {
            last = next;
            length++;
        }
        last = length >= 4 ? last : at; /* four consecutive numbers or more are written as "0 to 61" */
        next = next_of(hangs, hang, role, last + 1);
        if (++shown > RANKS_SHOWN) {
            buffer_text(out, " and others");
            return;
        }
        if (shown > 1)
            buffer_text(out, next < hang->rank_count ? ", " : " and ");
        buffer_i64(out, number_of(hangs, &ranks[at]));
        if (last > at)
            buffer_format(out, " to %" PRId64, number_of(hangs, &ranks[last]));
        at = next;
    }
}

/* Writes "rank 2" or "ranks 0, 1 and 3". */
static void write_named_ranks(struct buffer *out, const struct hangs *hangs, const struct hang *hang,
                              enum hang_role role)
{
    const struct hang_rank *first = hang_ranks(hangs, hang) + next_of(hangs, hang, role, 0);
    bool ranks = hangs->fronts.members.items[first->member].rank != FIELD_ABSENT, several = hang->counts[role] > 1;
    buffer_text(out, ranks ? several ? "ranks " : "rank " : several ? "processes " : "process ");
    write_role(out, hangs, hang, role);
}

/* Writes the operation that hangs. */
static void write_what(struct buffer *out, const struct hangs *hangs, const struct hang *hang)
{
    if (hang->init != EVENT_NO_TEXT) {
        buffer_format(out, "%s, which makes a communicator", text_of(hangs, hang->init));
        return;
    }
    write_operation(out, hangs, &hang->what);
    if (hang->what.communicator == EVENT_NO_TEXT)
        buffer_text(out, " of an unknown communicator");
    else
        buffer_format(out, " of communicator %s", interned(hangs->fronts.strings, hang->what.communicator));
}

/* --- what a rank did --- */

static void write_host(struct buffer *out, const struct hangs *hangs, const struct hang_member *member)
{
    if (member->thread != EVENT_NO_TEXT)
        buffer_format(out, "its %s ", text_of(hangs, member->thread));
    else
        buffer_text(out, "it ");
    buffer_format(out, member->in_call ? "has been in %s" : "made no CUDA call after %s", text_of(hangs, member->host));
    write_time(out, hangs, member->in_call ? " since " : " at ", member->host_since);
    if (member->range != EVENT_NO_TEXT)
        buffer_format(out, ", in range %s", text_of(hangs, member->range));
    if (member->place != EVENT_NO_TEXT)
        buffer_format(out, ", last seen in %s", text_of(hangs, member->place));
}

static void write_doing(struct buffer *out, const struct hangs *hangs, const struct hang_rank *rank)
{
    const struct hang_member *member = &hangs->fronts.members.items[rank->member];
    if (rank->is_gone) {
        bool killed = member->ending == HANG_KILLED;
        const char *ended = member->ending == HANG_FINISHED ? "exited" : "died";
        buffer_format(out, "its process %s", killed ? "was killed" : ended);
        write_time(out, hangs, killed ? "; it was last seen at " : " at ", member->last);
        if (member->ending == HANG_CRASHED && member->how != EVENT_NO_TEXT)
            buffer_format(out, " by %s", text_of(hangs, member->how));
    } else if (rank->waits_elsewhere) {
        buffer_text(out, "it waits in ");
        write_what(out, hangs, &hangs->items.items[rank->waits_elsewhere - 1]);
    } else if (member->gpu != EVENT_NO_TEXT) {
        buffer_format(out, "its %s", text_of(hangs, member->gpu));
        write_time(out, hangs, " since ", member->gpu_since);
    } else if (member->host != EVENT_NO_TEXT) {
        write_host(out, hangs, member);
    } else {
        buffer_text(out, "what it did is not known");
    }
}

/* --- the verdict --- */

static void write_never_entered(struct buffer *out, const struct hangs *hangs, const struct hang *hang)
{
    const struct hang_rank *ranks = hang_ranks(hangs, hang);
    size_t at = next_of(hangs, hang, HANG_MISSING, 0);
    size_t gone = at;
    while (gone < hang->rank_count && !(ranks[gone].role == HANG_MISSING && ranks[gone].is_gone))
        gone++;
    at = gone < hang->rank_count ? gone : at; /* a process that died is the more likely cause */
    buffer_text(out, "; ");
    write_named_ranks(out, hangs, hang, HANG_MISSING);
    buffer_text(out, " never entered it: ");
    if (hang->counts[HANG_MISSING] > 1) {
        buffer_text(out, "of ");
        write_member(out, &hangs->fronts.members.items[ranks[at].member]);
        buffer_text(out, ", ");
    }
    write_doing(out, hangs, &ranks[at]);
}

/* Writes why an operation hangs that every rank entered. */
static void write_nobody_missing(struct buffer *out, const struct hangs *hangs, const struct hang *hang)
{
    const struct hang_rank *ranks = hang_ranks(hangs, hang);
    const struct hang_rank *behind = NULL;
    size_t count = 0;
    for (size_t i = 0; i < hang->rank_count; i++) {
        behind = ranks[i].behind && !behind ? &ranks[i] : behind;
        count += ranks[i].behind;
    }
    if (behind && count < hang->counts[HANG_WAITS]) {
        buffer_text(out, "; on ");
        write_member(out, &hangs->fronts.members.items[behind->member]);
        buffer_text(out, " it is queued behind other work: ");
        write_doing(out, hangs, behind);
    } else if (hang->counts[HANG_PASSED] == 0) {
        buffer_text(out, "; every rank entered it, and none finished it");
    } else {
        buffer_text(out, "; ");
        write_named_ranks(out, hangs, hang, HANG_PASSED);
        buffer_text(out, " finished it");
    }
}

static void write_verdict(struct buffer *out, const struct hangs *hangs, const struct hang *hang)
{
    size_t start = out->length;
    write_named_ranks(out, hangs, hang, HANG_WAITS);
    if (!out->failure)
        out->data[start] = (char)(out->data[start] - 'a' + 'A'); /* "rank" or "process" */
    buffer_text(out, hang->counts[HANG_WAITS] > 1 ? " wait in " : " waits in ");
    write_what(out, hangs, hang);
    if (hang->counts[HANG_OTHER] > 0) {
        const struct hang_rank *ranks = hang_ranks(hangs, hang);
        size_t at = next_of(hangs, hang, HANG_OTHER, 0);
        buffer_text(out, "; ");
        write_named_ranks(out, hangs, hang, HANG_OTHER);
        buffer_text(out, " entered ");
        write_operation(out, hangs, &ranks[at].own);
        buffer_text(out, " instead");
    }
    if (hang->counts[HANG_MISSING] > 0)
        write_never_entered(out, hangs, hang);
    if (hang->unknown > 0)
        buffer_format(out, "; %" PRId64 " %s of the communicator %s not recorded", hang->unknown,
                      hang->unknown > 1 ? "ranks" : "rank", hang->unknown > 1 ? "were" : "was");
    if (hang->counts[HANG_OTHER] + hang->counts[HANG_MISSING] == 0 && hang->unknown == 0)
        write_nobody_missing(out, hangs, hang);
}

/* --- the table --- */

/* The hang of a row. */
struct hang_row {
    const struct hangs *hangs;
    const struct hang *hang;
};

#define RANKS_DESCRIBED 4u

/* Writes "rank 2, which entered AllReduce #411 (4 MiB) last: its process exited at 12.3 s; rank 3 …". */
static void describe_ranks(struct buffer *out, const struct hangs *hangs, const struct hang *hang, enum hang_role role)
{
    const struct hang_rank *ranks = hang_ranks(hangs, hang);
    size_t shown = 0;
    for (size_t i = 0; i < hang->rank_count && shown < RANKS_DESCRIBED; i++) {
        if (ranks[i].role != role)
            continue;
        buffer_text(out, shown++ ? "; " : "");
        write_member(out, &hangs->fronts.members.items[ranks[i].member]);
        if (role == HANG_MISSING && ranks[i].entered) {
            buffer_text(out, ", which entered ");
            write_operation(out, hangs, &ranks[i].own);
            buffer_text(out, " last");
        }
        buffer_text(out, ": ");
        if (role == HANG_MISSING)
            write_doing(out, hangs, &ranks[i]);
        else
            write_operation(out, hangs, &ranks[i].own);
    }
    if (hang->counts[role] > shown)
        buffer_format(out, "; and %zu more", hang->counts[role] - shown);
}

enum hang_sentence { VERDICT, WAITING, FINISHED, MISSING, OTHERS, DIFFERENCE };

/* Fills a cell with the sentence that the column's `at` (enum hang_sentence) names, or leaves it empty. */
static struct cell fill_sentence(struct report_row *row, const struct column *column)
{
    const struct hangs *hangs = ((const struct hang_row *)row->item)->hangs;
    const struct hang *hang = ((const struct hang_row *)row->item)->hang;
    struct buffer text;
    buffer_init_memory(&text);
    switch ((enum hang_sentence)column->at) {
    case VERDICT: write_verdict(&text, hangs, hang); break;
    case WAITING:
        if (hang->since == FIELD_ABSENT)
            break;
        write_value(&text, hang->since - hangs->origin, TYPE_NS);
        buffer_text(&text, ", for ");
        write_value(&text, hang->waited, TYPE_NS);
        break;
    case FINISHED:
        if (hang->init == EVENT_NO_TEXT && !hang->any_finished)
            buffer_text(&text, "no operation of this communicator");
        else if (hang->init == EVENT_NO_TEXT)
            write_operation(&text, hangs, &hang->finished);
        break;
    case MISSING: describe_ranks(&text, hangs, hang, HANG_MISSING); break;
    case OTHERS: describe_ranks(&text, hangs, hang, HANG_OTHER); break;
    case DIFFERENCE:
        for (int i = 0; i < 2 && hang->differs; i++) {
            const struct collective *own = i ? &hang->other : &hang->one;
            buffer_text(&text, i ? ", and " : "");
            write_member(&text, &(struct hang_member){.rank = own->rank, .process = own->pid});
            buffer_text(&text, " entered ");
            write_operation(&text, hangs, own);
        }
        break;
    }
    if (text.length > 0 || text.failure)
        return table_text_from_buffer(row->table, &text);
    buffer_release(&text);
    return (struct cell){0};
}

#define RANKS_DESCRIBED 4u

static struct cell fill_cause(struct report_row *row, const struct column *column)
{
    const struct hang_row *item = row->item;
    return item->hang->follows
               ? table_text(row->table, "the hang of another communicator: the missing ranks wait there")
               : (struct cell){0};
}

/* Fills a cell with the ranks whose role is the column's `at`: "0,1,3". */
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
            buffer_format(&text, "%s%" PRId64, text.length > 0 ? "," : "", number_of(item->hangs, &ranks[i]));
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

/* Fills a cell with the text at offset `at` of struct hang. */
static struct cell fill_text(struct report_row *row, const struct column *column)
{
    const char *hang = (const char *)((const struct hang_row *)row->item)->hang;
    return trace_text_cell(row->trace, row->table, *(const uint32_t *)(const void *)(hang + column->at));
}

/* Fills a cell with the number at offset `at` of struct hang. */
static struct cell fill_value(struct report_row *row, const struct column *column)
{
    const struct hang_row *item = row->item;
    int64_t value = *(const int64_t *)(const void *)((const char *)item->hang + column->at);
    if (column->at == offsetof(struct hang, since) && value != FIELD_ABSENT)
        value -= item->hangs->origin;
    return cell_integer(value);
}

static struct cell fill_operation(struct report_row *row, const struct column *column)
{
    const struct hang_row *item = row->item;
    if (item->hang->init == EVENT_NO_TEXT)
        return fill_text(row, column);
    return table_text(row->table, interned(&item->hangs->fronts.texts, item->hang->init));
}

#define WHAT(field) .at = offsetof(struct hang, what.field)

const struct column hang_columns[HANG_COLUMNS] = {
    {"verdict", "Verdict", TYPE_TEXT, 0, .fill = fill_sentence, .at = VERDICT},
    {"waiting", "Waiting since", TYPE_TEXT, 0, .fill = fill_sentence, .at = WAITING},
    {"finished", "Last finished by all", TYPE_TEXT, 0, .fill = fill_sentence, .at = FINISHED},
    {"missing", "Missing", TYPE_TEXT, 0, .fill = fill_sentence, .at = MISSING},
    {"others", "Entered another", TYPE_TEXT, 0, .fill = fill_sentence, .at = OTHERS},
    {"difference", "First difference", TYPE_TEXT, 0, .fill = fill_sentence, .at = DIFFERENCE},
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
    {"since", "Since", TYPE_NS, COLUMN_MACHINE, .fill = fill_value, .at = offsetof(struct hang, since)},
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
    struct hang_state *state = (struct hang_state *)section_state(trace, REPORT_HANG); /* sections finish in turn */
    struct hangs *hangs = &state->hangs;
    if (state->found)
        return hangs;
    *hangs = (struct hangs){.fronts = {.strings = &trace->strings}, .origin = trace->start};
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

/* --- the finding --- */

const struct hang *hang_worth_finding(const struct hangs *hangs)
{
    for (size_t i = 0; i < hangs->items.count; i++) {
        const struct hang *hang = &hangs->items.items[i];
        if (!hang->follows && (hang->since == FIELD_ABSENT || hang->waited >= FINDING_HANG_NS))
            return hang;
    }
    return NULL;
}

int hang_write_finding(char *text, char *advice, const struct hangs *hangs, const struct hang *hang)
{
    const struct hang_rank *ranks = hang_ranks(hangs, hang);
    char since[64] = "";
    struct buffer words;
    if (hang->since != FIELD_ABSENT)
        snprintf(since, sizeof(since), " since %s", amount_time(hang->since - hangs->origin).text);
    buffer_init_memory(&words);
    buffer_format(&words, "The job hangs%s: ", since);
    size_t verdict = words.length;
    write_verdict(&words, hangs, hang);
    buffer_char(&words, '\0');
    if (!words.failure) {
        words.data[verdict] = (char)tolower(words.data[verdict]);
        snprintf(text, FINDING_TEXT, "%s", words.data);
        *advice = '\0';
    }
    for (size_t i = 0; i < hang->rank_count && !words.failure && !*advice; i++)
        if (ranks[i].role == HANG_MISSING)
            snprintf(advice, FINDING_TEXT, "See why %s %" PRId64 " %s; the others wait for it.",
                     hangs->fronts.members.items[ranks[i].member].rank == FIELD_ABSENT ? "process" : "rank",
                     number_of(hangs, &ranks[i]), ranks[i].is_gone ? "ended" : "is there");
    int failure = words.failure;
    buffer_release(&words);
    return failure ? -1 : 0;
}
