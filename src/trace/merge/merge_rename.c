/*
 * The second reading of a trace: passes on its events with the numbers and times of the output. Metadata and names of
 * rows were written before. Arguments contain numbers, too; in arguments that are JSON text only the numbers are
 * changed.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/log.h"
#include "common/memory.h"
#include "trace/json/text.h"
#include "trace/merge/merge_numbers.h"
#include "trace/merge/merge_rename.h"

/* Replaces *NUMBER by its new number. Returns false if the argument must be left out. */
static bool renumber(const struct merge_rename *rename, enum merge_role role, uint64_t *number)
{
    const struct merge_trace *trace = rename->trace;
    const struct merge_process *process;
    switch (role) {
    case MERGE_ROLE_CORRELATION:
        if (*number > 0 && *number <= UINT32_MAX)
            *number = merge_ids_new(&trace->flows, *number);
        return true;
    case MERGE_ROLE_WAITS_FOR:
        if (!merge_ids_has(&trace->flows, *number))
            return *number == 0;
        *number = merge_ids_new(&trace->flows, *number);
        return true;
    case MERGE_ROLE_EXTERNAL:
        if (*number > 0)
            *number = merge_ids_new(&trace->external_ids, *number);
        return true;
    case MERGE_ROLE_DEVICE:
        if (*number < MERGE_DEVICES_MOST)
            *number = (uint64_t)merge_device_new(trace, (int64_t)*number);
        return true;
    case MERGE_ROLE_STACK:
        *number = merge_stacks_find(rename->stacks, trace->stack_count, *number);
        return *number != 0;
    case MERGE_ROLE_PROCESS:
        process = *number <= UINT32_MAX ? merge_process_get(trace, (uint32_t)*number) : NULL;
        *number = process ? process->new_pid : *number;
        return true;
    default: return true;
    }
}

/* Copies JSON members with new numbers to rename->text. COPY gets their offset instead of an address, as the text may
 * move. */
static void copy_members(struct merge_rename *rename, const struct arg *arg, struct arg *copy)
{
    struct buffer *text = &rename->text;
    struct json_text key, value;
    size_t begin = text->length;
    for (const char *at = arg->text, *end = at + arg->length; json_member(&at, end, &key, &value);) {
        uint64_t number;
        enum merge_role role = merge_role_of_name(key);
        bool is_number = role != MERGE_ROLE_NONE && json_integer(value, &number);
        if (is_number && !renumber(rename, role, &number))
            continue;
        if (text->length > begin)
            buffer_char(text, ',');
        buffer_bytes(text, key.at - 1, key.length + 2);
        buffer_char(text, ':');
        if (is_number)
            buffer_u64(text, number);
        else
            buffer_bytes(text, value.at, value.length);
    }
    *copy = *arg;
    copy->length = text->length - begin;
    copy->u64 = begin;
}

static void copy_list(struct merge_rename *rename, const struct arg *args, size_t count)
{
    for (const struct arg *arg = args; arg < args + count && !rename->no_memory; arg++) {
        uint64_t number;
        if (arg->type == ARG_TYPE_LIST) {
            copy_list(rename, arg->list->items, arg->list->count);
            continue;
        }
        enum merge_role role = arg->type == ARG_TYPE_MEMBERS ? MERGE_ROLE_NONE : (enum merge_role)merge_roles[arg->key];
        bool is_number = role != MERGE_ROLE_NONE && merge_arg_is_id(arg, &number);
        if (is_number && !renumber(rename, role, &number))
            continue;
        struct arg *copy = array_push(&rename->args);
        if (!copy) {
            rename->no_memory = true;
        } else if (arg->type == ARG_TYPE_MEMBERS) {
            copy_members(rename, arg, copy);
        } else {
            *copy = *arg;
            if (is_number)
                copy->u64 = number;
        }
    }
}

/* Returns ARGS, which may be NULL, with new numbers. The result is valid until the next call. */
static const struct args *merge_args_new(struct merge_rename *rename, const struct args *args)
{
    if (!args || args->count == 0)
        return args;
    rename->args.count = rename->text.length = 0;
    copy_list(rename, args->items, args->count);
    rename->no_memory |= rename->text.failure != 0;
    size_t kept = 0;
    for (size_t i = 0; i < rename->args.count && !rename->no_memory; i++) {
        struct arg *arg = &rename->args.items[i];
        if (arg->type == ARG_TYPE_MEMBERS && arg->length == 0)
            continue;
        if (arg->type == ARG_TYPE_MEMBERS)
            arg->text = rename->text.data + arg->u64;
        rename->args.items[kept++] = *arg;
    }
    rename->list = (struct arg_list){.items = rename->args.items, .count = kept};
    rename->given.count = 0;
    if (kept > 0)
        args_list(&rename->given, &rename->list);
    return &rename->given;
}

static struct merge_rename *rename_of(struct sink *sink)
{
    return (struct merge_rename *)sink;
}

