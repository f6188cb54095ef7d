/*
 * The first reading of a trace: its rows, processes, GPUs, the times of its events, and the numbers that they have.
 */
#include <stdlib.h>
#include <string.h>

#include <cjson/cJSON.h>

#include "common/log.h"
#include "common/array.h"
#include "common/map.h"
#include "trace/meaning/sources.h"
#include "trace/merge/merge_parts.h"
#include "trace/tracks.h"

/* A sink that writes nothing. */
struct merge_looking {
    struct sink sink;
    struct sink_format format;
    struct merge_trace *trace;
    struct buffer nothing;
    struct merge_process *recent;
    bool no_memory;
};

static struct merge_looking *looking_of(struct sink *sink)
{
    return (struct merge_looking *)sink;
}

struct merge_process *merge_process_get(const struct merge_trace *trace, uint32_t pid)
{
    return FIND_ITEM(&trace->processes, &trace->process_of_pid, pid);
}

/* The process of a trace, made when it is new; NULL: no memory. */
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

/* A number from 0 on; else NONE. */
static int64_t number_of(const cJSON *object, const char *key, int64_t none)
{
    const cJSON *value = cJSON_GetObjectItemCaseSensitive(object, key);
    return cJSON_IsNumber(value) && value->valuedouble >= 0 && value->valuedouble < 1e15 ? (int64_t)value->valuedouble
                                                                                         : none;
}

/* {"0": 1073742848, …} */
static void look_at_gpu_rows(struct merge_looking *looking, uint32_t owner, const cJSON *rows)
{
    const cJSON *row;
    cJSON_ArrayForEach(row, rows)
    {
        bool known = cJSON_IsNumber(row) && row->string && row->valueint >= 0;
        struct merge_process *process = known ? merge_process_put(looking->trace, (uint32_t)row->valueint) : NULL;
        looking->no_memory |= known && !process;
        if (!process)
            continue;
        process->gpu = true;
        process->device = strtoll(row->string, NULL, 10);
        process->owner = owner;
    }
}

/* {"pid": 583, "rank": 3, "host": "node7", "gpu_pids": …}; the host stays its name until hosts are numbered. */
static void look_at_process(struct merge_looking *looking, const cJSON *told)
{
    int64_t pid = number_of(told, "pid", -1);
    struct merge_process *process =
        pid >= 0 && pid <= UINT32_MAX ? merge_process_put(looking->trace, (uint32_t)pid) : NULL;
    if (!process) {
        looking->no_memory |= pid >= 0 && pid <= UINT32_MAX;
        return;
    }
    process->rank = number_of(told, "rank", MERGE_NO_RANK);
    process->local_rank = number_of(told, "local_rank", -1);
    process->world_size = number_of(told, "world_size", -1);
    free(process->told_host);
    process->told_host = copy_text(told, "host");
    look_at_gpu_rows(looking, (uint32_t)pid, cJSON_GetObjectItemCaseSensitive(told, "gpu_pids"));
}

static void look_at_own(struct merge_looking *looking, const cJSON *own)
{
    const cJSON *process;
    const cJSON *clock = cJSON_GetObjectItemCaseSensitive(own, "clock");
    const cJSON *synchronised = cJSON_GetObjectItemCaseSensitive(clock, "synchronised");
    if (cJSON_IsBool(synchronised)) {
        looking->trace->synchronised = cJSON_IsTrue(synchronised);
        looking->trace->error_us = number_of(clock, "error_us", -1);
    }
    free(looking->trace->host);
    looking->trace->host = copy_text(own, "host");
    cJSON_ArrayForEach(process, cJSON_GetObjectItemCaseSensitive(own, "processes")) look_at_process(looking, process);
}

static void look_at_devices(struct merge_looking *looking, const cJSON *devices)
{
    const cJSON *told;
    cJSON_ArrayForEach(told, devices)
    {
        int64_t id = number_of(told, "id", -1);
        struct merge_device *device = id >= 0 && id < MERGE_DEVICES_MOST ? merge_device_put(looking->trace, id) : NULL;
        if (!device || device->uuid)
            continue;
        device->uuid = copy_text(told, "uuid");
        device->host = copy_text(told, "host");
    }
}

static void look_at_metadata(struct sink *sink, const char *key, const char *value, size_t size)
{
    struct merge_looking *looking = looking_of(sink);
    struct merge_trace *trace = looking->trace;
    looking->recent = NULL; /* processes that are told of may move it */
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
        look_at_own(looking, parsed);
    } else if (devices) {
        look_at_devices(looking, parsed);
    } else {
        trace->rank = number_of(parsed, "rank", MERGE_NO_RANK);
        trace->world_size = number_of(parsed, "world_size", -1);
    }
    cJSON_Delete(parsed);
}

