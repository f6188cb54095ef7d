/*
 * Things to do that have nothing to do with each other, done at the same time.
 */
#ifndef GPUTRACE_ANALYSIS_JOBS_H
#define GPUTRACE_ANALYSIS_JOBS_H

#include <stddef.h>

struct job {
    int (*run)(void *context); /* gives 0, or -1 */
    void *context;
};

/* Does them all, by so many threads at most. Gives 0, or -1: one failed, and others may not have been begun. */
int jobs_run(const struct job *jobs, size_t count, unsigned workers);

#endif
