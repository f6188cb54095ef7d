/*
 * Names and order of processes, threads and streams; then the ranges and marks on these rows: those of NVTX and of
 * PyTorch's operators on their threads, their projections and device ranges on the GPU's streams.
 */
#include "trace/meaning/write/rows.h"

#include <stdio.h>

#include "common/log.h"
#include "common/text.h"
#include "trace/meaning/collectives/collectives_write.h"
#include "trace/meaning/collectives/collectives.h"
#include "trace/meaning/gpu/device_ranges.h"
#include "trace/meaning/host/cpu.h"
#include "trace/meaning/host/plugins.h"
#include "trace/meaning/nvtx/nvtx_data.h"
#include "trace/meaning/nvtx/nvtx_clocks.h"
#include "trace/meaning/nvtx/nvtx_describe.h"
#include "trace/meaning/nvtx/nvtx_names.h"
#include "trace/meaning/torch/operators.h"
#include "trace/spool/agent_records.h"

/* Kineto's order: processes by pid, GPUs below all of them. */
#define GPU_SORT_INDEX INT64_C(5000000)

/* Terminates a name that was composed in a buffer. Returns it, or NULL after error(). */
static const char *name_done(struct buffer *name)
{
    buffer_char(name, '\0');
    if (buffer_finish(name) == 0)
        return name->data;
    error_no_memory("names of rows");
    return NULL;
}

/* Appends a blank and the name in brackets, or nothing if NAME is NULL. */
static void put_given(struct buffer *text, const struct given_name *name)
{
    if (!name)
        return;
    buffer_text(text, " (");
    buffer_bytes(text, name->text, name->length);
    buffer_text(text, ")");
}

static const char *program_name(const struct process *process)
{
    return process->file.header.program[0] ? process->file.header.program : "process";
}

/* Appends "rank 3: ", if the process has a rank. */
static void put_rank(struct buffer *text, const struct process *process)
{
    uint32_t rank = process->file.header.rank;
    if (rank != 0)
        buffer_format(text, "rank %u: ", rank - 1);
}

#define COMMAND_SHOWN 64 /* bytes of the command line in the name of a row */

/* Passes the name to the format and releases it. Returns 0, or -1 after error(). */
static int write_process_row(struct conversion *conversion, struct buffer *name, struct row_name *row)
{
    row->name = name_done(name);
    if (row->name)
        conversion->sink.format->process(&conversion->sink, row);
    buffer_release(name);
    return row->name ? 0 : -1;
}

static int write_host_process(struct conversion *conversion, struct process *process)
{
    struct row_name row = {.row = {process->pid, process->pid}, .label = "CPU", .sort_index = process->pid};
    struct buffer name;
    const char *line = process->file.header.command, *from = line;
    if (!*line)
        from = program_name(process);
    for (const char *at = line, *end = line + strcspn(line, " "); at + 1 < end; at++)
        if (*at == '/')
            from = at + 1;
    size_t length = utf8_cut(from, strlen(from), COMMAND_SHOWN);
    buffer_init_memory(&name);
    put_rank(&name, process);
    buffer_bytes(&name, from, length);
    buffer_text(&name, from[length] ? "…" : "");
    return write_process_row(conversion, &name, &row);
}

static int write_gpu_process(struct conversion *conversion, struct process *process, const struct process_gpu *gpu)
{
    char label[32];
    struct buffer name;
    struct row_name row = {.row = {gpu->pid, gpu->pid},
                           .label = label,
                           .owner = process->pid,
                           .sort_index = GPU_SORT_INDEX + process->index * INT64_C(1024) + gpu->device};
    snprintf(label, sizeof(label), "GPU %u", gpu->device);
    buffer_init_memory(&name);
    put_rank(&name, process);
    buffer_text(&name, program_name(process));
    if (conversion->processes.count - conversion->by_launcher > 1)
        buffer_format(&name, " (%u)", process->file.header.pid);
    buffer_format(&name, " %s", label);
    put_given(&name, process_name(process, &process->name_of_device, gpu->device));
    return write_process_row(conversion, &name, &row);
}

static void put_context(struct buffer *text, const struct process *process, const struct track *track)
{
    buffer_format(text, "context %u", track->context);
    put_given(text, process_name(process, &process->name_of_context, track->context));
}

/* Appends OWNED and frees it. Returns 0, or -1 if OWNED is NULL, after error(). */
static int put_owned(struct buffer *text, char *owned)
{
    if (!owned)
        return -1;
    buffer_text(text, owned);
    free(owned);
    return 0;
}

