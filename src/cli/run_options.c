/* The options of `gputrace run`, and the parsers of their lists (--trace, --stacks, --cpu). */
#include "cli/run_options.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/options.h"
#include "cli/trace_files.h"
#include "launch/program.h"
#include "common/log.h"
#include "common/settings.h"

void run_options_init(struct run_options *options)
{
    *options = (struct run_options){.output = "trace.json", .graph_nodes = 1};
    settings_init(&options->settings);
    options->settings.capture_range = "none";
    options->settings.cupti = getenv("GPUTRACE_CUPTI");
}

/* Reads the LENGTH digits at TEXT. Returns whether they are a number from 1 to MOST. */
static bool parse_count(const char *text, size_t length, int64_t most, int64_t *count)
{
    *count = 0;
    for (size_t i = 0; i < length && *count <= most; i++)
        *count = text[i] >= '0' && text[i] <= '9' ? *count * 10 + (text[i] - '0') : most + 1;
    return *count > 0 && *count <= most;
}

/* --- --trace --- */

static const struct option_choice trace_words[] = {
    {"all", TRACE_DEFAULT},
    {"none", 0},
    {"cuda", TRACE_DEFAULT & ~TRACE_NVTX},
#define BIT(name, word, on, text) {word, TRACE_##name},
    TRACE_BITS(BIT)
#undef BIT
        {NULL, 0},
};

static int apply(const char *item, size_t length, int64_t *bits)
{
    bool removes = *item == '-';
    const struct option_choice *choice = options_choose(trace_words, "trace", item + removes, length - removes);
    if (!choice)
        return -1;
    if (removes)
        *bits &= ~(int64_t)choice->value;
    else if (choice->value == 0)
        *bits = 0;
    else
        *bits |= choice->value == TRACE_API_ALL ? TRACE_DEFAULT | TRACE_API_ALL : choice->value;
    return 0;
}

int trace_list_take(void *field, const char *text)
{
    int64_t *bits = field;
    *bits = *text == '-' ? TRACE_DEFAULT : 0;
    for (const char *item = text;; item++) {
        size_t length = strcspn(item, ",");
        if (length == 0)
            return error("--trace: '%s' has an empty item: use all, none, or names separated by commas", text);
        if (apply(item, length, bits) < 0)
            return -1;
        item += length;
        if (!*item)
            return 0;
    }
}

/* --- --stacks --- */

static const struct option_choice stacks_words[] = {
    {"all", STACKS_ALL},
    {"none", 0},
#define BIT(name, word) {word, STACKS_##name},
    STACKS_BITS(BIT)
#undef BIT
        {NULL, 0},
};

#define STACKS_EVERY_MAX 1000000

/* Reads the words of --stacks and, behind a colon, the number of launches for each recorded stack: "launch,sync",
 * "all:100", "none". */
static int take_stacks(void *context, const char *text)
{
    struct settings *settings = context;
    settings->stacks = 0;
    for (const char *item = text;; item++) {
        size_t length = strcspn(item, ",:");
        const struct option_choice *choice = options_choose(stacks_words, "stacks", item, length);
        if (!choice)
            return -1;
        settings->stacks |= choice->value;
        item += length;
        if (!*item)
            return 0;
        if (*item == ':' && parse_count(item + 1, strlen(item + 1), STACKS_EVERY_MAX, &settings->stacks_every))
            return 0;
        if (*item == ':')
            return error("--stacks: '%s' is not a number of launches from 1 to %d", item + 1, STACKS_EVERY_MAX);
    }
}

/* --- options that are more than a row --- */

static int take_output(void *output, const char *value)
{
    *(const char **)output = value;
    return output_name_check(value);
}

static int take_duration(void *duration, const char *value)
{
    if (duration_parse("duration", value, duration) < 0)
        return -1;
    return *(uint64_t *)duration ? 0 : error("--duration: '%s' would record nothing", value);
}

#define NVTX_RANGE "nvtx:" /* followed by the range's name */
static const struct option_choice capture_range_words[] = {
    {"none", 0}, {"api", 0}, {"cudaProfilerApi", 0}, {NVTX_RANGE, 0}, {NULL, 0}};

static int take_capture_range(void *range, const char *value)
{
    *(const char **)range = value;
    if (strncmp(value, NVTX_RANGE, strlen(NVTX_RANGE)) == 0 && value[5] && value[5] != '@')
        return 0;
    for (const struct option_choice *choice = capture_range_words; choice->word; choice++)
        if (strcmp(value, choice->word) == 0 && strcmp(value, NVTX_RANGE) != 0)
            return 0;
    return error("--capture-range: '%s' is not valid: use none, api, cudaProfilerApi, nvtx:NAME or nvtx:NAME@DOMAIN",
                 value);
}

