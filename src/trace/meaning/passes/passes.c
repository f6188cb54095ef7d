/* Opens the spools of a run, calls the passes one after another, and writes the file. */
#include "trace/meaning/passes/passes.h"

#include <malloc.h>

#include <cjson/cJSON.h>

#include "common/clock.h"
#include "common/log.h"
#include "trace/output.h"
#include "trace/meaning/base/stacks.h"
#include "trace/meaning/collectives/collectives.h"
#include "trace/meaning/collectives/distributed.h"
#include "trace/meaning/gpu/captures.h"
#include "trace/meaning/gpu/gpu_ops.h"
#include "trace/meaning/gpu/device_ranges.h"
#include "trace/meaning/host/calls.h"
#include "trace/meaning/host/cpu.h"
#include "trace/meaning/host/plugins.h"
#include "trace/meaning/launches/launches.h"
#include "trace/meaning/memory/memory.h"
#include "trace/meaning/memory/pools.h"
#include "trace/meaning/nvtx/nvtx.h"
#include "trace/meaning/torch/operators.h"
#include "trace/meaning/write/metadata.h"
#include "trace/meaning/write/missed.h"
#include "trace/spool/cupti.h"
#include "trace/spool/spool_directory.h"

/* A process together with the structs of all topics. */
struct process_state {
    struct process process;
#define TOPIC(type, field, ...) struct type field;
    PROCESS_TOPICS(TOPIC)
#undef TOPIC
};

/* conversion.memory has blocks of this size, one for each process. */
#define PROCESS_BLOCK ((size_t)16384)
_Static_assert(sizeof(struct process_state) <= PROCESS_BLOCK, "a process has space in its block");

#define no_init(topic, directory) (void)(topic)
#define no_evict(topic) (void)(topic)
#define no_release(topic) (void)(topic)

/* The topics' lists that files may hold, arrays, and maps. */
#define PROCESS_VECTORS(X)          \
    X(capture_intervals->marks)     \
    X(captures->of_changes)         \
    X(captures->stacks)             \
    X(captures->inner.items)        \
    X(collectives->calls)           \
    X(collectives->by_range)        \
    X(collectives->kernels)         \
    X(collectives->strays)          \
    X(collectives->tasks)           \
    X(collectives->steps)           \
    X(compilation->steps)           \
    X(conditional->items)           \
    X(cuda_events->items)           \
    X(device_ranges->markers.items) \
    X(device_ranges->items)         \
    X(device_ranges->edges)         \
    X(kernel_names->nodes.changes)  \
    X(memory->steps)                \
    X(operators->ends)              \
    X(operators->links)             \
    X(operators->compiled)          \
    X(operators->forward)           \
    X(operators->forward_stacks)    \
    X(plugins->slices)              \
    X(pools->steps)                 \
    X(stacks->calls)
#define PROCESS_ARRAYS(X)         \
    X(captures->contexts)         \
    X(captures->inner.graphs)     \
    X(clocks->stretches)          \
    X(collectives->communicators) \
    X(collectives->reductions)    \
    X(cpu_stacks->items)          \
    X(cpu_stacks->uses)           \
    X(operators->texts)           \
    X(plugins->items)             \
    X(plugins->lines)             \
    X(pools->peaks)               \
    X(pools->levels)              \
    X(stacks->items)              \
    X(stacks->mappings)           \
    X(stacks->python_items)       \
    X(devices)                    \
    X(names)                      \
    X(gpus)                       \
    X(crash_records)
#define PROCESS_MAPS(X)          \
    X(captures->by_path)         \
    X(collectives->by_id)        \
    X(collectives->ranks_here)   \
    X(conditional->bodies)       \
    X(operators->text_of)        \
    X(operators->thread_numbers) \
    X(plugins->by_number)        \
    X(pools->peak_of)            \
    X(pools->latest)             \
    X(stacks->by_number)         \
    X(stacks->python_frames)     \
    X(device_of_context)         \
    X(stream_of_handle)          \
    X(context_of_handle)         \
    X(name_of_thread)            \
    X(name_of_stream)            \
    X(name_of_device)            \
    X(name_of_context)

