/*
 * Adds rank reports one by one: renumbers their texts, shifts their times to the origin of the first report, and sums
 * rows by name.
 */
#include "analysis/job/job.h"

#include <string.h>

#include "common/log.h"
#include "common/array.h"
#include "common/map.h"
#include "analysis/base/cost_sum.h"
#include "analysis/engine/findings.h"
#include "analysis/engine/trace_reader.h"
#include "analysis/ranks/ranks_of_trace.h"

void job_init(struct job_whole *job, const struct report_options *options)
{
    *job = (struct job_whole){.world_size = FIELD_ABSENT, .base = FIELD_ABSENT};
    trace_init(&job->trace, options);
    job->hangs = (struct hangs){.fronts = {.strings = &job->trace.strings}, .origin = FIELD_ABSENT};
    sorter_init(&job->collectives, job->trace.space, sizeof(struct collective), collectives_order);
}

void job_release(struct job_whole *job)
{
    trace_release(&job->trace);
    ranks_release(&job->ranks);
    dense_map_release(&job->numbers);
    array_release(&job->host_of);
    array_release(&job->hosts);
    array_release(&job->index);
    job_clocks_release(&job->clocks);
    comm_release(&job->comm);
    hangs_release(&job->hangs);
    sorter_release(&job->collectives);
    dense_map_release(&job->row_keys);
    array_release(&job->rows);
    array_release(&job->findings);
    array_release(&job->paths);
}

/* --- a report --- */

/* A report that is being added, and the new numbers of its texts. */
struct adding {
    struct job_whole *job;
    const struct rank_report *report;
    uint32_t base;      /* index in job.ranks.items of its first rank */
    int64_t shift;      /* what to add to its times to get times of the job, ns */
    uint32_t *of_ranks; /* number of its text -> number in job.ranks.texts */
    uint32_t *of_trace; /* number of its text -> number in job.trace.strings */
};

static uint32_t translated(const uint32_t *numbers, uint32_t text)
{
    return text == EVENT_NO_TEXT ? EVENT_NO_TEXT : numbers[text];
}

static void shift(int64_t *time, int64_t by)
{
    if (*time == FIELD_ABSENT)
        return;
    *time = sum_of(*time, by);
    *time = *time > EVENT_TIME_LIMIT ? EVENT_TIME_LIMIT : *time < -EVENT_TIME_LIMIT ? -EVENT_TIME_LIMIT : *time;
}

static int add_ranks(struct adding *adding)
{
    struct ranks *ranks = &adding->job->ranks;
    for (size_t i = 0; i < adding->report->ranks.items.count; i++) {
        struct rank rank = adding->report->ranks.items.items[i];
        const uint64_t number = (uint64_t)rank.rank;
        rank.host = translated(adding->of_ranks, rank.host);
        shift(&rank.start, adding->shift);
        shift(&rank.end, adding->shift);
        for (unsigned cause = 0; cause < IDLE_CAUSE_COUNT; cause++)
            rank.mostly[cause] = translated(adding->of_ranks, rank.mostly[cause]);
        rank.between = translated(adding->of_ranks, rank.between);
        if (!ADD(array_push, &ranks->items, rank) ||
            !ADD(array_push, &adding->job->paths, adding->of_trace[adding->report->info.path]) ||
            dense_map_number(&adding->job->numbers, &number, sizeof(number)) == DENSE_MAP_NONE)
            return -1;
    }
    for (size_t i = 0; i < adding->report->ranks.names.count; i++) {
        struct rank_name name = adding->report->ranks.names.items[i];
        name.name = translated(adding->of_ranks, name.name);
        name.rank += adding->base;
        if (!ADD(array_push, &ranks->names, name) || (!name.copy && pretty_names_add(&ranks->pretty, name.name) < 0))
            return -1;
    }
    for (size_t i = 0; i < adding->report->ranks.steps.count; i++) {
        struct rank_step step = adding->report->ranks.steps.items[i];
        step.rank += adding->base;
        shift(&step.from, adding->shift);
        shift(&step.to, adding->shift);
        if (!ADD(array_push, &ranks->steps, step))
            return -1;
    }
    return 0;
}

