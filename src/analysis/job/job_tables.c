/*
 * Fills tables about the whole job, and tables that sum rows of the traces' sections, with extremes over the ranks.
 */
#include "analysis/job/job_tables.h"

#include <stdio.h>
#include <string.h>

#include "common/buffer.h"
#include "common/log.h"
#include "common/text.h"
#include "analysis/base/cost_sum.h"
#include "analysis/engine/trace_known.h"
#include "analysis/job/job.h"
#include "analysis/job/job_findings.h"
#include "analysis/engine/findings.h"
#include "analysis/engine/section.h"
#include "analysis/hang/hang_table.h"
#include "analysis/ranks/stages.h"
#include "analysis/render/render.h"
#include "analysis/report.h"

#define OWN                                                                                                           \
    (REPORT_BIT(REPORT_FINDINGS) | REPORT_BIT(REPORT_OVERVIEW) | REPORT_BIT(REPORT_HANG) | REPORT_BIT(REPORT_RANKS) | \
     REPORT_BIT(REPORT_STAGES) | REPORT_BIT(REPORT_COMM))

uint64_t job_tables_sections(void)
{
    return OWN | rank_report_sections();
}

/* --- the job as a whole --- */

static const struct column overview_columns[] = {
    {"name", "Name", TYPE_TEXT, .importance = 90},
    {"value", "Value", TYPE_TEXT, .importance = 90},
};

static int add_fact(struct table *table, const char *name, struct cell value)
{
    struct cell *cells = table_row(table);
    if (!cells)
        return -1;
    cells[0] = table_text(table, name);
    cells[1] = value;
    return 0;
}

static const char *host_name(const struct job_whole *job, size_t host)
{
    uint32_t name = job->hosts.items[host];
    return name == EVENT_NO_TEXT ? "(a host without a name)" : interned(&job->ranks.texts, name);
}

#define CLOCKS_SHOWN 8u /* of more corrected clocks, only the largest correction is shown */

/* Adds a row "124 corrected by at most 49.7 ms, and 49.9 ppm of drift; ± 16.1 us at most" */
static int add_corrected(struct table *table, const struct job_whole *job, size_t count)
{
    int64_t most = 0;
    double drift = 0, uncertainty = 0;
    for (size_t i = 1; i < job->clocks.items.count; i++) {
        const struct job_clock *clock = &job->clocks.items.items[i];
        double own = clock->drift_ppm < 0 ? -clock->drift_ppm : clock->drift_ppm;
        int64_t correction = clock->offset_ns < 0 ? -clock->offset_ns : clock->offset_ns;
        if (clock->state != JOB_CLOCK_KNOWN)
            continue;
        most = correction > most ? correction : most;
        drift = own > drift ? own : drift;
        uncertainty = clock->uncertainty_ns > uncertainty ? clock->uncertainty_ns : uncertainty;
    }
    return add_fact(table, "Clocks",
                    table_format(table,
                                 "%zu corrected by at most %s, drift %.1f ppm at most, ± %s at most (gputrace merge "
                                 "prints each)",
                                 count, amount_time(most).text, drift, amount_time((int64_t)uncertainty).text));
}

static int add_clocks(struct table *table, const struct job_whole *job)
{
    size_t known = 0;
    for (size_t i = 1; i < job->clocks.items.count; i++)
        known += job->clocks.items.items[i].state == JOB_CLOCK_KNOWN;
    if (known > CLOCKS_SHOWN && add_corrected(table, job, known) < 0)
        return -1;
    for (size_t i = 1; i < job->clocks.items.count; i++) {
        struct buffer text;
        if (known > CLOCKS_SHOWN && job->clocks.items.items[i].state == JOB_CLOCK_KNOWN)
            continue;
        buffer_init_memory(&text);
        job_clock_describe(&text, &job->clocks.items.items[i], host_name(job, i), host_name(job, 0));
        if (add_fact(table, "Clock", table_text_from_buffer(table, &text)) < 0)
            return -1;
    }
    return 0;
}

/* Adds rows about GPUs. Each rank is taken to have one GPU; neighbouring ranks in one trace that share a GPU have one
 * together. */
