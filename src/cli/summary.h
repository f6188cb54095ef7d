/*
 * What is printed about a trace that was written: its last line, and the messages of plugins.
 */
#ifndef GPUTRACE_CLI_SUMMARY_H
#define GPUTRACE_CLI_SUMMARY_H

#include <stdbool.h>
#include <stdint.h>

#include "trace/build/passes.h"

struct buffer;

/* Whether records are missing or doubtful, or --capture-range or another option waited for something that never came.
 */
bool summary_is_incomplete(const struct convert_summary *summary);

/* Prints events, file, size, losses, what never came, and what became of a file that was there; PLACE may be NULL. */
struct output_place;
void summary_print(const char *output, const struct convert_summary *summary, const struct output_place *place);

/* Writes "12.3 MB", in steps of 1000. */
void summary_put_size(struct buffer *buffer, uint64_t bytes);

/* Writes the lines of plugins with their call stacks, and the time spent in a plugin when it is more than a hundredth
 * of RUN_NS, the program's time, or EVERY_TIME. */
void run_plugins_write(struct buffer *out, const struct convert_plugins *plugins, uint64_t run_ns, bool every_time);

#endif
