/*
 * Fills a struct rank_report from the sections of a trace, renumbers its texts, and writes its blocks.
 */
#include "analysis/job/rank_report_write.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "common/buffer.h"
#include "common/log.h"
#include "common/array.h"
#include "common/map.h"
#include "common/memory.h"
#include "analysis/engine/findings.h"
#include "analysis/ranks/ranks_of_trace.h"
#include "analysis/ranks/stragglers.h"
#include "analysis/job/rank_report.h"
#include "analysis/hang/hang_facts.h"
#include "analysis/engine/section.h"
#include "analysis/report.h"

#define NEEDED \
    (REPORT_BIT(REPORT_FINDINGS) | REPORT_BIT(REPORT_RANKS) | REPORT_BIT(REPORT_COMM) | REPORT_BIT(REPORT_HANG))

/* A report that is being written, and the trace that it is about. */
struct report_writer {
    struct sections *sections;
    const struct trace *trace;
    struct rank_report report;
    struct buffer *out;
    struct filter_missed missed;
    ARRAY(uint32_t) numbers; /* number of a text in the trace -> its number in the report + 1; 0: none yet */
};

static uint32_t intern_text(struct report_writer *writer, const char *text, size_t length)
{
    uint32_t number = intern(&writer->report.ranks.texts, text, length);
    if (number == INTERN_NO_MEMORY)
        writer->out->failure = writer->out->failure ? writer->out->failure : ENOMEM;
    return number;
}

static uint32_t intern_trace_text(struct report_writer *writer, uint32_t text)
{
    const char *words = text == EVENT_NO_TEXT ? NULL : interned(&writer->trace->strings, text);
    uint32_t *known = words ? array_at(&writer->numbers, text) : NULL;
    if (!known) {
        writer->out->failure = words ? ENOMEM : writer->out->failure;
        return EVENT_NO_TEXT;
    }
    if (*known == 0)
        *known = intern_text(writer, words, strlen(words)) + 1;
    return *known - 1;
}

/* --- rows --- */

static int add_rows(struct report_writer *writer, unsigned number)
{
    const struct section *section = writer->sections->all[number].section;
    const struct comparable_columns columns = comparable_columns_of(section);
    struct table table = {.columns = section->columns, .column_count = section->column_count};
    struct buffer name;
    int status = report_fill(writer->sections, number, &table);
    writer->report.info.unrecorded |= table.unrecorded ? REPORT_BIT(number) : 0;
    for (size_t i = 0; i < table.rows && status == 0 && !table.no_memory; i++) {
        if (!comparable_has_number(&table, i, columns.total) && !comparable_has_number(&table, i, columns.count))
            continue; /* a remark without numbers */
        buffer_init_memory(&name);
        comparable_write_name(&name, &table, i, &columns);
        const struct rank_report_row row = {.section = number,
                                            .name = intern_text(writer, name.data ? name.data : "", name.length),
                                            .total = comparable_number(&table, i, columns.total),
                                            .count =
                                                columns.count < 0 ? 1 : comparable_number(&table, i, columns.count)};
        status = !name.failure && ADD(array_push, &writer->report.rows, row) ? 0 : -1;
        buffer_release(&name);
    }
    status = table.no_memory ? -1 : status;
    table_release(&table);
    return status;
}

/* --- findings --- */

static uint32_t intern_cell(struct report_writer *writer, const struct table *table, size_t row, const char *word)
{
    int column = table_find_column(table->columns, table->column_count, word);
    const struct cell *cell = comparable_cell(table, row, column);
    const char *text = cell->kind == CELL_TEXT ? table_cell_text(table, cell) : "";
    return intern_text(writer, text, strlen(text));
}

