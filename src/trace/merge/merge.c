/*
 * Several threads read traces, one at a time each. In the second reading a thread writes the trace's events into a part
 * of the output, a temporary file; parts are joined in the order of the traces.
 */
#include "trace/merge/merge.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/log.h"
#include "common/memory.h"
#include "common/threads.h"
#include "trace/output.h"
#include "trace/meaning/sources.h"
#include "trace/merge/merge_numbers.h"
#include "trace/merge/merge_processes.h"
#include "trace/merge/merge_rename.h"
#include "trace/sink.h"

#define WORKERS_MOST 8 /* each needs as much memory as reading a trace */

struct merge *merge_new(const struct merge_options *options)
{
    struct merge *merge = calloc(1, sizeof(*merge));
    struct merge_trace *traces = calloc(options->count + 1, sizeof(*traces));
    if (!merge || !traces) {
        free(merge);
        free(traces);
        error_no_memory("the traces");
        return NULL;
    }
    *merge = (struct merge){.options = options,
                            .format = file_format_of(options->output)->sink,
                            .traces = traces,
                            .store = temporary_file_open(temporary_directory())};
    for (size_t i = 0; i < options->count; i++) {
        traces[i] = (struct merge_trace){.input = &options->inputs[i],
                                         .index = i,
                                         .rank = MERGE_NO_RANK,
                                         .world_size = -1,
                                         .synchronised = -1,
                                         .error_us = -1};
        buffer_init_memory(&traces[i].metadata);
    }
    if (merge->store >= 0)
        return merge;
    error("cannot make a temporary file in '%s': %m; TMPDIR names another directory", temporary_directory());
    merge_free(merge);
    return NULL;
}

static void release_trace(struct merge_trace *trace)
{
    for (size_t i = 0; i < trace->processes.count; i++) {
        free(trace->processes.items[i].name);
        free(trace->processes.items[i].label);
        free(trace->processes.items[i].told_host);
    }
    for (size_t i = 0; i < trace->threads.count; i++)
        free(trace->threads.items[i].name);
    for (size_t i = 0; i < trace->devices.count; i++) {
        free(trace->devices.items[i].uuid);
        free(trace->devices.items[i].host);
    }
    array_release(&trace->processes);
    array_release(&trace->threads);
    array_release(&trace->devices);
    map_release(&trace->process_of_pid);
    map_release(&trace->device_of_id);
    buffer_release(&trace->metadata);
    free(trace->host);
}

void merge_free(struct merge *merge)
{
    if (!merge)
        return;
    for (size_t i = 0; i < merge->options->count; i++)
        release_trace(&merge->traces[i]);
    for (size_t i = 0; i < merge->hosts.count; i++)
        free(merge->hosts.items[i].name);
    array_release(&merge->hosts);
    array_release(&merge->order);
    if (merge->store >= 0)
        close(merge->store);
    free(merge->traces);
    free(merge);
}

size_t merge_host_count(const struct merge *merge)
{
    return merge->hosts.count;
}

struct merge_host *merge_host(struct merge *merge, size_t index)
{
    return &merge->hosts.items[index];
}

const struct merge_input *merge_trace(const struct merge *merge, size_t number, size_t *host, uint64_t *base)
{
    const struct merge_trace *trace = &merge->traces[number];
    *host = 0;
    *base = trace->base;
    for (size_t i = trace->processes.count; i-- > 0;)
        if (!trace->processes.items[i].told_host || *host == 0)
            *host = trace->processes.items[i].host;
    return trace->input;
}

/* Returns how many threads read traces, and sets *INNER to how many each of them may use. */
static unsigned workers_of(const struct merge *merge, unsigned *inner)
{
    unsigned workers = ordered_loop_workers(merge->options->workers, WORKERS_MOST);
    unsigned used = merge->options->count < workers ? (unsigned)merge->options->count : workers;
    *inner = used > 0 && workers / used > 0 ? workers / used : 1;
    return used > 0 ? used : 1;
}

/* --- the first reading --- */

static int scan_trace(void *context, size_t number, unsigned slot, unsigned worker)
{
    struct merge *merge = context;
    struct merge_trace *trace = &merge->traces[number];
    unsigned inner;
    (void)slot, (void)worker;
    workers_of(merge, &inner);
    trace->failed = merge_read_trace(merge, trace, inner) != 0;
    return 0; /* the other traces are read, too, so that all errors are reported */
}

static int keep_metadata(void *context, size_t number, unsigned slot)
{
    struct merge *merge = context;
    struct merge_trace *trace = &merge->traces[number];
    (void)slot;
    trace->stored_size = trace->metadata.length;
    int result = merge_store(merge, trace->metadata.data, trace->metadata.length, &trace->stored);
    buffer_release(&trace->metadata);
    buffer_init_memory(&trace->metadata);
    return result;
}

int merge_scan(struct merge *merge)
{
    unsigned inner;
    const struct ordered_loop traces = {.count = merge->options->count,
                                        .workers = workers_of(merge, &inner),
                                        .make = scan_trace,
                                        .take = keep_metadata,
                                        .context = merge};
    if (ordered_loop_run(&traces) != 0)
        return -1;
    for (size_t i = 0; i < merge->options->count; i++)
        if (merge->traces[i].failed)
            return -1;
    return merge_number(merge);
}