/* Appends "thread 12 (name) CUPTI overhead", "state of thread 12 (name)", "stream 7 (name) of context 2 (name)". */
static void put_thread_or_stream(struct buffer *text, const struct process *process, const struct track *track)
{
    static const char *const suffixes[TRACK_KIND_COUNT] = {
        [TRACK_OVERHEAD] = " CUPTI overhead", [TRACK_ANNOTATION] = " annotations", [TRACK_SYNC] = " synchronisation"};
    bool of_thread = track->kind == TRACK_THREAD || track->kind == TRACK_OVERHEAD || track->kind == TRACK_THREAD_STATE;
    const struct map *names = of_thread ? &process->name_of_thread : &process->name_of_stream;
    if (track->kind == TRACK_OVERHEAD && track->number == 0) {
        buffer_text(text, suffixes[TRACK_OVERHEAD] + 1);
        return;
    }
    if (track->kind == TRACK_SYNC && track->number == EVENT_NO_STREAM) {
        put_context(text, process, track);
    } else {
        buffer_text(text, track->kind == TRACK_THREAD_STATE ? "state of " : "");
        buffer_format(text, "%s %u", of_thread ? "thread" : "stream", track->number);
        put_given(text, process_name(process, names, track->number));
    }
    if (track->kind == TRACK_STREAM && track->tids[0] >= TRACKS_EXTRA_TID) {
        buffer_text(text, " of ");
        put_context(text, process, track);
    }
    buffer_text(text, suffixes[track->kind] ? suffixes[track->kind] : "");
}

/* Appends the name of a track, to which its further lanes add a number. Returns 0, or -1 after error(). */
static int put_track(struct buffer *text, const struct process *process, const struct track *track)
{
    switch (track->kind) {
    case TRACK_PLUGIN: buffer_text(text, "plugin "); return put_owned(text, plugin_name(process, track->number));
    case TRACK_DEFERRED: return put_owned(text, deferred_row_name(process, track->number));
    case TRACK_COMPILATION: buffer_text(text, "compilation"); return 0;
    case TRACK_UNIFIED_MEMORY: buffer_text(text, "unified memory"); return 0;
    default: put_thread_or_stream(text, process, track); return 0;
    }
}

/* Returns the place of a row in its process. Rows of one thread or stream are adjacent: ranges, then work, then further
 * lanes, then waits and overhead. Rows of the process follow those of all threads. */
static int64_t sort_index(const struct track *track, uint32_t lane)
{
    static const int64_t base[] = {
        [TRACK_ANNOTATION] = 0,      [TRACK_STREAM] = 20,      [TRACK_THREAD] = 20, [TRACK_SYNC] = 80,
        [TRACK_OVERHEAD] = 80,       [TRACK_COMPILATION] = 20, [TRACK_PLUGIN] = 20, [TRACK_DEFERRED] = 20,
        [TRACK_UNIFIED_MEMORY] = 20, [TRACK_THREAD_STATE] = 60};
    int64_t number = track->number == EVENT_NO_STREAM ? 0 : track->number;
    if (number > 1 << 22)
        number = 1 << 22;
    if (track->kind >= TRACK_COMPILATION && track->kind != TRACK_THREAD_STATE)
        number += (1 << 22) + 1;
    return number * 100 + base[track->kind] + (lane < 19 ? lane : 19);
}

static int write_lane(struct conversion *conversion, struct process *process, const struct track *track, uint32_t lane)
{
    struct row_name row = {.row = {track->pid, track->tids[lane]}, .sort_index = sort_index(track, lane)};
    struct buffer name;
    buffer_init_memory(&name);
    if (put_track(&name, process, track) == 0) {
        if (lane > 0)
            buffer_format(&name, " (%u)", lane + 1);
        row.name = name_done(&name);
    }
    if (row.name)
        conversion->sink.format->thread(&conversion->sink, &row);
    buffer_release(&name);
    return row.name ? 0 : -1;
}

int write_rows(struct conversion *conversion, struct process *process)
{
    if (!cpu_row_is_named(conversion, process, NULL) && write_host_process(conversion, process) != 0)
        return -1;
    for (size_t i = 0; i < process->gpus.count; i++)
        if (write_gpu_process(conversion, process, &process->gpus.items[i]) != 0)
            return -1;
    for (size_t i = 0; i < process->tracks.items.count; i++) {
        const struct track *track = process->tracks.items.items[i];
        if (track->stands_in || cpu_row_is_named(conversion, process, track))
            continue;
        for (uint32_t lane = track->joined ? 1 : 0; lane < track->lanes.count; lane++)
            if (write_lane(conversion, process, track, lane) != 0)
                return -1;
    }
    return 0;
}

/* Ranges are in the order of their push, so enclosing ones come first. */
int write_nvtx_ranges(struct piece_writer *out, struct process *process, size_t first, size_t end)
{
    for (size_t i = first; i < end; i++) {
        const struct nvtx_range *range = &process->nvtx->ranges.items[i];
        struct track *thread = piece_writer_track(out, process, TRACK_THREAD, 0, 0, range->thread);
        struct collective_args collective;
        struct args args;
        if (!thread)
            continue;
        bool is_nvtx = range->kind == NVTX_RANGE;
        struct name name = is_nvtx ? describe_nvtx_range(&args, process->nvtx, range, true)
                                   : describe_operator(&args, process, (uint32_t)i, true);
        struct row row = track_row(thread, range->start, range->end);
        if (row.tid != range->thread) /* the slice is in another lane of the thread */
            args_u64(&args, ARG_THREAD, range->thread);
        if (is_nvtx && process->collectives->calls.count > 0)
            collectives_describe_range(&args, process, (uint32_t)i, &collective);
        piece_writer_slice(out, range->kind == NVTX_OPERATOR ? CATEGORY_CPU_OP : CATEGORY_USER_ANNOTATION, name, row,
                           range->start, range->end, &args);
        if (range->kind == NVTX_OPERATOR)
            write_operator_flow(out, process, (uint32_t)i, row);
    }
    return 0;
}

