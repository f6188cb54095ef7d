/*
 * Writes the rank reports of several traces at once to temporary files, adds them one by one, and writes the tables. A
 * page also reads the traces of the ranks that findings are about.
 */
#include "analysis/job/job_report.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/log.h"
#include "common/threads.h"
#include "analysis/base/cost_sum.h"
#include "analysis/engine/findings.h"
#include "analysis/job/job.h"
#include "analysis/job/job_findings.h"
#include "analysis/job/job_tables.h"
#include "analysis/job/rank_report_write.h"
#include "analysis/render/page.h"
#include "analysis/selection/filter.h"
#include "analysis/ranks/ranks_of_trace.h"
#include "analysis/render/profile.h"
#include "analysis/report.h"
#include "trace/meaning/sources.h"

/* Traces that are read at once, each in bounded memory of its own. */
#define AT_ONCE 4

struct reducing {
    const struct report_options *options;
    struct report_options own; /* options for reading a trace */
    uint64_t sections;         /* the sections whose rows are wanted */
    const char *const *paths;
    const char *const *names; /* the files that PATHS were made from, for messages */
    struct report_slot {
        int file;   /* descriptor of the rank report; -1: none */
        int status; /* the result of rank_report_open() */
        struct buffer messages;
    } *slots;
    struct buffer messages; /* about the added traces; dropped if each trace gets its own report */
    struct filter_missed missed;
    struct job_whole job;
    bool any_report; /* a file is a rank report, which only a job can show */
    bool other;      /* a file is not of this job */
};

/* Returns whether PATH is standard input or a pipe, which can be read only once. */
static bool is_read_once(const char *path)
{
    struct stat status;
    return strcmp(path, "-") == 0 || (stat(path, &status) == 0 && !S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode));
}

/* --- rank reports --- */

static void open_report(struct reducing *reducing, const char *path, struct report_slot *slot)
{
    slot->messages.length = 0;
    messages_hold(&slot->messages);
    slot->status = rank_report_open(&reducing->own, reducing->sections, path, &slot->file);
    messages_hold(NULL);
}

static int add_report(struct reducing *reducing, const char *path, struct report_slot *slot)
{
    struct rank_report report = {0};
    int status = slot->status;
    buffer_bytes(&reducing->messages, slot->messages.data ? slot->messages.data : "", slot->messages.length);
    if (status == 0)
        status = rank_report_read(&report, slot->file, path);
    if (status == 0)
        status = job_add(&reducing->job, &report, path);
    const char *missing = status == 0 ? interned(&report.ranks.texts, report.info.missing) : "";
    if (*missing)
        filter_missing(&reducing->missed, "%s", missing);
    reducing->other |= status > 0;
    rank_report_release(&report);
    if (slot->file >= 0)
        close(slot->file);
    slot->file = -1;
    if (!reducing->other)
        return status;
    const char *why = "it has no ranks, or a rank that is there already, or is of a job of another size";
    if (!reducing->any_report && path != reducing->names[0])
        notice("each trace has its own report: '%s' is not of the job of '%s': %s", path, reducing->names[0], why);
    return reducing->any_report ? error("'%s' is not of the job of '%s': %s", path, reducing->names[0], why) : -1;
}

static int make(void *context, size_t piece, unsigned slot, unsigned worker)
{
    struct reducing *reducing = context;
    open_report(reducing, reducing->paths[piece + 1], &reducing->slots[slot]);
    return 0;
}

static int add_file(void *context, size_t piece, unsigned slot)
{
    struct reducing *reducing = context;
    return add_report(reducing, reducing->names[piece + 1], &reducing->slots[slot]);
}

