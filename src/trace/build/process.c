#include "trace/build/conversion.h"

#include "common/clock.h"
#include "common/log.h"
#include "trace/spool/cupti.h"

/*
 * Times may be this much before the process was first seen (clocks are set back) and after; others come from damaged
 * records. A double, which is what readers of JSON keep times in, is exact to the nanosecond for as long.
 */
#define TIME_BEFORE (24 * 3600 * NS_PER_S)
#define TIME_AFTER (UINT64_C(100) * 24 * 3600 * NS_PER_S)

int process_open(struct process *process, const struct spool_directory *spools, size_t number, const char *directory)
{
    *process = (struct process){0};
    const struct spool_place *place = &spools->places[number];
    int result = place->ended ? spool_file_open_ended(&process->file, spools->ended_path, place->ended - 1, directory)
                              : spool_file_open(&process->file, place->path, directory);
    if (result != 0)
        return result;
    const struct spool_header *header = &process->file.header;
    process->pid = header->pid;
    process->losses.undecoded = process->file.damaged;
    process->losses.cupti_dropped = header->losses.cupti_dropped;
    process->losses.spool_dropped = header->losses.no_room + header->losses.nested;
    process->losses.cut_texts = header->losses.cut_texts;
    process->losses.unannounced = header->unannounced;
    process->losses.cuda_unrecorded = header->cuda_unrecorded != 0;
    cupti_record_sizes(process->record_bytes, header);
    launches_init(&process->launches, directory);
    conditional_launches_init(&process->conditional, directory);
    nvtx_init(&process->nvtx, directory);
    projections_init(&process->projections, directory);
    nvtx_extensions_init(&process->extensions, directory);
    device_ranges_init(&process->device_ranges, directory);
    process->windows.marks.memory.directory = process->kernel_names.nodes.changes.memory.directory =
        process->pools.steps.memory.directory = process->compilation.steps.memory.directory = directory;
    process->plugin_windows.directory = process->plugins.slices.memory.directory = directory;
    process->tracks.directory = process->memory.steps.memory.directory = process->cuda_events.items.memory.directory =
        directory;
    return 0;
}

bool is_same_process(const struct spool_header *a, const struct spool_header *b)
{
    return a->pid == b->pid && a->pid_namespace == b->pid_namespace && a->process_started == b->process_started;
}

void process_close(struct process *process)
{
    clock_axis_release(&process->clocks);
    windows_release(&process->windows);
    plugin_windows_release(&process->plugin_windows);
    pointer_names_release(&process->symbols);
    release_kernel_names(process);
    launches_release(&process->launches);
    conditional_launches_release(&process->conditional);
    tracks_release(&process->tracks);
    nvtx_release(&process->nvtx);
    nvtx_extensions_release(&process->extensions);
    projections_release(&process->projections);
    memory_release(&process->memory);
    pools_release(&process->pools);
    cuda_events_release(&process->cuda_events);
    device_ranges_release(&process->device_ranges);
    compilation_release(&process->compilation);
    plugins_release(&process->plugins);
    stacks_release(&process->stacks);
    sink_release(&process->mapping_lines);
    array_release(&process->devices);
    array_release(&process->names);
    array_release(&process->gpus);
    array_release(&process->last_words);
    map_release(&process->device_of_context);
    map_release(&process->stream_of_handle);
    map_release(&process->context_of_handle);
    map_release(&process->name_of_thread);
    map_release(&process->name_of_stream);
    map_release(&process->name_of_device);
    map_release(&process->name_of_context);
    tracks_release(&process->waits);
    spool_file_close(&process->file);
}

void process_walked(const struct process *process, const struct spool_part *part, uint64_t *walked)
{
    *walked += part->size;
    if (*walked < PROCESS_REST_BYTES)
        return;
    process_rest(process);
    *walked = 0;
}

void process_rest(const struct process *process)
{
    spool_file_rest(&process->file);
    launches_rest(&process->launches);
    big_array_rest(&process->conditional.items);
    nvtx_rest(&process->nvtx);
    projections_rest(&process->projections);
    tracks_rest(&process->tracks);
    big_array_rest(&process->memory.steps);
    big_array_rest(&process->cuda_events.items);
    big_array_rest(&process->plugins.slices);
    big_array_rest(&process->windows.marks);
    big_array_rest(&process->kernel_names.nodes.changes);
    big_array_rest(&process->pools.steps);
    big_array_rest(&process->compilation.steps);
    plugin_windows_rest(&process->plugin_windows);
    nvtx_extensions_rest(&process->extensions);
    device_ranges_rest(&process->device_ranges);
}

bool process_was_to_record(const struct process *process, uint64_t bits)
{
    uint64_t recorded = process->file.header.trace_bits;
    return recorded == 0 || (recorded & bits) != 0;
}

bool process_knows_time(const struct process *process, uint64_t time)
{
    uint64_t started = process->file.header.started;
    if (started < TIME_BEFORE || started > UINT64_MAX / 2)
        return time != 0 && time < UINT64_MAX / 2; /* the header itself is damaged */
    return time >= started - TIME_BEFORE && time < started + TIME_AFTER;
}

bool process_knows_span(const struct process *process, const struct event *event)
{
    return event->end >= event->start && process_knows_time(process, event->start) &&
           process_knows_time(process, event->end);
}

int process_gpu_pid(struct conversion *conversion, struct process *process, uint32_t device, uint32_t *pid)
{
    for (size_t i = 0; i < process->gpus.count; i++) {
        if (process->gpus.items[i].device == device) {
            *pid = process->gpus.items[i].pid;
            return 0;
        }
    }
    struct process_gpu *gpu = array_push(&process->gpus);
    if (!gpu)
        return error_no_memory("rows");
    gpu->device = device;
    if (rows_gpu_pid(&conversion->rows, process->index, device, &gpu->pid) != 0)
        return -1;
    *pid = gpu->pid;
    return 0;
}

struct track *process_stream(struct conversion *conversion, struct process *process, enum track_kind kind,
                             uint32_t device, uint32_t context, uint32_t stream)
{
    bool is_new;
    struct track *track = tracks_put(&process->tracks, kind, device, context, stream, &is_new);
    if (track && is_new && process_gpu_pid(conversion, process, device, &track->pid) != 0)
        return NULL;
    return track;
}

struct track *process_thread(struct process *process, enum track_kind kind, uint32_t number)
{
    struct track *track = tracks_put(&process->tracks, kind, 0, 0, number, NULL);
    if (track)
        track->pid = process->pid;
    return track;
}

uint32_t process_device(const struct process *process, uint32_t device, uint32_t context)
{
    if (device != EVENT_NO_DEVICE)
        return device;
    const uint64_t *known = map_get(&process->device_of_context, context);
    if (known && *known)
        return (uint32_t)*known - 1;
    return process->gpus.count ? process->gpus.items[0].device : 0;
}

const struct device *process_device_info(const struct process *process, uint32_t device)
{
    for (size_t i = 0; i < process->devices.count; i++)
        if (process->devices.items[i].id == device)
            return &process->devices.items[i];
    return NULL;
}

const struct given_name *process_name(const struct process *process, const struct map *names, uint64_t object)
{
    const uint64_t *index = map_get(names, object);
    return index && *index ? &process->names.items[*index - 1] : NULL;
}

uint32_t process_correlation(const struct process *process, uint32_t correlation)
{
    return correlation ? launch_arrow(&process->launches, NULL, correlation, 0) : 0;
}
