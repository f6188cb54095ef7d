/*
 * What the metadata says of processes and GPUs, with the numbers and times of the output. What is not a number of these
 * stays as it is, byte by byte.
 */
#include <stdlib.h>
#include <string.h>

#include "common/json_out.h"
#include "trace/json/text.h"
#include "trace/merge/merge_parts.h"

#define DEPTH_MOST (JSON_DEPTH_MAX - 4) /* what lies deeper has no numbers of ours */

static bool is_key(struct json_text key, const char *word)
{
    return key.length == strlen(word) && memcmp(key.at, word, key.length) == 0;
}

/* A number from 0 on; NONE: it is not one. */
static int64_t number_of(struct json_text value, int64_t none)
{
    int64_t number = 0;
    if (value.length == 0 || value.length > 18)
        return none;
    for (size_t i = 0; i < value.length; i++) {
        if (value.at[i] < '0' || value.at[i] > '9')
            return none;
        number = number * 10 + (value.at[i] - '0');
    }
    return number;
}

/* A process while it is written. */
struct telling {
    const struct merge *merge;
    const struct merge_trace *trace;
    const struct merge_process *process;
    const struct merge_stacks *stacks;
    struct json_out *json;
};

static void put_pid(const struct telling *telling, struct json_text value)
{
    int64_t number = number_of(value, -1);
    const struct merge_process *process =
        number >= 0 && number <= UINT32_MAX ? merge_process_get(telling->trace, (uint32_t)number) : NULL;
    if (process)
        json_u64(telling->json, process->new_pid);
    else
        json_raw(telling->json, value.at, value.length);
}

static void put_device(const struct telling *telling, struct json_text value)
{
    int64_t device = number_of(value, -1);
    if (device >= 0)
        json_i64(telling->json, merge_device_new(telling->trace, device));
    else
        json_raw(telling->json, value.at, value.length);
}

static void put_stack(const struct telling *telling, struct json_text value)
{
    int64_t number = number_of(value, 0);
    const struct merge_stacks *stacks = telling->stacks;
    json_u64(telling->json, merge_stacks_find(stacks->numbers.items, stacks->numbers.count, (uint64_t)number));
}

/* Microseconds since the base of the trace. */
static void put_moment(const struct telling *telling, struct json_text value)
{
    int64_t ns;
    if (json_exact_ns(value, &ns) && ns >= 0)
        json_us(telling->json,
                (int64_t)(merge_time(telling->merge, telling->process, telling->trace->base + (uint64_t)ns) -
                          telling->merge->base));
    else
        json_raw(telling->json, value.at, value.length);
}

/* Nanoseconds of the host's clock. */
static void put_time(const struct telling *telling, struct json_text value)
{
    uint64_t ns = strtoull(value.at, NULL, 10);
    if (value.length > 18 && ns > 0)
        json_u64(telling->json, merge_time(telling->merge, telling->process, ns));
    else
        json_raw(telling->json, value.at, value.length);
}

/* Correlation ids of the process count from there on. */
static void put_offset(const struct telling *telling, struct json_text value)
{
    const struct merge_ids *flows = &telling->trace->flows;
    json_i64(telling->json, number_of(value, 0) + (int64_t)flows->first - (int64_t)flows->least);
}

static void put_gpu_pids(const struct telling *telling, struct json_text rows)
{
    struct json_text key, value;
    json_begin_object(telling->json);
    for (const char *at = rows.at + 1, *end = rows.at + rows.length; json_member(&at, end, &key, &value);) {
        struct buffer device;
        buffer_init_memory(&device);
        buffer_i64(&device, merge_device_new(telling->trace, number_of(key, 0)));
        json_key_text(telling->json, device.data ? device.data : "", device.length);
        put_pid(telling, value);
        buffer_release(&device);
    }
    json_end(telling->json);
}

/* Members whose values are numbers of the trace, or hold some. */
static const struct {
    const char *key;
    char first; /* of the value; 0: any */
    void (*put)(const struct telling *telling, struct json_text value);
} numbers[] = {
    {"pid", 0, put_pid},      {"parent_pid", 0, put_pid}, {"device", 0, put_device},
    {"stack", 0, put_stack},  {"ts", 0, put_moment},      {"correlation_offset", 0, put_offset},
    {"started", 0, put_time}, {"finished", 0, put_time},  {"gpu_pids", '{', put_gpu_pids},
};

static void put_value(const struct telling *telling, struct json_text value);

static void put_member(const struct telling *telling, struct json_text key, struct json_text value)
{
    json_key_raw(telling->json, key.at, key.length);
    for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++) {
        char first = *value.at;
        bool nested = first == '{' || first == '[';
        if (is_key(key, numbers[i].key) && (numbers[i].first != 0 ? first == numbers[i].first : !nested)) {
            numbers[i].put(telling, value);
            return;
        }
    }
    put_value(telling, value);
}

static void put_value(const struct telling *telling, struct json_text value)
{
    struct json_text key, item;
    const char *at = value.at + 1, *end = value.at + value.length;
    if (telling->json->depth >= DEPTH_MOST) {
        json_raw(telling->json, value.at, value.length);
    } else if (*value.at == '{') {
        json_begin_object(telling->json);
        while (json_member(&at, end, &key, &item))
            put_member(telling, key, item);
        json_end(telling->json);
    } else if (*value.at == '[') {
        json_begin_array(telling->json);
        while (json_element(&at, end, &item))
            put_value(telling, item);
        json_end(telling->json);
    } else {
        json_raw(telling->json, value.at, value.length);
    }
}

/* --- processes --- */

