/* Runs tasks in an ordered loop of common/threads.h, whose in-order results are ignored. */
#include "analysis/base/tasks.h"

#include <stdint.h>

#include "common/threads.h"

static int run_task(void *context, size_t number, unsigned slot, unsigned worker)
{
    const struct task *task = &((const struct task *)context)[number];
    return task->run(task->context) < 0 ? -1 : 0;
}

static int ignore_result(void *context, size_t number, unsigned slot)
{
    return 0;
}

int tasks_run(const struct task *tasks, size_t count, unsigned workers)
{
    struct ordered_loop loop = {
        .count = count, .make = run_task, .take = ignore_result, .context = (void *)(uintptr_t)tasks};
    loop.workers = workers < count ? workers : (unsigned)count;
    return ordered_loop_run(&loop);
}
