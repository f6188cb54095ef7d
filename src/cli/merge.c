/* `gputrace merge`: joins the traces of several ranks, hosts or runs to one trace. Reads its options and inputs, and
 * corrects the clocks of hosts; trace/merge/ joins the events. */
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analysis/names/pretty_names.h"
#include "analysis/job/clock_files.h"
#include "analysis/report.h"
#include "cli/options.h"
#include "cli/trace_files.h"
#include "cli/progress.h"
#include "common/array.h"
#include "common/buffer.h"
#include "common/log.h"
#include "common/map.h"
#include "common/memory.h"
#include "common/text.h"
#include "symbols/symbols.h"
#include "trace/meaning/passes/passes.h"
#include "trace/meaning/sources.h"
#include "trace/merge/merge.h"
#include "trace/spool/spool_directory.h"
#include "trace/output.h"

struct merge_command_options {
    bool force, quiet, verbose;
    const char *output;
    struct filter_options part;
};

/* --- temporary traces: DIRECTORY/NUMBER.pftrace, which a signal's handler can remove by number --- */

static char temporary[PATH_MAX]; /* the directory, or "" */
static volatile unsigned temporary_count;

/* Writes the name of temporary trace NUMBER. A signal's handler calls this, so it does not use snprintf(). */
static void name_temporary(char *name, unsigned number)
{
    char digits[16], *at = digits + sizeof(digits);
    size_t length = strlen(temporary);
    *--at = '\0';
    do
        *--at = (char)('0' + number % 10);
    while ((number /= 10) > 0);
    memcpy(name, temporary, length);
    name[length] = '/';
    strcpy(strcpy(name + length + 1, at) + strlen(at), ".pftrace");
}

static void remove_temporary(void)
{
    char name[PATH_MAX + 32];
    if (!*temporary)
        return;
    for (unsigned i = 0; i < temporary_count; i++) {
        name_temporary(name, i);
        unlink(name);
    }
    rmdir(temporary);
}

static int make_temporary(void)
{
    if (*temporary)
        return 0;
    int length = snprintf(temporary, sizeof(temporary), "%s/gputrace-merge-XXXXXX", temporary_directory());
    if (length < 0 || (size_t)length >= sizeof(temporary) - 1 || !mkdtemp(temporary)) {
        *temporary = '\0';
        return error("cannot make a directory in '%s': %m", temporary_directory());
    }
    clean_when_asked(remove_temporary);
    return 0;
}

/* --- the inputs: files, directories of traces, and spool directories --- */

/* The list of traces to merge. Each trace is read twice, and spools need three passes, so spools are first converted
 * into temporary traces. */
struct merge_inputs {
    ARRAY(struct merge_input) items; /* the texts are allocated here */
    struct filter_options filter;    /* the part of each trace that is merged */
    struct filter_missed missed;
    size_t count; /* number of input traces, with those in which the filter finds nothing */
};

/* Adds the trace PATH. With a filter, adds a temporary trace of the selected part, unless that is empty. */
static int add_file(struct merge_inputs *inputs, const char *path, const char *name)
{
    struct convert_summary summary;
    char part[PATH_MAX + 32];
    const char *whole = path;
    inputs->count++;
    if (filter_wanted(&inputs->filter)) {
        if (make_temporary() != 0)
            return -1;
        name_temporary(part, temporary_count++);
        int result = report_write_part(&inputs->filter, path, part, &inputs->missed, &summary);
        if (result != 0)
            return result < 0 ? -1 : 0;
        path = part;
    }
    struct merge_input *input = array_push(&inputs->items);
    if (!input)
        return error_no_memory("the traces");
    input->path = strdup(path);
    input->name = strdup(name);
    input->whole = strdup(whole);
    return input->path && input->name && input->whole ? 0 : error_no_memory("the traces");
}

/* Converts the spool directory PATH into a temporary trace, and adds that. */
static int add_spools(struct merge_inputs *inputs, const char *path)
{
    char name[PATH_MAX + 32];
    if (make_temporary() != 0)
        return -1;
    name_temporary(name, temporary_count++);
    struct symbols *symbols = symbols_new(0); /* NULL: stacks stay addresses */
    struct frame_namer namer = symbols_namer(symbols);
    const struct convert_options options = {.spool_directory = path, .output = name, .namer = symbols ? &namer : NULL};
    struct convert_summary summary;
    int result = convert_spool(&options, &summary);
    if (result == 0) {
        convert_plugins_release(&summary.plugins);
        result = add_file(inputs, name, path);
    }
    symbols_free(symbols);
    return result;
}