static int take_ranks(void *ranks, const char *value)
{
    *(const char **)ranks = value;
    return rank_list_is_valid(value)
               ? 0
               : error("--ranks: '%s' is not a list of ranks: use numbers, 0-3 or every:8, separated by commas", value);
}

static const struct option_choice graph_words[] = {{"node", 1}, {"graph", 0}, {NULL, 0}};
static const struct option_choice children_words[] = {{"yes", false}, {"no", true}, {NULL, 0}};
static const struct option_choice plugin_words[] = {{"calls", 0}, {"hazards", 0}, {"leaks", 0}, {NULL, 0}};
static const struct option_choice cpu_words[] = {{"samples", 0}, {"switches", 0}, {NULL, 0}};
static const struct option_choice wait_words[] = {{"primary", false}, {"all", true}, {NULL, 0}};

#define DOMAINS_WANTED "NVTX domain given: use names separated by commas, 'default' for the one without a name"
#define FIELD(name) offsetof(struct run_options, name)
#define BIT(name, word, on, text) word " "

const struct option_row run_option_rows[] = {
    {.word = "output",
     .letter = 'o',
     .argument = "FILE",
     .type = OPTION_CALL,
     .take = take_output,
     .offset = FIELD(output),
     .help = "write the trace to FILE (default: trace.json);\n"
             ".json, .pftrace (Perfetto), .sqlite, and .gz choose the format;\n"
             "%p is the program's pid, %h the host, %n the program's name,\n"
             "%r the rank, %l the rank on this host, %w the number of ranks,\n"
             "%q{VARIABLE} an environment variable, %% a percent sign"},
    {.word = "force", .offset = FIELD(force), .help = "move a FILE that is not a trace to FILE.old, which it replaces"},
    {.word = "trace",
     .letter = 't',
     .argument = "LIST",
     .type = OPTION_CALL,
     .take = trace_list_take,
     .offset = FIELD(settings.trace),
     .choices = trace_words,
     .help = "record the kinds in LIST, separated by commas (default: all):\n" TRACE_BITS(
         BIT) "all none,\n"
              "cuda (all but nvtx; api-all adds API calls that only query);\n"
              "-NAME removes one"},
    {.word = "graph",
     .argument = "HOW",
     .type = OPTION_CHOICE,
     .offset = FIELD(graph_nodes),
     .choices = graph_words,
     .help = "show each node of a CUDA graph (node, the default) or each launch (graph)"},
    {.word = "delay",
     .argument = "TIME",
     .type = OPTION_TIME,
     .offset = FIELD(delay),
     .help = "start recording so long after the program's start,\nin seconds, or with a unit (200ms)"},
    {.word = "duration",
     .argument = "TIME",
     .type = OPTION_CALL,
     .take = take_duration,
     .offset = FIELD(duration),
     .help = "stop recording after so long, likewise; the program runs on"},
    {.word = "capture-range",
     .argument = "RANGE",
     .type = OPTION_CALL,
     .take = take_capture_range,
     .offset = FIELD(settings.capture_range),
     .choices = capture_range_words,
     .help = "record only while the program asks for it: none (default), api\n"
             "(also 'gputrace start'), cudaProfilerApi, nvtx:NAME or\n"
             "nvtx:NAME@DOMAIN"},
    {.word = "nvtx-domains",
     .argument = "LIST",
     .type = OPTION_WORDS,
     .unit = DOMAINS_WANTED,
     .offset = FIELD(settings.nvtx_domains),
     .help = "record only these NVTX domains, separated by commas;\n"
             "'default' is the one without a name"},
    {.word = "nvtx-exclude",
     .argument = "LIST",
     .type = OPTION_WORDS,
     .unit = DOMAINS_WANTED,
     .offset = FIELD(settings.nvtx_exclude),
     .help = "record all NVTX domains except these"},
    {.word = "stacks",
     .argument = "LIST[:N]",
     .type = OPTION_CALL,
     .take = take_stacks,
     .offset = FIELD(settings),
     .choices = stacks_words,
     .help = "record the call stacks of what LIST names, separated by commas:\n"
             "launch (the first launch of each kernel and grid, then one of\n"
             "N, default 10), alloc (allocations), sync (waits), all, python\n"
             "(the default: all, but only functions of Python), or none"},
    {.word = "nccl",
     .offset = FIELD(nccl),
     .help = "record what NCCL tells a profiler plugin: data types, algorithms,\n"
             "protocols, channels, sequence numbers"},
    {.word = "backtrace", .offset = FIELD(backtrace), .help = "the same as --stacks=alloc"},
    {.word = "cpu",
     .argument = "LIST",
     .type = OPTION_CALL,
     .take = cpu_list_take,
     .offset = FIELD(cpu),
     .choices = cpu_words,
     .help = "record where the program's threads are, 1000 times in a second\n"
             "of their CPU time (samples, or samples:HZ), and when they leave\n"
             "processors (switches); words separated by commas"},
    {.word = "flush-interval",
     .argument = "TIME",
     .type = OPTION_MS,
     .least = 1,
     .most = 3600000,
     .unit = "milliseconds from 1 to 3600000",
     .offset = FIELD(settings.flush_interval_ms),
     .help = "collect GPU times so often, in milliseconds, or with a unit (1s)\n(default: 200)"},
    {.word = "children",
     .argument = "WHETHER",
     .type = OPTION_CHOICE,
     .offset = FIELD(first_alone),
     .choices = children_words,
     .help = "record the processes that the program starts (yes, the\n"
             "default), or only the first process (no)"},
    {.word = "ranks",
     .argument = "LIST",
     .type = OPTION_CALL,
     .take = take_ranks,
     .offset = FIELD(settings.ranks),
     .help = "record only these ranks of a job: 0,7 or 0-3 or every:8;\n"
             "the others run as without gputrace"},
    {.word = "mpi", .offset = FIELD(mpi), .help = "record MPI calls, of Open MPI, MPICH and what has its ABI"},
    {.word = "wait",
     .argument = "FOR",
     .type = OPTION_CHOICE,
     .offset = FIELD(wait_all),
     .choices = wait_words,
     .help = "end when the first process has ended (primary, the\n"
             "default), or when all recorded processes have (all)"},
    {.word = "spool-dir",
     .argument = "DIR",
     .type = OPTION_TEXT,
     .offset = FIELD(spool_parent),
     .help = "store records in DIR while the program runs\n"
             "(default: $TMPDIR or /tmp)"},
    {.word = "keep-running",
     .offset = FIELD(keep_running),
     .help = "let the program run on if gputrace itself is killed by SIGKILL"},
    {.word = "keep-spool", .offset = FIELD(keep_spool), .help = "do not remove these records at the end"},
    {.word = "cupti",
     .argument = "FILE",
     .type = OPTION_CALL,
     .take = options_cupti,
     .offset = FIELD(settings.cupti),
     .help = "load this libcupti instead of searching for one"},
    {.word = "plugin",
     .argument = "FILE",
     .type = OPTION_CALL,
     .take = plugin_list_add,
     .offset = FIELD(settings.plugins),
     .choices = plugin_words,
     .help = "load a plugin into the program: a file, or leaks, hazards or calls;\n"
             "FILE,key=value,... passes settings; may be repeated"},
    {.word = "live", .offset = FIELD(live), .help = "print progress to stderr while the program runs"},
    {.word = "stats", .offset = FIELD(stats), .help = "print the report of the trace to stderr at the end"},
    {.word = "strict",
     .offset = FIELD(strict),
     .help = "exit with 124 if the program exits with 0 and the trace is\n"
             "incomplete"},
    OPTION_ROWS_VERBOSITY(run_options),
    {.word = NULL},
};
#undef BIT

