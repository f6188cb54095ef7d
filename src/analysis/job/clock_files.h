/*
 * The clocks of the hosts that several traces are of, from the operations that their ranks did together
 * (analysis/job/job_clocks.h). Each trace is read once, one after another; memory does not grow with their number.
 */
#ifndef GPUTRACE_ANALYSIS_JOB_CLOCK_FILES_H
#define GPUTRACE_ANALYSIS_JOB_CLOCK_FILES_H

#include <stddef.h>
#include <stdint.h>

#include "analysis/job/job_clocks.h"

struct clock_file {
    const char *path;
    int64_t base;  /* ns of CLOCK_REALTIME: what its times count from */
    uint32_t host; /* the number of that whose ranks say no other */
};

/* HOSTS: names by number, 0 is that of the reference; NULL for one without a name. Sets CLOCKS, which the caller
 * releases in either case. Returns 0, or -1 after error(). */
int clock_files_find(const struct clock_file *files, size_t count, const char *const *hosts, size_t host_count,
                     struct job_clocks *clocks);

#endif