static int add_gpus(struct table *table, const struct job_whole *job)
{
    const struct rank *ranks = job->ranks.items.items;
    int64_t gpus = 0, busy = 0;
    for (size_t i = 0; i < job->ranks.items.count; i++)
        if (ranks[i].start != FIELD_ABSENT) {
            gpus += !(ranks[i].shares && i > 0 && ranks[i - 1].shares);
            sum_add(&busy, difference_of(difference_of(ranks[i].end, ranks[i].start), ranks[i].idle) / 1000);
        }
    if (gpus == 0)
        return 0;
    return add_fact(table, "GPUs", table_format(table, "%s", amount_count(gpus).text))
               ?: add_fact(table, "GPUs busy",
                           table_format(table, "%s on average", amount_share(busy / gpus, job->run / 1000).text));
}

static int fill_overview(struct table *table, const struct job_whole *job)
{
    long long ranks = (long long)job->ranks.items.count, size = (long long)job->world_size;
    struct cell count = size > ranks
                            ? table_format(table, "%lld of %lld: the others are not in these traces", ranks, size)
                            : table_format(table, "%lld", ranks);
    const char *part = trace_text(&job->trace, job->filter);
    if (*part && add_fact(table, "Part", table_text(table, part)) < 0)
        return -1;
    return add_fact(table, "Time", table_format(table, "%s", amount_time(job->run).text))
               ?: add_gpus(table, job)
               ?: add_fact(table, "Ranks", count)
               ?: add_fact(table, "Hosts", table_format(table, "%zu", job->hosts.count))
               ?: add_fact(table, "Traces", table_format(table, "%lld", (long long)job->reports))
               ?: add_clocks(table, job);
}

/* --- rows of sections --- */

enum row_column { TOTAL, COUNT, RANKS, MEAN, LEAST, LEAST_RANK, MOST, MOST_RANK, NAME, ROW_COLUMNS };

static const struct column row_columns[ROW_COLUMNS] = {
    [TOTAL] = {"total", "Total", TYPE_NS, COLUMN_SUM | COLUMN_APART},
    [COUNT] = {"count", "Count", TYPE_COUNT, COLUMN_SUM},
    [RANKS] = {"ranks", "Ranks", TYPE_COUNT, 0, .importance = 70},
    [MEAN] = {"mean", "Mean of ranks", TYPE_NS, 0, .importance = 80},
    [LEAST] = {"least", "Least", TYPE_NS, 0, .importance = 50},
    [LEAST_RANK] = {"least_rank", "on rank", TYPE_NUMBER, 0, .importance = 49},
    [MOST] = {"most", "Most", TYPE_NS, 0, .importance = 60},
    [MOST_RANK] = {"most_rank", "on rank", TYPE_NUMBER, 0, .importance = 59},
    [NAME] = {"name", "Name", TYPE_TEXT, .importance = 90},
};

static int fill_rows(struct table *table, const struct job_whole *job, unsigned section)
{
    bool timed = section_list[section].section->comparable.total;
    for (size_t i = 0; i < job->rows.count; i++) {
        const struct job_row_key *key = dense_map_row(&job->row_keys, i);
        const struct job_row *row = &job->rows.items[i];
        struct cell *cells = key->section == section ? table_row(table) : NULL;
        if (key->section != section)
            continue;
        if (!cells)
            return -1;
        cells[TOTAL] = timed ? cell_integer(whole_of(row->total)) : (struct cell){0};
        cells[COUNT] = cell_integer(whole_of(row->count));
        cells[RANKS] = cell_integer(row->ranks);
        cells[MEAN] = cell_real((timed ? row->total : row->count) / (double)row->ranks);
        cells[LEAST] = cell_real(row->least);
        cells[LEAST_RANK] = cell_integer(row->least_rank);
        cells[MOST] = cell_real(row->most);
        cells[MOST_RANK] = cell_integer(row->most_rank);
        cells[NAME] = trace_text_cell(&job->trace, table, (uint32_t)key->name);
    }
    return 0;
}

/* --- all tables --- */

