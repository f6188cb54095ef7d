/*
 * The tables of the report of a job, from a job that is finished.
 */
#ifndef GPUTRACE_ANALYSIS_JOB_JOB_TABLES_H
#define GPUTRACE_ANALYSIS_JOB_JOB_TABLES_H

#include <stdint.h>

struct job_whole;
struct render;
struct report_options;
struct report_columns;

/* Writes those of SECTIONS, REPORT_BIT() each, that a job has. Returns 0, or -1 after error(). */
int job_tables_write(const struct job_whole *job, uint64_t sections, struct render *render);

/* Whether the job has a finding of one of IDS, as --fail-on has them; -1: no memory. */
int job_tables_include(const struct job_whole *job, const char *ids);

/* Whether --sort and --columns name columns of SECTIONS as a job has them. Returns 0, or -1 after error(). */
int job_tables_check(const struct report_options *options, uint64_t sections);

/* The first line of the report of JOB. */
void job_tables_headline(const struct job_whole *job, struct render *render);

/* The columns that all tables of rows of the traces' sections have. */
struct report_columns job_tables_columns(void);

/* Sections that a job has: REPORT_BIT() each. */
uint64_t job_tables_sections(void);

#endif
