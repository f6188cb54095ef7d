/*
 * gputrace merge: the traces of several ranks, hosts or runs as one.
 */
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "analysis/job/clock_files.h"
#include "cli/merge_inputs.h"
#include "cli/options.h"
#include "cli/output_name.h"
#include "cli/progress.h"
#include "cli/summary.h"
#include "common/buffer.h"
#include "common/log.h"
#include "trace/format.h"
#include "trace/merge/merge.h"

struct merge_command_options {
    bool force, quiet, verbose;
    const char *output;
    struct cut_options part;
    struct selected_number step;
};

/* --- clocks --- */

static void set_clock(struct merge_host *host, const struct job_clock *clock)
{
    bool within = fabs((double)clock->offset_ns) <= clock->uncertainty_ns;
    host->clock.reference = clock->state == JOB_CLOCK_REFERENCE;
    host->clock.known = host->clock.reference || clock->state == JOB_CLOCK_KNOWN;
    if (clock->state != JOB_CLOCK_KNOWN)
        return;
    host->clock.uncertainty = clock->uncertainty_ns;
    host->clock.observations = clock->operations;
    if (!host->named && within) /* it may well be the clock of the reference, and times of one clock are right */
        return;
    host->clock.offset = clock->offset_ns;
    host->clock.drift = clock->drift_ppm * 1e-6;
    host->clock.since = (uint64_t)clock->origin;
}

/* Returns 0, or -1 after error(). */
static int find_clocks(struct merge *merge, size_t traces, struct job_clocks *clocks)
{
    size_t hosts = merge_host_count(merge), host;
    struct clock_file *files = calloc(traces + 1, sizeof(*files));
    const char **names = calloc(hosts + 1, sizeof(*names));
    int result = files && names ? 0 : error_no_memory("hosts");
    for (size_t i = 0; i < hosts && result == 0; i++)
        names[i] = merge_host(merge, i)->named ? merge_host(merge, i)->name : NULL;
    for (size_t i = 0; i < traces && result == 0; i++) {
        uint64_t base;
        files[i].path = merge_trace(merge, i, &host, &base)->path;
        files[i].host = (uint32_t)host;
        files[i].base = (int64_t)base;
    }
    enum log_level level = log_level();
    log_set_level(LOG_QUIET); /* warnings came when the traces were read before */
    if (result == 0)
        result = clock_files_find(files, traces, names, hosts, clocks);
    log_set_level(level);
    for (size_t i = 0; i < hosts && result == 0; i++)
        set_clock(merge_host(merge, i), &clocks->items.items[i]);
    free(names);
    free(files);
    return result;
}

static void print_clock(const struct merge_host *host, const struct job_clock *clock, const char *reference)
{
    struct buffer text;
    buffer_init_memory(&text);
    job_clock_describe(&text, clock, host->name, reference);
    if (host->synchronised >= 0 && !host->clock.known) {
        buffer_text(&text, "; ");
        job_clock_describe_system(&text, host->synchronised, host->error_us);
    }
    buffer_char(&text, '\0');
    if (buffer_finish(&text) == 0)
        notice("%s", text.data);
    buffer_release(&text);
}

/* A line for each host, as no time is shifted in silence. */
static void print_clocks(struct merge *merge, const struct job_clocks *clocks)
{
    size_t nameless = 0;
    for (size_t i = 0; i < merge_host_count(merge); i++) {
        const struct merge_host *host = merge_host(merge, i);
        if (host->named || host->clock.offset != 0)
            print_clock(host, &clocks->items.items[i], merge_host(merge, 0)->name);
        else
            nameless++;
    }
    if (nameless > 0)
        notice("clocks of %zu traces that do not name their host: not corrected", nameless);
}

/* What the clocks of hosts are, where there are several. Returns 0, or -1 after error(). */
static int correct_clocks(struct merge *merge, size_t traces)
{
    struct job_clocks clocks = {0};
    if (merge_host_count(merge) < 2)
        return 0;
    int result = find_clocks(merge, traces, &clocks);
    if (result == 0)
        print_clocks(merge, &clocks);
    job_clocks_release(&clocks);
    return result;
}

/* --- */

static void print_made(const char *output, const struct merge_summary *made)
{
    struct buffer text;
    buffer_init_memory(&text);
    buffer_format(&text, "%llu events of %zu traces", (unsigned long long)made->events, made->traces);
    if (made->ranks > 0)
        buffer_format(&text, ", %zu rank%s", made->ranks, made->ranks == 1 ? "" : "s");
    if (made->hosts > 0)
        buffer_format(&text, ", %zu host%s", made->hosts, made->hosts == 1 ? "" : "s");
    buffer_format(&text, " in '%s' (", output);
    summary_put_size(&text, made->bytes);
    buffer_text(&text, ")");
    buffer_char(&text, '\0');
    if (buffer_finish(&text) == 0)
        notice("%s", text.data);
    buffer_release(&text);
}

