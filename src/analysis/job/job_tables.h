/*
 * Writes the tables of the report of a job, after job_finish().
 */
#ifndef GPUTRACE_ANALYSIS_JOB_JOB_TABLES_H
#define GPUTRACE_ANALYSIS_JOB_JOB_TABLES_H

#include <stdint.h>

struct job_whole;
struct render;
struct report_options;
struct report_columns;

/* Writes the tables of SECTIONS (REPORT_BIT() each) that a job has. Returns 0, or -1 after error(). */
int job_tables_write(const struct job_whole *job, uint64_t sections, struct render *render);

/* Returns whether the job has a finding with one of IDS, the argument of --fail-on; -1: no memory. */
int job_tables_include(const struct job_whole *job, const char *ids);

/* Checks that --sort and --columns name columns that SECTIONS have in the report of a job. Returns 0, or -1 after
 * error(). */
int job_tables_check(const struct report_options *options, uint64_t sections);

/* Writes the first line of the report of JOB. */
void job_tables_headline(const struct job_whole *job, struct render *render);

/* Returns the columns of all tables that sum rows of the traces' sections. */
struct report_columns job_tables_columns(void);

/* Returns the sections that the report of a job may have: REPORT_BIT() each. */
uint64_t job_tables_sections(void);

#endif
