#include "analysis/job/job_findings.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/base/order.h"
#include "analysis/findings/imbalance.h"
#include "analysis/findings/stragglers.h"
#include "analysis/job/job.h"

enum column_number { ID, TEXT, COST, SHARE, TOTAL, RANKS, RANK, GAIN, ADVICE, WHERE, MORE };

const struct column job_findings_columns[JOB_FINDINGS_COLUMNS] = {
    [ID] = {"id", "Id", TYPE_TEXT, COLUMN_MACHINE},
    [TEXT] = {"finding", "Finding", TYPE_TEXT},
    [COST] = {"time", "Time", TYPE_NS, COLUMN_MACHINE},
    [SHARE] = {"share", "Share", TYPE_PERCENT, COLUMN_MACHINE},
    [TOTAL] = {"total", "Total", TYPE_NS, COLUMN_MACHINE},
    [RANKS] = {"ranks", "Ranks", TYPE_COUNT, COLUMN_MACHINE},
    [RANK] = {"rank", "Rank", TYPE_NUMBER, COLUMN_MACHINE},
    [GAIN] = {"gain", "Gain", TYPE_NS, COLUMN_MACHINE},
    [ADVICE] = {"advice", "Do", TYPE_TEXT},
    [WHERE] = {"where", "Where", TYPE_TEXT, COLUMN_OPTIONAL},
    [MORE] = {"section", "More", TYPE_TEXT, COLUMN_MACHINE},
};

/* What is found of ranks of the whole job. */
struct about_ranks {
    unsigned rule;
    int64_t count; /* ranks, … */
    uint32_t rank; /* … and the index of one */
    char text[FINDING_TEXT], advice[FINDING_TEXT];
};

/* A row, of either sort. */
struct job_line {
    const struct job_finding *finding; /* NULL: `about` */
    struct about_ranks about;
    int64_t cost;
    bool without_cost;
    size_t order;
};

struct job_lines { /* as an ARRAY */
    struct job_line *items;
    size_t count, capacity;
};

static int by_cost(const void *left, const void *right)
{
    const struct job_line *a = left, *b = right;
    return ORDER(a->without_cost, b->without_cost) ?: ORDER(b->cost, a->cost) ?: ORDER(a->order, b->order);
}

static int add_line(struct job_lines *rows, int64_t cost, const struct about_ranks *about)
{
    struct job_line *row = array_push(rows);
    if (row)
        *row = (struct job_line){.about = *about, .cost = cost, .order = rows->count};
    return row ? 0 : -1;
}

static int add_straggler(void *context, const struct straggler *straggler)
{
    struct about_ranks about = {FINDING_RULE_straggler, straggler->ranks, straggler->index, "", ""};
    memcpy(about.text, straggler->text, sizeof(about.text));
    memcpy(about.advice, straggler->advice, sizeof(about.advice));
    return add_line(context, straggler->cost, &about);
}

static int add_imbalance(struct job_lines *rows, const struct job_whole *job)
{
    struct imbalance imbalance;
    if (imbalance_find(&imbalance, &job->ranks) < 0)
        return -1;
    struct about_ranks about = {FINDING_RULE_pipeline_imbalance, imbalance.ranks, imbalance.index, "", ""};
    memcpy(about.text, imbalance.text, sizeof(about.text));
    snprintf(about.advice, sizeof(about.advice), "%s", imbalance_advice);
    return imbalance.cost >= job_findings_least(job) ? add_line(rows, imbalance.cost, &about) : 0;
}

static int add_findings(struct job_lines *rows, const struct job_whole *job)
{
    for (size_t i = 0; i < job->findings.count; i++) {
        const struct job_finding *finding = &job->findings.items[i];
        struct job_line *row = array_push(rows);
        if (!row)
            return -1;
        *row = (struct job_line){.finding = finding,
                                 .cost = finding->cost,
                                 .without_cost = finding_rules[finding->rule]->without_cost,
                                 .order = FINDING_RULE_COUNT + finding->rule};
    }
    return 0;
}

