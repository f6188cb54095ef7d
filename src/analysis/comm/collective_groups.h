/*
 * Groups of calls (ncclGroupStart, ncclGroupEnd) that one kernel does. The kernel names the first call alone: here the
 * others get it, too. Of a replayed graph each kernel stands for all calls that were captured.
 */
#ifndef GPUTRACE_ANALYSIS_COMM_COLLECTIVE_GROUPS_H
#define GPUTRACE_ANALYSIS_COMM_COLLECTIVE_GROUPS_H

#include "common/sorter.h"
#include "analysis/comm/collective.h"

/* Adds to CALL what it does not say of its kernel, and KERNEL says. */
void collective_add_kernel(struct collective *call, const struct collective *kernel);

/* Makes GROUPED a sorter of struct collective for those with a group_call. The owner releases it. */
void collective_groups_init(struct sorter *grouped, struct sorter_space *space);

/* Takes an operation. Returns 0, or -1 to stop. */
typedef int collective_receiver(void *context, const struct collective *one);

/* Gives all operations of GROUPED, each with its kernel, to GIVE. Memory: for the calls of one group. Returns 0, or -1:
 * no memory, GIVE stopped, or after error(). */
int collective_groups_join(struct sorter *grouped, collective_receiver *give, void *context);

#endif
