/*
 * gputrace merge: the traces of several ranks, hosts or runs as one.
 */
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

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

static void put_duration(struct buffer *out, double ns)
{
    double size = fabs(ns);
    if (size >= 1e9)
        buffer_format(out, "%.6f s", ns / 1e9);
    else if (size >= 1e6)
        buffer_format(out, "%.3f ms", ns / 1e6);
    else
        buffer_format(out, "%.1f us", ns / 1e3);
}

/* "clock of node7: 12.345 ms ahead of node1, drifts by 3.20 ppm, within 4.0 us (1234 collectives)" */
static void print_correction(const struct merge_host *host, const char *reference)
{
    const struct merge_clock *clock = &host->clock;
    struct buffer text;
    buffer_init_memory(&text);
    put_duration(&text, fabs((double)clock->offset));
    buffer_format(&text, " %s '%s'", clock->offset < 0 ? "behind" : "ahead of", reference);
    buffer_format(&text, ", drifts by %.2f ppm", clock->drift * 1e6);
    if (clock->uncertainty >= 0) {
        buffer_text(&text, ", within ");
        put_duration(&text, clock->uncertainty);
    }
    buffer_format(&text, " (%llu observations)", (unsigned long long)clock->observations);
    buffer_char(&text, '\0');
    if (buffer_finish(&text) == 0)
        notice("clock of '%s': %s; corrected", host->name, text.data);
    buffer_release(&text);
}

static const char *reference_of(struct merge *merge)
{
    for (size_t i = 0; i < merge_host_count(merge); i++)
        if (merge_host(merge, i)->clock.reference)
            return merge_host(merge, i)->name;
    return merge_host(merge, 0)->name;
}

/* A line for each host, as no time is shifted in silence. */
static void print_clocks(struct merge *merge)
{
    size_t nameless = 0;
    if (merge_host_count(merge) < 2)
        return;
    for (size_t i = 0; i < merge_host_count(merge); i++) {
        const struct merge_host *host = merge_host(merge, i);
        if (host->clock.reference)
            notice("clock of '%s': the one of the merged trace", host->name);
        else if (host->clock.known)
            print_correction(host, reference_of(merge));
        else if (host->named)
            notice("clock of '%s': as recorded; nothing shows how it differs from others", host->name);
        else
            nameless++;
    }
    if (nameless > 0)
        notice("clocks of %zu traces that do not name their host: as recorded; nothing shows how they differ",
               nameless);
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
    if (result == 0) {
        /* Corrections of merge_host(merge, i)->clock are set here. */
        print_clocks(merge);
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
    end_when_asked(NULL, "interrupted: '%s' was not written\n", wanted->output);
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
