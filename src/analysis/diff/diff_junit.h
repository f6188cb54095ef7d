/*
 * Writes a comparison as XML of JUnit, for CI systems.
 */
#ifndef GPUTRACE_ANALYSIS_DIFF_DIFF_JUNIT_H
#define GPUTRACE_ANALYSIS_DIFF_DIFF_JUNIT_H

struct buffer;
struct diff;
struct diff_outcome;

/* OUTCOMES are those of all conditions. Returns 0, or -1 after error(). */
int diff_write_junit(const struct diff *diff, const struct diff_outcome *outcomes, struct buffer *out);

#endif
