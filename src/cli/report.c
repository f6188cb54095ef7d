#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/log.h"
#include "common/buffer.h"
#include "common/suggest.h"
#include "cli/duration.h"
#include "cli/options.h"
#include "symbols/symbols.h"
#include "trace/spool/spool_directory.h"
#include "analysis/report.h"

#define EXIT_USAGE 2

struct settings {
    struct report_options report;
    bool top_given;
};

/* A word of an option's argument, and what it stands for. */
struct choice {
    const char *word;
    int value;
};

static const struct choice sections[] = {
#define SECTION(constant, name, word, title) {word, REPORT_##constant},
    REPORT_SECTIONS(SECTION)
#undef SECTION
        {NULL, 0},
};
static const struct choice formats[] = {
    {"table", REPORT_TABLE}, {"csv", REPORT_CSV}, {"json", REPORT_JSON}, {"markdown", REPORT_MARKDOWN}, {NULL, 0}};
static const struct choice name_forms[] = {
    {"full", REPORT_NAMES_FULL}, {"short", REPORT_NAMES_SHORT}, {"mangled", REPORT_NAMES_MANGLED}, {NULL, 0}};
static const struct choice units[] = {{"auto", REPORT_UNIT_AUTO}, {"ns", REPORT_UNIT_NS}, {"us", REPORT_UNIT_US},
                                      {"ms", REPORT_UNIT_MS},     {"s", REPORT_UNIT_S},   {NULL, 0}};

/* The value of the LENGTH bytes at WORD; -1 after an error that lists what is valid for OPTION. */
static int choose(const struct choice *choices, const char *option, const char *word, size_t length)
{
    char list[512] = "";
    struct suggestion nearest = suggestion_for(word, length);
    for (const struct choice *choice = choices; choice->word; choice++) {
        if (strlen(choice->word) == length && strncmp(choice->word, word, length) == 0)
            return choice->value;
        suggestion_consider(&nearest, choice->word);
        if (strlen(list) + strlen(choice->word) + 3 < sizeof(list))
            strcat(strcat(list, *list ? ", " : ""), choice->word);
    }
    if (nearest.word)
        return error("--%s: '%.*s' is not valid: did you mean '%s'? Valid are %s", option, (int)length, word,
                     nearest.word, list);
    return error("--%s: '%.*s' is not valid: use %s", option, (int)length, word, list);
}

static int take_sections(void *context, const char *value)
{
    struct settings *settings = context;
    settings->report.sections = 0;
    for (;;) {
        size_t length = strcspn(value, ",");
        int section = choose(sections, "report", value, length);
        if (section < 0)
            return -1;
        settings->report.sections |= 1u << section;
        if (value[length] == '\0')
            return 0;
        value += length + 1;
    }
}

static int take_format(void *context, const char *value)
{
    struct settings *settings = context;
    int format = choose(formats, "format", value, strlen(value));
    settings->report.format = format < 0 ? REPORT_TABLE : (enum report_format)format;
    return format < 0 ? -1 : 0;
}

static int take_names(void *context, const char *value)
{
    struct settings *settings = context;
    int names = choose(name_forms, "names", value, strlen(value));
    settings->report.names = names < 0 ? REPORT_NAMES_FULL : (enum report_names)names;
    return names < 0 ? -1 : 0;
}

static int take_unit(void *context, const char *value)
{
    struct settings *settings = context;
    int unit = choose(units, "time-unit", value, strlen(value));
    settings->report.unit = unit < 0 ? REPORT_UNIT_AUTO : (enum report_unit)unit;
    return unit < 0 ? -1 : 0;
}

static int take_top(void *context, const char *value)
{
    struct settings *settings = context;
    char *end;
    errno = 0;
    unsigned long long top = strtoull(value, &end, 10);
    if (*value < '0' || *value > '9' || *end != '\0' || errno != 0)
        return error("--top needs a number of rows, not '%s': --top=10, or --top=0 for all", value);
    settings->report.top = (size_t)top;
    settings->top_given = true;
    return 0;
}

static int take_snapshot(void *context, const char *value)
{
    struct settings *settings = context;
    uint64_t ns;
    if (duration_parse("snapshot", value, &ns) < 0)
        return -1;
    settings->report.snapshot = (int64_t)ns;
    settings->report.has_snapshot = true;
    return 0;
}