/* Returns an empty table for section NUMBER of a job. COLUMNS (ROW_COLUMNS of them) must live as long as the table;
 * they are set to the columns for summed rows. */
static struct table table_of(unsigned number, struct column *columns)
{
    const struct section *section = section_list[number].section;
    struct table table = {.word = section_list[number].word,
                          .title = section_list[number].title,
                          .columns = columns,
                          .column_count = ROW_COLUMNS};
    /* The columns show the unit of the section's totals, or counts if it has no totals. */
    int total = comparable_column(section, section->comparable.total);
    enum column_type type = total < 0 ? TYPE_COUNT : section->columns[total].type;
    memcpy(columns, row_columns, sizeof(row_columns));
    columns[TOTAL].type = type;
    if (total < 0)
        columns[TOTAL].flags = COLUMN_OPTIONAL;
    columns[MEAN].type = total < 0 ? TYPE_MEAN : type;
    columns[LEAST].type = columns[MOST].type = total < 0 ? TYPE_MEAN : type;
    for (size_t i = 0; number == REPORT_TIME && i < MEAN; i++) /* about one step of each rank: no sums */
        columns[i].flags = COLUMN_MACHINE;
    if (number == REPORT_FINDINGS) {
        table.columns = job_findings_columns;
        table.column_count = JOB_FINDINGS_COLUMNS;
        table.listing = table.paragraphs = true;
        table.none = section->none;
    } else if (number == REPORT_OVERVIEW) {
        table.columns = overview_columns;
        table.column_count = sizeof(overview_columns) / sizeof(*overview_columns);
        table.title = "Job";
        table.listing = true;
    } else if (OWN >> number & 1) {
        table.columns = section->columns;
        table.column_count = section->column_count;
        table.listing = table.paragraphs = number == REPORT_HANG;
    }
    return table;
}

void job_tables_headline(const struct job_whole *job, struct render *render)
{
    const struct ranks *ranks = &job->ranks;
    int64_t steps = 0, with = 0, time = 0; /* with: number of ranks that have steps */
    struct buffer line;
    buffer_init_memory(&line);
    for (size_t i = 0; i < ranks->items.count; i++) {
        steps += ranks->items.items[i].steps;
        with += ranks->items.items[i].steps > 0;
        sum_add(&time, ranks->items.items[i].step_total);
    }
    uint64_t count = ranks->items.count, world = job->world_size > (int64_t)count ? (uint64_t)job->world_size : count;
    if (world > count)
        buffer_format(&line, "%s of ", text_count(count, NULL).text);
    buffer_format(&line, "%s on %s · %s", text_count(world, "rank").text, text_count(job->hosts.count, "host").text,
                  amount_time(job->run).text);
    if (with > 0)
        buffer_format(&line, " · %s of %s", text_count((uint64_t)(steps / with), "step").text,
                      amount_mean(time, steps).text);
    if (*trace_text(&job->trace, job->filter))
        buffer_format(&line, " · only %s", trace_text(&job->trace, job->filter));
    buffer_char(&line, '\0');
    render_line(render, line.failure ? "" : line.data);
    buffer_release(&line);
    render->any = true;
}

struct report_columns job_tables_columns(void)
{
    return (struct report_columns){row_columns, ROW_COLUMNS};
}

int job_tables_check(const struct report_options *options, uint64_t sections)
{
    struct report_columns tables[REPORT_SECTION_COUNT];
    struct column columns[ROW_COLUMNS];
    size_t count = 0;
    for (unsigned i = 0; i < REPORT_SECTION_COUNT; i++) {
        struct table table = table_of(i, columns);
        if (sections >> i & 1 && !table.listing)
            tables[count++] =
                OWN >> i & 1 ? (struct report_columns){table.columns, table.column_count} : job_tables_columns();
    }
    return report_check_columns(options, tables, count);
}