/* "rank 3", or of a trace of several ranks "the worst trace" */
static struct cell text_of(struct table *table, const struct job_whole *job, const struct job_finding *finding)
{
    const char *text = trace_text(&job->trace, finding->text);
    struct amount ranks = amount_count(finding->ranks), all = amount_count((int64_t)job->ranks.items.count);
    char worst[48] = "the worst trace";
    if (finding->rank != EVENT_NONE)
        snprintf(worst, sizeof(worst), "rank %lld", (long long)finding->rank);
    if (finding->cost <= 0)
        return table_format(table, "%s (of %s; found on %s of %s ranks)", text, worst, ranks.text, all.text);
    return table_format(table, "%s (of %s: %s, %s of its run; found on %s of %s ranks, %s in all)", text, worst,
                        amount_time(finding->cost).text, amount_share(finding->cost, finding->run).text, ranks.text,
                        all.text, amount_time(finding->total).text);
}

static void show_finding(struct table *table, struct cell *cells, const struct job_whole *job,
                         const struct job_finding *finding)
{
    const struct rule *rule = finding_rules[finding->rule];
    cells[ID] = table_text(table, rule->id);
    cells[TEXT] = text_of(table, job, finding);
    cells[COST] = cell_integer(finding->cost);
    cells[SHARE] = cell_share(finding->cost, finding->run);
    cells[TOTAL] = cell_integer(finding->total);
    cells[RANKS] = cell_integer(finding->ranks);
    cells[RANK] = cell_integer(finding->rank);
    cells[GAIN] = finding->gain > 0 ? cell_integer(finding->gain) : (struct cell){0};
    cells[ADVICE] = table_text(table, trace_text(&job->trace, finding->advice));
    cells[WHERE] = table_text(table, trace_text(&job->trace, finding->where));
    cells[MORE] = rule->section ? table_text(table, rule->section) : (struct cell){0};
}

static void show_ranks(struct table *table, struct cell *cells, const struct job_whole *job,
                       const struct job_line *line)
{
    const struct rule *rule = finding_rules[line->about.rule];
    const struct rank *rank = &job->ranks.items.items[line->about.rank];
    cells[ID] = table_text(table, rule->id);
    cells[TEXT] = table_format(table, "%s (%s, %s of the run)", line->about.text, amount_time(line->cost).text,
                               amount_share(line->cost, job->run).text);
    cells[COST] = cells[TOTAL] = cells[GAIN] = cell_integer(line->cost);
    cells[SHARE] = cell_share(line->cost, job->run);
    cells[RANKS] = cell_integer(line->about.count);
    cells[RANK] = cell_integer(rank->rank);
    cells[ADVICE] = table_text(table, line->about.advice);
    if (rank->host != EVENT_NO_TEXT)
        cells[WHERE] =
            table_format(table, "on %s; more: -r %s", interned(&job->ranks.texts, rank->host), rule->section);
    cells[MORE] = table_text(table, rule->section);
}

static int show_all(struct table *table, const struct job_whole *job, const struct job_lines *rows)
{
    for (size_t i = 0; i < rows->count && i < FINDING_MOST; i++) {
        struct cell *cells = table_row(table);
        if (!cells)
            return -1;
        if (rows->items[i].finding)
            show_finding(table, cells, job, rows->items[i].finding);
        else
            show_ranks(table, cells, job, &rows->items[i]);
    }
    return 0;
}

int64_t job_findings_least(const struct job_whole *job)
{
    int64_t share = job->run / 100 * FINDING_COST_PERCENT;
    return share > FINDING_COST_NS ? share : FINDING_COST_NS;
}

int job_findings_fill(struct table *table, const struct job_whole *job)
{
    struct job_lines rows = {0};
    int status =
        stragglers_each(&job->ranks, job_findings_least(job), add_straggler, &rows)
        ?: add_imbalance(&rows, job) ?: add_findings(&rows, job);
    if (rows.count > 1)
        qsort(rows.items, rows.count, sizeof(*rows.items), by_cost);
    status = status ?: show_all(table, job, &rows);
    array_release(&rows);
    return status;
}
