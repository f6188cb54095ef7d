/* The options of `gputrace run`, and the start of recording processors (--cpu). */
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
    const char *spool_parent; /* NULL: the default place */
    uint64_t delay;           /* ns from the program's start to the first record, 0: at once */
    uint64_t duration;        /* ns from then on to the last record, 0: to the end */
    struct settings settings; /* for the agent, without what run.c fills in */
    struct perf_wanted cpu;   /* what is recorded of processors */
    int graph_nodes;          /* for settings.graph_nodes */
    int first_alone;          /* 1: only the first process is recorded */
    int wait_all;             /* 1: wait for all recorded processes, not only for the first */
    bool mpi;                 /* MPI calls are recorded */
    bool backtrace;           /* --stacks=alloc by its earlier name */
    bool keep_spool;
    bool force;        /* a file that is not a trace is moved out of the way */
    bool keep_running; /* the program goes on when gputrace is killed */
    bool quiet, verbose;
    bool stats;
    bool strict; /* an incomplete trace is a failure */
    bool live;
    bool nccl; /* what NCCL tells a profiler plugin is recorded */
};

extern const struct option_row run_option_rows[];

/* The options when none is given. */
void run_options_init(struct run_options *options);

/*
 * Reads the list of --trace into BITS, an int64_t (enum trace_bits): "kernel,memcpy", "all,-memory", "-runtime", "none". Names add,
 * "all" adds what is on by default, "api-all" that and the API calls that are left out by default, "none" removes all,
 * -NAME removes one. A list that begins with a removal starts from the default. Returns 0, or -1 after error().
 */
int trace_list_take(void *bits, const char *text);

/* --- --cpu --- */

/* Reads "samples", "samples:HZ", "switches", separated by commas, into a struct perf_wanted. Returns 0, or -1 after
 * error(). */
int cpu_list_take(void *wanted, const char *text);

/* Begins to record what RECORDING wants, which may be nothing. What cannot be recorded is said in a line. NULL: nothing
 * is recorded. */
struct cpu_recorder *run_cpu_start(const struct cpu_recording *recording);

/* RECORDER may be NULL. */
void run_cpu_stop(struct cpu_recorder *recorder);

#endif
