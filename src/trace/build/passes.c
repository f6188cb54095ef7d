#include "trace/build/passes.h"

#include <stdio.h>
#include <stdlib.h>

#include "common/clock.h"
#include "common/log.h"
#include "trace/build/conversion.h"
#include "trace/build/emitter.h"
#include "trace/output.h"

static uint64_t image_key(const struct process *process)
{
    const struct spool_header *header = &process->file.header;
    uint64_t key[] = {header->pid, header->pid_namespace, header->process_started};
    return hash_bytes(key, sizeof(key));
}

const struct process *conversion_latest_image(const struct conversion *conversion, const struct process *process)
{
    const uint64_t *index = map_get(&conversion->images, image_key(process));
    const struct process *image = index ? conversion->processes.items[*index] : NULL;
    return image && is_same_process(&image->file.header, &process->file.header) ? image : NULL;
}

static int note_image(struct conversion *conversion, const struct process *process)
{
    const struct process *image = conversion_latest_image(conversion, process);
    if (image && image->file.header.started >= process->file.header.started)
        return 0;
    uint64_t *index = map_put(&conversion->images, image_key(process), NULL);
    if (!index)
        return error_no_memory("a process");
    *index = process->index;
    return 0;
}

/* Images of one process share its rows; another process of the same number, later or in another namespace, does not. */
static uint32_t row_pid(const struct conversion *conversion, const struct process *process)
{
    const struct process *image = conversion_latest_image(conversion, process);
    uint32_t pid = process->file.header.pid;
    if (image)
        return image->pid;
    return map_get(&conversion->rows.taken_pids, pid) ? TRACKS_PROCESS_PID + process->index : pid;
}

/* Of so many processes. */
#define REST_PROCESSES 2048

void conversion_rest(const struct conversion *conversion, size_t passed)
{
    if (passed % REST_PROCESSES == REST_PROCESSES - 1)
        spill_rest(&conversion->memory);
}

/* A launcher that died may have left the files of a process that is among those that have ended. */
static bool is_open(const struct conversion *conversion, const struct process *process)
{
    if (conversion->processes.count == 0)
        return false;
    const struct spool_header *header = &process->file.header;
    const struct spool_header *last = &conversion->processes.items[conversion->processes.count - 1]->file.header;
    return is_same_process(last, header) && last->started == header->started &&
           last->started_monotonic == header->started_monotonic;
}

static int open_process(struct conversion *conversion, const struct spool_directory *spools, size_t number)
{
    struct process *process = spill_block(&conversion->memory, PROCESS_BLOCK);
    if (!process)
        return error_no_memory("a process");
    int result = process_open(process, spools, number, conversion->options->spool_directory);
    if (result != 0) {
        conversion->losses.undecoded += result > 0;
        return result < 0 ? -1 : 0;
    }
    bool ended_before = number > 0 && spools->places[number - 1].ended && !spools->places[number].ended;
    if (ended_before && is_open(conversion, process)) {
        process_close(process);
        return 0;
    }
    struct process **item = array_push(&conversion->processes);
    if (!item) {
        process_close(process);
        return error_no_memory("a process");
    }
    process->index = (uint32_t)conversion->processes.count - 1;
    *item = process;
    process->pid = row_pid(conversion, process);
    return note_image(conversion, process) != 0 ? -1 : rows_take_pid(&conversion->rows, process->pid);
}

static int open_processes(struct conversion *conversion)
{
    struct spool_directory directory;
    int result = spool_directory_read(&directory, conversion->options->spool_directory);
    for (size_t i = 0; i < directory.count && result == 0; i++) {
        result = open_process(conversion, &directory, i);
        conversion_rest(conversion, i);
    }
    conversion->losses.unrecorded += directory.unrecorded + conversion->options->unrecorded;
    spool_directory_release(&directory);
    return result;
}

/* Correlation ids of each process follow those of the one before; arrow ids beyond all of these come after. */
static int number_arrows(struct conversion *conversion)
{
    uint64_t next = 1;
    for (size_t i = 0; i < conversion->processes.count; i++) {
        struct launches *launches = &conversion_process(conversion, i)->launches;
        launches->offset = next - 1 < UINT32_MAX ? (uint32_t)(next - 1) : UINT32_MAX;
        next += launches_highest(launches);
    }
    for (size_t i = 0; i < conversion->processes.count; i++)
        if (launches_number(&conversion_process(conversion, i)->launches, &next) != 0)
            return -1;
    return 0;
}

