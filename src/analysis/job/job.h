/*
 * A job: combines the rank reports of its traces. They are added in any order, one after another; then job_finish()
 * derives the clocks of the hosts and which rank waited for which.
 *
 *     job_init(&job, options); job_add(&job, &report, name) for each; job_finish(&job); … job_release(&job);
 */
#ifndef GPUTRACE_ANALYSIS_JOB_JOB_H
#define GPUTRACE_ANALYSIS_JOB_JOB_H

#include <stdint.h>

#include "analysis/base/options.h"
#include "analysis/job/job_clocks.h"
#include "analysis/job/rank_report.h"
#include "analysis/hang/hang.h"
#include "analysis/ranks/comm.h"
#include "analysis/ranks/ranks.h"

/* A row of a section, summed over all ranks. Texts are numbers of job.trace.strings. */
struct job_row {
    uint64_t reports; /* number of reports that have the row */
    double total, count;
    int64_t ranks;                 /* number of ranks of these reports */
    double least, most;            /* extremes over ranks: of `total`, or of `count` if the section has no total */
    int64_t least_rank, most_rank; /* FIELD_ABSENT: the trace has several ranks */
};

struct job_row_key {
    uint64_t section, name;
};

/* A finding of a trace. */
struct job_finding {
    uint32_t rule;
    uint32_t first_rank; /* index in ranks.items of the trace's first rank */
    uint32_t rank;       /* index in ranks.items; RANK_NONE: an unknown one of several ranks */
    int64_t ranks;       /* number of ranks of the trace */
    int64_t cost, gain;  /* ns */
    int64_t run;         /* ns that COST is a share of */
    uint32_t text, advice, where;
};

/* Where a page shows a finding of the job: in the trace of a rank, at the place of the rank's finding of this rule. If
 * there is none, at the time at which others waited longest for the rank. */
struct job_moment {
    unsigned rule;
    uint32_t rank; /* index in ranks.items; RANK_NONE: unknown */
};

struct job_whole {
    /* For functions that need a trace. Only its texts and options are used. */
    struct trace trace;
    struct ranks ranks;       /* has texts of its own, ranks.texts */
    struct dense_map numbers; /* rank numbers (int64_t), which must be unique */
    ARRAY(uint32_t) host_of;  /* index in `hosts`, by index in ranks.items */
    ARRAY(uint32_t) hosts;    /* names, numbers of ranks.texts; the first is that of the lowest rank */
    struct job_clocks clocks; /* by index in `hosts` */
    struct comm comm;
    struct hangs hangs;        /* its origin is the start of the first trace */
    int64_t base;              /* time 0 of the job, that of the first report; FIELD_ABSENT: no report yet */
    struct sorter collectives; /* struct collective: texts of job.trace, `process` is an index in ranks.items */
    struct dense_map row_keys; /* struct job_row_key */
    ARRAY(struct job_row) rows;
    ARRAY(struct job_finding) findings;
    ARRAY(uint32_t) index;       /* ranks of the operation at hand, as indices in ranks.items */
    ARRAY(uint32_t) paths;       /* paths of the traces, by index in ranks.items: texts of job.trace */
    struct job_moment *moments;  /* FINDING_MOST moments of the shown findings, owned by the caller; NULL: not wanted */
    int64_t reports, world_size; /* number of reports; ranks of the job, or FIELD_ABSENT */
    int64_t run;                 /* ns of the longest trace */
    uint64_t sections, unrecorded;
    uint32_t filter; /* the filter options; "": none */
};

void job_init(struct job_whole *job, const struct report_options *options);
void job_release(struct job_whole *job);

/* Adds REPORT, which was read from the file NAME. Returns 0, or -1 after error(). Returns JOB_OTHER and adds nothing if
 * REPORT is of another job: one of its ranks was added before, or its job has another size. */
#define JOB_OTHER 1
int job_add(struct job_whole *job, const struct rank_report *report, const char *name);

/* Derives the clocks of the hosts and who waited for whom. Call it after the last report. Returns 0, or -1 after
 * error(). */
int job_finish(struct job_whole *job);

#endif