/* Lets the kernel take back the pages of the process's indexes and spool. */
static void evict_process(const struct process *process)
{
#define EVICT(vector) file_vector_evict(&process->vector);
    PROCESS_VECTORS(EVICT)
#define EVICT_TOPIC(type, field, init, evict, release) evict(process->field);
    PROCESS_TOPICS(EVICT_TOPIC)
    spill_evict(&process->file.unpacked);
    for (size_t i = 0; i < process->tracks.items.count; i++)
        file_vector_evict(&process->tracks.items.items[i]->lanes.spans);
}

/* Opens spool NUMBER of SPOOLS; DIRECTORY is for indexes that memory cannot hold. Returns 0, 1 if the file is left out,
 * or -1 after error(). */
static int process_open(struct process_state *state, const struct spool_directory *spools, size_t number,
                        const char *directory)
{
    struct process *process = &state->process;
    *state = (struct process_state){0};
    process->rest = evict_process;
#define TOPIC(type, field, ...) process->field = &state->field;
    PROCESS_TOPICS(TOPIC)
#undef TOPIC
    const struct spool_place *place = &spools->places[number];
    int result = place->ended ? spool_file_open_ended(&process->file, spools->ended_path, place->ended - 1, directory)
                              : spool_file_open(&process->file, place->path, directory);
    if (result != 0)
        return result;
    const struct spool_header *header = &process->file.header;
    process->pid = header->pid;
    process->losses.undecoded = process->file.damaged;
    process->losses.cupti_dropped = header->losses.cupti_dropped;
    process->losses.spool_dropped = header->losses.no_space + header->losses.nested;
    process->losses.cut_texts = header->losses.cut_texts;
    process->losses.unannounced = header->unannounced;
    process->losses.cuda_unrecorded = header->cuda_unrecorded != 0;
    process->losses.cpu_lost = header->cpu_lost;
    cupti_record_sizes(process->record_bytes, header);
#define INIT_TOPIC(type, field, init, ...) init(process->field, directory);
    PROCESS_TOPICS(INIT_TOPIC)
#define SET_DIRECTORY(vector) process->vector.memory.directory = directory;
    PROCESS_VECTORS(SET_DIRECTORY)
    process->tracks.directory = directory;
    return 0;
}

static void process_close(struct process *process)
{
#define RELEASE_VECTOR(vector) file_vector_release(&process->vector);
#define RELEASE_ARRAY(array) array_release(&process->array);
#define RELEASE_MAP(map) map_release(&process->map);
    PROCESS_VECTORS(RELEASE_VECTOR)
    PROCESS_ARRAYS(RELEASE_ARRAY)
    PROCESS_MAPS(RELEASE_MAP)
#define RELEASE_TOPIC(type, field, init, evict, release) release(process->field);
    PROCESS_TOPICS(RELEASE_TOPIC)
    pointer_names_release(&process->symbols);
    tracks_release(&process->tracks);
    buffer_release(&process->mapping_lines);
    tracks_release(&process->waits);
    spool_file_close(&process->file);
}