/* Writes a line on how to see a section that exists for single ranks only. */
static void write_of_rank(const struct job_whole *job, unsigned section, struct render *render)
{
    struct table table = {.columns = job_findings_columns, .column_count = JOB_FINDINGS_COLUMNS};
    const int more = table_find_column(table.columns, table.column_count, "section");
    const int of = table_find_column(table.columns, table.column_count, "rank");
    const struct rank *ranks = job->ranks.items.items;
    const char *word = section_list[section].word;
    struct buffer line;
    size_t index = 0;
    int64_t rank = FIELD_ABSENT; /* rank of the first finding that names the section */
    for (size_t i = job_findings_fill(&table, job, ~UINT64_C(0)) == 0 ? table.rows : 0; i-- > 0;)
        if (strcmp(table_cell_text(&table, comparable_cell(&table, i, more)), word) == 0)
            rank = comparable_cell(&table, i, of)->integer;
    for (size_t i = 0; i < job->ranks.items.count; i++)
        index = ranks[i].rank == rank ? i : index;
    table_release(&table);
    buffer_init_memory(&line);
    buffer_format(&line, "Section '%s' is of one rank: gputrace report -r %s --rank=%lld %s", word, word,
                  (long long)ranks[index].rank, shell_file(trace_text(&job->trace, job->paths.items[index])));
    buffer_char(&line, '\0');
    if (!line.failure && (render->options->format == REPORT_TABLE || render->options->format == REPORT_MARKDOWN))
        render_line(render, line.data);
    else if (!line.failure)
        notice("%s", line.data);
    buffer_release(&line);
}

int job_tables_write(const struct job_whole *job, uint64_t sections, struct render *render)
{
    int status = 0;
    uint64_t of_rank = render->options->sections & ~job_tables_sections();
    for (unsigned i = 0; i < REPORT_SECTION_COUNT; i++)
        if (of_rank >> i & 1 && (section_list[i].part_of == i || !(of_rank >> section_list[i].part_of & 1)))
            write_of_rank(job, i, render);
    for (unsigned i = 0; i < REPORT_SECTION_COUNT && status == 0; i++)
        if (sections >> i & 1 && (OWN | job->sections) >> i & 1) {
            const struct section *section = section_list[i].section;
            struct column columns[ROW_COLUMNS];
            struct table table = table_of(i, columns);
            const char *sort = OWN >> i & 1 ? section->sort : section->comparable.total ? "total" : "count";
            if (i == REPORT_TIME && job->ranks.steps.count > 0)
                table.title = "Where a step goes";
            if (i == REPORT_RANKS &&
                (render->options->usual ||
                 render->options->format == REPORT_HTML)) /* the rank that others wait for comes first */
                sort = "delayed";
            table.unrecorded = job->unrecorded >> i & 1;
            struct report_row row = {.trace = &job->trace, .table = &table};
            switch (i) {
            case REPORT_FINDINGS: status = job_findings_fill(&table, job, job_tables_sections()); break;
            case REPORT_OVERVIEW: status = fill_overview(&table, job); break;
            case REPORT_RANKS: status = ranks_fill(&row, &job->ranks); break;
            case REPORT_STAGES: status = stages_fill(&row, &job->ranks); break;
            case REPORT_HANG: hang_fill(&row, &job->hangs); break;
            case REPORT_COMM: comm_fill(&row, &job->comm); break;
            default: status = fill_rows(&table, job, i);
            }
            status = status < 0 ? error_no_memory(table.word) : 0;
            if (status == 0)
                status = report_write_table(render, &table, sort, section->usual);
            table_release(&table);
        }
    return status;
}

int job_tables_include(const struct job_whole *job, const char *ids)
{
    struct table table = {.columns = job_findings_columns, .column_count = JOB_FINDINGS_COLUMNS};
    int included = job_findings_fill(&table, job, job_tables_sections());
    for (size_t i = 0; i < table.rows && included >= 0 && !included; i++) {
        const char *id = table_cell_text(&table, comparable_cell(&table, i, 0));
        for (const char *at = ids; *at && !included; at += strcspn(at, ",") + (at[strcspn(at, ",")] == ',')) {
            size_t length = strcspn(at, ",");
            included =
                (length == 3 && strncmp(at, "any", 3) == 0) || (strlen(id) == length && strncmp(at, id, length) == 0);
        }
    }
    included = table.no_memory ? -1 : included;
    table_release(&table);
    return included;
}
