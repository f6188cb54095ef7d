/*
 * After all traces were read: the order of traces and their processes; new numbers, where the first trace or process
 * with a number keeps it if possible; times by the hosts' clocks; names and order of rows.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/log.h"
#include "common/array.h"
#include "common/map.h"
#include "trace/merge/merge_numbers.h"
#include "trace/tracks.h"

#define GPU_ROWS_MOST ((JSON_WORD_ROWS - TRACKS_GPU_PID) >> 10)

/* --- ranks and hosts --- */

static int64_t least_rank(const struct merge_trace *trace)
{
    int64_t least = trace->rank;
    for (size_t i = 0; i < trace->processes.count; i++)
        least = trace->processes.items[i].rank < least ? trace->processes.items[i].rank : least;
    return least;
}

static int by_rank(const void *left, const void *right)
{
    const struct merge_trace *a = left, *b = right;
    return ORDER(least_rank(a), least_rank(b)) ?: ORDER(a->index, b->index);
}

static uint32_t host_put(struct merge *merge, const char *name, bool named)
{
    for (size_t i = 0; i < merge->hosts.count && named; i++)
        if (merge->hosts.items[i].named && strcmp(merge->hosts.items[i].name, name) == 0)
            return (uint32_t)i;
    struct merge_host *host = array_push(&merge->hosts);
    if (!host || !(host->name = strdup(name)))
        return MERGE_NO_HOST;
    host->named = named;
    host->first_rank = host->synchronised = host->error_us = -1;
    return (uint32_t)(merge->hosts.count - 1);
}

/* Sets the host of a process. *COMMON is the host of those that name none; a separate one if the trace names none
 * either. */
static int set_host(struct merge *merge, struct merge_trace *trace, struct merge_process *process, uint32_t *common)
{
    if (!process->told_host && *common == MERGE_NO_HOST)
        *common = host_put(merge, trace->host ? trace->host : trace->input->name, trace->host != NULL);
    process->host = process->told_host ? host_put(merge, process->told_host, true) : *common;
    if (process->host == MERGE_NO_HOST)
        return error_no_memory("hosts");
    struct merge_host *host = &merge->hosts.items[process->host];
    bool of_trace = !process->told_host || (trace->host && strcmp(process->told_host, trace->host) == 0);
    if (host->synchronised < 0 && of_trace) {
        host->synchronised = trace->synchronised;
        host->error_us = trace->error_us;
    }
    if (process->rank != MERGE_NO_RANK && (host->first_rank < 0 || process->rank < host->first_rank))
        host->first_rank = process->rank;
    return 0;
}

/* Sets ranks and hosts of a trace's processes. Rows of GPUs come second, as they take them from their owners. */
static int find_ranks(struct merge *merge, struct merge_trace *trace)
{
    uint32_t common = MERGE_NO_HOST;
    for (int gpus = 0; gpus < 2; gpus++)
        for (size_t i = 0; i < trace->processes.count; i++) {
            struct merge_process *process = &trace->processes.items[i];
            if (process->gpu != (gpus == 1))
                continue;
            const struct merge_process *owner = process->owner != 0 ? merge_process_get(trace, process->owner) : NULL;
            if (owner && owner != process) {
                process->rank = owner->rank;
                process->host = owner->host;
            } else if (process->rank == MERGE_NO_RANK) {
                process->rank = trace->rank;
            }
            if (process->rank != MERGE_NO_RANK && process->world_size < 0)
                process->world_size = trace->world_size;
            if (process->host == MERGE_NO_HOST && set_host(merge, trace, process, &common) != 0)
                return -1;
        }
    return 0;
}

/* --- devices --- */

static uint64_t hash_text(const char *text)
{
    return text ? hash_bytes(text, strlen(text)) : 0;
}

/* Numbers a trace's devices. Those with one host and UUID are one; one without a UUID is different in each trace. */
static int number_devices(struct merge *merge, struct merge_trace *trace, struct map *known)
{
    const char *host = trace->processes.count > 0 ? merge->hosts.items[trace->processes.items[0].host].name : "";
    for (size_t i = 0; i < trace->devices.count; i++) {
        struct merge_device *device = &trace->devices.items[i];
        if (!device->uuid && !device->used)
            continue;
        const uint64_t key[] = {hash_text(device->host ? device->host : host), hash_text(device->uuid)};
        uint64_t *number = device->uuid ? map_put(known, hash_bytes(key, sizeof(key)), NULL) : NULL;
        if (device->uuid && !number)
            return error_no_memory("GPUs");
        if (number && *number != 0) {
            device->new_id = (uint32_t)*number - 1;
            continue;
        }
        device->new_id = merge->device_count++;
        if (number)
            *number = merge->device_count;
    }
    return 0;
}

