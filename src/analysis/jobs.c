#include "analysis/jobs.h"

#include <stdint.h>

#include "common/pieces.h"

static int make(void *context, size_t number, unsigned slot, unsigned worker)
{
    const struct job *job = &((const struct job *)context)[number];
    (void)slot, (void)worker;
    return job->run(job->context) < 0 ? -1 : 0;
}

static int take(void *context, size_t number, unsigned slot)
{
    (void)context, (void)number, (void)slot;
    return 0;
}

int jobs_run(const struct job *jobs, size_t count, unsigned workers)
{
    struct pieces pieces = {.count = count, .make = make, .take = take, .context = (void *)(uintptr_t)jobs};
    pieces.workers = workers < count ? workers : (unsigned)count;
    return pieces_run(&pieces);
}
