/*
 * `gputrace convert` writes a run's records or a trace in the format that the name of the output asks for; `gputrace
 * cut` writes a part of a trace in the same way.
 */
#include <limits.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "analysis/names/pretty_names.h"
#include "analysis/job/flight_files.h"
#include "analysis/report.h"
#include "analysis/stack_files.h"
#include "common/log.h"
#include "common/buffer.h"
#include "common/text.h"
#include "cli/options.h"
#include "cli/trace_files.h"
#include "cli/progress.h"
#include "trace/meaning/passes/passes.h"
#include "trace/meaning/sources.h"
#include "trace/spool/spool_directory.h"
#include "launch/launch.h"
#include "trace/output.h"

struct convert_command_options {
    bool force, quiet, verbose;
    const char *output; /* the output file; NULL if not given */
    struct filter_options part;
};

static void print_made(uint64_t count, const char *what, const char *output, uint64_t bytes)
{
    struct buffer line;
    buffer_init_memory(&line);
    buffer_format(&line, "%s in '%s' (", text_count(count, what).text, output);
    summary_put_size(&line, bytes);
    buffer_char(&line, ')');
    summary_notice(&line);
}

/* Converts a trace into any format, or a spool directory into a file of stacks or of NCCL operations. */
static int write_file(const struct convert_command_options *wanted, enum file_content content, const char *input,
                      const char *output)
{
    bool whole = !filter_wanted(&wanted->part);
    struct convert_summary made = {0};
    struct stack_files_summary stacks = {0};
    struct flight_files_summary flight = {0};
    struct progress progress;
    progress_begin(&progress, "writing '%s'", output);
    int failed = content == FILE_FLIGHT   ? flight_files_convert(input, output, wanted->force, &flight)
                 : content != FILE_EVENTS ? stack_files_convert(input, output, &stacks)
                 : whole                  ? convert_file(input, output, &made)
                                          : report_write_part(&wanted->part, input, output, NULL, &made);
    progress_end(&progress);
    if (failed)
        return -1;
    if (made.events == 0 && !whole)
        warning("the part of '%s' has no events", input);
    if (content == FILE_FLIGHT) /* OUTPUT is a name for several files, one for each rank */
        notice("%s of %s in '%s'", text_count(flight.entries, "operation").text, text_count(flight.ranks, "rank").text,
               output);
    if (flight.left_out > 0)
        notice("%s %s left out: fr_trace cannot compare %s with those of other ranks",
               text_count(flight.left_out, "operation").text, flight.left_out == 1 ? "was" : "were",
               flight.left_out == 1 ? "it" : "them");
    if (content == FILE_EVENTS)
        print_made(made.events, "event", output, made.bytes);
    else if (content != FILE_FLIGHT)
        print_made(stacks.stacks, "stack", output, stacks.bytes);
    return 0;
}

static int convert(const struct convert_command_options *wanted, const char *input, const char *output)
{
    struct convert_summary summary = {0};
    struct stat status;
    input = trace_folder_only(input);
    if (!input)
        return -1;
    if (trace_folder_same_file(input, output))
        return error("'%s' and '%s' are the same file", input, output);
    if (!wanted->force && lstat(output, &status) == 0 && S_ISREG(status.st_mode))
        return error("'%s' is there already: --force replaces it", output);
    if (filter_wanted(&wanted->part) && spool_directory_is(input))
        return error("'%s' is a spool directory: write its trace first, with 'gputrace convert %s trace.pftrace'",
                     input, shell_file(input));
    enum file_content content = file_format_of(output)->content;
    if (content != FILE_FLIGHT && output_name_writable(output) != 0)
        return -1;
    end_when_asked(NULL, EXIT_FAILURE, "'%s' was not written", output);
    if (content != FILE_EVENTS && filter_wanted(&wanted->part))
        return error("%s are written of whole traces: cut '%s' first, with 'gputrace cut'",
                     content == FILE_FLIGHT ? "operations of ranks" : "stacks", input);
    if (content != FILE_EVENTS || !spool_directory_is(input))
        return write_file(wanted, content, input, output);
    struct convert_options spool = {.spool_directory = input, .output = output};
    if (progress_convert_spool(&spool, &summary) != 0) /* the spool directory stays; only 'recover' removes it */
        return -1;
    summary_print(output, &summary, NULL);
    return 0;
}

#define FIELD(name) offsetof(struct convert_command_options, name)

#define FORMAT(ending, what, ...) "\n" ending ": " what

/* The options that both commands have. */
static const struct option_row rows[] = {
    {.word = "output",
     .letter = 'o',
     .argument = "FILE",
     .help = "write this file; its name chooses the format:" FILE_FORMATS(FORMAT),
     .type = OPTION_TEXT,
     .offset = FIELD(output)},
    {.word = "force", .offset = FIELD(force), .help = "replace the output if it is there"},
    OPTION_ROWS_FILTER(convert_command_options, part),
    OPTION_ROWS_VERBOSITY(convert_command_options),
    {.word = NULL},
};

/* Sets the output to the second of COUNT words unless -o is given. Returns the input: the first word, or the newest
 * trace in this directory if only -o is given. Returns NULL if there are too few or too many words. */
static const char *take_names(struct convert_command_options *options, char **words, int count)
{
    bool named = options->output != NULL;
    if (!named && count == 2)
        options->output = words[1];
    if (named && count == 0)
        return trace_folder_newest();
    return count == (named ? 1 : 2) ? words[0] : NULL;
}

static int run(int argc, char **argv)
{
    struct convert_command_options options = {.part.name_form = name_form};
    bool cuts = strcmp(argv[0], command_cut.name) == 0;
    int first = options_parse(cuts ? &command_cut : &command_convert, &options, argc, argv, false);
    if (first < 0)
        return first == OPTIONS_HELP ? EXIT_SUCCESS : EXIT_USAGE;
    const char *input = take_names(&options, argv + first, argc - first);
    if (!input && cuts)
        return error_usage(
            "'cut' needs a trace, and the file to write: 'gputrace cut IN -o OUT --from=40%% --to=60%%'");
    if (!input)
        return error_usage(
            "'convert' needs a trace or a spool directory, and the file to write: 'gputrace convert IN OUT'");
    if (cuts && !filter_wanted(&options.part))
        return error_usage("'cut' needs a part of '%s': --from, --to, --range, --step, --rank, --process, --gpu, "
                           "--stream, --kernel or --thread",
                           input);
    if (!file_format_is_known(options.output)) {
        char words[FILE_FORMAT_WORDS];
        return error_usage("'%s' does not name a format: it must end in %s", options.output,
                           file_format_words(words, false));
    }
    if (filter_check(&options.part) < 0)
        return EXIT_USAGE;
    options_set_log_level(options.quiet, options.verbose);
    return convert(&options, input, options.output) < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}

const struct command command_convert = {
    .name = "convert",
    .operands = "[IN] OUT",
    .summary = "Converts a trace between formats",
    .examples = "  gputrace convert trace.json trace.pftrace\n"
                "  gputrace convert trace.json.gz trace.sqlite\n"
                "  gputrace convert /tmp/gputrace-x2Vb7Q trace.folded\n",
    .options = rows,
    .run = run,
};

const struct command command_cut = {
    .name = "cut",
    .operands = "[IN] OUT",
    .summary = "Cuts a part out of a trace",
    .examples = "  gputrace cut trace.json part.pftrace --from=1.5s --to=2s\n"
                "  gputrace cut trace.pftrace -o step.json --range=train_step/3\n"
                "  gputrace cut job.pftrace -o rank7.json.gz --rank=7\n",
    .options = rows,
    .run = run,
};