static int open_process(struct conversion *conversion, const struct spool_directory *spools, size_t number)
{
    struct process_state *state = spill_block(&conversion->memory, PROCESS_BLOCK);
    if (!state)
        return error_no_memory("a process");
    struct process *process = &state->process;
    int result = process_open(state, spools, number, conversion->options->spool_directory);
    if (result != 0) {
        conversion->losses.undecoded += result > 0;
        return result < 0 ? -1 : 0;
    }
    process->conversion = conversion;
    const struct spool_header *header = &process->file.header;
    /* A launcher that died may have left the files of a process whose records it had already moved to the file of ended
     * processes: that process was opened last. */
    bool ended_before = number > 0 && spools->places[number - 1].ended && !spools->places[number].ended;
    if (ended_before && conversion->processes.count > 0) {
        const struct process *before = conversion->processes.items[conversion->processes.count - 1];
        const struct spool_header *last = &before->file.header;
        if (is_same_process(last, header) && last->started == header->started &&
            last->started_monotonic == header->started_monotonic) {
            process_close(process);
            return 0;
        }
    }
    struct process **item = array_push(&conversion->processes);
    if (!item) {
        process_close(process);
        return error_no_memory("a process");
    }
    process->index = (uint32_t)conversion->processes.count - 1;
    conversion->by_launcher += process->file.header.by_launcher != 0;
    *item = process;
    const struct process *image = conversion_latest_image(conversion, process);
    /* Images of one process share its rows. Another process of the same number, later or in another namespace, does
     * not. The launcher may write about a process that has ended, whose namespace it cannot read: it keeps its pid. */
    bool taken = !header->by_launcher && map_get(&conversion->rows.taken_pids, header->pid);
    process->pid = image ? image->pid : header->pid;
    if (!image && taken)
        process->pid = TRACKS_PROCESS_PID + process->index;
    if (!image || (image->file.header.started < header->started && !header->by_launcher)) {
        if (!map_set(&conversion->images, process_image_key(process), process->index))
            return error_no_memory("a process");
    }
    return rows_take_pid(&conversion->rows, process->pid);
}

/* Indexes the spools that the launcher wrote, or those that processes wrote. */
static int index_processes(struct conversion *conversion, bool by_launcher)
{
    for (size_t i = 0; i < conversion->processes.count; i++) {
        struct process *process = conversion_process(conversion, i);
        if ((process->file.header.by_launcher != 0) == by_launcher && index_process(process) != 0)
            return -1;
    }
    return 0;
}

static int index_all(struct conversion *conversion)
{
    uint64_t since = clock_monotonic();
    struct spool_directory directory;
    session_note_read(conversion->session, conversion->options->spool_directory);
    int result = spool_directory_read(&directory, conversion->options->spool_directory);
    for (size_t i = 0; i < directory.count && result == 0; i++) {
        result = open_process(conversion, &directory, i);
        conversion_evict(conversion, i);
    }
    conversion->losses.unrecorded += directory.unrecorded + conversion->options->unrecorded;
    spool_directory_release(&directory);
    if (result != 0 || find_clocks(conversion) != 0)
        return -1;
    verbose_step(&since, "spools opened");
    if (index_processes(conversion, false) != 0 || cpu_scopes_find(conversion) != 0 ||
        index_processes(conversion, true) != 0)
        return -1;
    verbose_step(&since, "records indexed");
    for (size_t i = 0; i < conversion->processes.count; i++)
        if (resolve_process(conversion_process(conversion, i)) != 0)
            return -1;
    /* Correlation ids of a process follow those of the process before; further flow ids follow all of these. */
    uint64_t next = 1;
    for (size_t i = 0; i < conversion->processes.count; i++) {
        struct launches *launches = conversion_process(conversion, i)->launches;
        launches->offset = next - 1 < UINT32_MAX ? (uint32_t)(next - 1) : UINT32_MAX;
        next += launches_highest(launches);
    }
    for (size_t i = 0; i < conversion->processes.count; i++)
        if (launches_number(conversion_process(conversion, i)->launches, &next) != 0)
            return -1;
    verbose_step(&since, "launches resolved");
    uint64_t first = 0;
    for (size_t i = 0; i < conversion->processes.count; i++) {
        uint64_t time = conversion_process(conversion, i)->first_time;
        if (time != 0 && (first == 0 || time < first))
            first = time;
    }
    conversion->base = first - first % NS_PER_S;
    if (distributed_resolve(conversion) != 0 || gather_stacks(conversion) != 0 || gather_plugins(conversion) != 0)
        return -1;
    for (size_t i = 0; i < conversion->processes.count; i++)
        if (captures_find_lines(conversion_process(conversion, i)) != 0)
            return -1;
    verbose_step(&since, "call stacks named");
    for (size_t i = 0; i < conversion->processes.count; i++) {
        const struct convert_losses *losses = &conversion_process(conversion, i)->losses;
#define LOSS(field, one, several) conversion->losses.field += losses->field;
        CONVERT_LOSSES(LOSS)
#undef LOSS
    }
    conversion->losses.cut_names += conversion->names.cut;
    return find_missed(conversion);
}

