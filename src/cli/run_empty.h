/*
 * Says why a trace has nothing of a program, or of what it started.
 */
#ifndef GPUTRACE_CLI_RUN_EMPTY_H
#define GPUTRACE_CLI_RUN_EMPTY_H

#include <stdbool.h>

#include "trace/build/passes.h"

struct run_program {
    const char *path;      /* of the program */
    char *const *argv;     /* its arguments, argv[0] first; NULL at the end */
    const char *ranks;     /* that were to be recorded; NULL: all */
    const char *directory; /* of the spools */
    bool torch;            /* operators of PyTorch were asked for */
};

/* Prints a warning, if there is a reason. Before the directory is removed. */
void run_empty_warn(const struct run_program *program, const struct convert_summary *summary);

/* Notes for another gputrace that runs this one that this one records the program. */
void run_empty_note_nested(void);

#endif
