/* Names of kernels: what their records, launches, functions and graph nodes say of them. */
#ifndef GPUTRACE_TRACE_MEANING_LAUNCHES_KERNEL_NAMES_H
#define GPUTRACE_TRACE_MEANING_LAUNCHES_KERNEL_NAMES_H

#include "common/map.h"
#include "trace/meaning/launches/graphs.h"
#include "trace/names.h"

struct event;
struct process;
/* Beside what the pointers of kernels' records mean. */
struct kernel_names {
    struct pointer_names derived;   /* by pointers: names from launches and nodes that are not in the record */
    struct pointer_names functions; /* by their handles */
    struct graph_nodes nodes;       /* what they launch, and when they were made */
    struct map of_launch;           /* correlation -> name + 1; KERNEL_NAMES_SEVERAL: of no one kernel */
    struct map unknown;             /* pointer -> how many records have it; its meaning was not known yet */
};

/* The index pass. All return 0, or -1 after error(); the last gives the number of a name, NAMES_NO_MEMORY:
 * it is not known. */
int index_kernel_name(struct process *process, const struct event *event);
/* Whether the text at the pointer was read, and the launch recorded no name: then the kernel need not be indexed. Any
 * number of threads may call this. */
bool kernel_name_is_settled(const struct process *process, const struct event *event);
/* Once all records were seen: counts those without a name. */
void close_kernel_names(struct process *process);
uint32_t kernel_name_number(const struct process *process, const struct event *event);

#endif
