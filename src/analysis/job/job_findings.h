/*
 * The findings of a job: those of its traces, a row for each rule, and the ranks that others wait for.
 */
#ifndef GPUTRACE_ANALYSIS_JOB_JOB_FINDINGS_H
#define GPUTRACE_ANALYSIS_JOB_JOB_FINDINGS_H

#include "analysis/base/table.h"

struct job_whole;

#define JOB_FINDINGS_COLUMNS 11
extern const struct column job_findings_columns[JOB_FINDINGS_COLUMNS];

/* Returns the least lateness of a rank, ns, that is a finding. */
int64_t job_findings_least(const struct job_whole *job);

/* Adds a row for each finding to TABLE, whose columns are job_findings_columns. SECTIONS are those of the job's report
 * (REPORT_BIT() each): in tables for people, a finding about another section names a rank that has it. Returns 0, or
 * -1: no memory. */
int job_findings_fill(struct table *table, const struct job_whole *job, uint64_t sections);

#endif
