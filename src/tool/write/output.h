/*
 * A file that appears under its name only when it is whole: written beside it and renamed. A name that ends in ".gz" is
 * compressed on the way. Links are not followed: one under the name is replaced, and one under the temporary name
 * leads to the next such name.
 */
#ifndef GPUTRACE_TOOL_WRITE_OUTPUT_H
#define GPUTRACE_TOOL_WRITE_OUTPUT_H

#include <stdint.h>

#include "base/sink.h"

struct output {
    struct sink sink; /* what is written goes here */
    char *path;
    char *temporary; /* NULL when PATH is no regular file: then it is written in place */
    int fd;
    struct compressor *compressor; /* NULL: none */
};

/* Gives 0, or -1 after error(), then there is nothing to close. */
int output_open(struct output *output, const char *path);

/* Puts the file in its place, and tells its size in bytes. Gives 0, or -1 after error(): the file is as it was before.
 * Either way OUTPUT is released. */
int output_commit(struct output *output, uint64_t *bytes);

/* Removes what was written and releases OUTPUT. */
void output_discard(struct output *output);

/* Removes what is being written, wherever the program is: for a signal's handler that ends it. */
void output_abandon(void);

#endif