static int add_row(struct adding *adding, const struct rank_report_row *row)
{
    struct job_whole *job = adding->job;
    const struct job_row_key key = {row->section, translated(adding->of_trace, row->name)};
    int64_t ranks = (int64_t)adding->report->ranks.items.count;
    int64_t rank = ranks == 1 ? adding->report->ranks.items.items[0].rank : FIELD_ABSENT; /* known for one rank only */
    struct job_row *sum = dense_map_item(&job->row_keys, &key, &job->rows);
    bool timed = section_list[row->section].section->comparable.total;
    double own = (timed ? row->total : row->count) / (double)ranks;
    if (!sum)
        return -1;
    if (row->section == REPORT_KERNELS && pretty_names_add(&job->trace.pretty_names, (uint32_t)key.name) < 0)
        return -1;
    if (sum->reports == 0 || own < sum->least || (own == sum->least && rank < sum->least_rank)) {
        sum->least = own;
        sum->least_rank = rank;
    }
    if (sum->reports == 0 || own > sum->most || (own == sum->most && rank < sum->most_rank)) {
        sum->most = own;
        sum->most_rank = rank;
    }
    sum->reports++;
    sum->total += row->total;
    sum->count += row->count;
    sum->ranks += ranks;
    return 0;
}

/* Adds the rows of a rank report to those of the job. Rows of one report with the same name are summed first. */
static int add_rows(struct adding *adding)
{
    const struct rank_report *report = adding->report;
    struct dense_map keys = {0};
    ARRAY(struct rank_report_row) rows = {0};
    int status = 0;
    for (size_t i = 0; i < report->rows.count && status == 0; i++) {
        const struct job_row_key key = {report->rows.items[i].section, report->rows.items[i].name};
        struct rank_report_row *sum = dense_map_item(&keys, &key, &rows);
        status = sum ? 0 : -1;
        if (!sum)
            continue;
        sum->section = report->rows.items[i].section;
        sum->name = report->rows.items[i].name;
        sum->total += report->rows.items[i].total;
        sum->count += report->rows.items[i].count;
    }
    for (size_t i = 0; i < rows.count && status == 0; i++)
        status = add_row(adding, &rows.items[i]);
    dense_map_release(&keys);
    array_release(&rows);
    return status;
}

static int add_findings(struct adding *adding)
{
    const struct rank_report *report = adding->report;
    for (size_t i = 0; i < report->findings.count; i++) {
        const struct rank_report_finding *one = &report->findings.items[i];
        const struct job_finding added = {.rule = one->rule,
                                          .first_rank = adding->base,
                                          .rank = one->rank == RANK_NONE ? RANK_NONE : one->rank + adding->base,
                                          .ranks = (int64_t)report->ranks.items.count,
                                          .cost = one->cost,
                                          .gain = one->gain,
                                          .run = report->info.run,
                                          .text = translated(adding->of_trace, one->text),
                                          .advice = translated(adding->of_trace, one->advice),
                                          .where = translated(adding->of_trace, one->where)};
        if (!ADD(array_push, &adding->job->findings, added))
            return -1;
    }
    return 0;
}

static int add_collective(void *context, struct collective *one)
{
    struct adding *adding = context;
    uint32_t *const texts[] = COLLECTIVE_TEXTS(one);
    int64_t *const times[] = COLLECTIVE_TIMES(one);
    for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
        *texts[i] = translated(adding->of_trace, *texts[i]);
    for (size_t i = 0; i < sizeof(times) / sizeof(*times); i++)
        shift(times[i], adding->shift);
    one->process = one->process == RANK_NONE ? RANK_NONE : one->process + adding->base;
    return sorter_add(&adding->job->collectives, one) < 0 ? error_no_memory("a report of a job") : 0;
}

