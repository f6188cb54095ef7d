/*
 * Calls of a profiler plugin (version 5), as NCCL makes them: NCCL_PROFILER_PLUGIN names it. Without one all of these
 * do nothing.
 */
#ifndef TESTS_NCCL_PROFILER_H
#define TESTS_NCCL_PROFILER_H

#include "tests/nccl/nccl.h"

void profiler_init(ncclComm_t comm);
void profiler_finalize(ncclComm_t comm);
void *profiler_group_start(const struct task *first);
void profiler_group_stop(void *event);
void *profiler_call_start(const struct task *task, void *group);
void profiler_call_stop(void *event);
void *profiler_launch_start(const struct task *first, void *group);
void profiler_launch_stop(void *event);
/* Tasks whose kernel was launched, with steps of the proxy. */
void profiler_tasks(struct task *tasks, size_t count);

#endif
