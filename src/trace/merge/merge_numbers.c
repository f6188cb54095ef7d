/*
 * What is known once all traces were read: the order of traces and of their processes, and new numbers. Whatever comes
 * first keeps its own as far as it can.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/log.h"
#include "common/lookup.h"
#include "trace/merge/merge_parts.h"
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

/* COMMON is the host of the processes that name none; one of its own if the trace does not name it either. */
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

/* What processes of their own say first, as those of GPUs are on the hosts of these. */
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

static void count_hosts(struct merge *merge, const struct merge_trace *trace, bool *seen)
{
    memset(seen, 0, merge->hosts.count);
    for (size_t i = 0; i < trace->processes.count; i++) {
        struct merge_host *host = &merge->hosts.items[trace->processes.items[i].host];
        if (seen[host - merge->hosts.items])
            continue;
        seen[host - merge->hosts.items] = true;
        host->traces++;
    }
}

/* --- devices --- */

static uint64_t hash_text(const char *text)
{
    return text ? hash_bytes(text, strlen(text)) : 0;
}

/* Devices of one host and UUID are one; one without a UUID is another one in each trace that uses it. */
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

/* Rows of GPUs use devices, too: of those of Kineto the pid is the device. Kineto names rows of all GPUs that a process
 * sees; those without events are left out. */
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

static int find_devices(struct merge *merge)
{
    struct map known = {0};
    int result = 0;
    for (size_t i = 0; i < merge->options->count && result == 0; i++) {
        struct merge_trace *trace = &merge->traces[i];
        result = see_gpu_rows(trace) ?: number_devices(merge, trace, &known);
    }
    map_release(&known);
    return result;
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

/* As trace/tracks.h has them: the device's number, or one from TRACKS_GPU_PID on which ends in it. */
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

/* Returns the next number after those of IDS. */
static uint64_t number_ids(struct merge_ids *ids, uint64_t next)
{
    ids->first = next;
    return ids->any ? next + (ids->most - ids->least) + 1 : next;
}

/* Flows between operators come after all others, so that readers that know one sort of flows meet no id twice. */
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

/* Programs come first, then GPUs. */
static int sort_of(const struct merge_process *process)
{
    return merge_is_program(process) ? 0 : process->gpu ? 1 : 2;
}

static int by_order(const void *left, const void *right)
{
    const struct merge_process *a = *(struct merge_process *const *)left, *b = *(struct merge_process *const *)right;
    return ORDER(a->rank, b->rank) ?: ORDER(a->trace, b->trace) ?: sort_of(a) - sort_of(b) ?: ORDER(a->sort_index, b->sort_index) ?: ORDER(a->pid, b->pid);
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

/* A rank in two traces is likely to be a mistake: they are of two jobs, or the same one in two formats. */
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
    struct map taken = {0};
    qsort(merge->traces, merge->options->count, sizeof(*merge->traces), by_rank);
    for (size_t i = 0; i < merge->options->count; i++)
        if (find_ranks(merge, &merge->traces[i]) != 0)
            return -1;
    warn_of_ranks(merge);
    bool *seen = calloc(merge->hosts.count + 1, sizeof(*seen));
    for (size_t i = 0; i < merge->options->count && seen; i++)
        count_hosts(merge, &merge->traces[i], seen);
    int result = seen ? find_devices(merge) : error_no_memory("hosts");
    result = result ?: number_processes(merge, &taken) ?: number_gpu_rows(merge, &taken);
    free(seen);
    map_release(&taken);
    return result == 0 && number_flows(merge) == 0 ? order_processes(merge) : -1;
}