static int add_entry(void *context, const char *path, bool spools)
{
    return spools ? add_spools(context, path) : add_file(context, path, path);
}

/* Returns whether the file contains "merged" metadata: an earlier run of the same command has made it. Returns false
 * for compressed JSON. */
static bool is_merged(const char *path)
{
    static const char word[] = "\"merged\":";
    struct stat status;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    void *text = fd >= 0 && fstat(fd, &status) == 0 && status.st_size > 0
                     ? mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, fd, 0)
                     : MAP_FAILED;
    bool merged = text != MAP_FAILED && memmem(text, (size_t)status.st_size, word, strlen(word));
    if (text != MAP_FAILED)
        munmap(text, (size_t)status.st_size);
    if (fd >= 0)
        close(fd);
    return merged;
}

/* Adds the traces of a directory, but not OUTPUT, if an earlier merge has made it there. */
static int add_directory(struct merge_inputs *inputs, const char *path, const char *output)
{
    char place[PATH_MAX];
    const char *slash = strrchr(output, '/');
    int length = snprintf(place, sizeof(place), "%.*s", slash ? (int)(slash - output + 1) : 2, slash ? output : "./");
    bool inside = length > 0 && trace_folder_same_file(place, path) && sources_is_trace(output);
    if (inside && !is_merged(output))
        return error("'%s' may be a trace of '%s', and would be lost: give the output another name, or remove it",
                     output, path);
    return trace_folder_each(path, output, false, add_entry, inputs);
}

/* Adds the trace PATH, the traces in the directory PATH in the order of their names, or the temporary trace of a spool
 * directory. OUTPUT cannot be an input. Returns 0, or -1 after error(). */
static int merge_inputs_add(struct merge_inputs *inputs, const char *path, const char *output)
{
    struct stat status;
    if (strcmp(path, "-") == 0)
        return error("'merge' reads each trace twice, so it must be a file, not standard input");
    if (stat(path, &status) != 0)
        return error("cannot open '%s': %m", path);
    if (S_ISDIR(status.st_mode))
        return spool_directory_is(path) ? add_spools(inputs, path) : add_directory(inputs, path, output);
    if (!S_ISREG(status.st_mode))
        return error("cannot merge '%s': it is read twice, so it must be a file, not a pipe or a device", path);
    if (trace_folder_same_file(path, output))
        return error("'%s' and '%s' are the same file", path, output);
    return add_file(inputs, path, path);
}

/* Checks the complete list. Returns 0, or -1 after error() if a trace is given twice or a file is not a trace. */
static int merge_inputs_check(const struct merge_inputs *inputs)
{
    const struct merge_input *items = inputs->items.items;
    struct map known = {0}; /* hash of a file's identity -> index + 1 */
    int result = 0;
    for (size_t i = 0; i < inputs->items.count; i++) {
        struct stat status = {0};
        if (stat(items[i].name, &status) != 0 || access(items[i].path, R_OK) != 0)
            result = error("cannot open '%s': %m", items[i].name);
        else if (sources_check(items[i].path) != 0)
            result = -1;
        else if (!sources_is_trace(items[i].path))
            result = error("'%s' is not a trace", items[i].name);
        const uint64_t file[] = {status.st_dev, status.st_ino};
        uint64_t *first = map_put(&known, hash_bytes(file, sizeof(file)), NULL);
        if (!first)
            result = error_no_memory("the traces");
        else if (*first && result == 0)
            result = error("'%s' and '%s' are the same file", items[*first - 1].name, items[i].name);
        else
            *first = i + 1;
    }
    map_release(&known);
    return result;
}

/* Removes the temporary traces and frees the list. */
static void merge_inputs_release(struct merge_inputs *inputs)
{
    clean_when_asked(NULL);
    remove_temporary();
    *temporary = '\0';
    for (size_t i = 0; i < inputs->items.count; i++) {
        free((char *)inputs->items.items[i].path);
        free((char *)inputs->items.items[i].name);
        free((char *)inputs->items.items[i].whole);
    }
    array_release(&inputs->items);
}

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
    if (!host->named && within) /* it may be the reference host, whose times need no correction */
        return;
    host->clock.offset = clock->offset_ns;
    host->clock.drift = clock->drift_ppm * 1e-6;
    host->clock.since = (uint64_t)clock->origin;
}

