/*
 * The first line of a report.
 */
#ifndef GPUTRACE_ANALYSIS_HEADLINE_H
#define GPUTRACE_ANALYSIS_HEADLINE_H

struct render;
struct trace;

/* Writes what ran, on what, how long, how it ended, and how busy the GPUs were. TRACE, of the file at PATH, is finished
 * and has the section of findings. Returns 0, or -1: no memory, or after error(). */
int headline_write(struct render *render, const struct trace *trace, const char *path);

#endif
