/*
 * The charts of a page of HTML: use over time, the windows of findings, kernels, stacks and memory.
 */
#ifndef GPUTRACE_ANALYSIS_RENDER_PAGE_CHARTS_H
#define GPUTRACE_ANALYSIS_RENDER_PAGE_CHARTS_H

struct page;
struct profile;
struct profile_window;
struct trace;

/* Writes the data of all charts, in two threads if WORKERS is above 1. Returns 0, or -1: no memory, or after error().
 */
int page_charts(struct page *page, const struct trace *trace, unsigned workers);

/* Writes one element of `windows`, a window of PROFILE. */
void page_window(struct page *page, const struct profile *profile, const struct profile_window *window);

#endif
