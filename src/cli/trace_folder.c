/* Lists the traces, parts and spools of a directory, sorted by name. */
#include "cli/trace_folder.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analysis/job/rank_report.h"
#include "analysis/report.h"
#include "common/array.h"
#include "common/clock.h"
#include "common/log.h"
#include "launch/program.h"
#include "trace/meaning/sources.h"
#include "trace/spool/spool_directory.h"

/* Whether PATH is a directory, and not of spools, which are one trace. */
static bool trace_folder_is(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && S_ISDIR(status.st_mode) && !spool_directory_is(path);
}

bool trace_folder_same_file(const char *path, const char *other)
{
    struct stat first, second;
    return stat(path, &first) == 0 && stat(other, &second) == 0 && first.st_dev == second.st_dev &&
           first.st_ino == second.st_ino;
}

const char *trace_folder_newest(void)
{
    static const char *const names[] = {"trace.json", "trace.json.gz", "trace.pftrace", "trace.pftrace.gz"};
    const char *newest = NULL;
    uint64_t since = 0;
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        struct stat status;
        if (stat(names[i], &status) != 0)
            continue;
        uint64_t time = (uint64_t)status.st_mtim.tv_sec * NS_PER_S + (uint64_t)status.st_mtim.tv_nsec;
        if (!newest || time > since)
            newest = names[i], since = time;
    }
    return newest;
}

static int is_shown(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

/* Warns of a file that by its name may be a trace and is none. Whole JSON of another kind may lie there. */
static void warn_of_left_out(const char *path, off_t size)
{
    const char *name = program_name(path);
    char end[64];
    if (!strstr(name, ".json") && !strstr(name, ".pftrace") && !strstr(name, ".perfetto-trace"))
        return;
    int file = open(path, O_RDONLY | O_CLOEXEC);
    off_t from = size < (off_t)sizeof(end) ? 0 : size - (off_t)sizeof(end);
    ssize_t length = file < 0 ? -1 : pread(file, end, sizeof(end), from);
    if (length < 0)
        warning("'%s' is left out: it cannot be read: %m", path);
    if (file >= 0)
        close(file);
    while (length > 0 && isspace((unsigned char)end[length - 1]))
        length--;
    bool whole = length > 0 && (end[length - 1] == '}' || end[length - 1] == ']') && sources_is_trace(path);
    if (length >= 0 && !whole)
        warning("'%s' is left out: it is %s", path, size > 0 ? "not a trace" : "empty");
}

int trace_folder_each(const char *path, const char *except, bool parts,
                      int (*take)(void *context, const char *path, bool spools), void *context)
{
    struct dirent **entries;
    bool any = false;
    int count = scandir(path, &entries, is_shown, versionsort), result = 0;
    if (count < 0)
        return error("cannot read '%s': %m", path);
    for (int i = 0; i < count; i++) {
        char name[PATH_MAX];
        struct stat status = {0};
        int length = snprintf(name, sizeof(name), "%s/%s", path, entries[i]->d_name);
        bool there = length > 0 && (size_t)length < sizeof(name) && stat(name, &status) == 0;
        bool spools = there && S_ISDIR(status.st_mode) && spool_directory_is(name);
        bool other = there && (!S_ISREG(status.st_mode) || (except && trace_folder_same_file(name, except)));
        bool trace = there && !other && (sources_seems_trace(name) || (parts && rank_report_is(name)));
        if (!other && !trace) {
            warn_of_left_out(name, status.st_size);
        } else if (trace && !rank_report_is(name) && !report_can_read(name)) {
            warning("'%s' is left out: it cannot be read", name);
            trace = false;
        }
        any |= spools || trace;
        if (result == 0 && (spools || trace))
            result = take(context, name, spools);
        free(entries[i]);
    }
    free(entries);
    return result == 0 && !any ? error("'%s' has no traces and no spools", path) : result;
}

static int add_trace(void *context, const char *path, bool spools)
{
    struct trace_paths *paths = context;
    const char *copy = strdup(path), **place = copy ? array_push(paths) : NULL;
    if (!place)
        return error_no_memory("the traces");
    *place = copy;
    paths->spools |= spools;
    return 0;
}

const char *trace_folder_only(const char *path)
{
    static struct trace_paths only;
    only.count = 0;
    if (!trace_folder_is(path))
        return path;
    if (trace_folder_each(path, NULL, false, add_trace, &only) < 0)
        return NULL;
    if (only.count == 1)
        return only.items[0];
    error("'%s' is a directory with several traces: expected one trace; 'gputrace report' and 'gputrace merge' "
          "read all traces in a directory",
          path);
    return NULL;
}

static int keep_rank(struct trace_paths *paths, const struct report_options *options)
{
    const struct filter_options rank = {.rank = options->filter.rank};
    struct filter_found found = {0};
    char names[2 * PATH_MAX];
    size_t kept = 0;
    int has = 0;
    snprintf(names, sizeof(names), "%s' to '%s", paths->items[0], paths->items[paths->count - 1]);
    for (size_t i = 0; i < paths->count && has >= 0; i++) {
        has = rank_report_is(paths->items[i]) ? 1 : report_has_rank(options, paths->items[i], &found);
        if (has > 0)
            paths->items[kept++] = paths->items[i];
    }
    if (kept == 0 && has == 0)
        has = filter_found_check(&found, &rank, names, NULL);
    paths->count = kept;
    filter_found_release(&found);
    return has < 0 ? -1 : 0;
}

int trace_folder_find(struct trace_paths *paths, const char *const *words, size_t count, bool parts,
                      const struct report_options *options)
{
    int status = 0;
    for (size_t i = 0; i < count && status == 0; i++)
        status = trace_folder_is(words[i]) ? trace_folder_each(words[i], NULL, parts, add_trace, paths)
                                           : add_trace(paths, words[i], spool_directory_is(words[i]));
    return status == 0 && paths->count > 1 && options->filter.rank.given ? keep_rank(paths, options) : status;
}