static int add_all(struct reducing *reducing, size_t count)
{
    const struct report_options *options = reducing->options;
    unsigned workers = options->namer ? 1 : ordered_loop_workers(options->workers, AT_ONCE);
    struct ordered_loop loop = {
        .count = count - 1, .workers = workers, .make = make, .take = add_file, .context = reducing};
    unsigned slots = ordered_loop_slots(workers);
    reducing->slots = calloc(slots, sizeof(*reducing->slots));
    reducing->own = *options;
    if (!reducing->slots)
        return error_no_memory("a report of a job");
    for (unsigned i = 0; i < slots; i++) {
        reducing->slots[i].file = -1;
        buffer_init_memory(&reducing->slots[i].messages);
    }
    /* Read the first file alone: it may show that there is no job. */
    open_report(reducing, reducing->paths[0], &reducing->slots[0]);
    reducing->other = reducing->slots[0].status < 0 && !reducing->any_report;
    int status = add_report(reducing, reducing->names[0], &reducing->slots[0]);
    if (workers > 1 && count > 2)
        reducing->own.workers = 1;
    if (status == 0)
        status = ordered_loop_run(&loop);
    for (unsigned i = 0; i < slots; i++) {
        if (reducing->slots[i].file >= 0)
            close(reducing->slots[i].file);
        buffer_release(&reducing->slots[i].messages);
    }
    return status;
}

/* --- the moments of the findings, for a page --- */

/* Returns the place of MOMENT in TRACE, the trace of the moment's rank. */
static struct finding_place place_of(const struct job_whole *job, const struct job_moment *moment,
                                     const struct trace *trace)
{
    const struct findings *findings = section_state(trace, REPORT_FINDINGS);
    const struct rank *rank = &job->ranks.items.items[moment->rank];
    const struct job_clock *clock = &job->clocks.items.items[job->host_of.items[moment->rank]];
    struct finding_place place = place_none();
    for (size_t i = 0; i < findings->items.count; i++)
        if (findings->items.items[i].rule == finding_rules[moment->rule])
            return findings->items.items[i].place;
    if (rank->worst_at == FIELD_ABSENT)
        return place;
    /* Translate the job's time back to the trace's. The correction of a clock changes so slowly that it may be taken at
     * the corrected time. */
    place.until = job_clock_correct(clock, rank->worst_at);
    place.until = difference_of(rank->worst_at, difference_of(place.until, rank->worst_at));
    place.until = difference_of(place.until, trace->base > 0 && job->base > 0 ? trace->base - job->base : 0);
    place.time = difference_of(place.until, rank->worst);
    for (size_t i = 0; i < trace->devices.count; i++)
        if (trace_device_id(trace, i) == rank->device)
            place.device = (int64_t)i;
    return place;
}

/* Writes the window of a moment. Reads the rank's trace again, and writes null if the trace has gone since. */
static void write_window(struct page *page, const struct job_whole *job, const struct job_moment *moment)
{
    struct report_options own = *job->trace.options;
    struct table unseen = {.columns = section_findings.columns, .column_count = section_findings.column_count};
    struct sections sections;
    struct profile profile = {0};
    const char *path = moment->rank == RANK_NONE ? "-" : trace_text(&job->trace, job->paths.items[moment->rank]);
    if (is_read_once(path)) {
        json_string(&page->json, NULL);
        return;
    }
    own.sections = REPORT_BIT(REPORT_FINDINGS);
    own.of_job = true;
    messages_quiet(true);
    int status = report_read(&sections, &own, path) ?: sections_fill(&sections, REPORT_FINDINGS, &unseen);
    if (status == 0) {
        const struct finding_place place = place_of(job, moment, &sections.trace);
        status = profile_gather(&profile, &sections.trace, &place);
    }
    messages_quiet(false);
    if (status == 0)
        page_window(page, &profile, &profile.windows[0]);
    else
        json_string(&page->json, NULL);
    profile_release(&profile);
    table_release(&unseen);
    sections_release(&sections);
}

static void write_windows(void *context, struct page *page)
{
    const struct job_whole *job = context;
    json_key_array(&page->json, "windows");
    for (size_t i = 0; i < FINDING_MOST; i++)
        write_window(page, job, &job->moments[i]);
    json_end(&page->json);
}

/* --- the report --- */

/* Returns the sections to write: the chosen ones, or by default the usual ones, if a job has them. */
static uint64_t wanted_sections(const struct report_options *options)
{
    uint64_t wanted = options->sections ? options->sections : ~UINT64_C(0), all = job_tables_sections();
    for (unsigned i = 0; i < REPORT_SECTION_COUNT && options->usual; i++)
        if (section_list[i].section->usual == 0)
            wanted &= ~REPORT_BIT(i);
    return wanted & all;
}

