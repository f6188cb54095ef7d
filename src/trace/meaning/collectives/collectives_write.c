/*
 * Joins the operations that NCCL told its profiler plugin about with calls, and makes the arguments of calls and
 * kernels that communicate: group, ranks, elements, bytes and peers, by Kineto's names.
 *
 * From version 5 of the plugin's interface on, NCCL says when and on which thread an operation was called: the range
 * open there is its call. Before, the range in which the operation was launched is known: its call is the first one
 * launched there, of that function and communicator, that has no operation yet.
 */
#include "trace/meaning/collectives/collectives_write.h"

#include <stdio.h>

#include "common/log.h"
#include "common/settings.h"
#include "trace/meaning/collectives/collectives.h"
#include "trace/meaning/launches/launches.h"

int index_nccl(struct process *process, const struct event *event)
{
    struct communication *collectives = process->collectives;
    const struct spool_record *record = event->record;
    bool kept = true;
    if (record->type == SPOOL_RECORD_NCCL_COMMUNICATOR && record->flags == SPOOL_NCCL_OTHER_PLUGIN) {
        collectives->other_plugin = nvtx_text_of(event->text, event->text_length);
        return 0;
    }
    collectives->has_plugin = true;
    if (record->type == SPOOL_RECORD_NCCL_COMMUNICATOR && record->flags == SPOOL_NCCL_VERSION) {
        collectives->version = nvtx_text_of(event->text, event->text_length);
        return 0;
    }
    if (record->type == SPOOL_RECORD_NCCL_COMMUNICATOR)
        return collectives_index_communicator(collectives, event->record) == 0 ? 0
                                                                               : error_no_memory("NCCL's operations");
    if (record->type == SPOOL_RECORD_NCCL_OPERATION)
        kept = ADD(file_vector_push, &collectives->tasks,
                   (struct collective_task){.record = event->record, .thread = event->thread});
    else
        kept = ADD(file_vector_push, &collectives->steps, event->record);
    return kept ? 0 : error_no_memory("NCCL's operations");
}

enum collective_word {
    COLLECTIVE_WORD_FUNCTION,
    COLLECTIVE_WORD_TYPE,
    COLLECTIVE_WORD_ALGORITHM,
    COLLECTIVE_WORD_PROTOCOL
};

/* Returns a word of the task's text, with text NULL if it lacks the word. */
static struct nvtx_text collective_task_word(const struct collective_task *task, enum collective_word which)
{
    const char *at = task->record->text, *end = at + task->record->length;
    for (unsigned i = 0; i < which && at < end; i++) {
        const char *next = memchr(at, '\n', (size_t)(end - at));
        at = next ? next + 1 : end;
    }
    const char *stop = at < end ? memchr(at, '\n', (size_t)(end - at)) : NULL;
    return nvtx_text_of(at, (uint32_t)((stop ? stop : end) - at));
}

ORDER_BY(by_number, struct collective_task, record->number)

/* Returns the first of COUNT calls from FIRST on that fits the task and has no task yet, or NULL. */
static struct collective_call *call_of_task(const struct communication *collectives, const struct collective_task *task,
                                            size_t first, size_t count)
{
    struct nvtx_text function = collective_task_word(task, COLLECTIVE_WORD_FUNCTION);
    for (size_t i = first; i < first + count; i++) {
        struct collective_call *call = &collectives->calls.items[i];
        bool fits = call->communicator == 0 ||
                    collectives->communicators.items[call->communicator - 1].id == task->record->communicator;
        /* The task has "AllReduce" for "ncclAllReduce". */
        char text[32];
        int length = snprintf(text, sizeof(text), "nccl%.*s", (int)function.length, function.text ? function.text : "");
        const struct collective_function *named =
            collective_function_of(COLLECTIVE_NCCL, text, length > 0 ? (size_t)length : 0);
        if (call->task == 0 && fits && named == call->function)
            return call;
    }
    return NULL;
}

static void join(const struct communication *collectives, uint32_t number, struct collective_call *call)
{
    struct collective_task *task = &collectives->tasks.items[number];
    if (call && call->task == 0)
        call->task = number + 1;
    task->call = call ? (uint32_t)(call - collectives->calls.items) + 1 : 0;
}

void collectives_join_launched(const struct communication *collectives, uint32_t number, uint32_t launcher)
{
    const struct collective_call *calls = collectives->calls.items;
    size_t count = collectives->calls.count, first = COUNT_BEFORE(count, i, calls[i].launcher < launcher), end = first;
    while (end < count && calls[end].launcher == launcher)
        end++;
    join(collectives, number, call_of_task(collectives, &collectives->tasks.items[number], first, end - first));
}