#define SECTION(constant, name, word, title) " " word
static const struct option_row options[] = {
    {.word = "report",
     .letter = 'r',
     .argument = "LIST",
     .help = "sections to show, parted by commas:" REPORT_SECTIONS(SECTION) "\n(default: all)",
     .type = OPTION_CALL,
     .take = take_sections},
    {.word = "format",
     .letter = 'f',
     .argument = "FORMAT",
     .help = "table, csv, json or markdown (default: table)",
     .type = OPTION_CALL,
     .take = take_format},
    {.word = "top",
     .letter = 'n',
     .argument = "N",
     .help = "rows of each section at most, 0 for all\n(default: 20 in table and markdown, all in csv and json)",
     .type = OPTION_CALL,
     .take = take_top},
    {.word = "sort",
     .letter = 's',
     .argument = "COLUMN",
     .help = "order rows by this column, such as total, calls, avg, max or name\n(default: each section's own)",
     .type = OPTION_TEXT,
     .offset = offsetof(struct settings, report.sort)},
    {.word = "snapshot",
     .argument = "TIME",
     .help = "in the section memory: what was allocated at this time of the trace,\n"
             "in seconds, or with a unit (0.25, 250ms)",
     .type = OPTION_CALL,
     .take = take_snapshot},
    {.word = "time-unit",
     .letter = 'u',
     .argument = "UNIT",
     .help = "auto, ns, us, ms or s (default: auto, which is ns in csv;\njson always has ns)",
     .type = OPTION_CALL,
     .take = take_unit},
    {.word = "names",
     .argument = "FORM",
     .help = "kernels' names: full, short (without template arguments and parameters)\n"
             "or mangled, where the trace has them (default: full)",
     .type = OPTION_CALL,
     .take = take_names},
    {.word = "by-grid",
     .help = "a row for each kernel, grid and block, instead of each kernel",
     .type = OPTION_FLAG,
     .offset = offsetof(struct settings, report.by_grid)},
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

static int write_report(struct report_options *report, const char *const *paths, size_t count)
{
    bool spools = false;
    for (size_t i = 0; i < count; i++)
        spools |= spool_directory_is(paths[i]);
    struct symbols *symbols = spools ? symbols_new(0) : NULL; /* NULL: stacks stay addresses */
    struct frame_namer namer = symbols_namer(symbols);
    struct buffer out;
    report->namer = symbols ? &namer : NULL;
    buffer_init(&out, buffer_drain_fd, BUFFER_FD(STDOUT_FILENO));
    int status = report_files(report, paths, count, &out);
    int failure = buffer_finish(&out);
    buffer_release(&out);
    symbols_free(symbols);
    if (failure)
        return error("cannot write the report: %s", strerror(failure));
    return status;
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
    struct settings settings = {0};
    int first = options_parse(&command_report, &settings, argc, argv, false);
    if (first == OPTIONS_HELP)
        return EXIT_SUCCESS;
    if (first == OPTIONS_ERROR)
        return EXIT_USAGE;
    const char *const *paths = (const char *const *)argv + first, *newest = NULL;
    size_t count = (size_t)(argc - first);
    if (report_check(&settings.report) < 0)
        return EXIT_USAGE;
    if (count == 0) {
        newest = newest_trace();
        if (!newest) {
            error("no trace to report on: there is no 'trace.json' here, which 'gputrace run PROGRAM' writes; for "
                  "another file 'gputrace report FILE'");
            return EXIT_USAGE;
        }
        notice("this is the report of '%s'", newest);
        paths = &newest;
        count = 1;
    }
    if (!settings.top_given && (settings.report.format == REPORT_TABLE || settings.report.format == REPORT_MARKDOWN))
        settings.report.top = REPORT_TOP_FOR_PEOPLE;
    settings.report.width = terminal_width();
    if (write_report(&settings.report, paths, count) < 0)
        return EXIT_FAILURE;
    return EXIT_SUCCESS;
}

const struct command command_report = {
    .name = "report",
    .operands = "[TRACE...]",
    .summary = "Says where the time of a trace went",
    .options = options,
    .option_count = sizeof(options) / sizeof(*options),
    .run = run,
};
