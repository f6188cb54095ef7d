/*
 * Finishes a job after all rank reports were added: the clocks of the hosts, and who waited for whom.
 */
#ifndef GPUTRACE_ANALYSIS_JOB_JOB_FINISH_H
#define GPUTRACE_ANALYSIS_JOB_JOB_FINISH_H

struct job_whole;

/* Returns 0, or -1 after error(). */
int job_finish(struct job_whole *job);

#endif
