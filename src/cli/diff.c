/*
 * `gputrace diff`: its options, the words --before and --after with the traces that follow them, and the conditions of
 * --fail-on.
 */
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/array.h"
#include "common/buffer.h"
#include "common/log.h"
#include "cli/options.h"
#include "cli/report_output.h"
#include "cli/trace_files.h"
#include "symbols/symbols.h"
#include "analysis/diff/diff.h"
#include "analysis/diff/diff_conditions.h"
#include "analysis/diff/diff_write.h"
#include "analysis/names/pretty_names.h"

struct diff_settings {
    struct diff_options diff; /* its `report` has the options that select a part of a trace */
    const char *html;         /* the page file; NULL if not given */
    struct report_style style;
    enum section_choice choice;
    struct trace_paths given[DIFF_SIDES]; /* files and directories of the command line */
};

static const struct option_choice formats[] = {{"table", DIFF_TABLE},       {"csv", DIFF_CSV},     {"json", DIFF_JSON},
                                               {"markdown", DIFF_MARKDOWN}, {"junit", DIFF_JUNIT}, {NULL, 0}};

/* Adds a trace to PATHS, a struct trace_paths. */
static int take_path(void *paths, const char *path)
{
    struct trace_paths *given = paths;
    const char **place = array_push(given);
    if (!place)
        return error_no_memory("options");
    *place = path;
    return 0;
}

static int take_condition(void *context, const char *text)
{
    struct diff_settings *settings = context;
    return diff_conditions_add(&settings->diff.conditions, text);
}

static int take_sections(void *context, const char *value)
{
    struct diff_settings *settings = context;
    return section_words_take(value, true, &settings->diff.report.sections, &settings->choice);
}

#define FIELD(name) offsetof(struct diff_settings, name)
static const struct option_row options[] = {
    {.word = "before",
     .argument = "TRACE...",
     .help = "traces of the program as it was, or directories of them, up to the\nnext option",
     .type = OPTION_CALL,
     .take = take_path,
     .offset = FIELD(given[BEFORE])},
    {.word = "after",
     .argument = "TRACE...",
     .help = "traces of it as it is now, likewise",
     .type = OPTION_CALL,
     .take = take_path,
     .offset = FIELD(given[AFTER])},
    {.word = "fail-on",
     .argument = "CONDITION",
     .help = "exit with 3 if this grew for sure: total>3%, gpu>2ms, idle, memory>10%,\n"
             "kernel:NAME>2%, range:NAME; can be given several times",
     .type = OPTION_CALL,
     .take = take_condition,
     .list = diff_condition_words},
    {.word = "any", .offset = FIELD(diff.any), .help = "--fail-on: even if it is not sure that it grew"},
    {.word = "report",
     .letter = 'r',
     .argument = "LIST",
     .help = "compare these sections of the report, separated by commas, or all (default:\n"
             "all, of which a table shows the most important ones); list: what each answers",
     .type = OPTION_CALL,
     .take = take_sections,
     .list = section_words_compared},
    {.word = "all", .letter = 'a', .offset = FIELD(diff.all), .help = "show what did not change, too"},
    OPTION_ROWS_STYLE(diff_settings, diff.report, NULL),
    OPTION_ROW_NO_PAGER,
    OPTION_ROW_VERBOSE,
    {.word = "format",
     .letter = 'f',
     .argument = "FORMAT",
     .help = "table, csv, json, markdown or junit (default: table)",
     .type = OPTION_CHOICE,
     .choices = formats,
     .offset = FIELD(diff.format)},
    {.word = "top",
     .letter = 'n',
     .argument = "N",
     .help = "show at most N rows of each table, 0 for all\n(default: 10 in table and markdown, fewer without -r,\nall "
             "in csv and json)",
     .type = OPTION_NUMBER,
     .most = INT64_MAX,
     .unit = "rows: --top=10, or --top=0 for all",
     .offset = FIELD(style.top)},
    {.word = "by-grid",
     .help = "compare kernels by name, grid and block, instead of by name",
     .offset = FIELD(diff.report.by_grid)},
    OPTION_ROWS_FILTER(diff_settings, diff.report.filter),
    {.word = "html",
     .argument = "FILE",
     .help = "write the comparison as a page with charts, FILE.html, instead",
     .type = OPTION_TEXT,
     .offset = FIELD(html)},
    {.word = NULL},
};

/* --- words of the command line --- */

/* Returns the side whose traces follow WORD ("--before" or "--before=a"), or DIFF_SIDES for other words. */
static enum diff_side side_of(const char *word)
{
    size_t length = strcspn(word, "=");
    return length == strlen("--before") && memcmp(word, "--before", length) == 0 ? BEFORE
           : length == strlen("--after") && memcmp(word, "--after", length) == 0 ? AFTER
                                                                                 : DIFF_SIDES;
}

/* Adds the traces after --before and --after, up to the next option, to SETTINGS, and puts other words into WORDS.
 * Returns the number of WORDS, or -1 after error(). */
