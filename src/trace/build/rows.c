/*
 * Names and order of processes, threads and streams.
 */
#include "trace/build/rows.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/log.h"
#include "trace/build/nvtx_extensions.h"
#include "trace/build/plugins.h"
#include "trace/build/process.h"

/* As Kineto sorts: processes by pid, GPUs below all of them. */
#define GPU_SORT_INDEX INT64_C(5000000)

/* The name that was given, in blanks and brackets, or nothing. */
static int bracketed(char **text, const struct given_name *name)
{
    int result = name ? asprintf(text, " (%.*s)", (int)name->length, name->text) : asprintf(text, "%s", "");
    return result < 0 ? error_no_memory("names of rows") : 0;
}

static const char *program_name(const struct process *process)
{
    return process->file.header.program[0] ? process->file.header.program : "process";
}

/* "rank 3: ", where it is known. */
#define RANK_ROOM 24
static void put_rank(char text[RANK_ROOM], const struct process *process)
{
    uint32_t rank = process->file.header.rank;
    *text = '\0';
    if (rank != 0)
        snprintf(text, RANK_ROOM, "rank %u: ", rank - 1);
}

/* The command line without the program's folders, cut between characters where it is long. */
#define COMMAND_SHOWN 64
static const char *command_name(const struct process *process, size_t *length)
{
    const char *line = process->file.header.command, *from = line;
    if (!*line)
        from = program_name(process);
    for (const char *at = line, *end = line + strcspn(line, " "); at + 1 < end; at++)
        if (*at == '/')
            from = at + 1;
    *length = strlen(from);
    if (*length > COMMAND_SHOWN)
        for (*length = COMMAND_SHOWN; *length > 0 && (from[*length] & 0xc0) == 0x80;)
            --*length;
    return from;
}

static int write_host_process(struct conversion *conversion, struct process *process)
{
    char rank[RANK_ROOM], *text = NULL;
    size_t length;
    const char *command = command_name(process, &length);
    put_rank(rank, process);
    if (asprintf(&text, "%s%.*s%s", rank, (int)length, command, command[length] ? "…" : "") < 0)
        return error_no_memory("names of rows");
    struct row_name name = {
        .row = {process->pid, process->pid}, .name = text, .label = "CPU", .sort_index = process->pid};
    conversion->sink.format->process(&conversion->sink, &name);
    free(text);
    return 0;
}

static int write_gpu_process(struct conversion *conversion, struct process *process, const struct process_gpu *gpu)
{
    const struct given_name *given = process_name(process, &process->name_of_device, gpu->device);
    char *suffix = NULL, *text = NULL, label[32], rank[RANK_ROOM], pid[16] = "";
    snprintf(label, sizeof(label), "GPU %u", gpu->device);
    put_rank(rank, process);
    if (conversion->processes.count > 1)
        snprintf(pid, sizeof(pid), " (%u)", process->file.header.pid);
    if (bracketed(&suffix, given) != 0)
        return -1;
    if (asprintf(&text, "%s%s%s %s%s", rank, program_name(process), pid, label, suffix) < 0) {
        free(suffix);
        return error_no_memory("names of rows");
    }
    struct row_name name = {.row = {gpu->pid, gpu->pid},
                            .name = text,
                            .label = label,
                            .owner = process->pid,
                            .sort_index = GPU_SORT_INDEX + process->index * INT64_C(1024) + gpu->device};
    conversion->sink.format->process(&conversion->sink, &name);
    free(suffix);
    free(text);
    return 0;
}

static int plugin_row_name(char **text, const struct process *process, uint32_t number)
{
    char *plugin = plugin_name(process, number);
    int length = plugin ? asprintf(text, "plugin %s", plugin) : -1;
    if (plugin && length < 0)
        error_no_memory("names of rows");
    free(plugin);
    return length < 0 ? -1 : 0;
}

#define OF_CONTEXT " of "

/* " of context 2 (name)" */
static int context_name(char **text, const struct process *process, const struct track *track)
{
    char *given = NULL;
    if (bracketed(&given, process_name(process, &process->name_of_context, track->context)) != 0)
        return -1;
    int length = asprintf(text, OF_CONTEXT "context %u%s", track->context, given);
    free(given);
    if (length < 0)
        *text = NULL;
    return length < 0 ? error_no_memory("names of rows") : 0;
}

