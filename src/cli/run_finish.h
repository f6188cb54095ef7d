/*
 * What `gputrace run` does when the program has ended: the trace, the last line, the report, and tidying up.
 */
#ifndef GPUTRACE_CLI_RUN_FINISH_H
#define GPUTRACE_CLI_RUN_FINISH_H

#include "cli/run_options.h"
#include "launch/launch.h"
#include "launch/run_directory.h"

struct run_result {
    const struct run_options *options;
    const struct launch *launch;     /* has ended */
    struct run_directory *directory; /* holds the spool; removed or released here */
    const char *output;              /* name of the trace */
    unsigned unrecorded;             /* processes that are not recorded, of which the directory has no note */
};

/* Gives 0, or after error() EXIT_OURS: there is no trace, and the spool stays; EXIT_LOSSES: the trace is there, and not
 * whole, which it was to be. */
int run_finish(const struct run_result *result);

#endif