/* Adds what each rank did when its trace ended. */
static int add_members(struct adding *adding)
{
    struct hang_fronts *fronts = &adding->job->hangs.fronts;
    for (size_t i = 0; i < adding->report->members.count; i++) {
        const struct hang_member *one = &adding->report->members.items[i];
        struct hang_member *member = hang_fronts_member(fronts, one->rank, one->process);
        if (!member)
            return -1;
        *member = *one;
        uint32_t *const texts[] = HANG_MEMBER_TEXTS(member);
        int64_t *const times[] = HANG_MEMBER_TIMES(member);
        for (size_t k = 0; k < sizeof(texts) / sizeof(*texts); k++)
            if (*texts[k] != EVENT_NO_TEXT) {
                *texts[k] = hang_fronts_text(fronts, interned(&adding->report->ranks.texts, *texts[k]));
                if (*texts[k] == EVENT_NO_TEXT)
                    return -1;
            }
        for (size_t k = 0; k < sizeof(times) / sizeof(*times); k++)
            shift(times[k], adding->shift);
    }
    return 0;
}

int job_add(struct job_whole *job, const struct rank_report *report, const char *name)
{
    struct adding adding = {.job = job, .report = report, .base = (uint32_t)job->ranks.items.count};
    const int64_t size = report->info.world_size;
    if (job->world_size != FIELD_ABSENT && size != FIELD_ABSENT && size != job->world_size)
        return JOB_OTHER;
    for (size_t i = 0; i < report->ranks.items.count; i++) {
        const uint64_t number = (uint64_t)report->ranks.items.items[i].rank;
        if (dense_map_lookup(&job->numbers, &number, sizeof(number)) != DENSE_MAP_NONE)
            return JOB_OTHER;
    }
    /* Times of a trace are relative to its own base. */
    const struct rank_report_info *info = &report->info;
    bool known = info->base > 0 && job->base > 0;
    adding.shift = known ? info->base - job->base : 0;
    job->base = job->base == FIELD_ABSENT ? info->base : job->base;
    int64_t start = info->with_span ? info->start : FIELD_ABSENT;
    shift(&start, adding.shift);
    if (start != FIELD_ABSENT && (job->hangs.origin == FIELD_ABSENT || start < job->hangs.origin))
        job->hangs.origin = start;
    const struct interner *texts = &report->ranks.texts;
    adding.of_ranks = calloc(texts->count + 1, sizeof(uint32_t));
    adding.of_trace = calloc(texts->count + 1, sizeof(uint32_t));
    int status = adding.of_ranks && adding.of_trace ? 0 : -1;
    for (uint32_t i = 0; status == 0 && i < texts->count; i++) {
        const char *text = interned(texts, i);
        adding.of_ranks[i] = intern(&job->ranks.texts, text, strlen(text));
        adding.of_trace[i] = intern(&job->trace.strings, text, strlen(text));
        status = adding.of_ranks[i] == INTERN_NO_MEMORY || adding.of_trace[i] == INTERN_NO_MEMORY ? -1 : 0;
    }
    status = status ?: add_ranks(&adding) ?: add_rows(&adding) ?: add_findings(&adding) ?: add_members(&adding);
    if (status < 0)
        error_no_memory("a report of a job");
    else
        status = rank_report_collectives(report, name, add_collective, &adding);
    if (status == 0 && job->reports > 0 && adding.of_trace[info->filter] != job->filter)
        job->filter = intern(&job->trace.strings, "parts that differ", strlen("parts that differ"));
    else if (status == 0)
        job->filter = adding.of_trace[info->filter];
    status = job->filter == INTERN_NO_MEMORY ? error_no_memory("a report of a job") : status;
    job->sections = job->reports == 0 ? report->info.sections : job->sections & report->info.sections;
    job->unrecorded |= report->info.unrecorded;
    job->reports++;
    job->run = report->info.run > job->run ? report->info.run : job->run;
    job->world_size = size != FIELD_ABSENT ? size : job->world_size;
    free(adding.of_ranks);
    free(adding.of_trace);
    return status;
}

/* --- after the last report: the clocks of the hosts, and who waited for whom --- */

/* Lists the hosts, that of the lowest rank first, and the host of each rank. */
static int find_hosts(struct job_whole *job)
{
    const struct rank *first = &job->ranks.items.items[0];
    for (size_t i = 1; i < job->ranks.items.count; i++)
        if (job->ranks.items.items[i].rank < first->rank)
            first = &job->ranks.items.items[i];
    if (!ADD(array_push, &job->hosts, first->host))
        return -1;
    for (size_t i = 0; i < job->ranks.items.count; i++) {
        uint32_t name = job->ranks.items.items[i].host, host = 0;
        while (host < job->hosts.count && job->hosts.items[host] != name)
            host++;
        if (!ADD(array_push, &job->host_of, host) || (host == job->hosts.count && !ADD(array_push, &job->hosts, name)))
            return -1;
    }
    return 0;
}

