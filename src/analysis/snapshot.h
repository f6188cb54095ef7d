/*
 * The time that --snapshot names: when it is in a trace, and in words.
 */
#ifndef GPUTRACE_ANALYSIS_SNAPSHOT_H
#define GPUTRACE_ANALYSIS_SNAPSHOT_H

#include <stddef.h>
#include <stdint.h>

struct report_options;

/* Reads the trace at PATH once, only to find where it begins: *MOMENT is then the time in it, ns. Gives 0, or -1 after
 * error(). */
int snapshot_find(int64_t *moment, const struct report_options *options, const char *path);

/* The section's title: "Memory allocated at 1.5 s"; it says so when the time that was ASKED for is beyond the trace's
 * end, SPAN ns after its start. */
void snapshot_title(char *title, size_t size, int64_t asked, int64_t span);

/* Warns of that, for the formats that have no titles. */
void snapshot_warn(const char *path, int64_t asked, int64_t span);

#endif
