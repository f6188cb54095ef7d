#include "analysis/base/tasks.h"

#include <stdint.h>

#include "common/threads.h"

static int make(void *context, size_t number, unsigned slot, unsigned worker)
{
    const struct task *task = &((const struct task *)context)[number];
    return task->run(task->context) < 0 ? -1 : 0;
}

static int take(void *context, size_t number, unsigned slot)
{
    return 0;
}

int tasks_run(const struct task *tasks, size_t count, unsigned workers)
{
    struct ordered_loop pieces = {.count = count, .make = make, .take = take, .context = (void *)(uintptr_t)tasks};
    pieces.workers = workers < count ? workers : (unsigned)count;
    return ordered_loop_run(&pieces);
}
