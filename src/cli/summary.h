/*
 * The last line about a trace that was made.
 */
#ifndef GPUTRACE_CLI_SUMMARY_H
#define GPUTRACE_CLI_SUMMARY_H

#include <stdbool.h>
#include <stdint.h>

struct convert_summary;
struct buffer;

/* Whether anything is missing or doubtful in the trace, or was waited for in vain. */
bool summary_is_incomplete(const struct convert_summary *summary);

/* Events, file, size, losses, what was waited for in vain. */
void summary_print(const char *output, const struct convert_summary *summary);

/* "12.3 MB", in steps of 1000 as file managers and disks count. */
void summary_put_size(struct buffer *buffer, uint64_t bytes);

#endif