int64_t merge_device_new(const struct merge_trace *trace, int64_t id)
{
    const struct merge_device *device = merge_device_get(trace, id);
    return device && device->new_id != UINT32_MAX ? device->new_id : id;
}

/* Marks devices that rows of GPUs refer to; in Kineto's traces their pid is the device. Kineto names rows of all GPUs
 * that a process sees, so rows without events are left out. */
static int see_gpu_rows(struct merge_trace *trace)
{
    for (size_t i = 0; i < trace->processes.count; i++) {
        struct merge_process *process = &trace->processes.items[i];
        if (process->gpu && process->device < 0 && process->pid < MERGE_DEVICES_MOST)
            process->device = process->pid;
        if (!process->gpu || process->device < 0 || process->device >= MERGE_DEVICES_MOST)
            continue;
        struct merge_device *device = merge_device_put(trace, process->device);
        if (!device)
            return error_no_memory("GPUs");
        process->has_row = process->times.any;
        device->used |= process->times.any;
    }
    return 0;
}

/* --- pids --- */

static int take_pid(struct map *taken, uint32_t wanted, uint32_t *next, uint32_t *pid)
{
    bool is_new = false;
    *pid = wanted;
    if (!map_put(taken, wanted, &is_new))
        return -1;
    while (!is_new) {
        *pid = (*next)++;
        if (!map_put(taken, *pid, &is_new))
            return -1;
    }
    return 0;
}

static int number_processes(struct merge *merge, struct map *taken)
{
    uint32_t next_process = TRACKS_PROCESS_PID, next_word = JSON_WORD_ROWS;
    for (size_t i = 0; i < merge->options->count; i++)
        for (size_t k = 0; k < merge->traces[i].processes.count; k++) {
            struct merge_process *process = &merge->traces[i].processes.items[k];
            bool word = process->pid >= JSON_WORD_ROWS;
            if (!process->gpu &&
                take_pid(taken, process->pid, word ? &next_word : &next_process, &process->new_pid) != 0)
                return error_no_memory("processes");
        }
    return 0;
}

/* Sets the pids of rows of GPUs as in trace/tracks.h: the device, or from TRACKS_GPU_PID up with the device in the low
 * bits. */
static int number_gpu_rows(struct merge *merge, struct map *taken)
{
    uint32_t rows = 0;
    for (size_t i = 0; i < merge->options->count; i++)
        for (size_t k = 0; k < merge->traces[i].processes.count; k++) {
            struct merge_process *process = &merge->traces[i].processes.items[k];
            if (!process->gpu)
                continue;
            bool is_new = false;
            uint32_t device = (uint32_t)merge_device_new(&merge->traces[i], process->device < 0 ? 0 : process->device);
            process->new_pid = device;
            if (!map_put(taken, device, &is_new))
                return error_no_memory("GPUs");
            if (is_new)
                continue;
            if (++rows >= GPU_ROWS_MOST)
                return error("the traces have more than %u rows of GPUs", GPU_ROWS_MOST);
            process->new_pid = TRACKS_GPU_PID + (rows << 10) + device % TRACKS_GPU_DEVICES;
        }
    return 0;
}

/* --- flows and asynchronous ranges --- */

/* Numbers IDS from NEXT on. Returns the number after them. */
static uint64_t number_ids(struct merge_ids *ids, uint64_t next)
{
    ids->first = next;
    return ids->any ? next + (ids->most - ids->least) + 1 : next;
}

/* Flows between operators get ids after all other flows, so that readers that know one kind of flows find no id
 * twice. */
static int number_flows(struct merge *merge)
{
    uint64_t flow = 1, external = 1, async = 1;
    for (size_t i = 0; i < merge->options->count; i++) {
        struct merge_trace *trace = &merge->traces[i];
        flow = number_ids(&trace->flows, flow);
        external = number_ids(&trace->external_ids, external);
        trace->first_async = async;
        async += trace->asyncs;
    }
    for (size_t i = 0; i < merge->options->count; i++)
        flow = number_ids(&merge->traces[i].forward_flows, flow);
    if (flow > UINT32_MAX)
        return error("the traces have %llu correlation ids from their first to their last, more than 32 bits hold: "
                     "merge fewer at a time, or parts of them that 'gputrace cut' makes",
                     (unsigned long long)flow);
    return 0;
}

/* --- the order of processes --- */

