/*
 * Joins the findings of the traces by rule. Before, finds stragglers, imbalance and hangs of the whole job, and drops
 * the findings of traces that they explain.
 */
#include "analysis/job/job_findings.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "common/map.h"
#include "analysis/base/cost_sum.h"
#include "analysis/hang/hang_table.h"
#include "analysis/ranks/stages.h"
#include "analysis/ranks/stragglers.h"
#include "analysis/job/job.h"
#include "analysis/ranks/ranks_of_trace.h"

enum column_number { ID, TEXT, COST, SHARE, TOTAL, RANKS, RANK, GAIN, ADVICE, WHERE, MORE };

const struct column job_findings_columns[JOB_FINDINGS_COLUMNS] = {
    [ID] = {"id", "Id", TYPE_TEXT, COLUMN_MACHINE | COLUMN_TAG},
    [TEXT] = {"finding", "Finding", TYPE_TEXT},
    [COST] = {"time", "Time", TYPE_NS, COLUMN_MACHINE},
    [SHARE] = {"share", "Share", TYPE_PERCENT, COLUMN_MACHINE},
    [TOTAL] = {"total", "Total", TYPE_NS, COLUMN_MACHINE},
    [RANKS] = {"ranks", "Ranks", TYPE_COUNT, COLUMN_MACHINE},
    [RANK] = {"rank", "Rank", TYPE_NUMBER, COLUMN_MACHINE},
    [GAIN] = {"gain", "Gain", TYPE_NS, COLUMN_MACHINE},
    [ADVICE] = {"advice", "Do", TYPE_TEXT},
    [WHERE] = {"where", "At", TYPE_TEXT, COLUMN_OPTIONAL},
    [MORE] = {"section", "More", TYPE_TEXT, COLUMN_MACHINE | COLUMN_TAG},
};

/* A row of the table: a finding about ranks of the whole job, or, of all traces' findings of a rule, the one that costs
 * most. */
struct job_line {
    unsigned rule;
    const struct job_finding *finding; /* the costliest finding; of_ranks: that it explains; NULL: none */
    bool of_ranks;                     /* the row is about the whole job, and `text` and `advice` are set */
    char text[FINDING_TEXT], advice[FINDING_TEXT];
    int64_t ranks; /* number of ranks with this finding */
    uint32_t rank; /* index in ranks.items of one of these ranks; RANK_NONE: unknown */
    int64_t cost, gain /* ns */, total, run;
    int64_t weight; /* rows with a larger weight come first */
    size_t order;
};

struct job_lines { /* as an ARRAY */
    struct job_line *items;
    size_t count, capacity;
    const struct job_whole *job;
    struct straggler_sum sum;
    bool *explained; /* by index in job.findings: a straggler explains the finding */
    bool *is_late;   /* by index in ranks.items: the rank is a straggler */
};

static int by_cost(const void *left, const void *right)
{
    const struct job_line *a = left, *b = right;
    /* Warm-up comes last, because it does not matter in a long run. */
    return ORDER(finding_rules[b->rule]->urgent, finding_rules[a->rule]->urgent)
               ?: ORDER(finding_rules[a->rule]->without_cost, finding_rules[b->rule]->without_cost)
               ?: ORDER(a->rule == FINDING_RULE_warm_up, b->rule == FINDING_RULE_warm_up)
               ?: ORDER(b->weight, a->weight) ?: ORDER(a->order, b->order);
}

/* Adds a row about RANKS ranks of the whole job, one of which is RANK. Returns NULL without memory. */
static struct job_line *add_line(struct job_lines *rows, unsigned rule, int64_t cost, int64_t ranks, uint32_t rank)
{
    struct job_line *row = array_push(rows);
    if (row)
        *row = (struct job_line){.rule = rule,
                                 .of_ranks = true,
                                 .ranks = ranks,
                                 .rank = rank,
                                 .cost = cost,
                                 .gain = cost,
                                 .total = cost,
                                 .run = rows->job->run,
                                 .order = rows->count};
    return row;
}

/* --- ranks of the whole job --- */

