/* `gputrace report`: its options, and the choice between a report of each file and one of a whole job. */
#include <limits.h>
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/array.h"
#include "common/log.h"
#include "common/buffer.h"
#include "cli/progress.h"
#include "cli/options.h"
#include "cli/report_output.h"
#include "cli/trace_files.h"
#include "symbols/symbols.h"
#include "trace/meaning/sources.h"
#include "analysis/engine/findings.h"
#include "analysis/names/pretty_names.h"
#include "analysis/job/job_mpi.h"
#include "analysis/job/job_report.h"
#include "analysis/report.h"

struct report_settings {
    struct report_options report;
    const char *html;   /* the page file; NULL if not given */
    const char *output; /* the text file, or the file of --partial; NULL if not given */
    bool partial;
    const char *mpi; /* directory of traces; NULL if not given */
    struct report_style style;
    enum section_choice choice;
    uint64_t snapshot; /* ns; UINT64_MAX if not given */
};

static const struct option_choice formats[] = {
    {"table", REPORT_TABLE}, {"csv", REPORT_CSV}, {"json", REPORT_JSON}, {"markdown", REPORT_MARKDOWN}, {NULL, 0}};
static int take_sections(void *context, const char *value)
{
    struct report_settings *settings = context;
    return section_words_take(value, false, &settings->report.sections, &settings->choice);
}

#define WORD(constant, name, word, title, question) "\n" word ": " question
#define NOTHING(...)
#define FIELD(name) offsetof(struct report_settings, name)
static const struct option_row options[] = {
    {.word = "report",
     .letter = 'r',
     .argument = "LIST",
     .help = "show these sections, separated by commas, or all (default: all in csv and json,\nthe first screen in "
             "tables); list prints them:" REPORT_SECTIONS(WORD, NOTHING),
     .type = OPTION_CALL,
     .take = take_sections,
     .choices = section_words},
    {.word = "format",
     .letter = 'f',
     .argument = "FORMAT",
     .help = "table, csv, json or markdown (default: table)",
     .type = OPTION_CHOICE,
     .choices = formats,
     .offset = FIELD(report.format)},
    {.word = "top",
     .letter = 'n',
     .argument = "N",
     .help = "show at most N rows of each section, 0 for all\n(default: 20 in table and markdown, fewer without -r, "
             "all in csv and json)",
     .type = OPTION_NUMBER,
     .most = INT64_MAX,
     .unit = "rows: --top=10, or --top=0 for all",
     .offset = FIELD(style.top)},
    {.word = "sort",
     .letter = 's',
     .argument = "COLUMN",
     .help = "sort rows by this column, such as total, calls, avg, max or name\n(default: each section's own)",
     .type = OPTION_TEXT,
     .list = report_column_words,
     .offset = FIELD(report.sort)},
    OPTION_ROWS_STYLE(report_settings, report, report_column_words),
    OPTION_ROW_NO_PAGER,
    OPTION_ROW_VERBOSE,
    {.word = "snapshot",
     .argument = "TIME",
     .help = "section memory: show what was allocated at this time of the trace,\n"
             "in seconds, or with a unit (0.25, 250ms)",
     .type = OPTION_TIME,
     .offset = FIELD(snapshot)},
    {.word = "by-grid",
     .help = "show a row for each kernel, grid and block, instead of each kernel",
     .offset = FIELD(report.by_grid)},
    {.word = "by-shape",
     .help = "show a row for each operator and its input shapes, instead of each\noperator, where the trace has them",
     .offset = FIELD(report.by_shape)},
    OPTION_ROWS_FILTER(report_settings, report.filter),
    {.word = "html",
     .argument = "FILE",
     .help = "write the report as a page with charts, FILE.html, instead",
     .type = OPTION_TEXT,
     .offset = FIELD(html)},
    {.word = "partial",
     .help = "write what a report of a job needs of this trace to the file of -o;\nreport reads such files like traces",
     .offset = FIELD(partial)},
    {.word = "output",
     .letter = 'o',
     .argument = "FILE",
     .help = "write the report, or with --partial the part, to this file",
     .type = OPTION_TEXT,
     .offset = FIELD(output)},
    {.word = "mpi",
     .argument = "DIR",
     .help = "in mpirun or srun: report on the traces of a job in DIR of all nodes,\neach of which reads its own",
     .type = OPTION_TEXT,
     .offset = FIELD(mpi)},
    {.word = "fail-on",
     .argument = "LIST",
     .help = "exit with status 3 if there is a finding of one of these ids, separated by\ncommas, or any: see "
             "gputrace-findings(7)",
     .type = OPTION_TEXT,
     .list = finding_rule_words,
     .once = true,
     .offset = FIELD(report.fail_on)},
    {.word = NULL},
};

struct paths {
    const struct report_options *report;
    const char *mpi; /* directory of traces, read instead of `items`; NULL: none */
    const char *const *items;
    size_t count;
};

static int write_files(void *context, struct buffer *out)
{
    const struct paths *paths = context;
    if (paths->mpi)
        return job_mpi_report(paths->report, paths->mpi, out);
    /* One report of a job if the files are traces of its ranks, otherwise a report of each file. */
    int status = job_report_files(paths->report, paths->items, paths->count, out);
    return status == JOB_REPORT_NONE ? report_files(paths->report, paths->items, paths->count, out) : status;
}

