/*
 * Writes the ranks of the sentence: ranks as a list, the operation, and what a rank did.
 */
#include "analysis/hang/hang_words.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "analysis/base/value_text.h"
#include "analysis/engine/findings.h"
#include "common/buffer.h"

static const char *text_of(const struct hangs *hangs, uint32_t text)
{
    return text == EVENT_NO_TEXT ? "" : interned(&hangs->fronts.texts, text);
}

static void write_value(struct buffer *out, int64_t value, enum column_type type, unsigned flags)
{
    struct cell cell = cell_integer(value);
    struct value_text text = value_text_of(&cell, type, flags, false);
    buffer_format(out, "%s%s%s", text.number, *text.unit ? " " : "", text.unit);
}

void hang_write_ns(struct buffer *out, int64_t ns)
{
    write_value(out, ns, TYPE_NS, 0);
}

/* Writes WORD and TIME, or nothing if TIME is not known. */
static void write_time(struct buffer *out, const struct hangs *hangs, const char *word, int64_t time)
{
    if (time == FIELD_ABSENT)
        return;
    buffer_text(out, word);
    hang_write_ns(out, time - hangs->origin);
}

void hang_write_member(struct buffer *out, const struct hang_member *member)
{
    if (member->rank != FIELD_ABSENT)
        buffer_format(out, "rank %" PRId64, member->rank);
    else
        buffer_format(out, "process %" PRId64, event_id_value(member->process));
}

void hang_write_operation(struct buffer *out, const struct hangs *hangs, const struct collective *own)
{
    const char *name = own->name == EVENT_NO_TEXT ? "operation" : interned(hangs->fronts.strings, own->name);
    name += strncmp(name, "nccl", strlen("nccl")) == 0 && name[strlen("nccl")] != '\0' ? strlen("nccl") : 0;
    buffer_text(out, name);
    if (own->sequence != FIELD_ABSENT)
        buffer_format(out, " #%" PRId64, own->sequence);
    const char *gap = " (";
    if (own->bytes != FIELD_ABSENT) {
        buffer_text(out, gap);
        write_value(out, own->bytes, TYPE_BYTES, 0);
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

int64_t hang_number(const struct hangs *hangs, const struct hang_rank *rank)
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

/* Returns the last of consecutive numbers from AT on, which are written as "0 to 61" if there are four or more. */
static size_t end_of_range(const struct hangs *hangs, const struct hang *hang, enum hang_role role, size_t at)
{
    const struct hang_rank *ranks = hang_ranks(hangs, hang);
    size_t last = at, length = 1;
    for (size_t next; (next = next_of(hangs, hang, role, last + 1)) < hang->rank_count &&
                      hang_number(hangs, &ranks[next]) == hang_number(hangs, &ranks[last]) + 1;
         length++)
        last = next;
    return length >= 4 ? last : at;
}

#define RANKS_SHOWN 16u

/* The ranks of ROLE: "0, 1 and 3", or "0 to 61 and 63". Of processes without a rank their pids. */
static void write_ranks(struct buffer *out, const struct hangs *hangs, const struct hang *hang, enum hang_role role)
{
    const struct hang_rank *ranks = hang_ranks(hangs, hang);
    size_t at = next_of(hangs, hang, role, 0), shown = 0;
    while (at < hang->rank_count) {
        size_t last = end_of_range(hangs, hang, role, at), next = next_of(hangs, hang, role, last + 1);
        if (++shown > RANKS_SHOWN) {
            buffer_text(out, " and others");
            return;
        }
        if (shown > 1)
            buffer_text(out, next < hang->rank_count ? ", " : " and ");
        buffer_i64(out, hang_number(hangs, &ranks[at]));
        if (last > at)
            buffer_format(out, " to %" PRId64, hang_number(hangs, &ranks[last]));
        at = next;
    }
}

/* "rank 2", "ranks 0, 1 and 3". */
static void write_named_ranks(struct buffer *out, const struct hangs *hangs, const struct hang *hang,
                              enum hang_role role)
{
    const struct hang_rank *first = hang_ranks(hangs, hang) + next_of(hangs, hang, role, 0);
    bool ranks = hangs->fronts.members.items[first->member].rank != FIELD_ABSENT, several = hang->counts[role] > 1;
    buffer_text(out, ranks ? several ? "ranks " : "rank " : several ? "processes " : "process ");
    write_ranks(out, hangs, hang, role);
}

/* The operation that stands still. */
static void write_what(struct buffer *out, const struct hangs *hangs, const struct hang *hang)
{
    if (hang->init != EVENT_NO_TEXT) {
        buffer_format(out, "%s, which makes a communicator", text_of(hangs, hang->init));
        return;
    }
    hang_write_operation(out, hangs, &hang->what);
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

void hang_write_doing(struct buffer *out, const struct hangs *hangs, const struct hang_rank *rank)
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

static void write_missing(struct buffer *out, const struct hangs *hangs, const struct hang *hang)
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
        hang_write_member(out, &hangs->fronts.members.items[ranks[at].member]);
        buffer_text(out, ", ");
    }
    hang_write_doing(out, hangs, &ranks[at]);
}

/* Writes why an operation stands still that every rank entered. */
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
        hang_write_member(out, &hangs->fronts.members.items[behind->member]);
        buffer_text(out, " it is queued behind other work: ");
        hang_write_doing(out, hangs, behind);
    } else if (hang->counts[HANG_PASSED] == 0) {
        buffer_text(out, "; every rank entered it, and none finished it");
    } else {
        buffer_text(out, "; ");
        write_named_ranks(out, hangs, hang, HANG_PASSED);
        buffer_text(out, " finished it");
    }
}

void hang_write_verdict(struct buffer *out, const struct hangs *hangs, const struct hang *hang)
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
        hang_write_operation(out, hangs, &ranks[at].own);
        buffer_text(out, " instead");
    }
    if (hang->counts[HANG_MISSING] > 0)
        write_missing(out, hangs, hang);
    if (hang->unknown > 0)
        buffer_format(out, "; %" PRId64 " %s of the communicator %s not recorded", hang->unknown,
                      hang->unknown > 1 ? "ranks" : "rank", hang->unknown > 1 ? "were" : "was");
    if (hang->counts[HANG_OTHER] + hang->counts[HANG_MISSING] == 0 && hang->unknown == 0)
        write_nobody_missing(out, hangs, hang);
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
    hang_write_verdict(&words, hangs, hang);
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
                     hang_number(hangs, &ranks[i]), ranks[i].is_gone ? "ended" : "is there");
    int failure = words.failure;
    buffer_release(&words);
    return failure ? -1 : 0;
}