/* Marks the findings of late ranks that the straggler explains, and returns the costliest, or NULL. A finding must cost
 * these ranks more than all other ranks, by half the straggler's cost or more. */
static const struct job_finding *mark_explained(struct job_lines *rows, const struct straggler *straggler)
{
    const struct job_whole *job = rows->job;
    const struct job_finding *worst = NULL;
    int64_t usual[FINDING_RULE_COUNT] = {0};
    for (int64_t i = 0; i < straggler->ranks && straggler->members; i++)
        rows->is_late[straggler->members[i]] = true;
    for (size_t i = 0; i < job->findings.count; i++) {
        const struct job_finding *one = &job->findings.items[i];
        if (!straggler_has(straggler, one->rank) && one->cost > usual[one->rule])
            usual[one->rule] = one->cost;
    }
    for (size_t i = 0; i < job->findings.count; i++) {
        const struct job_finding *one = &job->findings.items[i];
        if (!straggler_has(straggler, one->rank) || !straggler_explains(straggler, one->rule) ||
            difference_of(one->cost, usual[one->rule]) < straggler->cost / 2)
            continue;
        rows->explained[i] = true;
        worst = !worst || one->cost > worst->cost ? one : worst;
    }
    return worst;
}

static int add_straggler(void *context, const struct straggler *straggler)
{
    struct job_lines *rows = context;
    struct job_line *row = add_line(rows, FINDING_RULE_straggler, straggler->cost, straggler->ranks, straggler->index);
    if (!row)
        return -1;
    row->gain = straggler->gain;
    row->finding = mark_explained(rows, straggler);
    memcpy(row->text, straggler->text, sizeof(row->text));
    memcpy(row->advice, straggler->advice, sizeof(row->advice));
    if (row->finding)
        snprintf(row->advice, sizeof(row->advice), "%s", trace_text(&rows->job->trace, row->finding->advice));
    straggler_sum_add(&rows->sum, straggler, RANK_NONE);
    return 0;
}

static int add_imbalance(struct job_lines *rows, const struct job_whole *job)
{
    struct imbalance imbalance;
    if (stages_find_imbalance(&imbalance, &job->ranks) < 0)
        return -1;
    if (imbalance.cost < job_findings_least(job))
        return 0;
    struct job_line *row =
        add_line(rows, FINDING_RULE_pipeline_imbalance, imbalance.cost, imbalance.ranks, imbalance.index);
    if (!row)
        return -1;
    rows->sum.imbalance = true;
    memcpy(row->text, imbalance.text, sizeof(row->text));
    snprintf(row->advice, sizeof(row->advice), "%s", imbalance_advice);
    return 0;
}

/* Adds the hang of the whole job. Findings of single traces about hangs know less and are dropped later. */
static int add_hang(struct job_lines *rows, const struct job_whole *job)
{
    const struct hang *hang = hang_worth_finding(&job->hangs);
    struct job_line *row =
        hang ? add_line(rows, FINDING_RULE_hang, 0, (int64_t)hang->counts[HANG_WAITS], RANK_NONE) : NULL;
    if (!row)
        return hang ? -1 : 0;
    return hang_write_finding(row->text, row->advice, &job->hangs, hang);
}

/* --- findings of traces --- */

static int64_t rank_of(const struct job_whole *job, uint32_t index)
{
    return index == RANK_NONE ? FIELD_ABSENT : job->ranks.items.items[index].rank;
}

/* Returns the order among findings of equal cost: by rank, but crashes by the time of death, as the first crash causes
 * the others. Returns INT64_MAX if this time is unknown. */
static int64_t order_of(const struct job_whole *job, unsigned rule, uint32_t index)
{
    for (size_t i = 0; i < job->hangs.fronts.members.count && rule == FINDING_RULE_crashed; i++) {
        const struct hang_member *member = &job->hangs.fronts.members.items[i];
        bool died = member->ending == HANG_KILLED || member->ending == HANG_CRASHED;
        if (member->rank == rank_of(job, index) && died && member->last != FIELD_ABSENT)
            return member->last;
    }
    return rule == FINDING_RULE_crashed ? INT64_MAX : rank_of(job, index);
}