static void set_base(struct conversion *conversion)
{
    uint64_t first = 0;
    for (size_t i = 0; i < conversion->processes.count; i++) {
        uint64_t time = conversion_process(conversion, i)->first_time;
        if (time != 0 && (first == 0 || time < first))
            first = time;
    }
    conversion->base = first - first % NS_PER_S;
}

static void sum_losses(struct conversion *conversion)
{
    for (size_t i = 0; i < conversion->processes.count; i++) {
        const struct convert_losses *losses = &conversion_process(conversion, i)->losses;
#define LOSS(field, words) conversion->losses.field += losses->field;
        CONVERT_LOSSES(LOSS)
#undef LOSS
    }
}

static int learn(struct conversion *conversion)
{
    if (open_processes(conversion) != 0 || find_clocks(conversion) != 0)
        return -1;
    for (size_t i = 0; i < conversion->processes.count; i++)
        if (survey_process(conversion, conversion_process(conversion, i)) != 0)
            return -1;
    for (size_t i = 0; i < conversion->processes.count; i++)
        if (match_process(conversion, conversion_process(conversion, i)) != 0)
            return -1;
    if (number_arrows(conversion) != 0)
        return -1;
    set_base(conversion);
    if (gather_stacks(conversion) != 0 || gather_plugins(conversion) != 0)
        return -1;
    sum_losses(conversion);
    session_note_read(&conversion->session, conversion->options->spool_directory);
    return find_missed(conversion);
}

static int write_trace(struct conversion *conversion, struct output *output)
{
    if (write_metadata(conversion) != 0)
        return -1;
    conversion->writer.format->begin(&conversion->writer, conversion->base);
    if (emit_all(conversion, output) != 0)
        return -1;
    conversion->writer.format->finish(&conversion->writer);
    return 0;
}

static int write_file(struct conversion *conversion, struct convert_summary *summary)
{
    const struct convert_stream *stream = conversion->options->stream;
    const char *path = conversion->options->output;
    struct output output;
    if (stream)
        output_open_stream(&output, stream->take, stream->context);
    else if (output_open(&output, path) != 0)
        return -1;
    writer_init(&conversion->writer, stream ? stream->format : writer_format_for(path), &output.sink);
    int result = write_trace(conversion, &output);
    writer_release(&conversion->writer);
    summary->unpacked = output.sink.total + output.sink.length;
    if (result == 0)
        return output_commit(&output, &summary->bytes);
    output_discard(&output);
    return -1;
}

static void summarise(struct conversion *conversion, struct convert_summary *summary)
{
    summary->events = conversion->events;
    summary->kernels = conversion->kernels;
    summary->processes = (uint32_t)conversion->processes.count;
    summary->losses = conversion->losses;
    summary->plugins = conversion->plugins;
    conversion->plugins = (struct convert_plugins){0};
    summary->missed_all = conversion->missed.all;
    snprintf(summary->missed, sizeof(summary->missed), "%s", conversion->missed.text.data);
    for (size_t i = 0; i < conversion->processes.count; i++) {
        summary->cuda |= conversion_process(conversion, i)->cuda;
        summary->nvtx |= conversion_process(conversion, i)->nvtx_seen;
    }
}

static void release(struct conversion *conversion)
{
    for (size_t i = 0; i < conversion->processes.count; i++) {
        process_close(conversion_process(conversion, i));
    }
    array_release(&conversion->processes);
    spill_release(&conversion->memory);
    map_release(&conversion->images);
    session_note_release(&conversion->session);
    release_missed(&conversion->missed);
    convert_plugins_release(&conversion->plugins);
    sink_release(&conversion->stacks.frames);
    sink_release(&conversion->stacks.stacks);
    names_release(&conversion->names);
    rows_release(&conversion->rows);
    free(conversion);
}

int convert_spool(const struct convert_options *options, struct convert_summary *summary)
{
    struct conversion *conversion = calloc(1, sizeof(*conversion));
    if (!conversion)
        return error_no_memory("the conversion");
    conversion->options = options;
    spill_init(&conversion->memory, options->spool_directory);
    *summary = (struct convert_summary){0};
    int result = learn(conversion);
    if (result == 0)
        result = write_file(conversion, summary);
    if (result == 0)
        summarise(conversion, summary);
    release(conversion);
    return result;
}