static int take_traces(struct diff_settings *settings, int argc, char **argv, char **words)
{
    enum diff_side side = DIFF_SIDES;
    int count = 0, status = 0;
    for (int i = 0; i < argc && status == 0; i++) {
        bool is_option = argv[i][0] == '-' && argv[i][1] != '\0';
        side = is_option ? side_of(argv[i]) : side;
        const char *path = is_option && side < DIFF_SIDES ? strchr(argv[i], '=') : NULL;
        bool follows = i + 1 < argc && (argv[i + 1][0] != '-' || !argv[i + 1][1]);
        if (side < DIFF_SIDES && (path || !is_option))
            status = take_path(&settings->given[side], path ? path + 1 : argv[i]);
        else if (side == DIFF_SIDES || !follows)
            words[count++] = argv[i];
    }
    return status < 0 ? status : count;
}

static int take_operands(struct diff_settings *settings, char **operands, int count)
{
    if (settings->given[BEFORE].count == 0 && settings->given[AFTER].count == 0 && count == 2) {
        take_path(&settings->given[BEFORE], operands[0]);
        return take_path(&settings->given[AFTER], operands[1]);
    }
    if (count > 0 && (settings->given[BEFORE].count || settings->given[AFTER].count))
        return error("'%s' is neither before nor after: it stands before --before and --after, or after another option",
                     operands[0]);
    if (settings->given[BEFORE].count == 0 || settings->given[AFTER].count == 0)
        return error(
            "'diff' needs two traces, or several of each: 'gputrace diff A B', or 'gputrace diff --before A1 A2 "
            "A3 --after B1 B2 B3'");
    return 0;
}

/* --- the command --- */

static int write_files(void *diff, struct buffer *out)
{
    return diff_files(diff, out);
}

static int parse(struct diff_settings *settings, int argc, char **argv, char **words)
{
    int count = take_traces(settings, argc, argv, words);
    if (count < 0)
        return OPTIONS_ERROR;
    int first = options_parse(&command_diff, settings, count, words, false);
    if (first >= 0 && settings->choice == SECTIONS_LISTED)
        return section_words_list(true, (enum report_format)settings->diff.format) < 0 ? OPTIONS_ERROR : OPTIONS_HELP;
    if (first >= 0 && settings->html && page_file_check(settings->html, settings->diff.format != DIFF_TABLE) < 0)
        return OPTIONS_ERROR;
    if (first >= 0 &&
        (filter_check(&settings->diff.report.filter) < 0 || diff_check_columns(&settings->diff.report) < 0))
        return OPTIONS_ERROR;
    if (first >= 0 && take_operands(settings, words + first, count - first) < 0)
        first = OPTIONS_ERROR;
    return first;
}

static void choose(struct diff_settings *settings)
{
    enum diff_format format = settings->diff.format;
    struct report_options *report = &settings->diff.report;
    report->format = format == DIFF_JUNIT ? REPORT_JSON : (enum report_format)format; /* equal values, but for JUNIT */
    report_style_set(report, STDOUT_FILENO, &settings->style);
    report->usual &= settings->choice != SECTIONS_ALL && !settings->diff.all && !settings->html;
    if (settings->html) {
        settings->diff.format = DIFF_HTML;
        report->top = settings->style.top < 0 ? REPORT_TOP_IN_PAGES : report->top;
    }
}

static int compare(struct diff_settings *settings, int argc, char **argv, char **words)
{
    struct diff_options *diff = &settings->diff;
    int first = parse(settings, argc, argv, words);
    if (first < 0)
        return first == OPTIONS_HELP ? EXIT_SUCCESS : EXIT_USAGE;
    static struct trace_paths traces[DIFF_SIDES];
    for (int side = 0; side < DIFF_SIDES; side++) {
        if (trace_folder_find(&traces[side], settings->given[side].items, settings->given[side].count, false,
                              &diff->report) < 0)
            return EXIT_FAILURE;
        diff->paths[side] = traces[side].items;
        diff->counts[side] = traces[side].count;
    }
    choose(settings);
    bool spools = traces[BEFORE].spools || traces[AFTER].spools;
    struct symbols *symbols = spools ? symbols_new(0) : NULL; /* NULL: stacks stay addresses */
    struct frame_namer namer = symbols_namer(symbols);
    diff->report.namer = symbols ? &namer : NULL;
    int result = page_file_write(settings->html, "traces", write_files, diff);
    symbols_free(symbols);
    return result < 0 ? EXIT_FAILURE : result > 0 ? EXIT_FAILED_ON : EXIT_SUCCESS;
}

static int run(int argc, char **argv)
{
    struct diff_settings settings = {.style = REPORT_STYLE, .diff.report.filter.name_form = name_form};
    char **words = calloc((size_t)argc + 1, sizeof(*words));
    int status = words ? compare(&settings, argc, argv, words) : EXIT_FAILURE;
    if (!words)
        error_no_memory("options");
    diff_conditions_release(&settings.diff.conditions);
    array_release(&settings.given[BEFORE]);
    array_release(&settings.given[AFTER]);
    free(words);
    return status;
}

const struct command command_diff = {
    .name = "diff",
    .operands = "[BEFORE AFTER]",
    .summary = "Compares traces: what changed, how sure, and what explains it",
    .examples = "  gputrace diff old1.pftrace new1.pftrace\n"
                "  gputrace diff --before old*.pftrace --after new*.pftrace --fail-on='kernel>20%'\n"
                "  gputrace diff --html diff.html old1.pftrace new1.pftrace\n",
    .options = options,
    .run = run,
};