/* --- rows --- */

static void set_text(struct merge_looking *looking, char **place, const char *text)
{
    free(*place);
    *place = text && *text ? strdup(text) : NULL;
    looking->no_memory |= text && *text && !*place;
}

static void look_at_process_row(struct sink *sink, const struct row_name *row)
{
    static const char gpu[] = "GPU ";
    struct merge_looking *looking = looking_of(sink);
    struct merge_process *process = merge_process_put(looking->trace, row->row.pid);
    looking->recent = NULL;
    if (!process) {
        looking->no_memory = true;
        return;
    }
    process->has_row = true;
    process->sort_index = row->sort_index;
    set_text(looking, &process->name, row->name);
    set_text(looking, &process->label, row->label);
    if (process->gpu)
        return;
    bool labelled = row->label && strncmp(row->label, gpu, strlen(gpu)) == 0;
    process->gpu = labelled || row->owner != 0;
    process->owner = row->owner == ROW_OWNER_UNKNOWN ? 0 : row->owner;
    if (labelled)
        process->device = strtoll(row->label + strlen(gpu), NULL, 10);
}

static void look_at_thread_row(struct sink *sink, const struct row_name *row)
{
    struct merge_looking *looking = looking_of(sink);
    struct merge_thread *thread = array_push(&looking->trace->threads);
    if (!thread) {
        looking->no_memory = true;
        return;
    }
    thread->row = row->row;
    thread->sort_index = row->sort_index;
    set_text(looking, &thread->name, row->name);
}

/* --- events --- */

static struct merge_process *look_at_times(struct sink *sink, uint32_t pid, uint64_t start, uint64_t end, bool program)
{
    struct merge_looking *looking = looking_of(sink);
    struct merge_process *process = looking->recent;
    if (!process || process->pid != pid)
        process = looking->recent = merge_process_put(looking->trace, pid);
    if (!process) {
        looking->no_memory = true;
        return NULL;
    }
    trace_times_widen(&process->times, (int64_t)start, (int64_t)end);
    if (program)
        trace_times_widen(&process->program, (int64_t)start, (int64_t)end);
    process->has_row = true;
    return process;
}

static void look_at_slice(struct sink *sink, const struct slice *slice)
{
    bool program = category_is_program(slice->category, false);
    struct merge_process *process = look_at_times(sink, slice->row.pid, slice->start, slice->end, program);
    if (process && !process->gpu && !slice->other_category && category_in(slice->category, CATEGORIES_GPU_OPS))
        process->gpu = true;
    merge_args_see(looking_of(sink)->trace, slice->args);
}

static void look_at_instant(struct sink *sink, const struct slice *instant)
{
    bool program = category_is_program(instant->category, true);
    look_at_times(sink, instant->row.pid, instant->start, instant->start, program);
    merge_args_see(looking_of(sink)->trace, instant->args);
}

static void look_at_async(struct sink *sink, const struct async_slice *slice)
{
    look_at_times(sink, slice->end_row.pid, slice->end, slice->end, true);
    look_at_times(sink, slice->begin.pid, slice->start, slice->end, true);
    looking_of(sink)->trace->asyncs++;
    merge_args_see(looking_of(sink)->trace, slice->args);
}

static void look_at_counter(struct sink *sink, const struct counter *counter)
{
    look_at_times(sink, counter->pid, counter->time, counter->time, true);
}

static void look_at_flow(struct sink *sink, const struct flow *flow)
{
    struct merge_trace *trace = looking_of(sink)->trace;
    look_at_times(sink, flow->row.pid, flow->time, flow->time, false);
    merge_ids_see(flow->category == CATEGORY_FWDBWD ? &trace->forward_flows : &trace->flows, flow->id);
}

int merge_look_at_trace(const struct merge *merge, struct merge_trace *trace, unsigned workers)
{
    struct merge_looking looking = {.trace = trace};
    looking.format = (struct sink_format){
        .name = merge->format->name,
        .piece_scale = 1,
        .all_flows = merge->format->all_flows,
        .metadata = look_at_metadata,
        .begin = sink_set_base,
        .process = look_at_process_row,
        .thread = look_at_thread_row,
        .slice = look_at_slice,
        .instant = look_at_instant,
        .async = look_at_async,
        .counter = look_at_counter,
        .flow = look_at_flow,
        .finish = sink_pass_end,
    };
    buffer_init_memory(&looking.nothing);
    sink_init(&looking.sink, &looking.format, &looking.nothing);
    int result = sources_read(trace->input->path, &looking.sink, &(struct sources_options){.workers = workers});
    if (result == 0 && (looking.no_memory || trace->metadata.failure))
        result = error_no_memory("the traces");
    buffer_release(&looking.nothing);
    return result;
}
