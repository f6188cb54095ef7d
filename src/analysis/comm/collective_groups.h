/*
 * Joins kernels with groups of calls (ncclGroupStart, ncclGroupEnd) that one kernel does. The trace joins the kernel
 * with the first call only; collective_groups_join() joins it with the other calls. A kernel of a replayed graph stands
 * for all captured calls.
 */
#ifndef GPUTRACE_ANALYSIS_COMM_COLLECTIVE_GROUPS_H
#define GPUTRACE_ANALYSIS_COMM_COLLECTIVE_GROUPS_H

#include <stddef.h>

#include "common/sorter.h"
#include "analysis/comm/collective.h"

/* Copies to CALL the fields of its KERNEL that CALL lacks. */
void collective_add_kernel(struct collective *call, const struct collective *kernel);

/* Compares struct collective in the order of GROUPED, a sorter of the operations with a group_call: calls of a group
 * come before its further kernels. */
int collective_groups_order(const void *left, const void *right);

/* Receives an operation. Returns 0, or -1 to stop. */
typedef int collective_receiver(void *context, const struct collective *one);

/* Calls RECEIVE for all operations of GROUPED, each with its kernel. Needs memory for the calls of one group. Returns
 * 0, or -1: no memory, RECEIVE stopped, or after error(). */
int collective_groups_join(struct sorter *grouped, collective_receiver *receive, void *context);

struct collective;
struct trace;

/* Sets `exposed` of COUNT operations from trace.timeline. Returns 0, or -1: no memory, or after error(). */
int collectives_expose(struct collective *items, size_t count, const struct trace *trace);

#endif
