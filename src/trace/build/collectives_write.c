#include "common/number.h"
#include "trace/build/collectives.h"
#include "trace/build/graphs.h"
#include "trace/build/kernel_names.h"
#include "trace/build/launches.h"
#include "trace/build/nvtx.h"
#include "trace/build/process.h"

#define BYTES_WORD "Byte" /* elements are bytes */

static void add_text(struct args *args, enum arg_key key, const char *text)
{
    args_text(args, key, text, strlen(text));
}

/* The elements of a buffer, unless it has the shares of all ranks and their number is not known. */
static void add_elements(struct args *args, enum arg_key key, int64_t bytes, bool all, int64_t ranks)
{
    uint64_t elements;
    if (bytes >= 0 && !__builtin_mul_overflow((uint64_t)bytes, (uint64_t)(all ? ranks : 1), &elements) &&
        (!all || ranks > 0))
        args_u64(args, key, elements);
}

static void add_communicator(struct collective_args *space, const struct collective_communicator *communicator)
{
    char *end = number_hex(space->communicator, communicator->id);
    args_text(&space->args, ARG_COMMUNICATOR, space->communicator, (size_t)(end - space->communicator));
    if (communicator->name.text)
        args_text(&space->args, ARG_GROUP_DESCRIPTION, communicator->name.text, communicator->name.length);
    if (communicator->ranks > 0)
        args_i64(&space->args, ARG_GROUP_SIZE, communicator->ranks);
    if (communicator->rank >= 0)
        args_i64(&space->args, ARG_GROUP_RANK, communicator->rank);
}

static void add_peer(struct args *args, const struct collective_call *call)
{
    if (call->function->pairs != COLLECTIVE_OF_ALL && call->peer != COLLECTIVE_NOT_SAID)
        args_i64(args, call->function->pairs == COLLECTIVE_SENDS ? ARG_TARGET_RANK : ARG_SOURCE_RANK, call->peer);
    if (call->root != COLLECTIVE_NOT_SAID)
        args_i64(args, ARG_ROOT_RANK, call->root);
}

/* NCCL's types by PyTorch's names. */
static const struct type {
    const char *nccl, *name;
    int64_t bytes;
} types[] = {
    {"ncclInt8", "Char", 1},
    {"ncclUint8", "Byte", 1},
    {"ncclInt32", "Int", 4},
    {"ncclUint32", "UInt32", 4},
    {"ncclInt64", "Long", 8},
    {"ncclUint64", "UInt64", 8},
    {"ncclFloat16", "Half", 2},
    {"ncclFloat32", "Float", 4},
    {"ncclFloat64", "Double", 8},
    {"ncclBfloat16", "BFloat16", 2},
    {"ncclFloat8e4m3", "Float8_e4m3fn", 1},
    {"ncclFloat8e5m2", "Float8_e5m2", 1},
};

/* The type of a task's elements, if it fits its call's bytes. Where the call is not known NCCL says that what it
 * gathers and broadcasts are bytes, whatever they are. */
static const struct type *type_of(const struct collective_call *call, const struct collective_task *task)
{
    struct nvtx_text word = task ? collective_task_word(task, COLLECTIVE_WORD_TYPE) : (struct nvtx_text){NULL, 0};
    for (size_t i = 0; word.text && i < sizeof(types) / sizeof(*types); i++) {
        const struct type *type = &types[i];
        bool same = word.length == strlen(type->nccl) && memcmp(word.text, type->nccl, word.length) == 0;
        if (same && (uint64_t)call->bytes == task->record->count * (uint64_t)type->bytes)
            return task->record->called != 0 || i != 0 ? type : NULL;
    }
    return NULL;
}

static void add_data(struct args *args, const struct communication *collectives, const struct collective_call *call,
                     int64_t ranks)
{
    const struct collective_task *task = call->task ? &collectives->tasks.items[call->task - 1] : NULL;
    const struct type *type = type_of(call, task);
    int64_t elements = type ? call->bytes / type->bytes : call->bytes;
    add_elements(args, ARG_IN_ELEMENTS, elements, call->function->in_all, ranks);
    add_elements(args, ARG_OUT_ELEMENTS, elements, call->function->out_all, ranks);
    if (call->bytes != COLLECTIVE_NOT_SAID)
        add_text(args, ARG_DTYPE, type ? type->name : BYTES_WORD);
}

static void add_word(struct args *args, enum arg_key key, const struct collective_task *task,
                     enum collective_word which)
{
    struct nvtx_text word = collective_task_word(task, which);
    if (word.text)
        args_text(args, key, word.text, word.length);
}

static void add_task(struct args *args, const struct collective_task *task)
{
    add_word(args, ARG_ALGORITHM, task, COLLECTIVE_WORD_ALGORITHM);
    add_word(args, ARG_PROTOCOL, task, COLLECTIVE_WORD_PROTOCOL);
    if (task->record->channels != 0)
        args_u64(args, ARG_CHANNELS, task->record->channels);
    if (task->proxies != 0)
        args_u64(args, ARG_PROXY_STEPS, task->steps);
}