int write_nvtx_started(struct piece_writer *out, struct process *process, size_t first, size_t end)
{
    for (size_t i = first; i < end; i++) {
        const struct nvtx_range *range = &process->nvtx->started.items[i];
        struct args args;
        struct async_slice slice = {.category = CATEGORY_USER_ANNOTATION,
                                    .name = describe_nvtx_range(&args, process->nvtx, range, true),
                                    .begin = nvtx_thread_row(process, range->thread),
                                    .end_row = nvtx_thread_row(process, range->end_thread),
                                    .start = range->start,
                                    .end = range->end,
                                    .id = process->async_before + i + 1,
                                    .args = &args};
        out->sink.format->async(&out->sink, &slice);
    }
    return 0;
}

static void write_projection(struct piece_writer *out, struct process *process, const struct projection *projection)
{
    const struct nvtx_range *range = nvtx_range(process->nvtx, projection->range);
    const struct track *stream = process->tracks.items.items[projection->track];
    struct track *track =
        piece_writer_track(out, process, TRACK_ANNOTATION, stream->device, stream->context, stream->number);
    struct args args;
    if (!track)
        return;
    struct name name = range->kind == NVTX_RANGE ? describe_nvtx_range(&args, process->nvtx, range, false)
                                                 : describe_operator(&args, process, projection->range, false);
    struct row row = track_row(track, projection->start, projection->end);
    args_u64(&args, ARG_THREAD, range->thread);
    piece_writer_slice(out, CATEGORY_GPU_USER_ANNOTATION, name, row, projection->start, projection->end, &args);
}

int write_nvtx_mark(struct piece_writer *out, struct process *process, const struct event *event)
{
    struct args args;
    args.count = 0;
    describe_nvtx_event(&args, process->nvtx, event);
    struct slice slice = {.category = CATEGORY_USER_ANNOTATION,
                          .name = nvtx_message_name(nvtx_message(process->nvtx, event)),
                          .row = nvtx_thread_row(process, event->thread),
                          .start = event->start,
                          .args = &args};
    out->sink.format->instant(&out->sink, &slice);
    return 0;
}

static void write_device_range(struct piece_writer *out, struct process *process, const struct device_range *range)
{
    struct track *track =
        piece_writer_track(out, process, TRACK_ANNOTATION, range->device, range->context, range->stream);
    struct args args = {0};
    if (!track)
        return;
    const struct event event = agent_read(range->record, range->thread);
    args_u64(&args, ARG_RANGE, range->number);
    args_u64(&args, ARG_THREAD, range->thread);
    if (range->end_stream != range->stream)
        args_u64(&args, ARG_END_STREAM, range->end_stream);
    if (range->open_at_end)
        args_add(&args, ARG_OPEN_AT_END, ARG_TYPE_TRUE);
    args_words(&args, ARG_FROM, "gputrace_device_range");
    struct name name = nvtx_message_name(nvtx_text_of(event.text, event.text_length));
    struct row row = track_row(track, range->start, range->end);
    piece_writer_slice(out, CATEGORY_GPU_USER_ANNOTATION, name, row, range->start, range->end, &args);
}

/* --- projections and device ranges, merged: by start, then longer ones first, then device ranges first --- */

static bool device_range_is_first(const struct device_range *range, const struct projection *projection)
{
    return range->start < projection->start || (range->start == projection->start && range->end >= projection->end);
}

/* Returns how many of the first NUMBER ranges on GPUs are device ranges. */
static size_t device_ranges_among(const struct process *process, size_t number)
{
    size_t projections = process->nvtx->projections.items.count, ranges = process->device_ranges->items.count;
    size_t low = number > projections ? number - projections : 0, high = number < ranges ? number : ranges;
    /* Whether device range I precedes projection NUMBER - I - 1, so that I is too few. */
    return COUNT_BEFORE_BETWEEN(low, high, i,
                                device_range_is_first(&process->device_ranges->items.items[i],
                                                      &process->nvtx->projections.items.items[number - i - 1]));
}

int write_gpu_ranges(struct piece_writer *out, struct process *process, size_t first, size_t end)
{
    const struct projection *projections = process->nvtx->projections.items.items;
    const struct device_range *ranges = process->device_ranges->items.items;
    size_t range = device_ranges_among(process, first);
    for (size_t i = first; i < end; i++) {
        size_t projection = i - range;
        bool of_device = range < process->device_ranges->items.count &&
                         (projection == process->nvtx->projections.items.count ||
                          device_range_is_first(&ranges[range], &projections[projection]));
        if (of_device)
            write_device_range(out, process, &ranges[range++]);
        else
            write_projection(out, process, &projections[projection]);
    }
    return 0;
}