int collectives_join_tasks(struct process *process)
{
    struct communication *collectives = process->collectives;
    struct nvtx_places places = {0};
    if (collectives->tasks.count == 0 || collectives->calls.count == 0)
        return 0;
    if (file_vector_sort(&collectives->tasks, by_number) != 0)
        return error_no_memory("NCCL's operations");
    struct collective_task *tasks = collectives->tasks.items;
    size_t count = collectives->tasks.count;
    for (size_t i = 0; i < collectives->steps.count; i++) {
        const struct spool_nccl_steps *steps = collectives->steps.items[i];
        size_t place = COUNT_BEFORE(count, k, tasks[k].record->number < steps->number);
        if (place == count || tasks[place].record->number != steps->number)
            continue;
        tasks[place].proxies += steps->proxies;
        tasks[place].steps += steps->steps;
    }
    for (size_t i = 0; i < collectives->tasks.count; i++) {
        const struct collective_task *task = &collectives->tasks.items[i];
        const struct spool_nccl_operation *record = task->record;
        struct collective_call *call = NULL;
        size_t first = 0;
        if (record->called != 0) { /* the range that was open then; if it has several tasks, it keeps the first */
            uint32_t range = collectives_range_at(process, &places, record->thread, record->called);
            size_t place = range ? collectives_place_of_range(collectives, range - 1) : SIZE_MAX;
            call = place != SIZE_MAX ? &collectives->calls.items[place] : NULL;
        } else {
            size_t launched = collectives_launched(process, &places, task->thread, record->head.time, &first);
            call = call_of_task(collectives, task, first, launched);
        }
        join(collectives, (uint32_t)i, call);
    }
    return 0;
}

bool collectives_note(const struct process *process, char text[COLLECTIVES_NOTE])
{
    const struct communication *collectives = process->collectives;
    struct nvtx_text other = collectives->other_plugin;
    bool called = false;
    for (size_t i = 0; i < collectives->domain_count; i++)
        called |= collectives->domains[i].domain == COLLECTIVE_NCCL && collectives->calls.count > 0;
    if (!(process->file.header.trace_bits & TRACE_NCCL) || collectives->has_plugin || !called)
        return false;
    if (other.text)
        snprintf(text, COLLECTIVES_NOTE,
                 "--nccl: NCCL_PROFILER_PLUGIN names another plugin, '%.*s': data types, algorithms and protocols of "
                 "NCCL's operations are not recorded",
                 (int)(other.length < COLLECTIVES_NOTE / 2 ? other.length : COLLECTIVES_NOTE / 2), other.text);
    else
        snprintf(text, COLLECTIVES_NOTE,
                 "--nccl: NCCL told the recorder nothing: it is older than 2.23, or knows no interface of a profiler "
                 "plugin that gputrace knows");
    return true;
}

/* --- arguments --- */

#define BYTES_WORD "Byte" /* type of the elements if it is unknown: then bytes are counted */

/* Returns how many bytes a buffer has, or COLLECTIVE_NOT_SAID, or another negative number, if that is unknown. */
static int64_t buffer_bytes_of(const struct collective_call *call, bool out, int64_t ranks)
{
    enum collective_shares shares = out ? call->function->out : call->function->in;
    int64_t said = out ? call->received : call->sent, bytes;
    if (said != COLLECTIVE_NOT_SAID || shares == COLLECTIVE_SHARES_SAID)
        return said;
    if (shares == COLLECTIVE_ONE_SHARE || call->bytes < 0)
        return call->bytes;
    return ranks <= 0 || __builtin_mul_overflow(call->bytes, ranks, &bytes) ? COLLECTIVE_NOT_SAID : bytes;
}

static void add_elements(struct args *args, enum arg_key key, int64_t bytes, const struct collective_type *type)
{
    if (bytes >= 0)
        args_u64(args, key, (uint64_t)(type ? bytes / type->bytes : bytes));
}

static void add_peer(struct args *args, const struct collective_call *call)
{
    bool receives = call->function->pairs == COLLECTIVE_RECEIVES;
    if (call->function->pairs != COLLECTIVE_OF_ALL && call->peer != COLLECTIVE_NOT_SAID)
        args_i64(args, receives ? ARG_SOURCE_RANK : ARG_TARGET_RANK, call->peer);
    if (call->function->pairs == COLLECTIVE_EXCHANGES && call->source != COLLECTIVE_NOT_SAID)
        args_i64(args, ARG_SOURCE_RANK, call->source);
    if (call->root != COLLECTIVE_NOT_SAID)
        args_i64(args, ARG_ROOT_RANK, call->root);
}

/* Returns the type of a task's elements if it fits the call's bytes, or NULL. Before version 5 of the interface, NCCL
 * says that what it gathers and broadcasts are bytes, whatever the program's type is. */
