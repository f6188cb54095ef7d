/*
 * Kernels that calls of NCCL launched. They are looked at one by one, by several threads, and shared out to the calls
 * once all are known.
 */
#include <string.h>

#include "common/log.h"
#include "common/lookup.h"
#include "trace/meaning/base/process.h"
#include "trace/meaning/collectives/collectives.h"
#include "trace/meaning/launches/graphs.h"
#include "trace/meaning/launches/kernel_names.h"
#include "trace/meaning/launches/launches.h"
#include "trace/meaning/nvtx/nvtx.h"

static int no_memory(void)
{
    return error_no_memory("collective operations");
}

/* --- what is found --- */

/* What the kernel's name says. */
static struct collective_name look_at_name(struct collective_kernels_found *found, const struct process *process,
                                           const struct event *event)
{
    uint32_t number = kernel_name_number(process, event);
    if (number == NAMES_NO_MEMORY)
        return (struct collective_name){0};
    struct collective_name *known = &found->names[number % (sizeof(found->names) / sizeof(*found->names))];
    if (known->number != number + 1) {
        const struct name *name = names_get(&process->conversion->names, number);
        known->number = number + 1;
        known->does = (uint16_t)collective_kernel_named(name->text, name->length);
        known->type = (uint16_t)collective_type_of_kernel(name->text, name->length);
    }
    return *known;
}

bool collectives_find_capture(const struct process *process, const struct event *event, uint32_t *thread,
                              uint64_t *time)
{
    const struct graph_nodes *nodes = &process->kernel_names->nodes;
    size_t change = graph_nodes_change(nodes, event->kernel.graph_node, event->correlation);
    const struct graph_node_change *made = graph_nodes_origin(nodes, change);
    if (!made)
        return false;
    *thread = made->thread;
    *time = made->time;
    return true;
}

size_t collectives_of_function(const struct communication *collectives, enum collective_kernels does, size_t *first,
                               size_t count)
{
    const struct collective_call *calls = collectives->calls.items;
    size_t from = *first, end = *first + count, found = 0;
    while (from < end && calls[from].function->kernel != does)
        from++;
    while (from + found < end && calls[from + found].function->kernel == does)
        found++;
    *first = found > 0 ? from : *first;
    return found > 0 ? found : count;
}

/* A node of a graph says the type of the call that was captured. */
static int look_at_node(struct collective_kernels_found *found, const struct process *process,
                        const struct event *event)
{
    const struct collective_name name = look_at_name(found, process, event);
    size_t first;
    uint32_t thread;
    uint64_t time;
    bool is_new;
    if (name.type == 0)
        return 0;
    if (!map_put(&found->nodes, event->kernel.graph_node, &is_new))
        return no_memory();
    if (!is_new || !collectives_find_capture(process, event, &thread, &time))
        return 0;
    size_t count = collectives_launched(process, &found->places, thread, time, &first);
    if (count == 0 || collectives_of_function(process->collectives, name.does, &first, count) != 1 ||
        process->collectives->calls.items[first].function->kernel != name.does)
        return 0;
    const struct collective_captured captured = {(uint32_t)first, name.type};
    return ADD(array_push, &found->captured, captured) ? 0 : no_memory();
}

int collectives_look(struct collective_kernels_found *found, const struct process *process, const struct event *event)
{
    const struct communication *collectives = process->collectives;
    size_t first;
    if (collectives->calls.count == 0 || event->type != EVENT_KERNEL)
        return 0;
    if (event->kernel.graph_node != 0)
        return look_at_node(found, process, event);
    const struct launch *launch = event->correlation ? launches_get(process->launches, event->correlation) : NULL;
    if (!launch || launch->from == LAUNCH_UNKNOWN)
        return 0;
    uint32_t range = collectives_range_at(process, &found->places, launch->thread, launch->start);
    size_t count = range ? collectives_launched(process, &found->places, launch->thread, launch->start, &first) : 0;
    if (range && count == 0)
        return 0;
    const struct collective_name name = look_at_name(found, process, event);
    if (!range && name.does == COLLECTIVE_NO_KERNEL)
        return 0;
    const struct collective_kernel kernel = {.launched = launch->start,
                                             .launcher = range ? range - 1 : COLLECTIVE_STRAY,
                                             .thread = launch->thread,
                                             .correlation = event->correlation,
                                             .device = event->device,
                                             .does = name.does,
                                             .type = name.type};
    return ADD(array_push, &found->items, kernel) ? 0 : no_memory();
}

