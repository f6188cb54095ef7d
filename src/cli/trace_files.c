/*
 * Expands patterns such as %p and %r in names of traces, checks that the name can be written, and gives the finished
 * trace its name. A file that is not a trace is never replaced. Lists the traces, partial reports and spools of a
 * directory, sorted by name.
 */
#include "cli/trace_files.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "analysis/job/rank_report.h"
#include "analysis/report.h"
#include "common/array.h"
#include "common/buffer.h"
#include "common/clock.h"
#include "common/log.h"
#include "common/settings.h"
#include "launch/program.h"
#include "trace/meaning/sources.h"
#include "trace/output.h"
#include "trace/sink.h"
#include "trace/spool/spool_directory.h"

#define NUMBERS_MOST 100000 /* limit of N in trace.N.json */

static int put_variable(struct buffer *buffer, const char *pattern, const char **at)
{
    const char *name = *at + 1; /* behind '{' */
    size_t length = **at == '{' ? strcspn(name, "}") : 0;
    char variable[256];
    if (length == 0 || name[length] != '}' || length >= sizeof(variable))
        return error("'%%q' in '-o %s' needs the name of a variable: %%q{RANK}", pattern);
    memcpy(variable, name, length);
    variable[length] = '\0';
    const char *value = getenv(variable);
    if (!value)
        return error("'%%q{%s}' in '-o %s': no such variable in the environment", variable, pattern);
    buffer_text(buffer, value);
    *at = name + length + 1;
    return 0;
}

static int put_host(struct buffer *buffer)
{
    char host[HOST_NAME_MAX + 1] = "";
    if (gethostname(host, sizeof(host) - 1) != 0)
        return error("cannot get the name of this host: %s", strerror(errno));
    buffer_text(buffer, host);
    return 0;
}

static int put_rank(struct buffer *buffer, const char *pattern, char letter, const struct job_rank *rank)
{
    int64_t number = !rank ? -1 : letter == 'r' ? rank->rank : letter == 'l' ? rank->local : rank->world_size;
    if (number >= 0) {
        buffer_i64(buffer, number);
        return 0;
    }
    if (!rank || rank->rank < 0)
        return error("'%%%c' in '-o %s': this process has no rank: start gputrace itself by mpirun, srun or 'torchrun "
                     "--no-python', or use %%p",
                     letter, pattern);
    return error("'%%%c' in '-o %s': what started this rank does not say %s: use %%r", letter, pattern,
                 letter == 'l' ? "its number on this host" : "how many ranks there are");
}

/* Writes the value of the pattern whose letter is at *AT, behind '%', and moves *AT behind the pattern. */
static int put_pattern(struct buffer *buffer, const char *pattern, const struct output_facts *facts, const char **at)
{
    switch (*(*at)++) {
    case 'p': buffer_i64(buffer, facts->pid); return 0;
    case 'n': buffer_text(buffer, facts->program); return 0;
    case 'h': return put_host(buffer);
    case 'q': return put_variable(buffer, pattern, at);
    case 'r':
    case 'l':
    case 'w': return put_rank(buffer, pattern, (*at)[-1], facts->rank);
    case '%': buffer_char(buffer, '%'); return 0;
    default:
        return error("-o: '%s' has an unknown pattern: use %%p, %%h, %%n, %%r, %%l, %%w, %%q{VARIABLE} or %%%%",
                     pattern);
    }
}

/* Returns the ending of NAME, such as ".json" or ".json.gz", or NULL. These are not endings: a number (run-1.5), a text
 * that contains or precedes a pattern, and a whole name (.hidden). */
static const char *ending_of(const char *name)
{
    const char *first = name, *ending = NULL;
    for (const char *at = name; *at; at++) {
        if (*at == '/')
            first = at + 1;
        if (*at == '/' || *at == '%')
            ending = NULL;
        else if (*at == '.' && at > first && isalpha((unsigned char)at[1]) && (!ending || strcmp(at, ".gz") != 0))
            ending = at;
        if (*at == '%') { /* the pattern has two letters, or is %q{VARIABLE} */
            const char *end = strncmp(at, "%q{", 3) == 0 ? strchr(at, '}') : NULL;
            at = end ? end : at + (at[1] != '\0');
        }
    }
    return ending;
}

