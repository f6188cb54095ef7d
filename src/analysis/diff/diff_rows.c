/*
 * Reads each trace as for a report, and joins the tables of its sections with those of the other traces. A table gets
 * columns that the report does not show: the trimmed mean of an occurrence, its variance, and the degrees of freedom.
 */
#include "analysis/diff/diff_rows.h"

#include <stdlib.h>
#include <string.h>

#include "common/buffer.h"
#include "common/log.h"
#include "analysis/report.h"
#include "analysis/base/table.h"
#include "analysis/engine/findings.h"
#include "analysis/engine/section.h"
#include "analysis/summary/section_findings.h"

struct diff_key {
    uint64_t section, name;
};

/* --- the columns of a section that are compared --- */

static struct cell fill_trimmed(struct report_row *row, const struct column *column, size_t at)
{
    const struct series *series = row_field(row, column);
    struct trimmed trimmed = series_trimmed((struct series *)(uintptr_t)series);
    return series->count ? cell_real(*(const double *)((const char *)&trimmed + at)) : (struct cell){0};
}

static struct cell fill_mean(struct report_row *row, const struct column *column)
{
    return fill_trimmed(row, column, offsetof(struct trimmed, mean));
}

static struct cell fill_variance(struct report_row *row, const struct column *column)
{
    return fill_trimmed(row, column, offsetof(struct trimmed, variance));
}

static struct cell fill_df(struct report_row *row, const struct column *column)
{
    return fill_trimmed(row, column, offsetof(struct trimmed, df));
}

/* The figures of a series that the comparison needs and the report does not show. */
enum { EXTRA_MEAN, EXTRA_VARIANCE, EXTRA_DF, EXTRA_COLUMNS };

static struct cell (*const extra_fills[EXTRA_COLUMNS])(struct report_row *row, const struct column *column) = {
    [EXTRA_MEAN] = fill_mean,
    [EXTRA_VARIANCE] = fill_variance,
    [EXTRA_DF] = fill_df,
};

struct columns {
    struct column *list; /* the section's columns, followed by EXTRA_COLUMNS if it has a series */
    size_t count;
    struct comparable_columns compared;
    int extra; /* index of the first extra column; -1: none */
};

static int columns_init(struct columns *columns, const struct section *section)
{
    const struct comparable *comparable = &section->comparable;
    size_t count = section->column_count;
    int each = comparable_column(section, comparable->each);
    *columns =
        (struct columns){.list = calloc(count + EXTRA_COLUMNS, sizeof(*columns->list)), .count = count, .extra = -1};
    if (!columns->list)
        return error_no_memory("columns");
    memcpy(columns->list, section->columns, count * sizeof(*columns->list));
    columns->compared = comparable_columns_of(section);
    if (each < 0)
        return 0;
    for (size_t i = 0; i < EXTRA_COLUMNS; i++) {
        struct column *extra = &columns->list[columns->count++];
        *extra = section->columns[each];
        extra->word = ""; /* no name finds this column */
        extra->fill = extra_fills[i];
    }
    columns->extra = (int)count;
    return 0;
}

enum column_type diff_type(unsigned section)
{
    const struct section *compared = section_list[section].section;
    const struct comparable *comparable = &compared->comparable;
    int column = comparable_column(compared, comparable->total ? comparable->total : comparable->each);
    return column < 0 ? TYPE_COUNT : compared->columns[column].type;
}

/* --- rows of one table --- */

static struct diff_row *find_row(struct diff *diff, unsigned section, const char *text, size_t length)
{
    uint32_t name = intern(&diff->names, text ? text : "", length);
    if (name == INTERN_NO_MEMORY)
        return NULL;
    const struct diff_key key = {section, name};
    struct diff_row *row = dense_map_item(&diff->keys, &key, &diff->rows);
    if (!row || row->samples)
        return row;
    row->samples = calloc(diff->traces, sizeof(*row->samples));
    row->section = section;
    row->name = name;
    return row->samples ? row : NULL;
}