/* Calls that one kernel does follow one another. */
static bool is_of_several(const struct communication *collectives, size_t number)
{
    const struct collective_call *calls = collectives->calls.items;
    return calls[number].leader != number ||
           (number + 1 < collectives->calls.count && calls[number + 1].leader == number);
}

static void describe(struct args *args, const struct communication *collectives, size_t number, uint32_t operations,
                     struct collective_args *space)
{
    const struct collective_call *call = &collectives->calls.items[number];
    const struct collective_communicator *communicator =
        call->communicator ? &collectives->communicators.items[call->communicator - 1] : NULL;
    int64_t ranks = communicator ? communicator->ranks : COLLECTIVE_NOT_SAID;
    space->args.count = 0;
    add_text(&space->args, ARG_COLLECTIVE, call->function->name);
    if (communicator)
        add_communicator(space, communicator);
    if (call->sequence != UINT64_MAX)
        args_u64(&space->args, ARG_GROUP_SEQUENCE, call->sequence);
    add_data(&space->args, collectives, call, ranks);
    add_peer(&space->args, call);
    if (call->reduction != 0) {
        struct nvtx_text name = collectives->reductions.items[call->reduction - 1];
        args_text(&space->args, ARG_REDUCTION, name.text, name.length);
    }
    if (call->task != 0)
        add_task(&space->args, &collectives->tasks.items[call->task - 1]);
    if (operations > 1)
        args_u64(&space->args, ARG_OPERATIONS, operations);
    if (is_of_several(collectives, number))
        args_u64(&space->args, ARG_GROUP_CALL, collectives->calls.items[call->leader].range + (uint64_t)1);
    space->list = (struct arg_list){.items = space->args.items, .count = space->args.count};
    args_list(args, &space->list);
}

void collectives_describe_range(struct args *args, const struct process *process, uint32_t number,
                                struct collective_args *space)
{
    const struct communication *collectives = process->collectives;
    size_t place = collectives_place_of_range(collectives, number);
    if (place != SIZE_MAX)
        describe(args, collectives, place, 1, space);
}

/* --- kernels --- */

/* When and where the kernel of a node of a graph was captured. */
static bool find_capture(const struct process *process, const struct event *event, uint32_t *thread, uint64_t *time)
{
    const struct graph_nodes *nodes = &process->kernel_names->nodes;
    size_t change = graph_nodes_change(nodes, event->kernel.graph_node, event->correlation);
    size_t made = change < nodes->changes.count ? graph_nodes_origin(nodes, change) : SIZE_MAX;
    if (made >= nodes->changes.count)
        return false;
    *thread = nodes->changes.items[made].thread;
    *time = nodes->changes.items[made].time;
    return true;
}

/* Of COUNT calls from *FIRST on, those of the kernel's function: the kernels of a captured group are not told apart
 * further. */
static size_t of_function(const struct process *process, const struct event *event, size_t *first, size_t count)
{
    const struct collective_call *calls = process->collectives->calls.items;
    uint32_t number = count > 1 ? kernel_name_number(process, event) : NAMES_NO_MEMORY;
    if (number == NAMES_NO_MEMORY)
        return count;
    const struct name *name = names_get(&process->conversion->names, number);
    enum collective_kernels does = collective_kernel_named(name->text, name->length);
    size_t from = *first, end = *first + count, found = 0;
    while (from < end && calls[from].function->kernel != does)
        from++;
    while (from + found < end && calls[from + found].function->kernel == does)
        found++;
    *first = found > 0 ? from : *first;
    return found > 0 ? found : count;
}

static size_t shared_out(const struct communication *collectives, uint32_t correlation, size_t *first, size_t count)
{
    const struct collective_kernel *kernels = collectives->kernels.items;
    size_t place = COUNT_BEFORE(collectives->kernels.count, i, kernels[i].correlation < correlation);
    if (place == collectives->kernels.count || kernels[place].correlation != correlation)
        return count;
    *first = kernels[place].first;
    return kernels[place].count;
}

void collectives_describe_kernel(struct args *args, const struct process *process, const struct event *event,
                                 struct nvtx_places *places, struct collective_args *space)
{
    const struct communication *collectives = process->collectives;
    const struct launch *launch = event->correlation ? launches_get(process->launches, event->correlation) : NULL;
    uint32_t thread;
    uint64_t time;
    size_t first, count;
    if (event->kernel.graph_node != 0) {
        if (!find_capture(process, event, &thread, &time))
            return;
        count = collectives_launched(process, places, thread, time, &first);
        count = of_function(process, event, &first, count);
    } else {
        if (!launch || launch->from == LAUNCH_UNKNOWN)
            return;
        count = collectives_launched(process, places, launch->thread, launch->start, &first);
        count = count > 1 ? shared_out(collectives, event->correlation, &first, count) : count;
    }
    if (count > 0)
        describe(args, collectives, first, (uint32_t)count, space);
}