/* Computes CLOCKS of hosts from operations between ranks, and sets them in MERGE. Returns 0, or -1 after error(). */
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
        files[i].path = merge_trace(merge, i, &host, &base)->whole;
        files[i].host = (uint32_t)host;
        files[i].base = (int64_t)base;
    }
    enum log_level level = log_level();
    log_set_level(LOG_QUIET); /* warnings were printed when the traces were read before */
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
    summary_notice(&text);
}

/* Prints a line for each host, because times must not be shifted silently. */
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
        notice("clock%s of %zu trace%s host: not corrected", nameless == 1 ? "" : "s", nameless,
               nameless == 1 ? " that does not name its" : "s that do not name their");
}

/* Corrects the clocks if there are several hosts. Returns 0, or -1 after error(). */
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

/* --- the merge --- */

static void print_made(const char *output, const struct merge_summary *made)
{
    struct buffer text;
    buffer_init_memory(&text);
    buffer_format(&text, "%s of %s", text_count(made->events, "event").text, text_count(made->traces, "trace").text);
    if (made->ranks > 0)
        buffer_format(&text, ", %s", text_count(made->ranks, "rank").text);
    if (made->hosts > 0)
        buffer_format(&text, ", %s", text_count(made->hosts, "host").text);
    buffer_format(&text, " in '%s' (", output);
    summary_put_size(&text, made->bytes);
    buffer_text(&text, ")");
    summary_notice(&text);
}

static int merge_all(const struct merge_options *options)
{
    struct merge_summary made;
    struct progress progress;
    struct merge *merge = merge_new(options);
    if (!merge)
        return -1;
    progress_begin(&progress, "writing '%s'", options->output);
    int result = merge_scan(merge);
    progress_end(&progress);
    if (result == 0)
        result = correct_clocks(merge, options->count);
    if (result == 0) {
        progress_begin(&progress, "writing '%s'", options->output);
        result = merge_write(merge, &made);
        progress_end(&progress);
    }
    if (result == 0)
        print_made(options->output, &made);
    merge_free(merge);
    return result;
}

static int merge_named(const struct merge_command_options *wanted, char **paths, size_t count)
{
    struct merge_inputs inputs = {.filter = wanted->part};
    struct stat status;
    inputs.filter.from = inputs.filter.to = (struct time_bound){0}; /* they apply to the merged trace */
    int result = !wanted->force && lstat(wanted->output, &status) == 0 && S_ISREG(status.st_mode)
                     ? error("'%s' is there already: --force replaces it", wanted->output)
                     : output_name_writable(wanted->output);
    end_when_asked(NULL, EXIT_FAILURE, "'%s' was not written", wanted->output);
    for (size_t i = 0; i < count && result == 0; i++)
        result = merge_inputs_add(&inputs, paths[i], wanted->output);
    if (result == 0)
        result = merge_inputs_check(&inputs);
    if (result == 0)
        result = filter_missed_print(&inputs.missed, inputs.count);
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
    OPTION_ROWS_FILTER(merge_command_options, part),
    {.word = "force", .offset = FIELD(force), .help = "replace the output if it is there"},
    OPTION_ROWS_VERBOSITY(merge_command_options),
    {.word = NULL},
};

static int merge_run(int argc, char **argv)
{
    struct merge_command_options options = {.part.name_form = name_form};
    int first = options_parse(&command_merge, &options, argc, argv, false);
    if (first < 0)
        return first == OPTIONS_HELP ? EXIT_SUCCESS : EXIT_USAGE;
    if (first == argc || !options.output)
        return error_usage(
            "'merge' needs traces, and the file to write: 'gputrace merge rank*.pftrace -o job.pftrace'");
    const struct file_format *format = file_format_of(options.output);
    char words[FILE_FORMAT_WORDS];
    if (!file_format_is_known(options.output))
        return error_usage("'%s' does not name a format: it must end in %s", options.output,
                           file_format_words(words, true));
    if (format->content != FILE_EVENTS || format->packing == PACKING_DATABASE)
        return error_usage("'merge' does not write '%s': merge into a .pftrace, and convert that", options.output);
    if (filter_check(&options.part) != 0)
        return EXIT_USAGE;
    options_set_log_level(options.quiet, options.verbose);
    return merge_named(&options, argv + first, (size_t)(argc - first));
}

const struct command command_merge = {
    .name = "merge",
    .operands = "TRACE...",
    .summary = "Merges traces of several ranks into one",
    .examples = "  gputrace merge -o job.pftrace rank*.pftrace\n"
                "  gputrace merge -o step.json.gz --step=7 rank*.json\n"
                "  gputrace merge -o job.pftrace host1.json host2.json --from=10s --to=12s\n",
    .options = rows,
    .run = merge_run,
};
