/*
 * The ranks of a trace, from its sections.
 */
#ifndef GPUTRACE_ANALYSIS_RANKS_RANKS_OF_TRACE_H
#define GPUTRACE_ANALYSIS_RANKS_RANKS_OF_TRACE_H

struct ranks;
struct trace;

/* Fills RANKS with the ranks of TRACE, by the states of section_ranks, section_comm, section_steps and section_idle.
 * Returns 0, or -1: no memory, or after warning(). */
int ranks_of_trace(struct ranks *ranks, const struct trace *trace);

#endif