/* Adds the findings. Row I of the section's table is about findings.items[I]. */
static int add_findings(struct report_writer *writer)
{
    const struct findings *findings = section_state(writer->trace, REPORT_FINDINGS);
    const struct rank_times *times = section_state(writer->trace, REPORT_RANKS);
    struct table table = {.columns = section_findings.columns, .column_count = section_findings.column_count};
    int status = sections_fill(writer->sections, REPORT_FINDINGS, &table);
    int id = table_find_column(table.columns, table.column_count, "id");
    writer->report.info.run = trace_span(writer->trace);
    for (size_t i = 0; i < table.rows && i < findings->items.count && status == 0; i++) {
        const struct finding *finding = &findings->items.items[i];
        uint32_t rule = 0;
        while (rule < FINDING_RULE_COUNT &&
               strcmp(finding_rules[rule]->id, table_cell_text(&table, comparable_cell(&table, i, id))) != 0)
            rule++;
        if (rule == FINDING_RULE_COUNT)
            continue;
        int64_t device = finding->place.device;
        uint32_t rank = device == FIELD_ABSENT || (size_t)device >= times->of_device.count
                            ? RANK_NONE
                            : times->of_device.items[device];
        const struct rank_report_finding added = {.rule = rule,
                                                  .text = intern_text(writer, finding->text, strlen(finding->text)),
                                                  .advice = intern_cell(writer, &table, i, "advice"),
                                                  .where = intern_cell(writer, &table, i, "where"),
                                                  .rank = writer->report.ranks.items.count == 1 ? 0 : rank,
                                                  .cost = finding->cost,
                                                  .gain = finding->gain};
        status = ADD(array_push, &writer->report.findings, added) ? 0 : -1;
    }
    status = table.no_memory ? -1 : status;
    table_release(&table);
    return status;
}

/* --- what ranks did when the trace ended --- */

static int add_members(struct report_writer *writer)
{
    struct hang_fronts fronts = {.strings = &writer->trace->strings};
    int status = hang_facts_add_ranks(writer->trace, &fronts);
    if (status == 0)
        status = hang_facts_publish(section_state(writer->trace, REPORT_HANG), writer->trace, &fronts);
    for (size_t i = 0; i < fronts.members.count && status == 0; i++) {
        struct hang_member *member = &fronts.members.items[i];
        uint32_t *const texts[] = HANG_MEMBER_TEXTS(member);
        for (size_t k = 0; k < sizeof(texts) / sizeof(*texts); k++)
            if (*texts[k] != EVENT_NO_TEXT) {
                const char *text = interned(&fronts.texts, *texts[k]);
                *texts[k] = intern_text(writer, text, strlen(text));
            }
        status = ADD(array_push, &writer->report.members, *member) ? 0 : -1;
    }
    hang_fronts_release(&fronts);
    return status;
}

/* --- the file --- */

static void write_head(struct buffer *out, enum rank_report_block block, size_t record, uint64_t count)
{
    const struct rank_report_head head = {block, (uint32_t)record, count};
    buffer_bytes(out, &head, sizeof(head));
}

#define write_array(out, block, array)                                                   \
    (write_head(out, block, sizeof(*(array)->items), (array)->count),                    \
     buffer_bytes(out, (array)->items ? (const void *)(array)->items : (const void *)"", \
                  (array)->count * sizeof(*(array)->items)))

static int write_collectives(struct report_writer *writer)
{
    const struct collectives *collectives = section_state(writer->trace, REPORT_COMM);
    const struct rank_times *times = section_state(writer->trace, REPORT_RANKS);
    struct sorter_walk walk;
    const struct collective *next;
    write_head(writer->out, RANK_REPORT_COLLECTIVES, sizeof(*next), collectives->all.count);
    sorter_walk_begin(&walk, &collectives->all);
    while ((next = sorter_next(&walk))) {
        struct collective one = *next;
        uint32_t *const texts[] = COLLECTIVE_TEXTS(&one);
        for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
            *texts[i] = intern_trace_text(writer, *texts[i]);
        one.process = one.process < times->of_process.count ? times->of_process.items[one.process] : RANK_NONE;
        one.thread = one.device = one.stream = COLLECTIVE_NO_INDEX;
        buffer_bytes(writer->out, &one, sizeof(one));
    }
    return sorter_walk_end(&walk);
}

static int write_file(struct report_writer *writer)
{
    struct buffer *out = writer->out;
    struct rank_report *report = &writer->report;
    buffer_bytes(out, RANK_REPORT_MAGIC, RANK_REPORT_MAGIC_BYTES);
    write_head(out, RANK_REPORT_INFO, sizeof(report->info), 1);
    buffer_bytes(out, &report->info, sizeof(report->info));
    write_array(out, RANK_REPORT_RANKS, &report->ranks.items);
    write_array(out, RANK_REPORT_NAMES, &report->ranks.names);
    write_array(out, RANK_REPORT_STEPS, &report->ranks.steps);
    write_array(out, RANK_REPORT_ROWS, &report->rows);
    write_array(out, RANK_REPORT_FINDINGS, &report->findings);
    write_array(out, RANK_REPORT_MEMBERS, &report->members);
    int status = write_collectives(writer);
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < report->ranks.texts.count; i++)
        bytes += strlen(interned(&report->ranks.texts, i)) + 1;
    write_head(out, RANK_REPORT_TEXTS, 1, bytes);
    for (uint32_t i = 0; i < report->ranks.texts.count; i++)
        buffer_bytes(out, interned(&report->ranks.texts, i), strlen(interned(&report->ranks.texts, i)) + 1);
    return status;
}

