/*
 * The name of the trace file: patterns in it, and what becomes of a file that has it already.
 */
#ifndef GPUTRACE_CLI_OUTPUT_NAME_H
#define GPUTRACE_CLI_OUTPUT_NAME_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

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

/* Whether an existing NAME can become NAME.old. Returns 0, or -1 after error(). */
int output_name_old_writable(const char *name);

/* Keeps an existing NAME as NAME.old, which it replaces; with hard links NAME always exists.
 * Returns 0, or -1 after error(). */
int output_name_keep_old(const char *name);

#endif
