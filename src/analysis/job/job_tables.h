/*
 * The tables of the report of a job, from a job that is finished.
 */
#ifndef GPUTRACE_ANALYSIS_JOB_JOB_TABLES_H
#define GPUTRACE_ANALYSIS_JOB_JOB_TABLES_H

#include <stdint.h>

struct job_whole;
struct render;

/* Writes those of SECTIONS, REPORT_BIT() each, that a job has. Returns 0, or -1 after error(). */
int job_tables_write(const struct job_whole *job, uint64_t sections, struct render *render);

/* Whether the job has a finding of one of IDS, as --fail-on has them; -1: no memory. */
int job_tables_include(const struct job_whole *job, const char *ids);

/* Sections that a job has: REPORT_BIT() each. */
uint64_t job_tables_sections(void);

#endif
