/* Finds the warm-up of a program, and the window of usual steps after it, which other rules are about. */
#ifndef GPUTRACE_ANALYSIS_STEPS_RULES_STEPS_H
#define GPUTRACE_ANALYSIS_STEPS_RULES_STEPS_H

struct findings;

/* Sets `warm_up` to the longest warm-up of all processes, and `steady`. */
void warm_up_find_time(struct findings *findings);

/* Sets `window`. Must be called after warm_up_find_time(). */
void warm_up_find_window(struct findings *findings);

#endif