/* Returns whether several ranks of a job would write the same name. */
static bool names_collide(const char *pattern, const struct job_rank *rank)
{
    bool host = false, local = false;
    size_t length = strlen(pattern);
    if (!rank || rank->rank < 0 || rank->world_size == 1)
        return false;
    if (length == 0 || pattern[length - 1] == '/' || strcmp(pattern, "-") == 0)
        return false; /* such a name is refused later, in a message that quotes it as it was given */
    for (const char *at = strchr(pattern, '%'); at && at[1]; at = strchr(at + 2, '%')) {
        if (strchr("rpq", at[1]))
            return false;
        host = host || at[1] == 'h';
        local = local || at[1] == 'l';
    }
    return !host || !local;
}

static int expand(struct buffer *buffer, const char *pattern, const char *end, const struct output_facts *facts)
{
    int result = 0;
    for (const char *at = pattern; result == 0 && at < end;) {
        size_t plain = strcspn(at, "%");
        plain = plain < (size_t)(end - at) ? plain : (size_t)(end - at);
        buffer_bytes(buffer, at, plain);
        at += plain;
        if (at < end) {
            at++;
            result = put_pattern(buffer, pattern, facts, &at);
        }
    }
    return result;
}

int output_name_expand(const char *pattern, const struct output_facts *facts, char *name, size_t space)
{
    struct buffer buffer;
    buffer_init_memory(&buffer);
    const char *end = pattern + strlen(pattern), *ending = ending_of(pattern);
    ending = ending ? ending : end;
    int result = expand(&buffer, pattern, ending, facts);
    if (result == 0 && names_collide(pattern, facts->rank))
        buffer_format(&buffer, ".%lld", (long long)facts->rank->rank);
    buffer_bytes(&buffer, ending, (size_t)(end - ending)); /* the ending has no pattern */
    buffer_char(&buffer, '\0');
    if (result == 0 && buffer_finish(&buffer) != 0)
        result = error_no_memory("the name of the trace");
    else if (result == 0 && buffer.length > space)
        result = error("'-o %s' gives a name that is too long", pattern);
    else if (result == 0 && buffer.length == 1)
        result = error("'-o' needs the name of a file");
    else if (result == 0)
        memcpy(name, buffer.data, buffer.length);
    buffer_release(&buffer);
    return result;
}

int output_name_check_ending(const char *name)
{
    const char *ending = ending_of(name);
    const struct file_format *format = file_format_of(name);
    char words[FILE_FORMAT_WORDS];
    if (ending && format->content != FILE_EVENTS)
        return error("'-o %s': only 'gputrace convert' writes %s, of a trace: use %s", name, format->ending,
                     file_format_words(words, true));
    if (!ending || strcmp(ending, ".gz") == 0 || file_format_is_known(ending - 1))
        return 0;
    return error("'-o %s': '%s' is not a trace format: use %s", name, ending, file_format_words(words, true));
}

int output_name_check(const char *pattern)
{
    char name[PATH_MAX];
    struct job_rank rank;
    rank_read(&rank);
    struct output_facts facts = {.pid = getpid(), .program = "program", .rank = &rank};
    if (output_name_expand(pattern, &facts, name, sizeof(name)) < 0)
        return -1;
    return output_name_check_ending(pattern);
}

/* Writes the directory of NAME into FOLDER. Returns the last slash of NAME, or NULL. */
static const char *folder_of(const char *name, char folder[PATH_MAX])
{
    const char *slash = strrchr(name, '/');
    int length = !slash || slash == name ? 1 : (int)(slash - name);
    snprintf(folder, PATH_MAX, "%.*s", length, slash ? name : ".");
    return slash;
}

int output_name_writable(const char *name)
{
    char folder[PATH_MAX];
    const char *slash = folder_of(name, folder);
    struct stat status;
    if (strcmp(name, "-") == 0)
        return error("-o: '-' is not a file name: a trace is written to a file");
    if (stat(folder, &status) != 0)
        return error("cannot write the trace '%s': '%s': %s", name, folder, strerror(errno));
    if (access(folder, W_OK | X_OK) != 0)
        return error("cannot write the trace '%s': cannot create files in '%s': %s", name, folder, strerror(errno));
    bool there = lstat(name, &status) == 0;
    if (there && S_ISLNK(status.st_mode))
        return error("cannot write the trace '%s': a regular file is needed, and it is a symbolic link", name);
    if ((slash && !slash[1]) || (there && !S_ISREG(status.st_mode)))
        return error("cannot write the trace '%s': a regular file is needed", name);
    return output_try(name);
}

/* --- the name of a new trace and the older file --- */

static bool is_database_of_trace(const char *path)
{
    unsigned char head[72];
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t got = fd < 0 ? -1 : read(fd, head, sizeof(head));
    if (fd >= 0)
        close(fd);
    return got == sizeof(head) && memcmp(head, "SQLite format 3", 16) == 0 &&
           ((uint32_t)head[68] << 24 | head[69] << 16 | head[70] << 8 | head[71]) == SQLITE_APPLICATION_ID;
}

