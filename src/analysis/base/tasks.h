/* Runs tasks that do not depend on each other in several threads. */
#ifndef GPUTRACE_ANALYSIS_BASE_TASKS_H
#define GPUTRACE_ANALYSIS_BASE_TASKS_H

#include <stddef.h>

struct task {
    int (*run)(void *context); /* returns 0, or -1 */
    void *context;
};

/* Runs all TASKS in at most WORKERS threads. Returns 0, or -1 if a task failed; other tasks may then not have run. */
int tasks_run(const struct task *tasks, size_t count, unsigned workers);

#endif