/* Adds a second row of one name. Its occurrence becomes the mean of both, weighted by their counts. */
static void add_sample(struct diff_sample *sample, const struct diff_sample *more)
{
    double weight = sample->count + more->count > 0 ? more->count / (sample->count + more->count) : 0.5;
    if (!sample->present) {
        *sample = *more;
        return;
    }
    sample->each += (more->each - sample->each) * weight;
    sample->variance = (1 - weight) * (1 - weight) * sample->variance + weight * weight * more->variance;
    sample->df += more->df;
    sample->total += more->total;
    sample->count += more->count;
}

static int add_row(struct diff *diff, size_t trace, unsigned section, const struct table *table, size_t number,
                   const struct columns *columns)
{
    if (!comparable_has_number(table, number, columns->compared.total) &&
        !comparable_has_number(table, number, columns->compared.count))
        return 0; /* a remark, not a row of its own */
    struct buffer name;
    buffer_init_memory(&name);
    comparable_write_name(&name, table, number, &columns->compared);
    struct diff_row *row = name.failure ? NULL : find_row(diff, section, name.data, name.length);
    buffer_release(&name);
    if (!row)
        return -1;
    struct diff_sample sample = {
        .present = true,
        .total = comparable_number(table, number, columns->compared.total),
        .count = columns->compared.count < 0 ? 1 : comparable_number(table, number, columns->compared.count),
    };
    if (columns->extra >= 0) {
        double variance = comparable_number(table, number, columns->extra + EXTRA_VARIANCE);
        sample.each = comparable_number(table, number, columns->extra + EXTRA_MEAN);
        sample.df = comparable_number(table, number, columns->extra + EXTRA_DF);
        sample.variance = sample.each > 0 ? variance / (sample.each * sample.each) : 0;
    }
    add_sample(&row->samples[trace], &sample);
    return 0;
}

static int add_section(struct diff *diff, size_t trace, const char *path, struct sections *sections, unsigned number)
{
    const struct section *section = sections->all[number].section;
    struct columns columns;
    int status = columns_init(&columns, section);
    struct table table = {.columns = columns.list, .column_count = columns.count};
    if (status == 0 && report_fill(sections, number, &table) < 0)
        status = error_no_memory("a comparison");
    if (table.unrecorded) {
        diff->compared[number] = false;
        diff->unrecorded[number] = diff->unrecorded[number] ? diff->unrecorded[number] : path;
    }
    for (size_t i = 0; i < table.rows && status == 0; i++)
        if (add_row(diff, trace, number, &table, i, &columns) < 0)
            status = error_no_memory("a comparison");
    if (status == 0 && table.no_memory)
        status = error_no_memory("a comparison");
    table_release(&table);
    free(columns.list);
    return status;
}

/* --- one trace --- */

static int add_whole(struct diff *diff, size_t number, const struct trace *trace)
{
    struct diff_whole *whole = &diff->wholes[number];
    *whole = (struct diff_whole){.span = (double)trace_span(trace), .gpu = EVENT_NO_TEXT, .world = FIELD_ABSENT};
    /* The rank may be in the entries of its process and of the trace, so equal entries count as one. */
    whole->rank = trace->ranks.count > 0 ? trace->ranks.items[0].rank : FIELD_ABSENT;
    for (size_t i = 0; i < trace->ranks.count; i++) {
        const struct trace_rank *rank = &trace->ranks.items[i];
        whole->rank = rank->rank == whole->rank ? rank->rank : FIELD_ABSENT;
        whole->world = rank->world_size != FIELD_ABSENT ? rank->world_size : whole->world;
    }
    for (size_t i = 0; i < trace->devices.count; i++) {
        const struct trace_device *device = &trace->devices.items[i];
        if (!device->used)
            continue;
        const char *name = trace_text(trace, device->name);
        if (whole->gpus == 0 && *name && (whole->gpu = intern(&diff->names, name, strlen(name))) == INTERN_NO_MEMORY)
            return error_no_memory("a comparison");
        whole->busy += (double)device->busy.total;
        whole->gpus++;
    }
    whole->gpus = whole->gpus ? whole->gpus : 1;
    whole->busy /= (double)whole->gpus;
    whole->idle = whole->span - whole->busy;
    const struct findings *findings = section_state(trace, REPORT_FINDINGS) ? findings_of(trace) : NULL;
    whole->steps = findings ? findings->window.steps : 0;
    if (whole->steps > 0)
        whole->step = (double)(findings->window.to - findings->window.from) / (double)whole->steps;
    return 0;
}

