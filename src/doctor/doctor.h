/*
 * What tracing needs, what of it was found, and how to fix the rest: the interface of this folder.
 */
#ifndef GPUTRACE_DOCTOR_DOCTOR_H
#define GPUTRACE_DOCTOR_DOCTOR_H

#include <stdbool.h>
#include <stddef.h>

struct sink;

struct doctor_options {
    const char *cupti;        /* a libcupti to try before any other; NULL: none */
    const char *spool_parent; /* as --spool-dir of `gputrace run`; NULL: the usual place */
};

/* Writes a row for each check to OUT. Returns the number of problems: 0 means that tracing a CUDA program would work.
 */
int doctor_examine(const struct doctor_options *options, struct sink *out);

/* Whether CUDA cannot start here, in a process of its own that is asked to. Why goes into WORDS: "CUDA found no
 * driver". */
bool doctor_lacks_cuda(char *words, size_t size);

#endif