static int write_file(struct conversion *conversion, struct convert_summary *summary)
{
    const struct sink *sink = conversion->options->sink;
    const char *path = conversion->options->output;
    struct output output;
    if (sink)
        output_open_stream(&output, sink->buffer->drain, sink->buffer->context);
    else if (output_open(&output, path) != 0)
        return -1;
    output.place = conversion->options->place;
    output.place_context = conversion->options->place_context;
    output_sink(&output, &conversion->sink, sink ? sink->format : file_format_of(path)->sink);
    if (sink)
        conversion->sink.context = sink->context;
    int result = write_metadata(conversion);
    uint64_t since = clock_monotonic();
    if (result == 0) {
        conversion->sink.format->begin(&conversion->sink, conversion->base);
        result = write_events(conversion, &output);
    }
    if (result == 0) {
        verbose_step(&since, "events written");
        conversion->sink.format->finish(&conversion->sink);
    }
    sink_release(&conversion->sink);
    summary->unpacked = output.buffer.total + output.buffer.length;
    if (result == 0)
        return output_commit(&output, &summary->bytes);
    output_discard(&output);
    return -1;
}

static void release(struct conversion *conversion)
{
    for (size_t i = 0; i < conversion->processes.count; i++) {
        process_close(conversion_process(conversion, i));
    }
    array_release(&conversion->processes);
    spill_release(&conversion->memory);
    map_release(&conversion->images);
    cJSON_Delete(conversion->session->json);
    release_missed(conversion->missed);
    array_release(&conversion->cpu_scopes->images);
    capture_intervals_release(&conversion->cpu_scopes->any);
    convert_plugins_release(&conversion->plugins);
    buffer_release(&conversion->stacks.frames);
    interner_release(&conversion->stacks.places);
    names_release(&conversion->names);
    map_release(&conversion->rows.taken_pids);
    map_release(&conversion->rows.taken_tids);
    free(conversion);
}

#define LARGE_BYTES (1 << 20)

int convert_spool(const struct convert_options *options, struct convert_summary *summary)
{
    struct session_note session = {0};
    struct missed missed = {0};
    struct cpu_scopes cpu_scopes = {0};
    struct conversion *conversion = calloc(1, sizeof(*conversion));
    if (!conversion)
        return error_no_memory("the conversion");
    mallopt(M_MMAP_THRESHOLD, LARGE_BYTES); /* else the heap would keep the space of freed large blocks for a while */
    conversion->options = options;
    conversion->session = &session;
    conversion->missed = &missed;
    conversion->cpu_scopes = &cpu_scopes;
    spill_init(&conversion->memory, options->spool_directory);
    *summary = (struct convert_summary){0};
    int result = index_all(conversion) ?: write_file(conversion, summary);
    if (result == 0) {
        summary->events = conversion->events;
        summary->kernels = conversion->kernels;
        summary->processes = (uint32_t)(conversion->processes.count - conversion->by_launcher);
        summary->losses = conversion->losses;
        summary->plugins = conversion->plugins;
        conversion->plugins = (struct convert_plugins){0};
        summary->cpu = conversion->by_launcher > 0;
        summary->missed_all = conversion->missed->all;
        snprintf(summary->missed, sizeof(summary->missed), "%s", conversion->missed->text.data);
        for (size_t i = 0; i < conversion->processes.count; i++) {
            summary->cuda |= conversion_process(conversion, i)->cuda;
            summary->nvtx |= conversion_process(conversion, i)->nvtx_seen;
        }
    }
    release(conversion);
    return result;
}
