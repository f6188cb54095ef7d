/* The findings of a trace, for sections that need section_findings. */
#ifndef GPUTRACE_ANALYSIS_SUMMARY_SECTION_FINDINGS_H
#define GPUTRACE_ANALYSIS_SUMMARY_SECTION_FINDINGS_H

struct findings;
struct trace;

/* Returns the state of section_findings. The first call sets its `warm_up`, `window` and `idle`. Returns NULL without
 * memory, or after error(). */
const struct findings *findings_of(const struct trace *trace);

#endif
