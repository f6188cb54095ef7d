/*
 * Functions that compare records, as qsort() and sorters want them:
 *
 *     return ORDER(a->thread, b->thread) ?: ORDER(a->time, b->time);
 */
#ifndef GPUTRACE_ANALYSIS_BASE_ORDER_H
#define GPUTRACE_ANALYSIS_BASE_ORDER_H

/* Below 0 where A comes first, above 0 where B does. */
#define ORDER(a, b) (((a) > (b)) - ((a) < (b)))

#endif