/* Returns 0, or -1 after error(). Returns 1 if there are several traces and this one has nothing of what is
 * selected. */
static int read_one(struct diff *diff, const struct report_options *options, size_t number, const char *path)
{
    struct sections sections;
    size_t missed = options->missed ? options->missed->count : 0;
    int status = report_read(&sections, options, path);
    if (status == 0)
        status = options->missed && options->missed->count > missed ? 1 : add_whole(diff, number, &sections.trace);
    for (unsigned i = 0; i < REPORT_SECTION_COUNT && status == 0; i++)
        if (sections.all[i].shown)
            status = add_section(diff, number, path, &sections, i);
    sections_release(&sections);
    return status;
}

int diff_read(struct diff *diff, struct diff_options *options)
{
    struct report_options report = options->report;
    report.usual = false;
    report.names = report.names == REPORT_NAMES_PRETTY ? REPORT_NAMES_FULL : report.names; /* diff makes pretty names */
    size_t traces = options->counts[BEFORE] + options->counts[AFTER];
    *diff = (struct diff){.options = options, .traces = traces, .wholes = calloc(traces, sizeof(*diff->wholes))};
    if (!diff->wholes)
        return error_no_memory("a comparison");
    uint64_t wanted = report.sections ? report.sections : ~UINT64_C(0);
    report.sections = 0;
    for (unsigned i = 0; i < REPORT_SECTION_COUNT; i++) {
        diff->compared[i] = section_list[i].section->comparable.noun && wanted >> i & 1;
        report.sections |= diff->compared[i] ? REPORT_BIT(i) : 0;
    }
    int status = 0;
    size_t number = 0;
    for (enum diff_side side = BEFORE; side < DIFF_SIDES && status == 0; side++) {
        struct filter_missed missed = {0};
        size_t given = options->counts[side], first = number;
        report.missed = given > 1 ? &missed : NULL;
        for (size_t i = 0; i < given && status >= 0; i++) {
            options->paths[side][number - first] = options->paths[side][i];
            status = read_one(diff, &report, number, options->paths[side][i]);
            number += status == 0;
        }
        options->counts[side] = number - first;
        status = status < 0 ? status : filter_missed_print(&missed, given);
    }
    diff->traces = number;
    if (status != 0)
        return status;
    /* The section `time` has parts of a step or of a run, which cannot be compared with each other. */
    size_t with = 0;
    for (size_t i = 0; i < diff->traces; i++)
        with += diff->wholes[i].steps > 0;
    diff->by_steps = with == diff->traces && diff->compared[REPORT_TIME];
    diff->compared[REPORT_TIME] &= with == 0 || with == diff->traces;
    for (size_t i = 0; i < diff->rows.count && !report.by_grid && status == 0; i++)
        if (diff->rows.items[i].section == REPORT_KERNELS)
            status = pretty_names_add(&diff->pretty, diff->rows.items[i].name);
    status = status ?: pretty_names_make(&diff->pretty, &diff->names);
    return status < 0 ? error_no_memory("names") : 0;
}

void diff_release(struct diff *diff)
{
    for (size_t i = 0; i < diff->rows.count; i++)
        free(diff->rows.items[i].samples);
    array_release(&diff->rows);
    dense_map_release(&diff->keys);
    pretty_names_release(&diff->pretty);
    interner_release(&diff->names);
    free(diff->wholes);
    free(diff->terms);
}
