#include "cli/run_options.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "cli/options.h"
#include "cli/output_name.h"
#include "cli/plugin_list.h"
#include "cli/run_options.h"

#define FLUSH_INTERVAL_MAX 3600000

void run_options_init(struct run_options *options)
{
    *options = (struct run_options){.output = "trace.json"};
    settings_init(&options->settings);
    options->settings.capture_range = "none";
    options->settings.cupti = getenv("GPUTRACE_CUPTI");
}

enum log_level run_options_level(const struct run_options *options)
{
    return options->quiet ? LOG_QUIET : options->verbose ? LOG_VERBOSE : LOG_NORMAL;
}

static int take_output(void *settings, const char *value)
{
    struct run_options *options = settings;
    options->output = value;
    return output_name_check(value);
}

static int take_trace(void *settings, const char *value)
{
    struct run_options *options = settings;
    return trace_list_parse(value, &options->settings.trace);
}

static int take_graph(void *settings, const char *value)
{
    struct run_options *options = settings;
    bool graph = strcmp(value, "graph") == 0;
    if (!graph && strcmp(value, "node") != 0)
        return error("'--graph=%s' is neither 'node' nor 'graph'", value);
    options->settings.graph_nodes = !graph;
    return 0;
}

static int take_delay(void *settings, const char *value)
{
    struct run_options *options = settings;
    return duration_parse("delay", value, &options->delay);
}

static int take_duration(void *settings, const char *value)
{
    struct run_options *options = settings;
    if (duration_parse("duration", value, &options->duration) < 0)
        return -1;
    return options->duration ? 0 : error("'--duration=%s' would record nothing", value);
}

static int take_capture_range(void *settings, const char *value)
{
    static const char *const words[] = {"none", "api", "cudaProfilerApi"};
    struct run_options *options = settings;
    options->settings.capture_range = value;
    for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
        if (strcmp(value, words[i]) == 0)
            return 0;
    if (strncmp(value, "nvtx:", 5) == 0 && value[5] && value[5] != '@')
        return 0;
    return error("--capture-range: '%s' is not valid: use none, api, cudaProfilerApi, nvtx:NAME or nvtx:NAME@DOMAIN",
                 value);
}

/* A list of nothing would be one of everything. */
static int take_domains(const char **list, const char *option, const char *value)
{
    *list = value;
    return *value ? 0 : error("'--%s=' names no NVTX domain: 'default' is the one without a name", option);
}

static int take_nvtx_domains(void *settings, const char *value)
{
    struct run_options *options = settings;
    return take_domains(&options->settings.nvtx_domains, "nvtx-domains", value);
}

static int take_nvtx_exclude(void *settings, const char *value)
{
    struct run_options *options = settings;
    return take_domains(&options->settings.nvtx_exclude, "nvtx-exclude", value);
}

static int take_flush_interval(void *settings, const char *value)
{
    struct run_options *options = settings;
    char *end;
    errno = 0;
    long long ms = strtoll(value, &end, 10);
    if (errno || end == value || *end || ms < 1 || ms > FLUSH_INTERVAL_MAX)
        return error("'--flush-interval=%s' is no number of milliseconds from 1 to %d", value, FLUSH_INTERVAL_MAX);
    options->settings.flush_interval_ms = ms;
    return 0;
}

static int take_cupti(void *settings, const char *value)
{
    struct run_options *options = settings;
    return options_cupti(&options->settings.cupti, value);
}

static int take_children(void *settings, const char *value)
{
    struct run_options *options = settings;
    return options_choice(&options->first_alone, "children", "yes", "no", value);
}

static int take_wait(void *settings, const char *value)
{
    struct run_options *options = settings;
    return options_choice(&options->wait_all, "wait", "primary", "all", value);
}

static int take_backtrace(void *settings, const char *value)
{
    struct run_options *options = settings;
    (void)value;
    options->settings.backtrace = BACKTRACE_ALLOCATIONS;
    return 0;
}

static int take_plugin(void *settings, const char *value)
{
    struct run_options *options = settings;
    return plugin_list_add(&options->settings.plugins, value);
}

#define FIELD(name) offsetof(struct run_options, name)