/* --- the second reading --- */

struct slot {
    struct output part;
    uint64_t events;
};

struct writing {
    struct merge *merge;
    struct output output;
    struct sink sink;
    struct slot *slots;
};

/* Writes the part of the trace that --from and --to in TIMES select to PIECE. Returns 0, or -1 after error(). */
static int write_part(const struct merge *merge, const struct merge_trace *trace, struct merge_rename *rename,
                      const struct filter_options *times, struct sink *piece)
{
    const struct sources_options one = {.workers = 1};
    const char *path = trace->input->path;
    struct cut *cut = cut_new(times, NULL, trace->input->name);
    int result = cut ? sources_read(path, merge_rename_to(rename, cut_scanner(cut)), &one) : -1;
    result = result ?: cut_scanned_within(cut, &merge->times, &merge->program);
    if (result == 0) {
        result = sources_read(path, merge_rename_to(rename, cut_writer(cut, piece)), &one);
        if (result == 0)
            cut_write_rest(cut);
        result = result ?: cut_written(cut);
    }
    cut_free(cut);
    return result < 0 ? -1 : 0;
}

static int write_events(const struct merge *merge, const struct merge_trace *trace, struct sink *piece)
{
    const struct filter_options times = {.from = merge->options->part.from, .to = merge->options->part.to};
    struct merge_rename rename;
    unsigned inner;
    workers_of(merge, &inner);
    int result = merge_rename_init(&rename, merge, trace);
    if (result == 0 && filter_wanted(&times))
        result = write_part(merge, trace, &rename, &times, piece);
    else if (result == 0)
        result = sources_read(trace->input->path, merge_rename_to(&rename, piece),
                              &(struct sources_options){.workers = inner});
    if (result == 0 && rename.no_memory)
        result = error_no_memory("the trace's events");
    merge_rename_release(&rename);
    return result;
}

static int make(void *context, size_t number, unsigned slot_number, unsigned worker)
{
    struct writing *writing = context;
    struct slot *slot = &writing->slots[slot_number];
    struct sink piece;
    (void)worker;
    if (output_open_part(&slot->part, &writing->output) != 0)
        return -1;
    sink_piece(&piece, &writing->sink, &slot->part.buffer);
    int result = write_events(writing->merge, &writing->merge->traces[number], &piece);
    sink_release(&piece);
    slot->events = piece.events;
    result = result ?: output_end_part(&slot->part);
    if (result != 0)
        output_discard(&slot->part);
    return result;
}

static int take(void *context, size_t number, unsigned slot_number)
{
    struct writing *writing = context;
    struct slot *slot = &writing->slots[slot_number];
    (void)number;
    writing->sink.events += slot->events;
    int result = output_put_part(&writing->output, &slot->part);
    output_discard(&slot->part);
    return result;
}

static int write_all(struct writing *writing)
{
    struct merge *merge = writing->merge;
    struct sink *sink = &writing->sink;
    unsigned inner;
    struct ordered_loop traces = {.count = merge->options->count,
                                  .workers = workers_of(merge, &inner),
                                  .make = make,
                                  .take = take,
                                  .context = writing};
    unsigned slots = ordered_loop_slots(traces.workers);
    writing->slots = calloc(slots, sizeof(*writing->slots));
    if (!writing->slots)
        return error_no_memory("the traces");
    for (unsigned i = 0; i < slots; i++)
        writing->slots[i].part.fd = -1;
    if (merge_write_metadata(merge, sink) != 0)
        return -1;
    sink->format->begin(sink, merge->base);
    if (merge_write_rows(merge, sink) != 0)
        return -1;
    int result = ordered_loop_run(&traces);
    for (unsigned i = 0; i < slots; i++)
        output_discard(&writing->slots[i].part);
    if (result != 0)
        return -1;
    if (sink->events == 0 && filter_wanted(&merge->options->part))
        return error("the traces have nothing in that part");
    sink->format->finish(sink);
    return 0;
}

static void summarise(const struct writing *writing, struct merge_summary *summary)
{
    const struct merge *merge = writing->merge;
    *summary = (struct merge_summary){.events = writing->sink.events, .traces = merge->options->count};
    for (size_t i = 0; i < merge->hosts.count; i++)
        summary->hosts += merge->hosts.items[i].named;
    struct map ranks = {0};
    for (size_t i = 0; i < merge->order.count; i++)
        if (merge->order.items[i]->rank != MERGE_NO_RANK)
            map_put(&ranks, (uint64_t)merge->order.items[i]->rank, NULL);
    summary->ranks = map_count(&ranks);
    map_release(&ranks);
}

int merge_write(struct merge *merge, struct merge_summary *summary)
{
    struct writing writing = {.merge = merge};
    enum log_level level = log_level();
    merge_find_times(merge);
    if (output_open(&writing.output, merge->options->output) != 0)
        return -1;
    output_sink(&writing.output, &writing.sink, merge->format);
    if (level == LOG_NORMAL)
        log_set_level(LOG_QUIET); /* the first reading reported the traces' problems */
    int result = write_all(&writing);
    log_set_level(level);
    sink_release(&writing.sink);
    free(writing.slots);
    summarise(&writing, summary);
    if (result == 0)
        return output_commit(&writing.output, &summary->bytes);
    output_discard(&writing.output);
    return -1;
}
