/* Checks what tracing needs, and explains how to repair what is missing. */
#ifndef GPUTRACE_DOCTOR_DOCTOR_H
#define GPUTRACE_DOCTOR_DOCTOR_H

#include <stdbool.h>
#include <stddef.h>

struct buffer;

struct doctor_options {
    const char *cupti;        /* a libcupti to try before any other; NULL: none */
    const char *spool_parent; /* as --spool-dir of `gputrace run`; NULL: the default place */
};

/* Writes a row for each check to OUT. Returns the number of problems: 0 means that a CUDA program can be traced. */
int doctor_examine(const struct doctor_options *options, struct buffer *out);

/* Whether CUDA cannot be initialised here, as found out in a child process. WORDS becomes the reason: "CUDA found no
 * driver". */
bool doctor_lacks_cuda(char *words, size_t size);

#endif
