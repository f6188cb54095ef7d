/*
 * What is said about a slow link (analysis/ranks/slow_links.h).
 */
#ifndef GPUTRACE_ANALYSIS_FINDINGS_SLOW_LINK_WORDS_H
#define GPUTRACE_ANALYSIS_FINDINGS_SLOW_LINK_WORDS_H

#include <stddef.h>

#include "analysis/ranks/slow_links.h"

extern const char slow_link_advice[];

/* Writes a sentence without its full stop, of at most SIZE bytes. */
void slow_link_describe(char *text, size_t size, const struct ranks *ranks, const struct slow_link *link);

#endif
