/*
 * The place of this launcher in a job of many processes.
 */
#ifndef GPUTRACE_LAUNCH_JOB_H
#define GPUTRACE_LAUNCH_JOB_H

#include <stdbool.h>

/* Whether the program of ARGV starts the ranks of a job itself, as torchrun and mpirun do. */
bool job_program_starts_ranks(char *const *argv);

#endif
