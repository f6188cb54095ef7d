/*
 * gputrace convert: what was recorded, or a trace, in the format that a name asks for.
 */
#include <limits.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "analysis/stack_files.h"
#include "common/log.h"
#include "common/buffer.h"
#include "cli/options.h"
#include "cli/output_name.h"
#include "cli/progress.h"
#include "cli/summary.h"
#include "trace/build/passes.h"
#include "trace/build/sources.h"
#include "launch/launch.h"
#include "symbols/symbols.h"
#include "trace/format.h"

struct convert_command_options {
    bool force, quiet, verbose;
};

static bool is_directory(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

/* A spool is left as it is: 'recover' is what removes it. */
static int from_spool(const char *directory, const char *output, struct convert_summary *summary)
{
    struct symbols *symbols = symbols_new(0); /* NULL: stacks stay addresses */
    struct frame_namer namer = symbols_namer(symbols);
    struct convert_options options = {.spool_directory = directory, .output = output, .namer = symbols ? &namer : NULL};
    struct progress progress;
    progress_begin(&progress, output);
    options.progress = &progress.made;
    int result = convert_spool(&options, summary);
    progress_end(&progress);
    convert_plugins_release(&summary->plugins);
    symbols_free(symbols);
    return result;
}

static void print_made(uint64_t count, const char *what, const char *output, uint64_t bytes)
{
    struct buffer size;
    buffer_init_memory(&size);
    summary_put_size(&size, bytes);
    buffer_char(&size, '\0');
    if (buffer_finish(&size) == 0)
        notice("%llu %s in '%s' (%s)", (unsigned long long)count, what, output, size.data);
    buffer_release(&size);
}

static int from_trace(const char *input, const char *output)
{
    struct convert_summary made;
    struct progress progress;
    progress_begin(&progress, output);
    int failed = convert_file(input, output, &made);
    progress_end(&progress);
    if (failed)
        return -1;
    print_made(made.events, "events", output, made.bytes);
    return 0;
}

/* Stacks of GPU time, of a trace or a spool. */
static int to_stacks(const char *input, const char *output)
{
    struct stack_files_summary made;
    struct progress progress;
    progress_begin(&progress, output);
    int failed = stack_files_convert(input, output, &made);
    progress_end(&progress);
    if (failed)
        return -1;
    print_made(made.stacks, "stacks", output, made.bytes);
    return 0;
}

static bool is_same_file(const char *input, const char *output)
{
    struct stat first, second;
    return stat(input, &first) == 0 && stat(output, &second) == 0 && first.st_dev == second.st_dev &&
           first.st_ino == second.st_ino;
}

static int convert(const struct convert_command_options *wanted, const char *input, const char *output)
{
    struct convert_summary summary = {0};
    struct stat status;
    if (is_same_file(input, output))
        return error("'%s' and '%s' are the same file", input, output);
    if (!wanted->force && lstat(output, &status) == 0 && S_ISREG(status.st_mode))
        return error("'%s' is there already: --force replaces it", output);
    if (output_name_writable(output) != 0)
        return -1;
    end_when_asked(NULL, "interrupted: '%s' was not written\n", output);
    if (file_format_of(output)->content != FILE_EVENTS)
        return to_stacks(input, output);
    if (!is_directory(input))
        return from_trace(input, output);
    if (from_spool(input, output, &summary) != 0)
        return -1;
    summary_print(output, &summary);
    return 0;
}

#define FIELD(name) offsetof(struct convert_command_options, name)

static const struct option_row rows[] = {
    {.word = "force", .offset = FIELD(force), .help = "replace OUT if it is there"},
    OPTION_ROWS_VERBOSITY(convert_command_options),
};

static int convert_run(int argc, char **argv)
{
    struct convert_command_options options = {0};
    int first = options_parse(&command_convert, &options, argc, argv, false);
    if (first == OPTIONS_HELP)
        return EXIT_SUCCESS;
    if (first == OPTIONS_ERROR)
        return EXIT_USAGE;
    if (argc - first != 2) {
        error("'convert' needs a trace or a spool directory, and the file to write: 'gputrace convert IN OUT'");
        return EXIT_USAGE;
    }
    if (!file_format_is_known(argv[first + 1])) {
        char words[FILE_FORMAT_WORDS];
        error("'%s' does not name a format: it must end in %s", argv[first + 1], file_format_words(words, false));
        return EXIT_USAGE;
    }
    options_set_log_level(options.quiet, options.verbose);
    return convert(&options, argv[first], argv[first + 1]) < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}

const struct command command_convert = {
    .name = "convert",
    .operands = "IN OUT",
    .summary = "Converts a trace between formats",
    .options = rows,
    .option_count = sizeof(rows) / sizeof(*rows),
    .run = convert_run,
};
