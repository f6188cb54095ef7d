/* The options of `gputrace run`. */
#ifndef GPUTRACE_CLI_RUN_OPTIONS_H
#define GPUTRACE_CLI_RUN_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "perf/recorder.h"
#include "cli/options.h"
#include "common/settings.h"
#include "perf/rings.h"

struct run_options {
    const char *output;       /* name of the trace, with patterns */
    const char *spool_parent; /* directory for spool directories; NULL: $TMPDIR or /tmp */
    uint64_t delay;           /* ns from the program's start to the start of recording; 0: at once */
    uint64_t duration;        /* ns from the start of recording to its end; 0: to the program's end */
    struct settings settings; /* settings of the agent; run.c fills in paths and times */
    struct perf_wanted cpu;   /* what --cpu records */
    int graph_nodes;          /* value for settings.graph_nodes */
    int first_alone;          /* 1: only the first process is recorded */
    int wait_all;             /* 1: wait for all recorded processes, not only for the first */
    bool mpi;                 /* MPI calls are recorded */
    bool backtrace;           /* the earlier name of --stacks=alloc */
    bool keep_spool;
    bool force;        /* an output file that is not a trace is moved to FILE.old */
    bool keep_running; /* the program runs on when gputrace is killed */
    bool quiet, verbose;
    bool stats;
    bool strict; /* an incomplete trace makes gputrace exit with EXIT_LOSSES */
    bool live;
    bool nccl; /* the agent is loaded as NCCL's profiler plugin */
};

extern const struct option_row run_option_rows[];

/* Sets OPTIONS to the defaults. */
void run_options_init(struct run_options *options);

/*
 * Reads the list of --trace, such as "kernel,memcpy", "all,-memory" or "-runtime", into BITS, an int64_t of enum
 * trace_bits. NAME adds a kind, -NAME removes it, "all" adds the default kinds, "api-all" adds these and the API calls
 * that are left out by default, "none" removes all. A list that begins with -NAME starts from the default kinds.
 * Returns 0, or -1 after error().
 */
int trace_list_take(void *bits, const char *text);

/* Reads the list of --cpu ("samples", "samples:HZ" and "switches", separated by commas) into WANTED, a struct
 * perf_wanted. Returns 0, or -1 after error(). */
int cpu_list_take(void *wanted, const char *text);

#endif