/* Orders programs first, then GPUs, then words. */
static int sort_of(const struct merge_process *process)
{
    return merge_is_program(process) ? 0 : process->gpu ? 1 : 2;
}

static int by_order(const void *left, const void *right)
{
    const struct merge_process *a = *(struct merge_process *const *)left, *b = *(struct merge_process *const *)right;
    return ORDER(a->rank, b->rank) ?: ORDER(a->trace, b->trace) ?: /* within a trace: */
           sort_of(a) - sort_of(b) ?: ORDER(a->sort_index, b->sort_index) ?: ORDER(a->pid, b->pid);
}

static int order_processes(struct merge *merge)
{
    for (size_t i = 0; i < merge->options->count; i++)
        for (size_t k = 0; k < merge->traces[i].processes.count; k++) {
            struct merge_process *process = &merge->traces[i].processes.items[k];
            process->trace = i;
            if (process->has_row && !ADD(array_push, &merge->order, process))
                return error_no_memory("processes");
        }
    if (merge->order.count > 0)
        qsort(merge->order.items, merge->order.count, sizeof(*merge->order.items), by_order);
    return 0;
}

/* Warns of a rank in two traces. It is probably a mistake: traces of two jobs, or one trace in two formats. */
static void warn_of_ranks(const struct merge *merge)
{
    struct map trace_of_rank = {0};
    bool warned = false;
    for (size_t i = 0; i < merge->options->count && !warned; i++)
        for (size_t k = 0; k < merge->traces[i].processes.count && !warned; k++) {
            const struct merge_process *process = &merge->traces[i].processes.items[k];
            if (process->rank == MERGE_NO_RANK || !merge_is_program(process))
                continue;
            uint64_t *trace = map_put(&trace_of_rank, (uint64_t)process->rank, NULL);
            warned = trace && *trace != 0 && *trace != i + 1;
            if (warned)
                warning("rank %lld is in '%s' and in '%s': both are merged", (long long)process->rank,
                        merge->traces[*trace - 1].input->name, merge->traces[i].input->name);
            else if (trace)
                *trace = i + 1;
        }
    map_release(&trace_of_rank);
}

int merge_number(struct merge *merge)
{
    struct map taken = {0}, known = {0};
    qsort(merge->traces, merge->options->count, sizeof(*merge->traces), by_rank);
    for (size_t i = 0; i < merge->options->count; i++)
        if (find_ranks(merge, &merge->traces[i]) != 0)
            return -1;
    warn_of_ranks(merge);
    bool *seen = calloc(merge->hosts.count + 1, sizeof(*seen));
    for (size_t i = 0; i < merge->options->count && seen; i++) {
        const struct merge_trace *trace = &merge->traces[i];
        memset(seen, 0, merge->hosts.count);
        for (size_t k = 0; k < trace->processes.count; k++) {
            uint32_t host = trace->processes.items[k].host;
            merge->hosts.items[host].traces += !seen[host];
            seen[host] = true;
        }
    }
    int result = seen ? 0 : error_no_memory("hosts");
    for (size_t i = 0; i < merge->options->count && result == 0; i++)
        result = see_gpu_rows(&merge->traces[i]) ?: number_devices(merge, &merge->traces[i], &known);
    map_release(&known);
    result = result ?: number_processes(merge, &taken) ?: number_gpu_rows(merge, &taken);
    free(seen);
    map_release(&taken);
    return result == 0 && number_flows(merge) == 0 ? order_processes(merge) : -1;
}

#define NS_PER_S UINT64_C(1000000000)

uint64_t merge_time(const struct merge *merge, const struct merge_process *process, uint64_t time)
{
    if (!process || process->host >= merge->hosts.count)
        return time;
    const struct merge_clock *clock = &merge->hosts.items[process->host].clock;
    if (clock->offset == 0 && clock->drift == 0)
        return time;
    int64_t since = (int64_t)(time - clock->since);
    int64_t shift = clock->offset + (clock->drift != 0 ? llround(clock->drift * (double)since) : 0);
    return shift > 0 && (uint64_t)shift > time ? 0 : time - (uint64_t)shift;
}

static void widen(const struct merge *merge, struct trace_times *times, const struct merge_process *process,
                  const struct trace_times *own)
{
    if (own->any)
        trace_times_widen(times, (int64_t)merge_time(merge, process, (uint64_t)own->first),
                          (int64_t)merge_time(merge, process, (uint64_t)own->last));
}

