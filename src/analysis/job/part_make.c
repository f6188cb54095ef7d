/* From a trace to its part: job_part_make(), job_part_open(). */
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "common/buffer.h"
#include "common/log.h"
#include "common/lookup.h"
#include "common/memory.h"
#include "analysis/engine/findings.h"
#include "analysis/ranks/ranks_of_trace.h"
#include "analysis/ranks/stragglers.h"
#include "analysis/job/job_part.h"
#include "analysis/job/part_format.h"
#include "analysis/hang/hang_facts.h"
#include "analysis/engine/comparable.h"
#include "analysis/ranks/rank_times.h"
#include "analysis/report.h"

#define NEEDED \
    (REPORT_BIT(REPORT_FINDINGS) | REPORT_BIT(REPORT_RANKS) | REPORT_BIT(REPORT_COMM) | REPORT_BIT(REPORT_HANG))

/* What is being written, and from what. */
struct making {
    struct sections *sections;
    const struct trace *trace;
    struct job_part part;
    struct buffer *out;
    struct filter_missed missed;
    ARRAY(uint32_t) numbers; /* of texts of the trace: number + 1 in the part's; 0: not asked */
};

static uint32_t keep(struct making *making, const char *text, size_t length)
{
    uint32_t number = intern(&making->part.ranks.texts, text, length);
    if (number == INTERN_NO_MEMORY)
        making->out->failure = making->out->failure ? making->out->failure : ENOMEM;
    return number;
}

static uint32_t keep_trace_text(struct making *making, uint32_t text)
{
    const char *words = text == EVENT_NO_TEXT ? NULL : interned(&making->trace->strings, text);
    uint32_t *known = words ? array_at(&making->numbers, text) : NULL;
    if (!known) {
        making->out->failure = words ? ENOMEM : making->out->failure;
        return EVENT_NO_TEXT;
    }
    if (*known == 0)
        *known = keep(making, words, strlen(words)) + 1;
    return *known - 1;
}

/* --- rows --- */

static int add_rows(struct making *making, unsigned number)
{
    const struct section *section = making->sections->all[number].section;
    const struct comparable_columns columns = comparable_columns_of(section);
    struct table table = {.columns = section->columns, .column_count = section->column_count};
    struct buffer name;
    int status = report_fill(making->sections, number, &table);
    making->part.info.unrecorded |= table.unrecorded ? REPORT_BIT(number) : 0;
    for (size_t i = 0; i < table.rows && status == 0 && !table.no_memory; i++) {
        if (!comparable_has_number(&table, i, columns.total) && !comparable_has_number(&table, i, columns.count))
            continue; /* a remark */
        buffer_init_memory(&name);
        comparable_write_name(&name, &table, i, &columns);
        const struct part_row row = {.section = number,
                                     .name = keep(making, name.data ? name.data : "", name.length),
                                     .total = comparable_number(&table, i, columns.total),
                                     .count = columns.count < 0 ? 1 : comparable_number(&table, i, columns.count)};
        status = !name.failure && ADD(array_push, &making->part.rows, row) ? 0 : -1;
        buffer_release(&name);
    }
    status = table.no_memory ? -1 : status;
    table_release(&table);
    return status;
}

/* --- findings --- */

static uint32_t keep_cell(struct making *making, const struct table *table, size_t row, const char *word)
{
    int column = table_find_column(table->columns, table->column_count, word);
    const struct cell *cell = comparable_cell(table, row, column);
    const char *text = cell->kind == CELL_TEXT ? table_cell_text(table, cell) : "";
    return keep(making, text, strlen(text));
}

static uint32_t rule_number(const char *id)
{
    for (uint32_t i = 0; i < FINDING_RULE_COUNT; i++)
        if (strcmp(finding_rules[i]->id, id) == 0)
            return i;
    return FINDING_RULE_COUNT;
}

