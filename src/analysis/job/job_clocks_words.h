/*
 * The roles of ranks in operations, by their names, and sentences about the clocks of hosts.
 */
#ifndef GPUTRACE_ANALYSIS_JOB_JOB_CLOCKS_WORDS_H
#define GPUTRACE_ANALYSIS_JOB_JOB_CLOCKS_WORDS_H

#include <stdbool.h>
#include <stdint.h>

struct buffer;
struct job_clock;

/* The roles in an operation by Kineto's, NCCL's or MPI's name of it ("allreduce", "_allgather_base", "ncclAllReduce",
 * "MPI_Bcast", "send"); ROOT: the rank is the operation's root. 0: the name is not known, or such an operation does not
 * wait for certain: one that returns at once, or whose ranks may have no data for each other. */
unsigned job_clock_roles(const char *operation, bool root);

/* Writes the state of a clock by the host's system, as a clause for a clock that is not corrected: "its system says
 * that it is synchronised, wrong by at most 2.1 ms". Numbers as in a struct trace_clock; nothing if they are not known.
 */
void job_clock_describe_system(struct buffer *text, int64_t synchronised, int64_t error_us);

/* Writes a sentence on the clock of HOST without a full stop, "clock of node7: 12.345 ms ahead of node0, drift +3.2
 * ppm; corrected, ± 14 us (5123 operations)", or why nothing is shifted. It is what report and merge print. */
void job_clock_describe(struct buffer *text, const struct job_clock *clock, const char *host, const char *reference);

#endif