/* Adds a row for each rule. In job.findings, the findings of a trace are neighbours. */
static int add_findings(struct job_lines *rows, const struct job_whole *job)
{
    uint32_t last[FINDING_RULE_COUNT] = {0}; /* by rule: first_rank + 1 of the last trace whose ranks were counted */
    for (size_t i = 0; i < job->findings.count; i++) {
        const struct job_finding *one = &job->findings.items[i];
        int64_t cost = one->cost;
        struct straggler_sum sum = rows->sum;
        if (one->rule == FINDING_RULE_exposed_communication && one->rank != RANK_NONE) {
            sum.own = rows->is_late[one->rank];
            cost = straggler_rest(&sum, &job->ranks.items.items[one->rank], cost);
        }
        cost = cost > 0 ? cost : 0; /* a report may be damaged */
        bool left = cost >= job_findings_least(job) && cost >= one->run / 100 * FINDING_EXPOSED_PERCENT;
        if (rows->explained[i] || one->rule == FINDING_RULE_hang || (cost < one->cost && !left))
            continue;
        struct job_line *row = NULL;
        for (size_t k = 0; k < rows->count && !row; k++)
            if (rows->items[k].rule == one->rule && !rows->items[k].of_ranks)
                row = &rows->items[k];
        if (!row && (row = array_push(rows)))
            *row = (struct job_line){.rule = one->rule, .cost = -1, .order = FINDING_RULE_COUNT + one->rule};
        if (!row)
            return -1;
        row->ranks += last[one->rule] == one->first_rank + 1 ? 0 : one->ranks;
        last[one->rule] = one->first_rank + 1;
        sum_add(&row->total, cost);
        if (cost < row->cost ||
            (cost == row->cost && order_of(job, one->rule, one->rank) >= order_of(job, one->rule, row->rank)))
            continue;
        row->cost = cost;
        row->gain = one->gain < cost ? one->gain : cost;
        row->run = one->run;
        row->rank = one->rank;
        row->finding = one;
    }
    return 0;
}

/* --- the table --- */

/* Returns a cell with the text of a trace's finding, followed by "of rank 3", or "of the worst trace" if it has several
 * ranks, and by how many ranks have such a finding. */
static struct cell text_of(struct table *table, const struct job_whole *job, const struct job_line *line)
{
    const char *text = trace_text(&job->trace, line->finding->text);
    struct amount ranks = amount_count(line->ranks), all = amount_count((int64_t)job->ranks.items.count);
    char worst[48] = "the worst trace", rest[240];
    const char *s = amount_word((int64_t)job->ranks.items.count, "", "s");
    bool first = line->rule == FINDING_RULE_crashed && line->ranks > 1;
    if (line->rank != RANK_NONE)
        snprintf(worst, sizeof(worst), "rank %lld%s", (long long)rank_of(job, line->rank),
                 first ? ", which died first" : "");
    if (line->cost < line->finding->cost) {
        straggler_write_rest(rest, sizeof(rest), &job->ranks.items.items[line->rank], line->cost);
        text = rest;
    }
    if (line->cost <= 0)
        return table_format(table, "%s (of %s; found on %s of %s rank%s)", text, worst, ranks.text, all.text, s);
    return table_format(table, "%s (of %s: %s, %s of its run; found on %s of %s rank%s, %s in all)", text, worst,
                        amount_time(line->cost).text, amount_share(line->cost, line->run).text, ranks.text, all.text, s,
                        amount_time(line->total).text);
}