/* The rows of the findings are in the order of findings.items. */
static int add_findings(struct making *making)
{
    const struct findings *findings = section_state(making->trace, REPORT_FINDINGS);
    const struct rank_times *times = section_state(making->trace, REPORT_RANKS);
    struct table table = {.columns = section_findings.columns, .column_count = section_findings.column_count};
    int status = sections_fill(making->sections, REPORT_FINDINGS, &table);
    int id = table_find_column(table.columns, table.column_count, "id");
    making->part.info.run = trace_span(making->trace);
    for (size_t i = 0; i < table.rows && i < findings->items.count && status == 0; i++) {
        const struct finding *finding = &findings->items.items[i];
        uint32_t rule = rule_number(table_cell_text(&table, comparable_cell(&table, i, id)));
        if (rule == FINDING_RULE_COUNT)
            continue;
        int64_t device = finding->place.device;
        uint32_t rank = device == FIELD_ABSENT || (size_t)device >= times->of_device.count
                            ? RANK_NONE
                            : times->of_device.items[device];
        const struct part_finding added = {.rule = rule,
                                           .text = keep(making, finding->text, strlen(finding->text)),
                                           .advice = keep_cell(making, &table, i, "advice"),
                                           .where = keep_cell(making, &table, i, "where"),
                                           .rank = making->part.ranks.items.count == 1 ? 0 : rank,
                                           .cost = finding->cost,
                                           .gain = finding->gain};
        status = ADD(array_push, &making->part.findings, added) ? 0 : -1;
    }
    status = table.no_memory ? -1 : status;
    table_release(&table);
    return status;
}

/* --- what ranks did at the end --- */

static int add_members(struct making *making)
{
    struct hang_fronts fronts;
    hang_fronts_init(&fronts, &making->trace->strings);
    int status = hang_facts_add_ranks(making->trace, &fronts);
    if (status == 0)
        status = hang_facts_publish(section_state(making->trace, REPORT_HANG), making->trace, &fronts);
    for (size_t i = 0; i < fronts.members.count && status == 0; i++) {
        struct hang_member *member = &fronts.members.items[i];
        uint32_t *const texts[] = {&member->how,   &member->gpu,   &member->host, &member->thread,
                                   &member->range, &member->place, &member->init};
        for (size_t k = 0; k < sizeof(texts) / sizeof(*texts); k++)
            if (*texts[k] != EVENT_NO_TEXT) {
                const char *text = interned(&fronts.texts, *texts[k]);
                *texts[k] = keep(making, text, strlen(text));
            }
        status = ADD(array_push, &making->part.members, *member) ? 0 : -1;
    }
    hang_fronts_release(&fronts);
    return status;
}

/* --- the file --- */

static void write_head(struct buffer *out, enum part_block block, size_t record, uint64_t count)
{
    const struct part_head head = {block, (uint32_t)record, count};
    buffer_bytes(out, &head, sizeof(head));
}

#define write_array(out, block, array)                                                   \
    (write_head(out, block, sizeof(*(array)->items), (array)->count),                    \
     buffer_bytes(out, (array)->items ? (const void *)(array)->items : (const void *)"", \
                  (array)->count * sizeof(*(array)->items)))

static int write_collectives(struct making *making)
{
    const struct collectives *collectives = section_state(making->trace, REPORT_COMM);
    const struct rank_times *times = section_state(making->trace, REPORT_RANKS);
    struct sorter_walk walk;
    const struct collective *next;
    write_head(making->out, PART_COLLECTIVES, sizeof(*next), collectives->all.count);
    sorter_walk_begin(&walk, &collectives->all);
    while ((next = sorter_next(&walk))) {
        struct collective one = *next;
        one.communicator = keep_trace_text(making, one.communicator);
        one.group_ranks = keep_trace_text(making, one.group_ranks);
        one.name = keep_trace_text(making, one.name);
        one.dtype = keep_trace_text(making, one.dtype);
        one.process = one.process < times->of_process.count ? times->of_process.items[one.process] : RANK_NONE;
        one.thread = one.device = one.stream = COLLECTIVE_NO_INDEX;
        buffer_bytes(making->out, &one, sizeof(one));
    }
    return sorter_walk_end(&walk);
}