void merge_find_times(struct merge *merge)
{
    for (size_t i = 0; i < merge->order.count; i++) {
        const struct merge_process *process = merge->order.items[i];
        widen(merge, &merge->times, process, &process->times);
        widen(merge, &merge->program, process, &process->program);
    }
    merge->program = merge->program.any ? merge->program : merge->times;
    merge->base = (uint64_t)merge->times.first / NS_PER_S * NS_PER_S;
}

/* Returns NAME without a prefix "rank 3: " or "rank 3 (node7): ". */
static const char *without_rank(const char *name)
{
    static const char word[] = "rank ", end[] = ": ";
    if (strncmp(name, word, strlen(word)) != 0)
        return name;
    const char *at = name + strlen(word);
    size_t digits = strspn(at, "0123456789");
    at += digits;
    const char *close = digits > 0 && strncmp(at, " (", 2) == 0 ? strchr(at, ')') : NULL;
    at = close ? close + 1 : at;
    return digits > 0 && strncmp(at, end, strlen(end)) == 0 ? at + strlen(end) : name;
}

/* Writes NAME with the device's new number in place of "GPU 0". If NAME does not name a GPU, "GPU N" is appended. */
static void put_gpu_name(struct buffer *out, const char *name, int64_t device, uint32_t new_device)
{
    char words[32];
    int length = snprintf(words, sizeof(words), "GPU %lld", (long long)device);
    const char *at = strstr(name, words);
    if (device < 0 || !at || (at[length] >= '0' && at[length] <= '9')) {
        buffer_text(out, name);
        if (!strstr(name, "GPU "))
            buffer_format(out, "%sGPU %u", *name ? " " : "", new_device);
        return;
    }
    buffer_bytes(out, name, (size_t)(at - name));
    buffer_format(out, "GPU %u", new_device);
    buffer_text(out, at + length);
}

/* Writes the name of a process, "rank 3 (node7): python3", and its old pid if that has changed, "(583)". */
static void put_name(const struct merge *merge, const struct merge_process *process, uint32_t device,
                     struct buffer *out)
{
    const char *name = process->name ? without_rank(process->name) : "";
    const struct merge_host *host = &merge->hosts.items[process->host];
    if (process->rank != MERGE_NO_RANK && host->named)
        buffer_format(out, "rank %lld (%s): ", (long long)process->rank, host->name);
    else if (process->rank != MERGE_NO_RANK)
        buffer_format(out, "rank %lld: ", (long long)process->rank);
    else if (merge->options->count > 1)
        buffer_format(out, "%s: ", host->name);
    if (process->gpu) {
        put_gpu_name(out, name, process->device, device);
    } else {
        buffer_text(out, *name ? name : "process");
        if (process->pid != process->new_pid && process->pid < TRACKS_PROCESS_PID)
            buffer_format(out, " (%u)", process->pid);
    }
    buffer_char(out, '\0');
}

static void write_process(const struct merge *merge, const struct merge_process *process, int64_t place,
                          struct buffer *name, struct sink *sink)
{
    const struct merge_trace *trace = &merge->traces[process->trace];
    const struct merge_process *owner = process->owner != 0 ? merge_process_get(trace, process->owner) : NULL;
    uint32_t device = process->device < 0 ? process->new_pid : (uint32_t)merge_device_new(trace, process->device);
    char label[32];
    snprintf(label, sizeof(label), "GPU %u", device);
    name->length = 0;
    put_name(merge, process, device, name);
    struct row_name row = {.row = {process->new_pid, process->new_pid},
                           .name = name->failure ? "" : name->data,
                           .label = process->gpu ? label : process->label,
                           .owner = !process->gpu ? 0
                                    : owner       ? owner->new_pid
                                                  : ROW_OWNER_UNKNOWN,
                           .sort_index = place};
    sink->format->process(sink, &row);
}

int merge_write_rows(const struct merge *merge, struct sink *sink)
{
    struct buffer name;
    buffer_init_memory(&name);
    for (size_t i = 0; i < merge->order.count; i++)
        write_process(merge, merge->order.items[i], (int64_t)i + 1, &name, sink);
    int failure = name.failure;
    buffer_release(&name);
    for (size_t i = 0; i < merge->options->count; i++)
        for (size_t k = 0; k < merge->traces[i].threads.count; k++) {
            const struct merge_thread *thread = &merge->traces[i].threads.items[k];
            const struct merge_process *process = merge_process_get(&merge->traces[i], thread->row.pid);
            struct row_name row = {.row = {process ? process->new_pid : thread->row.pid, thread->row.tid},
                                   .name = thread->name ? thread->name : "",
                                   .sort_index = thread->sort_index};
            sink->format->thread(sink, &row);
        }
    return failure ? error_no_memory("names of rows") : 0;
}
