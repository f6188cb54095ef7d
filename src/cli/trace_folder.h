/* Lists the traces of a job in a directory that the user names in place of a trace. */
#ifndef GPUTRACE_CLI_TRACE_FOLDER_H
#define GPUTRACE_CLI_TRACE_FOLDER_H

#include <stdbool.h>
#include <stddef.h>

#include "analysis/base/options.h"

/* For commands that read one trace: PATH, or the only trace or spool in it if it is such a directory. NULL after
 * error(). The name lasts until the process ends. */
const char *trace_folder_only(const char *path);

/* Whether both paths lead to one file that is there. */
bool trace_folder_same_file(const char *path, const char *other);

/* The newest of the files that a run may have written in this directory; NULL: there is none. */
const char *trace_folder_newest(void);

/* Calls TAKE for each file in the directory PATH that seems a trace, and for each directory of spools there, in the
 * order of their names with numbers by value, but not for the file EXCEPT (NULL: none). PARTS: for parts of jobs too.
 * Warns of other files that are named as traces.
 * Returns 0, what TAKE returned that is not 0, or -1 after error(): also when there is none. */
int trace_folder_each(const char *path, const char *except, bool parts,
                      int (*take)(void *context, const char *path, bool spools), void *context);

/* The names of traces, which last until the process ends. */
struct trace_paths {
    const char **items;
    size_t count, capacity;
    bool spools; /* some are spool directories */
};

/* Sets PATHS to COUNT WORDS, with what trace_folder_each() finds in a directory in its place. Where several are left
 * and OPTIONS select a rank, those of other ranks are left out. Returns 0, or -1 after error(). */
int trace_folder_find(struct trace_paths *paths, const char *const *words, size_t count, bool parts,
                      const struct report_options *options);

#endif
