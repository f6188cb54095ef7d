#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/log.h"
#include "common/buffer.h"
#include "cli/options.h"
#include "cli/progress.h"
#include "symbols/symbols.h"
#include "trace/output.h"
#include "trace/spool/spool_directory.h"
#include "analysis/report.h"

struct settings {
    struct report_options report;
    const char *html;  /* NULL: not given */
    int64_t top;       /* -1: not given */
    uint64_t snapshot; /* UINT64_MAX: not given */
};

static const struct option_choice sections[] = {
#define SECTION(constant, name, word, title) {word, REPORT_##constant},
    REPORT_SECTIONS(SECTION)
#undef SECTION
        {NULL, 0},
};
static const struct option_choice formats[] = {
    {"table", REPORT_TABLE}, {"csv", REPORT_CSV}, {"json", REPORT_JSON}, {"markdown", REPORT_MARKDOWN}, {NULL, 0}};
static const struct option_choice name_forms[] = {
    {"full", REPORT_NAMES_FULL}, {"short", REPORT_NAMES_SHORT}, {"mangled", REPORT_NAMES_MANGLED}, {NULL, 0}};
static const struct option_choice units[] = {{"auto", REPORT_UNIT_AUTO}, {"ns", REPORT_UNIT_NS}, {"us", REPORT_UNIT_US},
                                             {"ms", REPORT_UNIT_MS},     {"s", REPORT_UNIT_S},   {NULL, 0}};

static int take_sections(void *context, const char *value)
{
    struct settings *settings = context;
    settings->report.sections = 0;
    for (;; value++) {
        size_t length = strcspn(value, ",");
        const struct option_choice *section = options_choose(sections, "report", value, length);
        if (!section)
            return -1;
        settings->report.sections |= REPORT_BIT(section->value);
        value += length;
        if (*value == '\0')
            return 0;
    }
}

#define SECTION(constant, name, word, title) " " word
#define FIELD(name) offsetof(struct settings, name)
static const struct option_row options[] = {
    {.word = "report",
     .letter = 'r',
     .argument = "LIST",
     .help = "show these sections, separated by commas:" REPORT_SECTIONS(SECTION) "\n(default: all)",
     .type = OPTION_CALL,
     .take = take_sections},
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
     .help = "show at most N rows of each section, 0 for all\n(default: 20 in table and markdown, all in csv and json)",
     .type = OPTION_NUMBER,
     .most = INT64_MAX,
     .unit = "rows: --top=10, or --top=0 for all",
     .offset = FIELD(top)},
    {.word = "sort",
     .letter = 's',
     .argument = "COLUMN",
     .help = "sort rows by this column, such as total, calls, avg, max or name\n(default: each section's own)",
     .type = OPTION_TEXT,
     .offset = FIELD(report.sort)},
    {.word = "snapshot",
     .argument = "TIME",
     .help = "section memory: show what was allocated at this time of the trace,\n"
             "in seconds, or with a unit (0.25, 250ms)",
     .type = OPTION_TIME,
     .offset = FIELD(snapshot)},
    {.word = "time-unit",
     .letter = 'u',
     .argument = "UNIT",
     .help = "auto, ns, us, ms or s (default: auto, which is ns in csv;\njson always has ns)",
     .type = OPTION_CHOICE,
     .choices = units,
     .offset = FIELD(report.unit)},
    {.word = "names",
     .argument = "FORM",
     .help = "show kernel names full, short (without template arguments and\n"
             "parameters) or mangled, where the trace has them (default: full)",
     .type = OPTION_CHOICE,
     .choices = name_forms,
     .offset = FIELD(report.names)},
    {.word = "by-grid",
     .help = "show a row for each kernel, grid and block, instead of each kernel",
     .offset = FIELD(report.by_grid)},
    {.word = "html",
     .argument = "FILE",
     .help = "write the report as a page with charts, FILE.html, instead",
     .type = OPTION_TEXT,
     .offset = FIELD(html)},
    {.word = "fail-on",
     .argument = "ID[,...]",
     .help = "exit with status 3 if there is a finding of one of these ids,\nor any: see gputrace-findings(7)",
     .type = OPTION_TEXT,
     .offset = FIELD(report.fail_on)},
};
#undef SECTION

/* A terminal's width, so that long names do not break the lines of tables; elsewhere names are whole. */
static size_t terminal_width(void)
{
    struct winsize size;
    if (!isatty(STDOUT_FILENO) || ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0)
        return 0;
    return size.ws_col;
}

static int write_text(const struct report_options *report, const char *const *paths, size_t count)
{
    struct buffer out;
    buffer_init(&out, buffer_drain_fd, BUFFER_FD(STDOUT_FILENO));
    int status = report_files(report, paths, count, &out);
    int failure = buffer_finish(&out);
    buffer_release(&out);
    if (failure)
        return error("cannot write the report: %s", strerror(failure));
    return status;
}

