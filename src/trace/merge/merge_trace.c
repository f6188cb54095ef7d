/*
 * The first reading of a trace: finds its rows, processes, GPUs, the times of its events, and the numbers in use.
 */
#include <stdlib.h>
#include <string.h>

#include <cjson/cJSON.h>

#include "common/log.h"
#include "common/memory.h"
#include "trace/meaning/sources.h"
#include "trace/merge/merge_trace.h"
#include "trace/tracks.h"

/* The sink of the first reading. It writes nothing. */
struct trace_scan {
    struct sink sink;
    struct sink_format format;
    struct merge_trace *trace;
    struct buffer nothing;
    struct merge_process *recent;
    bool no_memory;
};

static struct trace_scan *scan_of(struct sink *sink)
{
    return (struct trace_scan *)sink;
}

struct merge_process *merge_process_get(const struct merge_trace *trace, uint32_t pid)
{
    return FIND_ITEM(&trace->processes, &trace->process_of_pid, pid);
}

/* Returns a process of a trace, which is added if it is new. Returns NULL without memory. */
static struct merge_process *merge_process_put(struct merge_trace *trace, uint32_t pid)
{
    size_t known = trace->processes.count;
    struct merge_process *process = PUT_ITEM(&trace->processes, &trace->process_of_pid, pid);
    if (process && trace->processes.count > known)
        *process = (struct merge_process){
            .pid = pid, .device = -1, .rank = MERGE_NO_RANK, .local_rank = -1, .world_size = -1, .host = MERGE_NO_HOST};
    return process;
}

const struct merge_device *merge_device_get(const struct merge_trace *trace, int64_t id)
{
    return FIND_ITEM(&trace->devices, &trace->device_of_id, (uint64_t)id);
}

struct merge_device *merge_device_put(struct merge_trace *trace, int64_t id)
{
    size_t known = trace->devices.count;
    struct merge_device *device = PUT_ITEM(&trace->devices, &trace->device_of_id, (uint64_t)id);
    if (device && trace->devices.count > known)
        *device = (struct merge_device){.id = id, .new_id = UINT32_MAX};
    return device;
}

/* --- metadata --- */

static char *copy_text(const cJSON *object, const char *key)
{
    const char *text = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(object, key));
    return text && *text ? strdup(text) : NULL;
}

/* Returns the member KEY if it is a number and not negative, else NONE. */
static int64_t number_of(const cJSON *object, const char *key, int64_t none)
{
    const cJSON *value = cJSON_GetObjectItemCaseSensitive(object, key);
    return cJSON_IsNumber(value) && value->valuedouble >= 0 && value->valuedouble < 1e15 ? (int64_t)value->valuedouble
                                                                                         : none;
}

/* Reads the pids of a process's rows of GPUs by device: {"0": 1073742848, …}. */
static void scan_gpu_rows(struct trace_scan *scan, uint32_t owner, const cJSON *rows)
{
    const cJSON *row;
    cJSON_ArrayForEach(row, rows)
    {
        bool known = cJSON_IsNumber(row) && row->string && row->valueint >= 0;
        struct merge_process *process = known ? merge_process_put(scan->trace, (uint32_t)row->valueint) : NULL;
        scan->no_memory |= known && !process;
        if (!process)
            continue;
        process->gpu = true;
        process->device = strtoll(row->string, NULL, 10);
        process->owner = owner;
    }
}

/* Reads {"pid": 583, "rank": 3, "host": "node7", "gpu_pids": …}. */
static void scan_process(struct trace_scan *scan, const cJSON *told)
{
    int64_t pid = number_of(told, "pid", -1);
    struct merge_process *process =
        pid >= 0 && pid <= UINT32_MAX ? merge_process_put(scan->trace, (uint32_t)pid) : NULL;
    if (!process) {
        scan->no_memory |= pid >= 0 && pid <= UINT32_MAX;
        return;
    }
    process->rank = number_of(told, "rank", MERGE_NO_RANK);
    process->local_rank = number_of(told, "local_rank", -1);
    process->world_size = number_of(told, "world_size", -1);
    free(process->told_host);
    process->told_host = copy_text(told, "host");
    scan_gpu_rows(scan, (uint32_t)pid, cJSON_GetObjectItemCaseSensitive(told, "gpu_pids"));
}

static void scan_devices(struct trace_scan *scan, const cJSON *devices)
{
    const cJSON *told;
    cJSON_ArrayForEach(told, devices)
    {
        int64_t id = number_of(told, "id", -1);
        struct merge_device *device = id >= 0 && id < MERGE_DEVICES_MOST ? merge_device_put(scan->trace, id) : NULL;
        if (!device || device->uuid)
            continue;
        device->uuid = copy_text(told, "uuid");
        device->host = copy_text(told, "host");
    }
}