static const struct option_row rows[] = {
    {.word = "output",
     .letter = 'o',
     .argument = "FILE",
     .type = OPTION_CALL,
     .take = take_output,
     .help = "write the trace to FILE (trace.json); .pftrace at its end makes it Perfetto's\n"
             "format, .gz compresses it;\n"
             "%p is the program's pid, %h the host, %n the program's name,\n"
             "%q{VARIABLE} of the environment, %% a percent sign"},
    {.word = "trace",
     .letter = 't',
     .argument = "LIST",
     .type = OPTION_CALL,
     .take = take_trace,
     .help = "record what LIST names (all), with commas between:\n"
             "kernel memcpy memset runtime driver sync event stream graph\n"
             "memory nvtx compile overhead event-times unified-memory\n"
             "all none,\n"
             "cuda (all but nvtx),\n"
             "api-all (all, and the API calls that only ask);\n"
             "-NAME takes one away"},
    {.word = "graph",
     .argument = "HOW",
     .type = OPTION_CALL,
     .take = take_graph,
     .help = "show each node of a CUDA graph (node), or each launch (graph)"},
    {.word = "delay",
     .argument = "SECONDS",
     .type = OPTION_CALL,
     .take = take_delay,
     .help = "record nothing until SECONDS after the start"},
    {.word = "duration",
     .argument = "SECONDS",
     .type = OPTION_CALL,
     .take = take_duration,
     .help = "record for SECONDS only; the program runs on"},
    {.word = "capture-range",
     .argument = "RANGE",
     .type = OPTION_CALL,
     .take = take_capture_range,
     .help = "record only while the program says so: none, api,\n"
             "cudaProfilerApi, nvtx:NAME or nvtx:NAME@DOMAIN"},
    {.word = "nvtx-domains",
     .argument = "LIST",
     .type = OPTION_CALL,
     .take = take_nvtx_domains,
     .help = "record NVTX of these domains only, with commas between;\n"
             "'default' is the one without a name"},
    {.word = "nvtx-exclude",
     .argument = "LIST",
     .type = OPTION_CALL,
     .take = take_nvtx_exclude,
     .help = "record NVTX of all domains but these"},
    {.word = "backtrace",
     .type = OPTION_CALL,
     .take = take_backtrace,
     .help = "keep the call stack of every allocation"},
    {.word = "flush-interval",
     .argument = "MS",
     .type = OPTION_CALL,
     .take = take_flush_interval,
     .help = "collect GPU times every MS milliseconds (200)"},
    {.word = "children",
     .argument = "WHETHER",
     .type = OPTION_CALL,
     .take = take_children,
     .help = "record the processes that the program starts (yes), or the\n"
             "first process alone (no)"},
    {.word = "wait",
     .argument = "FOR",
     .type = OPTION_CALL,
     .take = take_wait,
     .help = "end when the first process has ended (primary), or all\n"
             "that are recorded (all)"},
    {.word = "spool-dir",
     .argument = "DIR",
     .type = OPTION_TEXT,
     .offset = FIELD(spool_parent),
     .help = "keep what is recorded in DIR while the program runs\n"
             "($TMPDIR, else /tmp)"},
    {.word = "keep-spool", .type = OPTION_FLAG, .offset = FIELD(keep_spool), .help = "do not remove it afterwards"},
    {.word = "cupti",
     .argument = "FILE",
     .type = OPTION_CALL,
     .take = take_cupti,
     .help = "use this libcupti before any other"},
    {.word = "plugin",
     .argument = "FILE",
     .type = OPTION_CALL,
     .take = take_plugin,
     .help = "load FILE into the program: a library that is called when the\n"
             "program does something; ,key=value… after it are its settings;\n"
             "may be given more than once; leaks, hazards and calls are\n"
             "there: gputrace-callbacks(3)"},
    {.word = "live",
     .type = OPTION_FLAG,
     .offset = FIELD(live),
     .help = "tell on stderr, while the program runs, what was recorded so far"},
    {.word = "stats",
     .type = OPTION_FLAG,
     .offset = FIELD(stats),
     .help = "print the report of the trace to stderr afterwards"},
    {.word = "strict",
     .type = OPTION_FLAG,
     .offset = FIELD(strict),
     .help = "end with 124 when the program ended with 0 and anything is\n"
             "missing in the trace"},
    {.word = "quiet", .letter = 'q', .type = OPTION_FLAG, .offset = FIELD(quiet), .help = "print errors only"},
    {.word = "verbose", .letter = 'v', .type = OPTION_FLAG, .offset = FIELD(verbose), .help = "explain what happens"},
};

const struct command command_run = {
    .name = "run",
    .operands = "[--] PROGRAM [ARG...]",
    .summary = "Runs a program and writes a trace of its GPU work",
    .options = rows,
    .option_count = sizeof(rows) / sizeof(*rows),
    .run = run_command,
};
