/*
 * The files of traces: the name of one that is written, with patterns, and what becomes of a file that has it already;
 * and those in a directory that the user names.
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
    pid_t pid;                   /* %p: of the program */
    const char *program;         /* %n: its name */
    const struct job_rank *rank; /* %r, %l and %w; NULL: the program is not part of a job */
};

/*
 * Writes PATTERN into NAME (SPACE bytes) with %p, %n, %h (this host), %r (rank), %l (rank on this host), %w (number of
 * ranks), %q{VARIABLE} of the environment and %% replaced. If several ranks would write the same name, the rank comes
 * before its ending: "trace.json" is "trace.3.json" for rank 3. This is so for ranks of a job of more than one, and for
 * a pattern without any of %r, %p, %q and %l together with %h.
 * Returns 0, or -1 after error(): an unknown pattern, a variable or rank that is not known, a name that is too long.
 */
int output_name_expand(const char *pattern, const struct output_facts *facts, char *name, size_t space);

/* Refuses a NAME or pattern with the ending of something else, "trace.txt"; one without ending is right. Returns 0, or
 * -1 after error(). */
int output_name_check_ending(const char *name);

/* Checks PATTERN alone, before anything has started. Returns 0, or -1 after error(). */
int output_name_check(const char *pattern);

/* Whether a trace can be written as NAME: a file can be made in its directory, and NAME is a regular file or not there.
 * Returns 0, or -1 after error(). */
int output_name_writable(const char *name);

/*
 * The place of a trace among the files that are there. A trace that has the name when the program starts becomes
 * NAME.old. One that another run has put there since then stays, and the new trace gets a number: trace.1.json.
 */
struct output_place {
    char name[PATH_MAX]; /* that was asked for; at the end, that the trace has */
    char old[PATH_MAX];  /* NAME.old */
    bool force;          /* files that are not traces become NAME.old too */
    struct stat before;  /* of what had the name at the start; st_ino is 0: nothing */
    bool moved;          /* it is NAME.old now */
    bool numbered;       /* the name was taken meanwhile */
};

/* Before the start: whether a trace can be written as place->name. Returns 0, or -1 after error(): it cannot, or a file
 * that would have to be moved or removed is not a trace. */
int output_place_check(struct output_place *place);

/* At the end: gives the whole trace TEMPORARY its name. Processes that do this at the same time do not lose a trace.
 * Returns 0, or -1 after error(). */
int output_place_take(void *place, const char *temporary);

/* --- traces in a directory that the user names in place of a trace --- */

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
