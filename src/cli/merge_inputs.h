/*
 * The traces that `gputrace merge` is given: files, directories of them, and spools.
 */
#ifndef GPUTRACE_CLI_MERGE_INPUTS_H
#define GPUTRACE_CLI_MERGE_INPUTS_H

#include "common/array.h"
#include "trace/merge/merge.h"

struct merge_inputs {
    ARRAY(struct merge_input) items; /* whose texts are ours */
};

/* Adds the trace PATH, those in the directory PATH, in the order of their names, or what the spools in it hold, whose
 * traces are written into temporary files. OUTPUT is not one of them. Returns 0, or -1 after error(). */
int merge_inputs_add(struct merge_inputs *inputs, const char *path, const char *output);

/* After the last. Returns 0, or -1 after error(): a trace comes twice, or is not one. */
int merge_inputs_check(const struct merge_inputs *inputs);

/* Removes the temporary files. */
void merge_inputs_release(struct merge_inputs *inputs);

#endif
