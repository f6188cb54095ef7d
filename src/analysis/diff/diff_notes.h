/*
 * Writes notes on a comparison: what could not be compared, modes, ranks, different GPUs and clocks.
 */
#ifndef GPUTRACE_ANALYSIS_DIFF_DIFF_NOTES_H
#define GPUTRACE_ANALYSIS_DIFF_DIFF_NOTES_H

#include "analysis/diff/diff_words.h"

/* Calls RECEIVE for each note. */
void diff_notes(const struct diff *diff, diff_receiver *receive, void *context);

#endif