static const struct json_text *member_of(struct json_text object, const char *word, struct json_text *value)
{
    struct json_text key;
    for (const char *at = object.at + 1, *end = object.at + object.length; json_member(&at, end, &key, value);)
        if (is_key(key, word))
            return value;
    return NULL;
}

static void put_rank(const struct telling *telling)
{
    const struct merge_process *process = telling->process;
    const struct merge_host *host = &telling->merge->hosts.items[process->host];
    if (process->rank != MERGE_NO_RANK)
        json_put_i64(telling->json, "rank", process->rank);
    if (process->local_rank >= 0)
        json_put_i64(telling->json, "local_rank", process->local_rank);
    if (process->world_size >= 0)
        json_put_i64(telling->json, "world_size", process->world_size);
    if (host->named)
        json_put_text(telling->json, "host", host->name);
}

/* As the trace says it, but for rank and host, which every process of the output has. */
static void put_told(struct telling *telling, struct json_text object)
{
    struct json_text key, value;
    json_begin_object(telling->json);
    for (const char *at = object.at + 1, *end = object.at + object.length; json_member(&at, end, &key, &value);)
        if (!is_key(key, "rank") && !is_key(key, "local_rank") && !is_key(key, "world_size") && !is_key(key, "host"))
            put_member(telling, key, value);
    put_rank(telling);
    json_end(telling->json);
}

/* The rows of GPUs that show what the process did. */
static void put_gpus(const struct telling *telling)
{
    json_key_object(telling->json, "gpu_pids");
    for (size_t i = 0; i < telling->trace->processes.count; i++) {
        const struct merge_process *gpu = &telling->trace->processes.items[i];
        if (!gpu->gpu || !gpu->has_row || gpu->owner != telling->process->pid || gpu->device < 0)
            continue;
        struct buffer device;
        buffer_init_memory(&device);
        buffer_i64(&device, merge_device_new(telling->trace, gpu->device));
        json_key_text(telling->json, device.data ? device.data : "", device.length);
        json_u64(telling->json, gpu->new_pid);
        buffer_release(&device);
    }
    json_end(telling->json);
}

/* A process of a trace that says nothing of processes, as those of torch.profiler. */
static void put_untold(const struct telling *telling)
{
    json_begin_object(telling->json);
    json_put_u64(telling->json, "pid", telling->process->new_pid);
    put_gpus(telling);
    put_rank(telling);
    json_end(telling->json);
}

void merge_put_processes(const struct merge *merge, const struct merge_trace *trace, struct json_text text,
                         const struct merge_stacks *stacks, struct json_out *json)
{
    struct telling telling = {.merge = merge, .trace = trace, .stacks = stacks, .json = json};
    struct json_text item, pid;
    struct map told = {0};
    const char *at = text.at + 1, *end = text.at + text.length;
    while (text.length > 0 && json_element(&at, end, &item)) {
        int64_t number = *item.at == '{' && member_of(item, "pid", &pid) ? number_of(pid, -1) : -1;
        telling.process = number >= 0 ? merge_process_get(trace, (uint32_t)number) : NULL;
        if (!telling.process)
            continue;
        map_put(&told, (uint32_t)number, NULL);
        put_told(&telling, item);
    }
    for (size_t i = 0; i < trace->processes.count; i++) {
        telling.process = &trace->processes.items[i];
        bool host =
            telling.process->has_row && merge_is_program(telling.process) && telling.process->rank != MERGE_NO_RANK;
        if (host && !map_get(&told, telling.process->pid))
            put_untold(&telling);
    }
    map_release(&told);
}

/* --- what else has numbers --- */

void merge_put_value(const struct merge *merge, const struct merge_trace *trace, struct json_text value,
                     const struct merge_stacks *stacks, struct json_out *json)
{
    static const struct merge_process nobody = {.host = MERGE_NO_HOST};
    const struct telling telling = {.merge = merge, .trace = trace, .process = &nobody, .stacks = stacks, .json = json};
    put_value(&telling, value);
}

/* --- GPUs --- */

static void put_properties(const struct merge *merge, const struct merge_trace *trace,
                           const struct merge_device *device, struct json_text object, struct json_out *json)
{
    const char *host = trace->processes.count > 0 ? merge->hosts.items[trace->processes.items[0].host].name : NULL;
    bool named = trace->processes.count > 0 && merge->hosts.items[trace->processes.items[0].host].named;
    struct json_text key, value;
    json_begin_object(json);
    for (const char *at = object.at + 1, *end = object.at + object.length; json_member(&at, end, &key, &value);) {
        json_key_raw(json, key.at, key.length);
        if (is_key(key, "id"))
            json_u64(json, device->new_id);
        else
            json_raw(json, value.at, value.length);
    }
    if (!device->host && named)
        json_put_text(json, "host", host);
    json_end(json);
}

int merge_put_devices(const struct merge *merge, const struct merge_trace *trace, struct json_text text,
                      struct map *put, struct json_out *json)
{
    struct json_text item, id;
    const char *at = text.at + 1, *end = text.at + text.length;
    if (text.length == 0 || *text.at != '[')
        return 0;
    while (json_element(&at, end, &item)) {
        int64_t number = *item.at == '{' && member_of(item, "id", &id) ? number_of(id, -1) : -1;
        const struct merge_device *device = number >= 0 ? merge_device_get(trace, number) : NULL;
        bool is_new = false;
        if (!device || device->new_id == UINT32_MAX)
            continue;
        if (!map_put(put, device->new_id, &is_new))
            return -1;
        if (is_new)
            put_properties(merge, trace, device, item, json);
    }
    return 0;
}