static int write_page(const struct report_options *report, const char *path, const char *const *paths, size_t count)
{
    struct output output;
    uint64_t bytes;
    end_when_asked(NULL, "interrupted: '%s' was not written\n", path);
    if (output_open(&output, path) < 0)
        return -1;
    int status = report_files(report, paths, count, &output.buffer);
    if (status < 0) {
        output_discard(&output);
        return status;
    }
    return output_commit(&output, &bytes) < 0 ? -1 : status;
}

/* HTML: the page that is written instead of text on standard output; NULL: none. */
static int write_report(struct report_options *report, const char *html, const char *const *paths, size_t count)
{
    bool spools = false;
    for (size_t i = 0; i < count; i++)
        spools |= spool_directory_is(paths[i]);
    struct symbols *symbols = spools ? symbols_new(0) : NULL; /* NULL: stacks stay addresses */
    struct frame_namer namer = symbols_namer(symbols);
    report->namer = symbols ? &namer : NULL;
    int status = html ? write_page(report, html, paths, count) : write_text(report, paths, count);
    symbols_free(symbols);
    return status;
}

/* A trace that stands where the page's name was forgotten is not to be replaced by a page. */
static int check_page_name(const char *path)
{
    static const char *const endings[] = {".html", ".htm"};
    size_t length = strlen(path);
    for (size_t i = 0; i < sizeof(endings) / sizeof(*endings); i++)
        if (length > strlen(endings[i]) && strcmp(path + length - strlen(endings[i]), endings[i]) == 0)
            return 0;
    return error("--html: '%s' does not end in .html (try --html report.html)", path);
}

/* The newest of the files that a run may have written here; NULL: there is none. */
static const char *newest_trace(void)
{
    static const char *const names[] = {"trace.json", "trace.json.gz", "trace.pftrace", "trace.pftrace.gz"};
    const char *newest = NULL;
    struct timespec since = {0};
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        struct stat status;
        if (stat(names[i], &status) != 0)
            continue;
        const struct timespec *time = &status.st_mtim;
        bool newer = time->tv_sec != since.tv_sec ? time->tv_sec > since.tv_sec : time->tv_nsec > since.tv_nsec;
        if (newest && !newer)
            continue;
        newest = names[i];
        since = *time;
    }
    return newest;
}

static int run(int argc, char **argv)
{
    struct settings settings = {.top = -1, .snapshot = UINT64_MAX};
    int first = options_parse(&command_report, &settings, argc, argv, false);
    if (first == OPTIONS_HELP)
        return EXIT_SUCCESS;
    if (first == OPTIONS_ERROR)
        return EXIT_USAGE;
    settings.report.has_snapshot = settings.snapshot != UINT64_MAX;
    settings.report.snapshot = settings.report.has_snapshot ? (int64_t)settings.snapshot : 0;
    const char *const *paths = (const char *const *)argv + first, *newest = NULL;
    size_t count = (size_t)(argc - first);
    if (settings.html && settings.report.format != REPORT_TABLE) {
        error("--html writes a page, and --format asks for another format: use one of them");
        return EXIT_USAGE;
    }
    if (settings.html && check_page_name(settings.html) < 0)
        return EXIT_USAGE;
    settings.report.format = settings.html ? REPORT_HTML : settings.report.format;
    if (report_check(&settings.report) < 0)
        return EXIT_USAGE;
    if (count == 0) {
        newest = newest_trace();
        if (!newest) {
            error("no trace to report on: no 'trace.json' in this directory; use 'gputrace report FILE', or write a "
                  "trace "
                  "with 'gputrace run PROGRAM'");
            return EXIT_USAGE;
        }
        notice("this is the report of '%s'", newest);
        paths = &newest;
        count = 1;
    }
    bool for_people = settings.report.format == REPORT_TABLE || settings.report.format == REPORT_MARKDOWN;
    size_t top = settings.html ? REPORT_TOP_IN_PAGES : for_people ? REPORT_TOP_FOR_PEOPLE : 0;
    settings.report.top = settings.top >= 0 ? (size_t)settings.top : top;
    settings.report.width = terminal_width();
    int status = write_report(&settings.report, settings.html, paths, count);
    return status < 0 ? EXIT_FAILURE : status == REPORT_FAILED_ON ? EXIT_FAILED_ON : EXIT_SUCCESS;
}

const struct command command_report = {
    .name = "report",
    .operands = "[TRACE...]",
    .summary = "Prints where the time of a trace went",
    .options = options,
    .option_count = sizeof(options) / sizeof(*options),
    .run = run,
};
