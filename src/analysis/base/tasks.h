/*
 * Tasks of several threads.
 */
#ifndef GPUTRACE_ANALYSIS_BASE_TASKS_H
#define GPUTRACE_ANALYSIS_BASE_TASKS_H

#include <stddef.h>

/* A task of several that do not depend on each other. */
struct task {
    int (*run)(void *context); /* returns 0, or -1 */
    void *context;
};

/* Runs them all, in so many threads at most. Returns 0, or -1: one failed, and others may not have been begun. */
int tasks_run(const struct task *tasks, size_t count, unsigned workers);

#endif
