/* Writes files of GPU time by stack (stacks.h): speedscope's JSON and folded stacks. */
#ifndef GPUTRACE_ANALYSIS_STACK_FILES_H
#define GPUTRACE_ANALYSIS_STACK_FILES_H

#include <stdint.h>

struct stack_files_summary {
    uint64_t gpu_ops; /* kernels, copies and sets of the trace */
    uint64_t stacks;  /* different stacks in the file */
    uint64_t bytes;   /* of the file */
};

/* Reads the trace INPUT, of any format that the report reads, and writes OUTPUT. The ending of OUTPUT selects one of
 * the formats of trace/sink.h that contain stacks. Returns 0, or -1 after error(): then OUTPUT is unchanged. */
int stack_files_convert(const char *input, const char *output, struct stack_files_summary *summary);

#endif
