/*
 * The options of `gputrace run`.
 */
#ifndef GPUTRACE_CLI_RUN_OPTIONS_H
#define GPUTRACE_CLI_RUN_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/log.h"
#include "cli/options.h"
#include "common/settings.h"

struct run_options {
    const char *output;       /* name of the trace, with patterns */
    const char *spool_parent; /* NULL: the usual place */
    uint64_t delay;           /* ns from the program's start to the first record, 0: at once */
    uint64_t duration;        /* ns from then on to the last record, 0: to the end */
    struct settings settings; /* for the library; what the run itself finds out is filled in later */
    bool keep_spool;
    bool first_alone; /* no other process is recorded */
    bool wait_all;    /* for all processes that are recorded, not for the first alone */
    bool quiet;
    bool verbose;
    bool stats;
    bool strict; /* a trace in which something is missing is a failure */
    bool live;   /* figures are told while it runs */
};

/* The command itself, in run.c; command_run of options.h is its row. */
int run_command(int argc, char **argv);

/* The options as they are when none is given. */
void run_options_init(struct run_options *options);

/* How much is to be said, by -q and -v. */
enum log_level run_options_level(const struct run_options *options);

#endif
