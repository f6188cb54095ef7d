/* Expands the patterns in the name of a trace file, and decides what becomes of a file that has the name already. */
#ifndef GPUTRACE_CLI_OUTPUT_NAME_H
#define GPUTRACE_CLI_OUTPUT_NAME_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>
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

#endif