/* --- the report --- */

static int fill_and_write(struct report_writer *writer, uint64_t sections, const char *path)
{
    int status = ranks_of_trace(&writer->report.ranks, writer->trace);
    status = status ?: ranks_describe_gaps(&writer->report.ranks, writer->trace);
    if (status < 0)
        return error_no_memory("a part of a job");
    if (writer->report.ranks.items.count == 0)
        return RANK_REPORT_NONE;
    /* Who waited for whom is computed by the job, which has all ranks. */
    for (size_t i = 0; i < writer->report.ranks.items.count; i++) {
        struct rank *rank = &writer->report.ranks.items.items[i];
        rank->waited = rank->neighbours = rank->blocked = rank->delayed = rank->late = rank->worst = 0;
        rank->compared = rank->late_operations = 0;
        rank->worst_at = FIELD_ABSENT;
    }
    for (size_t i = 0; i < writer->report.ranks.steps.count; i++)
        writer->report.ranks.steps.items[i].communication = writer->report.ranks.steps.items[i].waited = 0;
    const struct trace *trace = writer->trace;
    const char *missing = writer->missed.texts[0];
    struct rank_report_info *info = &writer->report.info;
    struct buffer filter;
    buffer_init_memory(&filter);
    filter_write(&filter, &trace->options->filter);
    *info = (struct rank_report_info){.path = intern_text(writer, path, strlen(path)),
                                      .with_span = trace->any,
                                      .filter = intern_text(writer, filter.data ? filter.data : "", filter.length),
                                      .missing = intern_text(writer, missing, strlen(missing)),
                                      .start = trace->start,
                                      .end = trace->end,
                                      .base = trace->base,
                                      .world_size = FIELD_ABSENT,
                                      .sections = sections};
    buffer_release(&filter);
    for (size_t i = 0; i < trace->ranks.count; i++)
        info->world_size =
            trace->ranks.items[i].world_size > info->world_size ? trace->ranks.items[i].world_size : info->world_size;
    status = add_findings(writer) ?: add_members(writer);
    for (unsigned i = 0; i < REPORT_SECTION_COUNT && status == 0; i++)
        if (sections >> i & 1)
            status = add_rows(writer, i);
    status = status ?: write_file(writer);
    int failure = buffer_finish(writer->out);
    if (failure)
        return error("cannot write the part of '%s': %s", path, strerror(failure));
    return status < 0 ? error_no_memory("a part of a job") : 0;
}

int rank_report_write(const struct report_options *options, uint64_t sections, const char *path, int file, bool several)
{
    struct report_options own = *options;
    struct sections read;
    struct buffer out;
    own.sections = sections | NEEDED;
    own.usual = false;
    own.of_job = true;
    own.format = REPORT_JSON;
    own.names = options->names == REPORT_NAMES_PRETTY ? REPORT_NAMES_FULL : options->names; /* see job.c */
    buffer_init(&out, buffer_drain_fd, BUFFER_FD(file));
    struct report_writer writer = {.sections = &read, .trace = &read.trace, .out = &out};
    own.missed = several ? &writer.missed : NULL;
    int status = report_read(&read, &own, path);
    if (status == 0)
        status = fill_and_write(&writer, sections, path);
    sections_release(&read);
    rank_report_release(&writer.report);
    array_release(&writer.numbers);
    buffer_release(&out);
    return status;
}

int rank_report_open(const struct report_options *options, uint64_t sections, const char *path, int *file)
{
    bool is_part = rank_report_is(path);
    *file = is_part ? open(path, O_RDONLY | O_CLOEXEC) : temporary_file_open(temporary_directory());
    if (*file < 0 && is_part)
        return error("cannot open '%s': %s", path, strerror(errno));
    if (*file < 0)
        return error("cannot make a temporary file in '%s': %s", temporary_directory(), strerror(errno));
    return is_part ? 0 : rank_report_write(options, sections, path, *file, true);
}