/* What a track is called before its lanes are told apart. */
static int track_name(char **text, const struct process *process, const struct track *track)
{
    if (track->kind == TRACK_PLUGIN)
        return plugin_row_name(text, process, track->number);
    if (track->kind == TRACK_DEFERRED)
        return (*text = deferred_row_name(process, track->number)) ? 0 : -1;
    if (track->kind == TRACK_COMPILATION)
        return asprintf(text, "compilation") < 0 ? error_no_memory("names of rows") : 0;
    bool of_thread = track->kind == TRACK_THREAD || track->kind == TRACK_OVERHEAD;
    const struct map *names = of_thread ? &process->name_of_thread : &process->name_of_stream;
    static const char *const suffixes[] = {
        [TRACK_OVERHEAD] = " CUPTI overhead", [TRACK_ANNOTATION] = " annotations", [TRACK_SYNC] = " synchronisation"};
    const char *suffix = track->kind == TRACK_THREAD || track->kind == TRACK_STREAM ? "" : suffixes[track->kind];
    char *given = NULL, *context = NULL;
    int length = -1;
    if (bracketed(&given, process_name(process, names, track->number)) != 0 ||
        context_name(&context, process, track) != 0)
        goto done;
    if (track->kind == TRACK_OVERHEAD && track->number == 0)
        length = asprintf(text, "CUPTI overhead");
    else if (track->kind == TRACK_SYNC && track->number == EVENT_NO_STREAM)
        length = asprintf(text, "%s%s", context + strlen(OF_CONTEXT), suffix);
    else if (track->kind == TRACK_STREAM && track->tids[0] >= TRACKS_EXTRA_TID)
        length = asprintf(text, "stream %u%s%s", track->number, given, context);
    else
        length = asprintf(text, "%s %u%s%s", of_thread ? "thread" : "stream", track->number, given, suffix);
    if (length < 0)
        error_no_memory("names of rows");
done:
    free(given);
    free(context);
    return length < 0 ? -1 : 0;
}

/* Rows of one thread or stream stand together: ranges, then work, then further lanes, then waiting and overhead. Below
 * all threads come those of the process. */
static int64_t sort_index(const struct track *track, uint32_t lane)
{
    static const int64_t base[] = {
        [TRACK_ANNOTATION] = 0, [TRACK_STREAM] = 20,      [TRACK_THREAD] = 20, [TRACK_SYNC] = 80,
        [TRACK_OVERHEAD] = 80,  [TRACK_COMPILATION] = 20, [TRACK_PLUGIN] = 20, [TRACK_DEFERRED] = 20};
    int64_t number = track->number == EVENT_NO_STREAM ? 0 : track->number;
    if (number > 1 << 22)
        number = 1 << 22;
    if (track->kind == TRACK_COMPILATION || track->kind == TRACK_PLUGIN || track->kind == TRACK_DEFERRED)
        number += (1 << 22) + 1;
    return number * 100 + base[track->kind] + (lane < 19 ? lane : 19);
}

static int write_lane(struct conversion *conversion, const struct track *track, uint32_t lane, const char *name)
{
    char number[16] = "", *text = NULL;
    if (lane > 0)
        snprintf(number, sizeof(number), " (%u)", lane + 1);
    if (asprintf(&text, "%s%s", name, number) < 0)
        return error_no_memory("names of rows");
    struct row_name row = {.row = {track->pid, track->tids[lane]}, .name = text, .sort_index = sort_index(track, lane)};
    conversion->sink.format->thread(&conversion->sink, &row);
    free(text);
    return 0;
}

static int write_track(struct conversion *conversion, struct process *process, const struct track *track)
{
    char *text = NULL;
    if (track_name(&text, process, track) != 0)
        return -1;
    int result = 0;
    for (uint32_t lane = 0; lane < track->lanes.count && result == 0; lane++) {
        if (lane > 0 || !track->joined)
            result = write_lane(conversion, track, lane, text);
    }
    free(text);
    return result;
}

int write_rows(struct conversion *conversion, struct process *process)
{
    if (write_host_process(conversion, process) != 0)
        return -1;
    for (size_t i = 0; i < process->gpus.count; i++)
        if (write_gpu_process(conversion, process, &process->gpus.items[i]) != 0)
            return -1;
    for (size_t i = 0; i < process->tracks.items.count; i++)
        if (write_track(conversion, process, process->tracks.items.items[i]) != 0)
            return -1;
    return 0;
}