/* Calls EACH for all operations with their COUNT ranks, until EACH returns non-zero. Returns this, or -1: no memory. */
static int each_operation(struct job_whole *job,
                          int (*each)(struct job_whole *job, struct collective *ranks, size_t count))
{
    struct collectives_walk walk;
    const struct collective *ranks;
    int status = 0;
    collectives_walk_begin(&walk, &job->collectives);
    for (size_t count; status == 0 && (count = collectives_next(&walk, &ranks)) > 0;)
        status = each(job, walk.ranks.items, count);
    return collectives_walk_end(&walk) ?: status;
}

static int add_to_clocks(struct job_whole *job, struct collective *ranks, size_t count)
{
    int status = 0;
    job_clocks_begin(&job->clocks);
    for (size_t i = 0; i < count && status == 0; i++) {
        const struct collective *one = &ranks[i];
        int64_t start, duration;
        if (one->process == RANK_NONE || !comm_times(one, &start, &duration))
            continue;
        bool root = one->peer != FIELD_ABSENT && one->peer == one->group_rank;
        const struct job_clock_member member = {.host = job->host_of.items[one->process],
                                                .roles = job_clock_roles(trace_text(&job->trace, one->name), root),
                                                .enter = start,
                                                .leave = start + duration};
        status = job_clocks_member(&job->clocks, &member);
    }
    return status ?: job_clocks_end(&job->clocks);
}

static int add_to_sums(struct job_whole *job, struct collective *ranks, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct collective *one = &ranks[i];
        int64_t *const times[] = COLLECTIVE_TIMES(one);
        if (!array_at(&job->index, i))
            return -1;
        job->index.items[i] = one->process;
        for (size_t k = 0; one->process != RANK_NONE && k < sizeof(times) / sizeof(*times); k++)
            *times[k] = job_clock_correct(&job->clocks.items.items[job->host_of.items[one->process]], *times[k]);
    }
    return ranks_add_operation(&job->ranks, ranks, job->index.items, count)
               ?: comm_add(&job->comm, ranks, count)
               ?: hang_fronts_operation(&job->hangs.fronts, ranks, count);
}

int job_finish(struct job_whole *job)
{
    int status = find_hosts(job) ?: sorter_ready(&job->collectives);
    if (status == 0 && job->trace.options->names == REPORT_NAMES_PRETTY)
        status = pretty_names_make(&job->trace.pretty_names, &job->trace.strings)
                     ?: pretty_names_make(&job->ranks.pretty, &job->ranks.texts);
    if (status < 0)
        return error_no_memory("a report of a job");
    status = job_clocks_init(&job->clocks, (uint32_t)job->hosts.count);
    if (status == 0 && job->hosts.count > 1)
        status = each_operation(job, add_to_clocks);
    if (status == 0)
        status = job_clocks_solve(&job->clocks);
    for (size_t i = 0; i < job->ranks.items.count && status == 0; i++) {
        /* Correct the times of what the rank did at the end. */
        const struct job_clock *clock = &job->clocks.items.items[job->host_of.items[i]];
        struct hang_member *member = hang_fronts_member(&job->hangs.fronts, job->ranks.items.items[i].rank, 0);
        status = member ? 0 : -1;
        int64_t *const times[] = HANG_MEMBER_TIMES(member);
        for (size_t k = 0; member && k < sizeof(times) / sizeof(*times); k++)
            *times[k] = job_clock_correct(clock, *times[k]);
    }
    for (size_t i = 0; i < job->ranks.steps.count && status == 0; i++) {
        struct rank_step *step = &job->ranks.steps.items[i];
        const struct job_clock *clock = &job->clocks.items.items[job->host_of.items[step->rank]];
        step->from = job_clock_correct(clock, step->from);
        step->to = job_clock_correct(clock, step->to);
    }
    if (status == 0)
        status = each_operation(job, add_to_sums);
    status = status ?: hangs_finish(&job->hangs);
    return status < 0 ? error_no_memory("a report of a job") : 0;
}