static void scan_metadata(struct sink *sink, const char *key, const char *value, size_t size)
{
    struct trace_scan *scan = scan_of(sink);
    struct merge_trace *trace = scan->trace;
    scan->recent = NULL; /* adding processes may move it */
    buffer_bytes(&trace->metadata, key, strlen(key) + 1);
    buffer_bytes(&trace->metadata, &size, sizeof(size));
    buffer_bytes(&trace->metadata, value, size);
    if (strcmp(key, "baseTimeNanoseconds") == 0)
        trace->base = strtoull(value, NULL, 10);
    bool own = strcmp(key, "gputrace") == 0, devices = strcmp(key, "deviceProperties") == 0;
    if (!own && !devices && strcmp(key, "distributedInfo") != 0)
        return;
    cJSON *parsed = cJSON_ParseWithLength(value, size);
    if (own) {
        const cJSON *process;
        const cJSON *clock = cJSON_GetObjectItemCaseSensitive(parsed, "clock");
        const cJSON *synchronised = cJSON_GetObjectItemCaseSensitive(clock, "synchronised");
        if (cJSON_IsBool(synchronised)) {
            scan->trace->synchronised = cJSON_IsTrue(synchronised);
            scan->trace->error_us = number_of(clock, "error_us", -1);
        }
        free(scan->trace->host);
        scan->trace->host = copy_text(parsed, "host");
        cJSON_ArrayForEach(process, cJSON_GetObjectItemCaseSensitive(parsed, "processes")) scan_process(scan, process);
    } else if (devices) {
        scan_devices(scan, parsed);
    } else {
        trace->rank = number_of(parsed, "rank", MERGE_NO_RANK);
        trace->world_size = number_of(parsed, "world_size", -1);
    }
    cJSON_Delete(parsed);
}

/* --- rows --- */

static void set_text(struct trace_scan *scan, char **place, const char *text)
{
    free(*place);
    *place = text && *text ? strdup(text) : NULL;
    scan->no_memory |= text && *text && !*place;
}

static void scan_process_row(struct sink *sink, const struct row_name *row)
{
    static const char gpu[] = "GPU ";
    struct trace_scan *scan = scan_of(sink);
    struct merge_process *process = merge_process_put(scan->trace, row->row.pid);
    scan->recent = NULL;
    if (!process) {
        scan->no_memory = true;
        return;
    }
    process->has_row = true;
    process->sort_index = row->sort_index;
    set_text(scan, &process->name, row->name);
    set_text(scan, &process->label, row->label);
    if (process->gpu)
        return;
    bool labelled = row->label && strncmp(row->label, gpu, strlen(gpu)) == 0;
    process->gpu = labelled || row->owner != 0;
    process->owner = row->owner == ROW_OWNER_UNKNOWN ? 0 : row->owner;
    if (labelled)
        process->device = strtoll(row->label + strlen(gpu), NULL, 10);
}

static void scan_thread_row(struct sink *sink, const struct row_name *row)
{
    struct trace_scan *scan = scan_of(sink);
    struct merge_thread *thread = array_push(&scan->trace->threads);
    if (!thread) {
        scan->no_memory = true;
        return;
    }
    thread->row = row->row;
    thread->sort_index = row->sort_index;
    set_text(scan, &thread->name, row->name);
}

/* --- numbers in arguments --- */

const uint8_t merge_roles[ARG_KEY_COUNT] = {
    [ARG_CORRELATION] = MERGE_ROLE_CORRELATION,
    [ARG_WAIT_ON_CORRELATION] = MERGE_ROLE_WAITS_FOR,
    [ARG_DEVICE] = MERGE_ROLE_DEVICE,
    [ARG_FROM_DEVICE] = MERGE_ROLE_DEVICE,
    [ARG_TO_DEVICE] = MERGE_ROLE_DEVICE,
    [ARG_PYTORCH_DEVICE] = MERGE_ROLE_DEVICE,
    [ARG_STACK] = MERGE_ROLE_STACK,
    [ARG_EXTERNAL_ID] = MERGE_ROLE_EXTERNAL,
    [ARG_PROCESS] = MERGE_ROLE_PROCESS,
};

bool merge_arg_is_id(const struct arg *arg, uint64_t *number)
{
    if (arg->type == ARG_TYPE_I64 ? arg->i64 < 0 : arg->type != ARG_TYPE_U64)
        return false;
    *number = arg->u64;
    return true;
}

static void index_number(struct merge_trace *trace, enum merge_role role, uint64_t number)
{
    struct merge_device *device;
    switch (role) {
    case MERGE_ROLE_CORRELATION:
        if (number > 0 && number <= UINT32_MAX)
            merge_ids_see(&trace->flows, number);
        break;
    case MERGE_ROLE_EXTERNAL:
        if (number > 0)
            merge_ids_see(&trace->external_ids, number);
        break;
    case MERGE_ROLE_DEVICE:
        device = number < MERGE_DEVICES_MOST ? merge_device_put(trace, (int64_t)number) : NULL;
        if (device)
            device->used = true;
        break;
    default: break;
    }
}

