/*
 * A job: the rank reports of its traces put together (reduce). They are added in any order, one after another; then
 * job_finish() finds the clocks of its hosts, and who waited for whom.
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

/* A row of a section, over all ranks. Texts are numbers of job.trace.strings. */
struct job_row {
    uint64_t reports; /* number of reports that have it */
    double total, count;
    int64_t ranks;                 /* ranks of these reports */
    double least, most;            /* of a rank: total, or count if the section has no total */
    int64_t least_rank, most_rank; /* FIELD_ABSENT: only known for several ranks together */
};

struct job_row_key {
    uint64_t section, name;
};

/* A finding of a trace. */
struct job_finding {
    uint32_t rule;
    uint32_t first_rank; /* of the trace: index in ranks.items */
    uint32_t rank;       /* index in ranks.items; RANK_NONE: one of several ranks */
    int64_t ranks;       /* of the trace */
    int64_t cost, gain;  /* ns */
    int64_t run;         /* ns, that COST is a share of */
    uint32_t text, advice, where;
};

/* Where a finding of the job can be seen: in the trace of a rank, at the place of its finding of this rule. If it has
 * none, at the time at which others waited longest for the rank. */
struct job_moment {
    unsigned rule;
    uint32_t rank; /* index of ranks.items; RANK_NONE: not known */
};

struct job_whole {
    /* Only its texts and options are used, by functions that need a trace. */
    struct trace trace;
    struct ranks ranks;       /* its texts are its own */
    struct dense_map numbers; /* of its ranks: int64_t */
    ARRAY(uint32_t) host_of;  /* index of hosts, by index in ranks.items */
    ARRAY(uint32_t) hosts;    /* names: texts of ranks; the first is that of rank 0 */
    struct job_clocks clocks; /* of the hosts */
    struct comm comm;
    struct hangs hangs;        /* its times begin with the first trace */
    int64_t base;              /* time 0, that of the first report; FIELD_ABSENT: there is none yet */
    struct sorter collectives; /* struct collective: texts of job.trace, `process` an index of ranks.items */
    struct dense_map row_keys; /* struct job_row_key */
    ARRAY(struct job_row) rows;
    ARRAY(struct job_finding) findings;
    ARRAY(uint32_t) index;       /* of the ranks of the operation at hand: indices of ranks.items */
    ARRAY(uint32_t) paths;       /* of the traces of ranks.items: texts of trace */
    struct job_moment *moments;  /* of the findings that are shown, FINDING_MOST; NULL: not wanted */
    int64_t reports, world_size; /* number of reports; world_size: FIELD_ABSENT: not known */
    int64_t run;                 /* ns of the longest trace */
    uint64_t sections, unrecorded;
    uint32_t filter; /* the filter options; "": none */
};

void job_init(struct job_whole *job, const struct report_options *options);
void job_release(struct job_whole *job);

/* Adds REPORT, the file NAME. Returns 0; JOB_OTHER if it is of another job: a rank of it was added before, or its job
 * has another size, and nothing was added; or -1 after error(). */
#define JOB_OTHER 1
int job_add(struct job_whole *job, const struct rank_report *report, const char *name);

/* After the last report: finds the clocks of the hosts, and who waited for whom. Returns 0, or -1 after error(). */
int job_finish(struct job_whole *job);

#endif