/* Checks that the file PATH, which will be moved or replaced, is a trace or empty. Returns 0, or -1 after error(). */
static int check_replaceable(const char *path)
{
    struct stat status;
    if (stat(path, &status) != 0 || status.st_size == 0 || is_database_of_trace(path) || sources_seems_trace(path))
        return 0;
    return error("'%s' is there already and is not a trace: choose another name with -o (--force moves it to '%s.old')",
                 path, path);
}

int output_place_check(struct output_place *place)
{
    struct stat status;
    const char *name = place->name;
    if (output_name_writable(name) < 0)
        return -1;
    int length = snprintf(place->old, sizeof(place->old), "%s.old", name);
    if (lstat(name, &place->before) != 0) {
        place->before.st_ino = 0;
        return 0;
    }
    if (length < 0 || (size_t)length >= sizeof(place->old))
        return error("cannot keep '%s' as '%s.old': the name is too long", name, name);
    if (lstat(place->old, &status) != 0 && errno != ENOENT)
        return error("cannot keep '%s' as '%s': %s", name, place->old, strerror(errno));
    if (lstat(place->old, &status) == 0 && S_ISDIR(status.st_mode))
        return error("cannot keep '%s' as '%s': that is a directory", name, place->old);
    return place->force ? 0 : check_replaceable(name) < 0 ? -1 : check_replaceable(place->old);
}

/* Moves the older trace to NAME.old and gives TEMPORARY its name. NAME leads to a complete file at any time, because
 * the older trace gets its second name by a link. */
static int replace(struct output_place *place, const char *temporary)
{
    unlink(place->old);
    if (link(place->name, place->old) != 0 && rename(place->name, place->old) != 0)
        return error("cannot keep '%s' as '%s': %s", place->name, place->old, strerror(errno));
    if (rename(temporary, place->name) != 0)
        return error("cannot rename '%s' to '%s': %m", temporary, place->name);
    return 0;
}

/* Renames TEMPORARY to PATH, unless a file has that name. Returns 0 or errno: EEXIST if a file has it. */
static int take_name(const char *temporary, const char *path)
{
    if (link(temporary, path) == 0)
        return unlink(temporary) == 0 ? 0 : errno;
    if (errno == EEXIST)
        return errno;
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666); /* for file systems without links */
    if (fd < 0 || close(fd) != 0 || rename(temporary, path) != 0)
        return errno;
    return 0;
}

/* Gives TEMPORARY the first free name of trace.json, trace.1.json, trace.2.json, ... Returns 0, or -1 after error(). */
static int take_free_name(struct output_place *place, const char *temporary)
{
    char path[PATH_MAX];
    const char *name = place->name, *ending = ending_of(name);
    int stem = ending ? (int)(ending - name) : (int)strlen(name), failure = take_name(temporary, name);
    for (unsigned i = 1; failure == EEXIST && i < NUMBERS_MOST; i++) {
        int length = snprintf(path, sizeof(path), "%.*s.%u%s", stem, name, i, ending ? ending : "");
        failure = length < 0 || (size_t)length >= sizeof(path) ? ENAMETOOLONG : take_name(temporary, path);
        place->numbered = failure == 0;
    }
    if (place->numbered)
        memcpy(place->name, path, sizeof(path));
    return failure ? error("cannot rename '%s' to '%s': %s", temporary, name, strerror(failure)) : 0;
}

int output_place_take(void *context, const char *temporary)
{
    struct output_place *place = context;
    const struct stat *before = &place->before;
    struct stat now;
    char folder[PATH_MAX];
    folder_of(place->name, folder);
    int lock = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (lock >= 0)
        flock(lock, LOCK_EX); /* excludes other gputraces, unless the file system has no locks */
    place->moved = before->st_ino && lstat(place->name, &now) == 0 && now.st_ino == before->st_ino &&
                   now.st_dev == before->st_dev && now.st_mtim.tv_sec == before->st_mtim.tv_sec &&
                   now.st_mtim.tv_nsec == before->st_mtim.tv_nsec;
    int result = place->moved ? replace(place, temporary) : take_free_name(place, temporary);
    if (lock >= 0)
        close(lock);
    return result;
}

/* --- traces in a directory --- */

/* Returns whether PATH is a directory, but not a spool directory, which counts as one trace. */
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

/* Warns of a file that has the name of a trace but is not one. Does not warn of complete JSON of another kind. */
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
