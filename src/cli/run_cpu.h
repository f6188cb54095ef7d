/* The option `gputrace run --cpu=LIST`, and the warnings about what this user or machine cannot record. */
#ifndef GPUTRACE_CLI_RUN_CPU_H
#define GPUTRACE_CLI_RUN_CPU_H

#include "perf/recorder.h"

/* Reads "samples", "samples:HZ", "switches", separated by commas. Returns 0, or -1 after error(). */
int cpu_list_parse(const char *text, struct perf_wanted *wanted);

/* Begins to record what RECORDING wants, which may be nothing. What cannot be recorded is said in a line. NULL: nothing
 * is recorded. */
struct cpu_recorder *run_cpu_start(const struct cpu_recording *recording);

/* RECORDER may be NULL. */
void run_cpu_stop(struct cpu_recorder *recorder);

#endif
