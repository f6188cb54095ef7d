/*
 * What NCCL's profiler plugin said of operations, joined with the calls. From version 5 of the interface on NCCL says
 * which call an operation is of: when it was called lies in the call's range. Before, it is of the range in which it
 * was launched: the first of that function and communicator that no other operation is of.
 */
#include "trace/meaning/collectives/collective_tasks.h"

#include <stdio.h>
#include <string.h>

#include "common/log.h"
#include "common/array.h"
#include "common/settings.h"
#include "trace/meaning/base/event_functions.h"
#include "trace/meaning/base/process.h"
#include "trace/meaning/collectives/collectives.h"

static int no_memory(void)
{
    return error_no_memory("NCCL's operations");
}

int index_nccl(struct process *process, const struct event *event)
{
    struct communication *collectives = process->collectives;
    const struct spool_record *record = event->record;
    bool kept = true;
    if (record->type == SPOOL_RECORD_NCCL_COMMUNICATOR && record->flags == SPOOL_NCCL_OTHER_PLUGIN) {
        collectives->other_plugin = nvtx_text_of(event->text, event->text_length);
        return 0;
    }
    collectives->told = true;
    if (record->type == SPOOL_RECORD_NCCL_COMMUNICATOR && record->flags == SPOOL_NCCL_VERSION) {
        collectives->version = nvtx_text_of(event->text, event->text_length);
        return 0;
    }
    if (record->type == SPOOL_RECORD_NCCL_COMMUNICATOR)
        return collectives_learn(collectives, event->record) == 0 ? 0 : no_memory();
    if (record->type == SPOOL_RECORD_NCCL_OPERATION)
        kept = ADD(file_vector_push, &collectives->tasks,
                   (struct collective_task){.record = event->record, .thread = event->thread});
    else
        kept = ADD(file_vector_push, &collectives->steps, event->record);
    return kept ? 0 : no_memory();
}

struct nvtx_text collective_task_word(const struct collective_task *task, enum collective_word which)
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

/* --- steps of proxies --- */

static void add_steps(struct communication *collectives)
{
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
}

/* --- the call --- */

/* "AllReduce" of "ncclAllReduce" */
static bool is_function(const struct collective_call *call, struct nvtx_text word)
{
    char text[32];
    int length = snprintf(text, sizeof(text), "nccl%.*s", (int)word.length, word.text ? word.text : "");
    return collective_function_of(COLLECTIVE_NCCL, text, length > 0 ? (size_t)length : 0) == call->function;
}

/* The call of the range that was open on THREAD at TIME. A call that became several operations keeps the first. */
static struct collective_call *call_at(const struct process *process, struct nvtx_places *places, uint32_t thread,
                                       uint64_t time)
{
    const struct communication *collectives = process->collectives;
    uint32_t range = collectives_range_at(process, places, thread, time);
    size_t place = range ? collectives_place_of_range(collectives, range - 1) : SIZE_MAX;
    return place != SIZE_MAX ? &collectives->calls.items[place] : NULL;
}

/* Of COUNT calls from FIRST on, the first that fits the task and has none. */
static struct collective_call *call_of_task(const struct communication *collectives, const struct collective_task *task,
                                            size_t first, size_t count)
{
    struct nvtx_text function = collective_task_word(task, COLLECTIVE_WORD_FUNCTION);
    for (size_t i = first; i < first + count; i++) {
        struct collective_call *call = &collectives->calls.items[i];
        bool fits = call->communicator == 0 ||
                    collectives->communicators.items[call->communicator - 1].id == task->record->communicator;
        if (call->task == 0 && fits && is_function(call, function))
            return call;
    }
    return NULL;
}

static struct collective_call *call_launched(const struct process *process, struct nvtx_places *places,
                                             const struct collective_task *task)
{
    size_t first = 0, count = collectives_launched(process, places, task->thread, task->record->head.time, &first);
    return call_of_task(process->collectives, task, first, count);
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
        return no_memory();
    add_steps(collectives);
    for (size_t i = 0; i < collectives->tasks.count; i++) {
        const struct collective_task *task = &collectives->tasks.items[i];
        struct collective_call *call = task->record->called != 0
                                           ? call_at(process, &places, task->record->thread, task->record->called)
                                           : call_launched(process, &places, task);
        join(collectives, (uint32_t)i, call);
    }
    return 0;
}

/* --- for the user --- */

static bool has_nccl(const struct communication *collectives)
{
    for (size_t i = 0; i < collectives->domain_count; i++)
        if (collectives->domains[i].domain == COLLECTIVE_NCCL)
            return collectives->calls.count > 0;
    return false;
}

bool collectives_note(const struct process *process, char text[COLLECTIVES_NOTE])
{
    const struct communication *collectives = process->collectives;
    struct nvtx_text other = collectives->other_plugin;
    if (!(process->file.header.trace_bits & TRACE_NCCL) || collectives->told || !has_nccl(collectives))
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
