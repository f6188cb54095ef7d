/*
 * What kernels are called. Their records hold a pointer into the process, whose text somebody read while it lived; or,
 * when it was killed before that, the launch had recorded the name by its correlation id, or the graph's node had
 * recorded its function.
 *
 * The name in a launch record counts more than what its record points to: CUPTI (13.0, when its threads get no
 * processor) goes on with the name of a kernel whose code was unloaded for the next one that gets its handle.
 */
#include "trace/meaning/launches/kernel_names.h"

#include "common/log.h"
#include "common/spool_records.h"
#include "trace/meaning/base/event_functions.h"
#include "trace/meaning/base/process.h"

#define KERNEL_NAMES_SEVERAL UINT64_MAX

int index_pointer_name(struct process *process, const struct event *event)
{
    const struct spool_pointer_name *record = event->record;
    uint32_t name = names_put_symbol(&process->conversion->names, event->text, event->text_length);
    if (name == NAMES_NO_MEMORY)
        return -1;
    return pointer_names_put(&process->symbols, record->pointer, event->start, name);
}

int index_launch_name(struct process *process, const struct event *event)
{
    uint32_t name = names_put_symbol(&process->conversion->names, event->text, event->text_length);
    if (name == NAMES_NO_MEMORY || event->correlation == 0)
        return name == NAMES_NO_MEMORY ? -1 : 0;
    uint64_t *known = map_put(&process->kernel_names->of_launch, event->correlation, NULL);
    if (!known)
        return error_no_memory("names of launches");
    *known = *known == 0 || *known == (uint64_t)name + 1 ? (uint64_t)name + 1 : KERNEL_NAMES_SEVERAL;
    return 0;
}

int index_function_name(struct process *process, const struct event *event)
{
    uint32_t name = names_put_symbol(&process->conversion->names, event->text, event->text_length);
    if (name == NAMES_NO_MEMORY)
        return -1;
    return pointer_names_put(&process->kernel_names->functions, event->graph_node.function, event->start, name);
}

int index_graph_node(struct process *process, const struct event *event)
{
    return graph_nodes_index(&process->kernel_names->nodes, event);
}

/* The name of the function that the graph's node launches. */
static uint32_t name_of_node(const struct process *process, const struct event *event)
{
    const struct kernel_names *names = process->kernel_names;
    uint64_t node = event->kernel.graph_node, time = 0;
    uint64_t function = node ? graph_nodes_find(&names->nodes, node, event->correlation, &time) : 0;
    return function ? pointer_names_find(&names->functions, function, time) : NAMES_NO_MEMORY;
}

/* The name in the launch record of the one kernel that it launches; none of what a graph launches. */
static uint32_t name_of_launch(const struct process *process, const struct event *event)
{
    if (event->kernel.graph != 0)
        return NAMES_NO_MEMORY;
    const uint64_t *known = map_get(&process->kernel_names->of_launch, event->correlation);
    if (!known || *known == KERNEL_NAMES_SEVERAL)
        return NAMES_NO_MEMORY;
    return (uint32_t)(*known - 1);
}

static uint32_t derived_name(const struct process *process, const struct event *event)
{
    return event->kernel.graph != 0 ? name_of_node(process, event) : name_of_launch(process, event);
}

/* A name that was derived from a launch holds for its pointer from that launch on, until the pointer's text is read
 * again. */
static uint32_t name_of_pointer(const struct process *process, const struct event *event)
{
    uint64_t pointer = event->kernel.name;
    if (!pointer)
        return NAMES_NO_MEMORY;
    const struct pointer_meaning *read = pointer_names_meaning(&process->symbols, pointer, event->start);
    const struct pointer_meaning *derived =
        pointer_names_meaning(&process->kernel_names->derived, pointer, event->start);
    if (read && derived && (derived->since > event->start || derived->since < read->since))
        derived = NULL;
    const struct pointer_meaning *meaning = derived ? derived : read;
    return meaning ? meaning->name : NAMES_NO_MEMORY;
}

bool kernel_name_is_settled(const struct process *process, const struct event *event)
{
    uint64_t pointer = event->kernel.name;
    return pointer && pointer_names_meaning(&process->symbols, pointer, event->start) &&
           name_of_launch(process, event) == NAMES_NO_MEMORY;
}

/* Only the first launch of a kernel records its name. Later records have the same pointer. */
int index_kernel_name(struct process *process, const struct event *event)
{
    uint32_t known = name_of_pointer(process, event);
    bool is_known = known != NAMES_NO_MEMORY;
    uint32_t derived = is_known ? name_of_launch(process, event) : derived_name(process, event);
    if (derived == NAMES_NO_MEMORY && !is_known) {
        uint64_t *count = map_put(&process->kernel_names->unknown, event->kernel.name, NULL);
        if (!count)
            return error_no_memory("names of kernels");
        ++*count;
    }
    if (derived == NAMES_NO_MEMORY)
        return 0;
    bool has_no_time = is_known && event->in_flight;
    if (derived == known || has_no_time || !event->kernel.name)
        return 0;
    return pointer_names_put(&process->kernel_names->derived, event->kernel.name, event->start, derived);
}

/* What was read would have been found. */
static int count_unnamed(void *context, uint64_t pointer, uint64_t *count)
{
    struct process *process = context;
    if (pointer == 0 || pointer_names_find(&process->kernel_names->derived, pointer, 0) == NAMES_NO_MEMORY)
        process->losses.unnamed += *count;
    return 0;
}

void close_kernel_names(struct process *process)
{
    map_each(&process->kernel_names->unknown, count_unnamed, process);
}

uint32_t kernel_name_number(const struct process *process, const struct event *event)
{
    uint32_t name = name_of_launch(process, event);
    if (name == NAMES_NO_MEMORY)
        name = name_of_pointer(process, event);
    return name != NAMES_NO_MEMORY ? name : derived_name(process, event);
}