/* A kernel does operations of other types, too, if it does several. */
static void set_type(struct collective_call *call, enum collective_kernels does, uint32_t type)
{
    bool fits = type != 0 && call->function->kernel == does && call->bytes % collective_types[type - 1].bytes == 0;
    call->type = fits ? type : call->type;
}

int collectives_take(struct communication *collectives, struct collective_kernels_found *found)
{
    for (size_t i = 0; i < found->items.count; i++) {
        const struct collective_kernel *kernel = &found->items.items[i];
        bool added = kernel->launcher == COLLECTIVE_STRAY ? ADD(file_vector_push, &collectives->strays, *kernel)
                                                          : ADD(file_vector_push, &collectives->kernels, *kernel);
        if (!added)
            return no_memory();
    }
    for (size_t i = 0; i < found->captured.count; i++) {
        const struct collective_captured *captured = &found->captured.items[i];
        struct collective_call *call = &collectives->calls.items[captured->call];
        set_type(call, call->function->kernel, captured->type);
    }
    found->items.count = found->captured.count = 0;
    return 0;
}

void collective_kernels_found_release(struct collective_kernels_found *found)
{
    array_release(&found->items);
    array_release(&found->captured);
    map_release(&found->nodes);
}

/* --- which calls a kernel is of --- */

ORDER_BY(by_launch, struct collective_kernel, launcher, does, device, launched, correlation)
ORDER_BY(by_correlation, struct collective_kernel, correlation)

/* Calls from the one returned to *END are those that KERNEL can be of; all of its launcher, if none fits it. */
static size_t calls_for(const struct communication *collectives, const struct collective_kernel *kernel, size_t *end)
{
    const struct collective_call *calls = collectives->calls.items;
    size_t count = collectives->calls.count, all = COUNT_BEFORE(count, i, calls[i].launcher < kernel->launcher);
    size_t first = SIZE_MAX, i = all;
    for (; i < count && calls[i].launcher == kernel->launcher; i++) {
        uint32_t device = calls[i].device;
        if (calls[i].function->kernel != kernel->does || (device != kernel->device && device != COLLECTIVE_NO_DEVICE))
            continue;
        first = first == SIZE_MAX ? i : first;
        *end = i + 1;
    }
    if (first == SIZE_MAX)
        *end = i;
    return first == SIZE_MAX ? all : first;
}

/* COUNT kernels of one launch that do the same on one device. */
static void share_calls(struct communication *collectives, struct collective_kernel *kernels, size_t count)
{
    size_t end = 0, first = calls_for(collectives, kernels, &end), calls = end - first;
    for (size_t i = 0; i < count; i++) {
        size_t from = calls * i / count, to = calls * (i + 1) / count;
        kernels[i].first = (uint32_t)(first + from);
        kernels[i].count = (uint32_t)(to > from ? to - from : 1);
        for (size_t k = from; k < to; k++)
            collectives->calls.items[first + k].leader = kernels[i].first;
    }
    if (count == 1 && calls == 1)
        set_type(&collectives->calls.items[first], (enum collective_kernels)kernels->does, kernels->type);
}

bool collectives_has_kernel(const struct communication *collectives, uint32_t launcher)
{
    const struct collective_kernel *kernels = collectives->kernels.items;
    size_t place = COUNT_BEFORE(collectives->kernels.count, i, kernels[i].launcher < launcher);
    return place < collectives->kernels.count && kernels[place].launcher == launcher;
}

int collectives_share(struct process *process)
{
    struct communication *collectives = process->collectives;
    if (file_vector_sort(&collectives->kernels, by_launch) != 0)
        return no_memory();
    if (collectives->strays.count > 0 &&
        (collectives_find_strays(process) != 0 || file_vector_sort(&collectives->kernels, by_launch) != 0))
        return no_memory();
    struct collective_kernel *kernels = collectives->kernels.items;
    size_t count = collectives->kernels.count;
    for (size_t first = 0, next; first < count; first = next) {
        for (next = first + 1; next < count && kernels[next].launcher == kernels[first].launcher &&
                               kernels[next].does == kernels[first].does &&
                               kernels[next].device == kernels[first].device;)
            next++;
        share_calls(collectives, &kernels[first], next - first);
    }
    return file_vector_sort(&collectives->kernels, by_correlation) == 0 ? 0 : no_memory();
}