static int write_report(struct reducing *reducing, uint64_t wanted, struct buffer *out)
{
    const struct report_options *options = reducing->options;
    struct render render = report_render(options, out);
    render.several_tables = (wanted & (wanted - 1)) != 0;
    render.trace = &reducing->job.trace;
    render.ranks = &reducing->job.ranks;
    render.late = job_findings_least(&reducing->job);
    struct job_moment moments[FINDING_MOST] = {[0 ... FINDING_MOST - 1] = {.rank = RANK_NONE}};
    reducing->job.moments = moments;
    render.windows = write_windows;
    render.job = &reducing->job;
    if (render.format->begin)
        render.format->begin(&render);
    render.path = "job";
    if (render.format->trace_begin)
        render.format->trace_begin(&render, "job", "");
    if (options->usual || options->format == REPORT_HTML)
        job_tables_headline(&reducing->job, &render);
    int status = job_tables_write(&reducing->job, wanted, &render);
    if (render.format->trace_end)
        render.format->trace_end(&render);
    if (render.format->end)
        render.format->end(&render);
    if (status < 0 || !options->fail_on)
        return status;
    int included = job_tables_include(&reducing->job, options->fail_on);
    return included < 0 ? error_no_memory("findings") : included ? REPORT_FAILED_ON : 0;
}

int job_report_check(const struct report_options *options, const char *const *paths, size_t count)
{
    const struct report_columns columns = job_tables_columns();
    bool rows = wanted_sections(options) & rank_report_sections();
    bool job = count > 1 || (count == 1 && rank_report_is(paths[0]));
    return report_check(options, &columns, rows && job ? 1 : 0);
}

static int report_job(struct reducing *reducing, size_t count, struct buffer *out)
{
    const struct report_options *options = reducing->options;
    uint64_t wanted = wanted_sections(options);
    reducing->sections = wanted & rank_report_sections();
    job_init(&reducing->job, options);
    buffer_init_memory(&reducing->messages);
    int status = add_all(reducing, count);
    bool none = reducing->other && !reducing->any_report;
    if (!none && reducing->messages.length > 0)
        log_write(reducing->messages.data, reducing->messages.length);
    status = status ?: filter_missed_print(&reducing->missed, count) ?: job_tables_check(options, wanted);
    if (status == 0)
        status = job_finish(&reducing->job);
    if (status == 0)
        status = write_report(reducing, wanted, out);
    job_release(&reducing->job);
    free(reducing->slots);
    buffer_release(&reducing->messages);
    return none ? JOB_REPORT_NONE : status;
}

int job_report_files(const struct report_options *options, const char *const *paths, size_t count, struct buffer *out)
{
    struct reducing reducing = {.options = options, .paths = paths, .names = paths};
    bool once = false;
    for (size_t i = 0; i < count; i++) {
        once |= is_read_once(paths[i]);
        reducing.any_report |= rank_report_is(paths[i]);
    }
    if (!reducing.any_report && (count < 2 || once || options->has_snapshot))
        return JOB_REPORT_NONE;
    if (reducing.any_report && filter_wanted(&options->filter))
        return error("a part of a job cannot be filtered: use the filters with report --partial");
    return report_job(&reducing, count, out);
}

int job_report_reduce(const struct report_options *options, const char *const *paths, const char *const *names,
                      bool are_traces, size_t count, struct buffer *out)
{
    struct reducing reducing = {.options = options, .paths = paths, .names = names, .any_report = !are_traces};
    return report_job(&reducing, count, out);
}

int job_report_map(const struct report_options *options, const char *path, const char *output)
{
    int file = open(output, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (file < 0)
        return error("cannot write '%s': %s", output, strerror(errno));
    int status = rank_report_write(options, rank_report_sections(), path, file, false);
    if (status == RANK_REPORT_NONE)
        status = error("'%s' has no ranks: a part is of a trace of a job's ranks", path);
    if (close(file) != 0 && status == 0)
        status = error("cannot write '%s': %s", output, strerror(errno));
    if (status < 0)
        unlink(output);
    return status;
}