/* Writes the report of COUNT PATHS. PARTIAL: the file of --partial, or NULL. FILE: the file of --html or -o; NULL for
 * standard output. */
static int write_report(struct report_options *report, const char *partial, const char *file, const char *const *paths,
                        size_t count, bool spools)
{
    struct symbols *symbols = spools ? symbols_new(0) : NULL; /* NULL: stacks stay addresses */
    struct frame_namer namer = symbols_namer(symbols);
    report->namer = symbols ? &namer : NULL;
    struct paths files = {report, NULL, paths, count};
    int status = partial ? job_report_map(report, paths[0], partial)
                         : page_file_write(file, count == 1 ? paths[0] : "traces", write_files, &files);
    symbols_free(symbols);
    return status;
}

static int exit_status(int status)
{
    return status < 0 ? EXIT_FAILURE : status == REPORT_FAILED_ON ? EXIT_FAILED_ON : EXIT_SUCCESS;
}

static int check_partial(const struct report_settings *settings, size_t count)
{
    if (settings->partial && !settings->output)
        return error("--partial needs a file to write: -o rank7.gpr");
    if (settings->output && settings->html && !settings->partial)
        return error("-o writes the text of a report, and --html a page: use one of them");
    const char *ending = settings->output ? strrchr(settings->output, '.') : NULL;
    if (ending && strcmp(ending, ".gpr") == 0 && !settings->partial)
        return error("-o: '%s' is named as a part of a job, which --partial writes", settings->output);
    if (settings->output && sources_seems_trace(settings->output))
        return error("-o: '%s' is a trace, which a report does not replace", settings->output);
    if (settings->partial && (count > 1 || settings->html))
        return error("--partial writes the part of one trace%s", settings->html ? ", and no page" : "");
    if (settings->mpi && (count > 0 || settings->html || settings->output))
        return error("--mpi reports on a directory: it takes no trace%s",
                     settings->html || settings->output ? ", and writes text to standard output" : "");
    return 0;
}

static int run(int argc, char **argv)
{
    struct report_settings settings = {
        .style = REPORT_STYLE, .snapshot = UINT64_MAX, .report.filter.name_form = name_form};
    int first = options_parse(&command_report, &settings, argc, argv, false);
    if (first < 0)
        return first == OPTIONS_HELP ? EXIT_SUCCESS : EXIT_USAGE;
    if (settings.choice == SECTIONS_LISTED)
        return section_words_list(false, settings.report.format) < 0 ? EXIT_USAGE : EXIT_SUCCESS;
    settings.report.has_snapshot = settings.snapshot != UINT64_MAX;
    settings.report.snapshot = settings.report.has_snapshot ? (int64_t)settings.snapshot : 0;
    /* Not the style of a terminal: mpirun's processes have a terminal even if mpirun itself writes to a file. */
    report_style_set(&settings.report, settings.mpi || settings.output ? -1 : STDOUT_FILENO, &settings.style);
    if (settings.choice == SECTIONS_ALL) {
        settings.report.sections = 0;
        settings.report.usual = false;
    }
    static struct trace_paths traces;
    if (trace_folder_find(&traces, (const char *const *)argv + first, (size_t)(argc - first), true, &settings.report) <
        0)
        return EXIT_FAILURE;
    const char *const *paths = traces.items, *newest = NULL;
    size_t count = traces.count;
    if (check_partial(&settings, count) < 0)
        return EXIT_USAGE;
    if (settings.html && page_file_check(settings.html, settings.report.format != REPORT_TABLE) < 0)
        return EXIT_USAGE;
    if (settings.html) {
        settings.report.format = REPORT_HTML;
        settings.report.usual = false;
        settings.report.top = settings.style.top < 0 ? REPORT_TOP_IN_PAGES : settings.report.top;
    }
    if (job_report_check(&settings.report, paths, settings.mpi ? SIZE_MAX : count) < 0)
        return EXIT_USAGE;
    if (settings.mpi && pager_take_none(NULL, NULL) == 0)
        return exit_status(page_file_write(NULL, "traces", write_files,
                                           &(struct paths){.report = &settings.report, .mpi = settings.mpi}));
    if (count == 0) {
        newest = trace_folder_newest();
        if (!newest)
            return error_usage("no trace to report on: no 'trace.json' in this directory; use 'gputrace report FILE', "
                               "or write a trace with 'gputrace run PROGRAM'");
        notice("this is the report of '%s'", newest);
        paths = &newest;
        count = 1;
    }
    static char words[PATH_MAX + 64];
    snprintf(words, sizeof(words), "gputrace: cannot go on: '%s' is not reported\n", paths[0]);
    end_at_fault(NULL, words, EXIT_FAILURE);
    const char *file = settings.html ? settings.html : settings.output;
    int status = write_report(&settings.report, settings.partial ? file : NULL, settings.partial ? NULL : file, paths,
                              count, traces.spools);
    return exit_status(status);
}

const struct command command_report = {
    .name = "report",
    .operands = "[TRACE...]",
    .summary = "Prints where the time of a trace went",
    .examples = "  gputrace report\n"
                "  gputrace report -r kernels,lines --top=10 trace.json\n"
                "  gputrace report --html=job.html rank*.pftrace\n",
    .options = options,
    .run = run,
};