static void show_line(struct table *table, struct cell *cells, const struct job_whole *job, const struct job_line *line,
                      uint64_t sections)
{
    const struct rule *rule = finding_rules[line->rule];
    cells[ID] = table_text(table, rule->id);
    cells[TEXT] = line->of_ranks && line->cost == 0 ? table_text(table, line->text)
                  : line->of_ranks
                      ? table_format(table, "%s (%s, %s of the run)", line->text, amount_time(line->cost).text,
                                     amount_share(line->cost, line->run).text)
                      : text_of(table, job, line);
    cells[COST] = cell_integer(line->cost);
    cells[SHARE] = cell_share(line->cost, line->run);
    cells[TOTAL] = cell_integer(line->total);
    cells[RANKS] = cell_integer(line->ranks);
    cells[RANK] = cell_integer(rank_of(job, line->rank));
    cells[GAIN] = line->gain > 0 ? cell_integer(line->gain) : (struct cell){0};
    const char *advice = line->of_ranks ? line->advice : trace_text(&job->trace, line->finding->advice);
    cells[ADVICE] = table_text(table, *advice || !rule->advice ? advice : rule->advice);
    /* "train_step (train.py:31), at 431 ms, GPU 6, on node1" */
    const char *host = "", *where = line->finding ? trace_text(&job->trace, line->finding->where) : "";
    if (line->of_ranks && line->rank != RANK_NONE && job->ranks.items.items[line->rank].host != EVENT_NO_TEXT)
        host = interned(&job->ranks.texts, job->ranks.items.items[line->rank].host);
    if (!line->of_ranks)
        cells[WHERE] = table_text(table, where);
    else if (*host || *where)
        cells[WHERE] = table_format(table, "%s%s%s%s", where, *where && *host ? ", " : "", *host ? "on " : "", host);
    /* The word of the finding's section, "kernels --by-grid". For people, a rank is added if the job has no such
     * section. */
    enum report_format format = job->trace.options->format;
    bool of_job = format != REPORT_TABLE && format != REPORT_MARKDOWN;
    size_t length = rule->section ? strcspn(rule->section, " ") : 0;
    uint32_t rank = line->rank != RANK_NONE ? line->rank : line->finding ? line->finding->first_rank : 0;
    for (unsigned i = 0; i < REPORT_SECTION_COUNT && length > 0; i++)
        if (strlen(section_list[i].word) == length && strncmp(section_list[i].word, rule->section, length) == 0)
            of_job |= sections >> i & 1;
    if (rule->section)
        cells[MORE] = of_job ? table_text(table, rule->section)
                             : table_format(table, "%s --rank=%lld", rule->section, (long long)rank_of(job, rank));
}

int64_t job_findings_least(const struct job_whole *job)
{
    int64_t share = job->run / 100 * FINDING_COST_PERCENT;
    return share > FINDING_COST_NS ? share : FINDING_COST_NS;
}

int job_findings_fill(struct table *table, const struct job_whole *job, uint64_t sections)
{
    struct job_lines rows = {.job = job};
    rows.explained = calloc(job->findings.count + 1, 1);
    rows.is_late = calloc(job->ranks.items.count + 1, 1);
    int status = rows.explained && rows.is_late ? 0 : -1;
    status = status ?: stragglers_each(&job->ranks, job_findings_least(job), add_straggler, &rows);
    status = status ?: add_hang(&rows, job) ?: add_imbalance(&rows, job) ?: add_findings(&rows, job);
    /* Sort by cost, but put late ranks and stages before what they leave of exposed communication. */
    int64_t rest = 0;
    for (size_t i = rows.count; i-- > 0;) {
        struct job_line *line = &rows.items[i];
        bool exposed = line->rule == FINDING_RULE_exposed_communication;
        rest = exposed && line->cost < line->finding->cost ? line->cost : rest;
        line->weight = line->of_ranks && line->cost < rest ? rest : line->cost;
    }
    if (rows.count > 1)
        qsort(rows.items, rows.count, sizeof(*rows.items), by_cost);
    for (size_t i = 0; i < rows.count && i < FINDING_MOST && status == 0; i++) {
        const struct job_line *line = &rows.items[i];
        struct cell *cells = table_row(table);
        status = cells ? 0 : -1;
        if (cells)
            show_line(table, cells, job, line, sections);
        const struct job_finding *own = line->finding;
        for (size_t k = 0; !own && line->rank == RANK_NONE && k < job->findings.count; k++)
            own = job->findings.items[k].rule == line->rule ? &job->findings.items[k] : NULL;
        if (job->moments)
            job->moments[i] = (struct job_moment){own ? own->rule : line->rule, own ? own->first_rank : line->rank};
    }
    array_release(&rows);
    free(rows.explained);
    free(rows.is_late);
    return status;
}
