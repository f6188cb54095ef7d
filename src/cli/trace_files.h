/*
 * The files of traces: expands patterns in the name of a new trace, decides what happens to an older file of that name,
 * and lists the traces in a directory that the user names.
 */
#ifndef GPUTRACE_CLI_TRACE_FILES_H
#define GPUTRACE_CLI_TRACE_FILES_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "analysis/base/options.h"

struct job_rank;
struct output_facts {
    pid_t pid;                   /* %p: pid of the program */
    const char *program;         /* %n: name of the program */
    const struct job_rank *rank; /* %r, %l and %w; NULL if the program is not part of a job */
};

/*
 * Writes PATTERN into NAME (SPACE bytes) with %p, %n, %h (this host), %r (rank), %l (rank on this host), %w (number of
 * ranks), %q{VARIABLE} of the environment and %% replaced. If several ranks of a job would write the same name, the
 * rank is put before the ending: "trace.json" becomes "trace.3.json" for rank 3. Names are distinct if the pattern has
 * %r, %p or %q, or both %l and %h. Returns 0, or -1 after error() for an unknown pattern, variable or rank, or a name
 * that is too long.
 */
int output_name_expand(const char *pattern, const struct output_facts *facts, char *name, size_t space);

/* Checks that NAME, which may be a pattern, has the ending of a trace format or none. Returns 0, or -1 after error(),
 * as for "trace.txt". */
int output_name_check_ending(const char *name);

/* Checks PATTERN before the program starts. Returns 0, or -1 after error(). */
int output_name_check(const char *pattern);

/* Checks that a trace can be written as NAME: its directory is writable, and NAME is a regular file or does not exist.
 * Returns 0, or -1 after error(). */
int output_name_writable(const char *name);

/*
 * The name of a new trace and of the older file that it replaces. A trace that exists under the name when the program
 * starts is moved to NAME.old. A trace that another run has written since then stays, and the new trace gets a number:
 * trace.1.json.
 */
struct output_place {
    char name[PATH_MAX]; /* requested name; after output_place_take(), the trace's name */
    char old[PATH_MAX];  /* NAME.old */
    bool force;          /* files that are not traces become NAME.old too */
    struct stat before;  /* the file of that name at the start; st_ino is 0 if there was none */
    bool moved;          /* the file of `before` was moved to NAME.old */
    bool numbered;       /* another run has taken the name, and the trace has a number */
};

/* Checks, before the program starts, that a trace can be written as place->name. Returns 0, or -1 after error(), also
 * if a file that would be moved or replaced is not a trace. */
int output_place_check(struct output_place *place);

/* Renames the complete trace TEMPORARY to its final name. Several processes may do this at the same time: no trace is
 * lost. PLACE: a struct output_place. Returns 0, or -1 after error(). */
int output_place_take(void *place, const char *temporary);

/* --- traces in a directory that the user names in place of a trace --- */

/* For commands that read one trace: returns PATH, or the only trace or spool in it if it is a directory of traces, or
 * NULL after error(). The result is valid until the process ends. */
const char *trace_folder_only(const char *path);

/* Returns whether both paths lead to the same existing file. */
bool trace_folder_same_file(const char *path, const char *other);

/* Returns the newest file in this directory with a default name of `gputrace run`, or NULL. */
const char *trace_folder_newest(void);

/* Calls TAKE for each file in the directory PATH that seems a trace, and for each spool directory in it, ordered by
 * name with numbers by value. Leaves out the file EXCEPT, which may be NULL. With PARTS, includes the files of `report
 * --partial`. Warns of other files that are named as traces. Returns 0, the first result of TAKE that is not 0, or -1
 * after error(), also if there is no trace. */
int trace_folder_each(const char *path, const char *except, bool parts,
                      int (*take)(void *context, const char *path, bool spools), void *context);

/* The paths of traces, which are valid until the process ends. */
struct trace_paths {
    const char **items;
    size_t count, capacity;
    bool spools; /* at least one path is a spool directory */
};

/* Adds COUNT WORDS to PATHS, and in place of a directory the traces that trace_folder_each() finds in it. If these are
 * several and OPTIONS select a rank, leaves out traces of other ranks. Returns 0, or -1 after error(). */
int trace_folder_find(struct trace_paths *paths, const char *const *words, size_t count, bool parts,
                      const struct report_options *options);

#endif