static const struct collective_type *type_of_task(const struct collective_call *call,
                                                  const struct collective_task *task)
{
    struct nvtx_text word = task ? collective_task_word(task, COLLECTIVE_WORD_TYPE) : (struct nvtx_text){NULL, 0};
    for (size_t i = 0; word.text && i < COLLECTIVE_TYPES; i++) {
        const struct collective_type *type = &collective_types[i];
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
    const struct collective_type *type = type_of_task(call, task);
    if (!type && call->type != 0) /* without the plugin, the type in the kernel's name */
        type = &collective_types[call->type - 1];
    add_elements(args, ARG_IN_ELEMENTS, buffer_bytes_of(call, false, ranks), type);
    add_elements(args, ARG_OUT_ELEMENTS, buffer_bytes_of(call, true, ranks), type);
    if (call->bytes != COLLECTIVE_NOT_SAID)
        args_words(args, ARG_DTYPE, type ? type->name : BYTES_WORD);
}

static void add_word(struct args *args, enum arg_key key, const struct collective_task *task,
                     enum collective_word which)
{
    struct nvtx_text word = collective_task_word(task, which);
    if (word.text)
        args_text(args, key, word.text, word.length);
}

/* Adds the arguments of call NUMBER. OPERATIONS: for a kernel, how many calls it does; for a call, 0. */
static void describe(struct args *args, const struct communication *collectives, size_t number, uint32_t operations,
                     struct collective_args *space)
{
    const struct collective_call *call = &collectives->calls.items[number];
    const struct collective_communicator *communicator =
        call->communicator ? &collectives->communicators.items[call->communicator - 1] : NULL;
    int64_t ranks = communicator ? communicator->ranks : COLLECTIVE_NOT_SAID;
    space->args.count = 0;
    args_words(&space->args, ARG_COLLECTIVE, call->function->name);
    if (communicator) {
        /* Kineto's name of the group, which tools expect on kernels only. */
        char *end = number_hex(space->communicator, communicator->id);
        args_text(&space->args, ARG_COMMUNICATOR, space->communicator, (size_t)(end - space->communicator));
        if (operations > 0 && communicator->domain == COLLECTIVE_NCCL)
            args_text(&space->args, ARG_GROUP_NAME, space->communicator, (size_t)(end - space->communicator));
        if (communicator->members_shown.text)
            args_text(&space->args, ARG_GROUP_RANKS, communicator->members_shown.text,
                      communicator->members_shown.length);
        if (communicator->name.text)
            args_text(&space->args, ARG_GROUP_DESCRIPTION, communicator->name.text, communicator->name.length);
        if (communicator->ranks > 0)
            args_i64(&space->args, ARG_GROUP_SIZE, communicator->ranks);
        if (communicator->rank >= 0)
            args_i64(&space->args, ARG_GROUP_RANK, communicator->rank);
    }
    if (call->sequence != UINT64_MAX)
        args_u64(&space->args, ARG_GROUP_SEQUENCE, call->sequence);
    add_data(&space->args, collectives, call, ranks);
    add_peer(&space->args, call);
    if (call->reduction != 0) {
        struct nvtx_text name = collectives->reductions.items[call->reduction - 1];
        args_text(&space->args, ARG_REDUCTION, name.text, name.length);
    }
    if (call->task != 0) {
        const struct collective_task *task = &collectives->tasks.items[call->task - 1];
        add_word(&space->args, ARG_ALGORITHM, task, COLLECTIVE_WORD_ALGORITHM);
        add_word(&space->args, ARG_PROTOCOL, task, COLLECTIVE_WORD_PROTOCOL);
        if (task->record->channels != 0)
            args_u64(&space->args, ARG_CHANNELS, task->record->channels);
        if (task->proxies != 0)
            args_u64(&space->args, ARG_PROXY_STEPS, task->steps);
    }
    if (operations > 1)
        args_u64(&space->args, ARG_OPERATIONS, operations);
    /* Calls of one kernel are adjacent: a leader other than the call itself, or a follower, means several calls. */
    const struct collective_call *next = number + 1 < collectives->calls.count ? call + 1 : NULL;
    if (call->leader != number || (next && next->leader == number))
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
        describe(args, collectives, place, 0, space);
}

/* --- kernels --- */

static size_t captured_calls(const struct process *process, const struct event *event, struct nvtx_places *places,
                             size_t *first)
{
    uint32_t thread;
    uint64_t time;
    if (!collectives_find_capture(process, event, &thread, &time))
        return 0;
    size_t count = collectives_launched(process, places, thread, time, first);
    uint32_t number = count > 1 ? kernel_name_number(process, event) : NAMES_NO_MEMORY;
    if (number == NAMES_NO_MEMORY)
        return count;
    const struct name *name = names_get(&process->conversion->names, number);
    return collectives_of_function(process->collectives, collective_kernel_named(name->text, name->length), first,
                                   count);
}

static size_t launched_calls(const struct communication *collectives, uint32_t correlation, size_t *first)
{
    const struct collective_kernel *kernels = collectives->kernels.items;
    size_t place = COUNT_BEFORE(collectives->kernels.count, i, kernels[i].correlation < correlation);
    if (place == collectives->kernels.count || kernels[place].correlation != correlation)
        return 0;
    *first = kernels[place].first;
    return kernels[place].count;
}

void collectives_describe_kernel(struct args *args, const struct process *process, const struct event *event,
                                 struct nvtx_places *places, struct collective_args *space)
{
    const struct communication *collectives = process->collectives;
    size_t first = 0, count = event->kernel.graph_node != 0 ? captured_calls(process, event, places, &first)
                                                            : launched_calls(collectives, event->correlation, &first);
    if (count > 0)
        describe(args, collectives, first, (uint32_t)count, space);
}