static const struct merge_process *find_process(struct merge_rename *rename, uint32_t pid)
{
    if (!rename->recent || rename->recent->pid != pid)
        rename->recent = merge_process_get(rename->trace, pid);
    return rename->recent;
}

/* PROCESS is NULL only if the file has changed since the first reading. */
static uint32_t new_pid(const struct merge_process *process, uint32_t pid)
{
    return process ? process->new_pid : pid;
}

static struct slice new_slice(struct merge_rename *rename, const struct slice *slice)
{
    const struct merge_process *process = find_process(rename, slice->row.pid);
    struct slice renamed = *slice;
    renamed.row.pid = new_pid(process, slice->row.pid);
    renamed.start = merge_time(rename->merge, process, slice->start);
    renamed.end = merge_time(rename->merge, process, slice->end);
    renamed.args = merge_args_new(rename, slice->args);
    return renamed;
}

static void rename_slice(struct sink *sink, const struct slice *slice)
{
    struct merge_rename *rename = rename_of(sink);
    struct slice renamed = new_slice(rename, slice);
    rename->to->format->slice(rename->to, &renamed);
}

static void rename_instant(struct sink *sink, const struct slice *instant)
{
    struct merge_rename *rename = rename_of(sink);
    struct slice renamed = new_slice(rename, instant);
    rename->to->format->instant(rename->to, &renamed);
}

static void rename_async(struct sink *sink, const struct async_slice *slice)
{
    struct merge_rename *rename = rename_of(sink);
    const struct merge_process *end = find_process(rename, slice->end_row.pid);
    const struct merge_process *begin = find_process(rename, slice->begin.pid);
    struct async_slice renamed = *slice;
    renamed.begin.pid = new_pid(begin, slice->begin.pid);
    renamed.end_row.pid = new_pid(end, slice->end_row.pid);
    renamed.start = merge_time(rename->merge, begin, slice->start);
    renamed.end = merge_time(rename->merge, end, slice->end);
    renamed.end = renamed.end < renamed.start
                      ? renamed.start
                      : renamed.end; /* the range may be of two processes with different clocks */
    renamed.id = rename->next_async++;
    renamed.args = merge_args_new(rename, slice->args);
    rename->to->format->async(rename->to, &renamed);
}

static void rename_counter(struct sink *sink, const struct counter *counter)
{
    struct merge_rename *rename = rename_of(sink);
    const struct merge_process *process = find_process(rename, counter->pid);
    struct counter renamed = *counter;
    renamed.pid = new_pid(process, counter->pid);
    renamed.time = merge_time(rename->merge, process, counter->time);
    rename->to->format->counter(rename->to, &renamed);
}

static void rename_flow(struct sink *sink, const struct flow *flow)
{
    struct merge_rename *rename = rename_of(sink);
    const struct merge_trace *trace = rename->trace;
    const struct merge_process *process = find_process(rename, flow->row.pid);
    struct flow renamed = *flow;
    renamed.row.pid = new_pid(process, flow->row.pid);
    renamed.time = merge_time(rename->merge, process, flow->time);
    renamed.id =
        (uint32_t)merge_ids_new(flow->category == CATEGORY_FWDBWD ? &trace->forward_flows : &trace->flows, flow->id);
    rename->to->format->flow(rename->to, &renamed);
}

/* --- the sink --- */

static int load_stacks(struct merge_rename *rename)
{
    const struct merge_trace *trace = rename->trace;
    size_t size = trace->stack_count * sizeof(*rename->stacks);
    if (size == 0)
        return 0;
    rename->stacks = malloc(size);
    if (!rename->stacks)
        return error_no_memory("call stacks");
    return file_read_at(rename->merge->store, rename->stacks, size, trace->stacks)
               ? 0
               : error("cannot read a temporary file: %m");
}

int merge_rename_init(struct merge_rename *rename, const struct merge *merge, const struct merge_trace *trace)
{
    *rename = (struct merge_rename){.merge = merge, .trace = trace};
    buffer_init_memory(&rename->text);
    buffer_init_memory(&rename->nothing);
    return load_stacks(rename);
}

void merge_rename_release(struct merge_rename *rename)
{
    free(rename->stacks);
    array_release(&rename->args);
    buffer_release(&rename->text);
    buffer_release(&rename->nothing);
}

struct sink *merge_rename_to(struct merge_rename *rename, struct sink *to)
{
    rename->to = to;
    rename->recent = NULL;
    rename->next_async = rename->trace->first_async;
    rename->format = (struct sink_format){
        .name = rename->merge->format->name,
        .piece_scale = 1,
        .all_flows = rename->merge->format->all_flows,
        .metadata = sink_pass_metadata,
        .begin = sink_set_base,
        .process = sink_pass_row,
        .thread = sink_pass_row,
        .slice = rename_slice,
        .instant = rename_instant,
        .async = rename_async,
        .counter = rename_counter,
        .flow = rename_flow,
        .finish = sink_pass_end,
    };
    sink_init(&rename->sink, &rename->format, &rename->nothing);
    return &rename->sink;
}