/* --- --cpu --- */

#define HERTZ_USUAL 1000u
#define HERTZ_MOST 10000u

static int parse_word(const char *word, size_t length, struct perf_wanted *wanted)
{
    static const char samples[] = "samples", switches[] = "switches";
    size_t name = sizeof(samples) - 1;
    if (length == sizeof(switches) - 1 && strncmp(word, switches, length) == 0) {
        wanted->switches = true;
        return 0;
    }
    if (length < name || strncmp(word, samples, name) != 0 || (length > name && word[name] != ':'))
        return error("--cpu: '%.*s' is not valid: use samples, samples:HZ, switches, or both separated by a comma",
                     (int)length, word);
    int64_t hertz = HERTZ_USUAL;
    int digits = length > name ? (int)(length - name - 1) : 0;
    if (length > name && !parse_count(word + name + 1, (size_t)digits, HERTZ_MOST, &hertz))
        return error("--cpu: 'samples:%.*s' is not valid: use a number of samples a second from 1 to %u", digits,
                     word + name + 1, HERTZ_MOST);
    wanted->hertz = (unsigned)hertz;
    return 0;
}

int cpu_list_take(void *field, const char *text)
{
    struct perf_wanted *wanted = field;
    *wanted = (struct perf_wanted){0};
    for (const char *word = text;; word++) {
        size_t length = strcspn(word, ",");
        if (parse_word(word, length, wanted) < 0)
            return -1;
        word += length;
        if (!*word)
            return 0;
    }
}
