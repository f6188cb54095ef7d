/*
 * What plugins have to say when the program has ended: their lines with the stacks they belong to, and what they cost.
 */
#ifndef GPUTRACE_CLI_RUN_PLUGINS_H
#define GPUTRACE_CLI_RUN_PLUGINS_H

#include <stdint.h>

#include "trace/build/passes.h"

struct buffer;

/* Lines for people. The program ran for RUN_NS: the time spent in a plugin is told when it is more than a hundredth of
 * that, or EVERY_TIME. */
void run_plugins_write(struct buffer *out, const struct convert_plugins *plugins, uint64_t run_ns, bool every_time);

#endif
