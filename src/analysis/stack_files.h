/* Files of GPU time by stack (stacks.h): speedscope's JSON and folded stacks. */
#ifndef GPUTRACE_ANALYSIS_STACK_FILES_H
#define GPUTRACE_ANALYSIS_STACK_FILES_H

#include <stdint.h>

struct stack_files_summary {
    uint64_t gpu_ops; /* kernels, copies and sets of the trace */
    uint64_t stacks;  /* different ones, which the file has */
    uint64_t bytes;   /* of the file */
};

/* Reads the trace INPUT (any that the report reads) and writes OUTPUT, whose name has one of the formats of
 * trace/sink.h whose content are stacks. Returns 0, or -1 after error(): then OUTPUT is as it was. */
int stack_files_convert(const char *input, const char *output, struct stack_files_summary *summary);

#endif
