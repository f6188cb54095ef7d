/*
 * The steps that a program repeats. In each process they are
 *  - the ranges ProfilerStep#N, if there are any,
 *  - else the ranges of one thread whose names are equal up to a number at the end ("step 7"), at least STEPS_LEAST of
 *    them, which do not overlap and launch the most GPU operations; if several launch about as many, the outermost.
 *    Ranges that take little of the time, and launch few of the operations, between the first and the last of them are
 *    only parts of steps and do not count here; nor do ranges without PyTorch's optimizers if the process has some,
 *  - else the times from one range of PyTorch's optimizers ("Optimizer.step#SGD.step") to the next,
 *  - else the periods of the sequence of GPU operations that one thread launches,
 *  - else the times from one range that is a part of a step to the next.
 */
#ifndef GPUTRACE_ANALYSIS_STEPS_STEPS_H
#define GPUTRACE_ANALYSIS_STEPS_STEPS_H

#include "analysis/steps/steps_process.h"

/* Hooks of section_steps, whose state is a struct steps. steps_gather() finds the steps from trace.ranges,
 * launched_ops, gpu_ops and host_calls, after trace_finish(). It returns 0, or -1: no memory, or after error(). */
int steps_gather(void *steps, const struct trace *trace);
void steps_release(void *steps);

/* Returns how many ns longer WORK took in the slowest step than on average in the others. */
int64_t step_work_difference(const struct steps_process *process, const struct step_work *work);

#endif