static int merge_all(const struct merge_options *options)
{
    struct merge_summary made;
    struct progress progress;
    struct merge *merge = merge_new(options);
    if (!merge)
        return -1;
    progress_begin(&progress, options->output);
    int result = merge_look(merge);
    progress_end(&progress);
    if (result == 0)
        result = correct_clocks(merge, options->count);
    if (result == 0) {
        progress_begin(&progress, options->output);
        result = merge_write(merge, &made);
        progress_end(&progress);
    }
    if (result == 0)
        print_made(options->output, &made);
    merge_free(merge);
    return result;
}

static int check_output(const struct merge_command_options *wanted)
{
    struct stat status;
    if (!wanted->force && lstat(wanted->output, &status) == 0 && S_ISREG(status.st_mode))
        return error("'%s' is there already: --force replaces it", wanted->output);
    return output_name_writable(wanted->output);
}

static int merge_named(const struct merge_command_options *wanted, char **paths, size_t count)
{
    struct merge_inputs inputs = {0};
    int result = check_output(wanted);
    end_when_asked(NULL, EXIT_FAILURE, "'%s' was not written", wanted->output);
    for (size_t i = 0; i < count && result == 0; i++)
        result = merge_inputs_add(&inputs, paths[i], wanted->output);
    if (result == 0)
        result = merge_inputs_check(&inputs);
    if (result == 0)
        result = merge_all(&(struct merge_options){
            .inputs = inputs.items.items, .count = inputs.items.count, .output = wanted->output, .part = wanted->part});
    merge_inputs_release(&inputs);
    return result < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}

#define FIELD(name) offsetof(struct merge_command_options, name)

static const struct option_row rows[] = {
    {.word = "output",
     .letter = 'o',
     .argument = "FILE",
     .help =
         "write the merged trace to this file; its name chooses the format:\n.pftrace, .json, or one of them with .gz",
     .type = OPTION_TEXT,
     .offset = FIELD(output)},
    OPTION_ROWS_TIMES(merge_command_options, part,
                      "only the time of this NVTX range or record_function in each trace;\n"
                      "NAME/3: of its third occurrence on each thread"),
    OPTION_ROW_SELECT(merge_command_options, step, "step", "only step N of torch.profiler: the range ProfilerStep#N"),
    {.word = "force", .offset = FIELD(force), .help = "replace the output if it is there"},
    OPTION_ROWS_VERBOSITY(merge_command_options),
};

/* Returns 0, or -1 after error(): the command line is wrong. */
static int check_options(struct merge_command_options *options, char range[32])
{
    const struct file_format *format = file_format_of(options->output);
    char words[FILE_FORMAT_WORDS];
    if (!file_format_is_known(options->output))
        return error("'%s' does not name a format: it must end in %s", options->output, file_format_words(words, true));
    if (format->content != FILE_EVENTS || format->packing == PACKING_DATABASE)
        return error("'merge' does not write '%s': merge into a .pftrace, and convert that", options->output);
    if (options->part.range && !*options->part.range)
        return error("--range needs the name of a range");
    if (options->part.range && options->step.given)
        return error("--range and --step exclude each other");
    if (options->step.given) {
        snprintf(range, 32, "ProfilerStep#%lld", (long long)options->step.number);
        options->part.range = range;
    }
    return 0;
}

static int merge_run(int argc, char **argv)
{
    struct merge_command_options options = {0};
    char range[32];
    int first = options_parse(&command_merge, &options, argc, argv, false);
    if (first == OPTIONS_HELP)
        return EXIT_SUCCESS;
    if (first == OPTIONS_ERROR)
        return EXIT_USAGE;
    if (first == argc || !options.output) {
        error("'merge' needs traces, and the file to write: 'gputrace merge rank*.pftrace -o job.pftrace'");
        return EXIT_USAGE;
    }
    if (check_options(&options, range) != 0)
        return EXIT_USAGE;
    options_set_log_level(options.quiet, options.verbose);
    return merge_named(&options, argv + first, (size_t)(argc - first));
}

const struct command command_merge = {
    .name = "merge",
    .operands = "TRACE...",
    .summary = "Merges traces of several ranks into one",
    .options = rows,
    .option_count = sizeof(rows) / sizeof(*rows),
    .run = merge_run,
};