static int write_part(struct making *making)
{
    struct buffer *out = making->out;
    struct job_part *part = &making->part;
    buffer_bytes(out, PART_MAGIC, PART_MAGIC_BYTES);
    write_head(out, PART_INFO, sizeof(part->info), 1);
    buffer_bytes(out, &part->info, sizeof(part->info));
    write_array(out, PART_RANKS, &part->ranks.items);
    write_array(out, PART_NAMES, &part->ranks.names);
    write_array(out, PART_STEPS, &part->ranks.steps);
    write_array(out, PART_ROWS, &part->rows);
    write_array(out, PART_FINDINGS, &part->findings);
    write_array(out, PART_MEMBERS, &part->members);
    int status = write_collectives(making);
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < part->ranks.texts.count; i++)
        bytes += strlen(interned(&part->ranks.texts, i)) + 1;
    write_head(out, PART_TEXTS, 1, bytes);
    for (uint32_t i = 0; i < part->ranks.texts.count; i++)
        buffer_bytes(out, interned(&part->ranks.texts, i), strlen(interned(&part->ranks.texts, i)) + 1);
    return status;
}

/* --- all of it --- */

static int make(struct making *making, uint64_t sections, const char *path)
{
    int status = ranks_of_trace(&making->part.ranks, making->trace);
    status = status ?: stragglers_describe_gaps(&making->part.ranks, making->trace);
    if (status < 0)
        return error_no_memory("a part of a job");
    if (making->part.ranks.items.count == 0)
        return JOB_PART_NONE;
    /* Who waited for whom is known when all ranks are there. */
    for (size_t i = 0; i < making->part.ranks.items.count; i++) {
        struct rank *rank = &making->part.ranks.items.items[i];
        rank->waited = rank->neighbours = rank->blocked = rank->delayed = rank->late = rank->worst = 0;
        rank->compared = rank->late_operations = 0;
        rank->worst_at = FIELD_ABSENT;
    }
    for (size_t i = 0; i < making->part.ranks.steps.count; i++)
        making->part.ranks.steps.items[i].communication = making->part.ranks.steps.items[i].waited = 0;
    const struct trace *trace = making->trace;
    const char *missing = making->missed.texts[0];
    struct part_info *info = &making->part.info;
    struct buffer filter;
    buffer_init_memory(&filter);
    filter_write(&filter, &trace->options->filter);
    *info = (struct part_info){.path = keep(making, path, strlen(path)),
                               .with_span = trace->any,
                               .filter = keep(making, filter.data ? filter.data : "", filter.length),
                               .missing = keep(making, missing, strlen(missing)),
                               .start = trace->start,
                               .end = trace->end,
                               .base = trace->base,
                               .world_size = FIELD_ABSENT,
                               .sections = sections};
    buffer_release(&filter);
    for (size_t i = 0; i < trace->ranks.count; i++)
        info->world_size =
            trace->ranks.items[i].world_size > info->world_size ? trace->ranks.items[i].world_size : info->world_size;
    status = add_findings(making) ?: add_members(making);
    for (unsigned i = 0; i < REPORT_SECTION_COUNT && status == 0; i++)
        if (sections >> i & 1)
            status = add_rows(making, i);
    status = status ?: write_part(making);
    int failure = buffer_finish(making->out);
    if (failure)
        return error("cannot write the part of '%s': %s", path, strerror(failure));
    return status < 0 ? error_no_memory("a part of a job") : 0;
}

int job_part_make(const struct report_options *options, uint64_t sections, const char *path, int file, bool several)
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
    struct making making = {.sections = &read, .trace = &read.trace, .out = &out};
    own.missed = several ? &making.missed : NULL;
    int status = report_read(&read, &own, path);
    if (status == 0)
        status = make(&making, sections, path);
    sections_release(&read);
    job_part_release(&making.part);
    array_release(&making.numbers);
    buffer_release(&out);
    return status;
}

int job_part_open(const struct report_options *options, uint64_t sections, const char *path, int *file)
{
    bool is_part = job_part_is(path);
    *file = is_part ? open(path, O_RDONLY | O_CLOEXEC) : temporary_file_open(temporary_directory());
    if (*file < 0 && is_part)
        return error("cannot open '%s': %s", path, strerror(errno));
    if (*file < 0)
        return error("cannot make a temporary file in '%s': %s", temporary_directory(), strerror(errno));
    return is_part ? 0 : job_part_make(options, sections, path, *file, true);
}
