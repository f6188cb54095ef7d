/*
 * Names and order of rows, and times by the clocks of hosts.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "common/log.h"
#include "trace/merge/merge_parts.h"
#include "trace/tracks.h"

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

/* NAME without what says its rank: "rank 3: " or "rank 3 (node7): ". */
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

/* NAME, in which "GPU 0" becomes the number that the device has in the output; else that number follows it. */
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

static void put_place(const struct merge *merge, const struct merge_process *process, struct buffer *out)
{
    const struct merge_host *host = &merge->hosts.items[process->host];
    if (process->rank != MERGE_NO_RANK && host->named)
        buffer_format(out, "rank %lld (%s): ", (long long)process->rank, host->name);
    else if (process->rank != MERGE_NO_RANK)
        buffer_format(out, "rank %lld: ", (long long)process->rank);
    else if (merge->options->count > 1)
        buffer_format(out, "%s: ", host->name);
}

/* "rank 3 (node7): python3", and the number that the process had if it has another one now: "(583)". */
static void put_name(const struct merge *merge, const struct merge_process *process, uint32_t device,
                     struct buffer *out)
{
    const char *name = process->name ? without_rank(process->name) : "";
    put_place(merge, process, out);
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