static void index_list(struct merge_trace *trace, const struct arg *args, size_t count)
{
    struct json_text key, value;
    uint64_t number;
    for (const struct arg *arg = args; arg < args + count; arg++) {
        const char *at = arg->type == ARG_TYPE_MEMBERS ? arg->text : NULL, *end = at ? at + arg->length : NULL;
        while (at && json_member(&at, end, &key, &value))
            if (merge_role_of_name(key) != MERGE_ROLE_NONE && json_integer(value, &number))
                index_number(trace, merge_role_of_name(key), number);
        if (arg->type == ARG_TYPE_LIST)
            index_list(trace, arg->list->items, arg->list->count);
        else if (arg->type != ARG_TYPE_MEMBERS && merge_roles[arg->key] != MERGE_ROLE_NONE &&
                 merge_arg_is_id(arg, &number))
            index_number(trace, (enum merge_role)merge_roles[arg->key], number);
    }
}

static void index_args(struct merge_trace *trace, const struct args *args)
{
    if (args)
        index_list(trace, args->items, args->count);
}

/* --- events --- */

static struct merge_process *scan_times(struct sink *sink, uint32_t pid, uint64_t start, uint64_t end, bool program)
{
    struct trace_scan *scan = scan_of(sink);
    struct merge_process *process = scan->recent;
    if (!process || process->pid != pid)
        process = scan->recent = merge_process_put(scan->trace, pid);
    if (!process) {
        scan->no_memory = true;
        return NULL;
    }
    trace_times_widen(&process->times, (int64_t)start, (int64_t)end);
    if (program)
        trace_times_widen(&process->program, (int64_t)start, (int64_t)end);
    process->has_row = true;
    return process;
}

static void scan_slice(struct sink *sink, const struct slice *slice)
{
    bool program = category_is_program(slice->category, false);
    struct merge_process *process = scan_times(sink, slice->row.pid, slice->start, slice->end, program);
    if (process && !process->gpu && !slice->other_category && category_in(slice->category, CATEGORIES_GPU_OPS))
        process->gpu = true;
    index_args(scan_of(sink)->trace, slice->args);
}

static void scan_instant(struct sink *sink, const struct slice *instant)
{
    bool program = category_is_program(instant->category, true);
    scan_times(sink, instant->row.pid, instant->start, instant->start, program);
    index_args(scan_of(sink)->trace, instant->args);
}

static void scan_async(struct sink *sink, const struct async_slice *slice)
{
    scan_times(sink, slice->end_row.pid, slice->end, slice->end, true);
    scan_times(sink, slice->begin.pid, slice->start, slice->end, true);
    scan_of(sink)->trace->asyncs++;
    index_args(scan_of(sink)->trace, slice->args);
}

static void scan_counter(struct sink *sink, const struct counter *counter)
{
    scan_times(sink, counter->pid, counter->time, counter->time, true);
}

static void scan_flow(struct sink *sink, const struct flow *flow)
{
    struct merge_trace *trace = scan_of(sink)->trace;
    scan_times(sink, flow->row.pid, flow->time, flow->time, false);
    merge_ids_see(flow->category == CATEGORY_FWDBWD ? &trace->forward_flows : &trace->flows, flow->id);
}

int merge_read_trace(const struct merge *merge, struct merge_trace *trace, unsigned workers)
{
    struct trace_scan scan = {.trace = trace};
    scan.format = (struct sink_format){
        .name = merge->format->name,
        .piece_scale = 1,
        .all_flows = merge->format->all_flows,
        .metadata = scan_metadata,
        .begin = sink_set_base,
        .process = scan_process_row,
        .thread = scan_thread_row,
        .slice = scan_slice,
        .instant = scan_instant,
        .async = scan_async,
        .counter = scan_counter,
        .flow = scan_flow,
        .finish = sink_pass_end,
    };
    buffer_init_memory(&scan.nothing);
    sink_init(&scan.sink, &scan.format, &scan.nothing);
    int result = sources_read(trace->input->path, &scan.sink, &(struct sources_options){.workers = workers});
    if (result == 0 && (scan.no_memory || trace->metadata.failure))
        result = error_no_memory("the traces");
    buffer_release(&scan.nothing);
    return result;
}

int merge_store(struct merge *merge, const void *bytes, size_t size, uint64_t *at)
{
    *at = merge->stored;
    merge->stored += size;
    if (size > 0 && !file_write_at(merge->store, bytes, size, *at))
        return error("cannot write a temporary file in '%s': %m", temporary_directory());
    return 0;
}
