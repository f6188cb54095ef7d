#include "trace/build/sources.h"

#include <string.h>
#include <sys/stat.h>

#include "common/log.h"
#include "trace/build/passes.h"
#include "trace/gzip/source.h"
#include "trace/sources.h"
#include "trace/format.h"
#include "trace/output.h"
#include "trace/pftrace/reader.h"
#include "trace/sink.h"
#include "trace/spool/spool_directory.h"

bool sources_is_pftrace(const char *path)
{
    char bytes[16];
    size_t at = 0, length = peek(path, bytes, sizeof(bytes));
    while (at < length && strchr(" \n\r\t", bytes[at]) && bytes[at])
        at++;
    bool json = at == length || bytes[at] == '{' || bytes[at] == '['; /* white space may stand before it */
    return !json && pftrace_begins(bytes, length);
}

static int read_spools(const char *path, struct sink *sink, const struct sources_options *options)
{
    const struct convert_options wanted = {
        .spool_directory = path, .sink = sink, .output = path, .namer = options->namer, .workers = options->workers};
    struct convert_summary summary;
    if (convert_spool(&wanted, &summary) != 0)
        return -1;
    convert_plugins_release(&summary.plugins);
    return 0;
}

static int read_pftrace(const char *path, struct sink *sink, const struct sources_options *options)
{
    return pftrace_read(path, sink, options->workers);
}

static int read_json(const char *path, struct sink *sink, const struct sources_options *options)
{
    return json_read(path, sink, options->workers);
}

static const struct trace_source {
    bool (*is_of)(const char *path); /* NULL: what no other takes */
    int (*read)(const char *path, struct sink *sink, const struct sources_options *options);
} sources[] = {
    {spool_directory_is, read_spools},
    {sources_is_pftrace, read_pftrace},
    {NULL, read_json},
};

int sources_read(const char *path, struct sink *sink, const struct sources_options *options)
{
    const struct trace_source *source = sources;
    while (source->is_of && !source->is_of(path))
        source++;
    return source->read(path, sink, options);
}

/* Returns 0, or -1 after error(). */
static int check_readable_twice(const char *path)
{
    struct stat facts;
    bool there = stat(path, &facts) == 0;
    if (there ? !S_ISREG(facts.st_mode) : strcmp(path, "-") == 0)
        return error("cannot convert '%s': it is read twice, so it must be a file, not a pipe or a device", path);
    return 0;
}

int convert_file(const char *input, const char *path, struct convert_summary *summary)
{
    struct output output;
    struct sink sink;
    if (check_readable_twice(input) != 0 || output_open(&output, path) != 0)
        return -1;
    sink_init(&sink, file_format_of(path)->sink, &output.buffer);
    int result = sources_read(input, &sink, &(struct sources_options){0});
    sink_release(&sink);
    *summary = (struct convert_summary){.events = sink.events};
    if (result == 0)
        return output_commit(&output, &summary->bytes);
    output_discard(&output);
    return -1;
}
