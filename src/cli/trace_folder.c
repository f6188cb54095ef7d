/* Lists the traces, parts and spools of a directory, sorted by name. */
#include "cli/trace_folder.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "analysis/job/job_part.h"
#include "common/log.h"
#include "trace/build/sources.h"
#include "trace/spool/spool_directory.h"

bool trace_folder_is(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && S_ISDIR(status.st_mode) && !spool_directory_is(path);
}

int trace_folder_refuse(const char *path)
{
    return !trace_folder_is(path)
               ? 0
               : error("'%s' is a directory without a spool: expected one trace; 'gputrace report' and "
                       "'gputrace merge' read all traces in a directory",
                       path);
}

bool trace_folder_same_file(const char *path, const char *other)
{
    struct stat first, second;
    return stat(path, &first) == 0 && stat(other, &second) == 0 && first.st_dev == second.st_dev &&
           first.st_ino == second.st_ino;
}

static int is_shown(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
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
        bool trace = there && S_ISREG(status.st_mode) && !(except && trace_folder_same_file(name, except)) &&
                     (sources_seems_trace(name) || (parts && job_part_is(name)));
        any |= spools || trace;
        if (result == 0 && (spools || trace))
            result = take(context, name, spools);
        free(entries[i]);
    }
    free(entries);
    return result == 0 && !any ? error("'%s' has no traces and no spools", path) : result;
}
