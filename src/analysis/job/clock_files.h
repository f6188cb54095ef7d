/*
 * Derives the clocks of the hosts of several traces from the operations that their ranks did together
 * (analysis/job/job_clocks.h). Traces are read once, one after another; memory does not grow with their number.
 */
#ifndef GPUTRACE_ANALYSIS_JOB_CLOCK_FILES_H
#define GPUTRACE_ANALYSIS_JOB_CLOCK_FILES_H

#include <stddef.h>
#include <stdint.h>

#include "analysis/job/job_clocks.h"

struct clock_file {
    const char *path;
    int64_t base;  /* ns of CLOCK_REALTIME at the trace's time 0 */
    uint32_t host; /* number of the host of ranks that name none of `hosts` */
};

/* Derives the clocks of HOSTS, names by number; 0 is the reference, NULL a host without a name. Sets CLOCKS, which the
 * caller releases even after an error. Returns 0, or -1 after error(). */
int clock_files_find(const struct clock_file *files, size_t count, const char *const *hosts, size_t host_count,
                     struct job_clocks *clocks);

#endif
