/*
 * The write pass, cut into pieces that several threads write at once. Events that need the state after the ones before
 * (counters, say) are written by the thread that puts the pieces into the file, when it comes to them.
 */
#include "common/log.h"
#include "common/threads.h"
#include "trace/meaning/gpu/device_ranges.h"
#include "trace/meaning/host/calls.h"
#include "trace/meaning/host/plugins.h"
#include "trace/meaning/memory/memory.h"
#include "trace/meaning/memory/pools.h"
#include "trace/meaning/nvtx/nvtx_counters.h"
#include "trace/meaning/nvtx/nvtx_data.h"
#include "trace/meaning/nvtx/nvtx_clocks.h"
#include "trace/meaning/nvtx/nvtx_memory.h"
#include "trace/meaning/nvtx/nvtx_syncs.h"
#include "trace/meaning/passes/parallel_scan.h"
#include "trace/meaning/passes/passes.h"
#include "trace/meaning/torch/operators.h"
#include "trace/meaning/write/rows.h"
#include "trace/output.h"

/* --- the sink of a piece --- */

/* Directs the next events of OUT to BUFFER. */
static void piece_writer_begin(struct piece_writer *out, struct conversion *conversion, struct buffer *buffer)
{
    out->conversion = conversion;
    out->kernels = 0;
    out->part = 0;
    out->operators = (struct nvtx_places){0};
    sink_piece(&out->sink, &conversion->sink, buffer);
}

static void piece_writer_end(struct piece_writer *out)
{
    sink_release(&out->sink);
    map_release(&out->gpu_ops);
}

static void piece_writer_release(struct piece_writer *out)
{
    spool_scratch_release(&out->scratch);
    map_release(&out->gpu_ops);
    *out = (struct piece_writer){0};
}

/* Writes marks alone: ranges are written from their index. */
int write_nvtx(struct piece_writer *out, struct process *process, const struct event *event)
{
    bool mark = event->nvtx.what == SPOOL_NVTX_MARK && process_knows_time(process, event->start);
    return mark ? write_nvtx_mark(out, process, event) : 0;
}

/* --- events that a record of CUPTI or of the agent describes by itself --- */

static int write_parts(struct piece_writer *out, struct process *process, size_t first, size_t end, uint16_t type,
                       const struct event_passes passes[EVENT_TYPE_COUNT])
{
    int result = 0;
    for (size_t i = first; i < end && result == 0; i++) {
        const struct spool_part *part = &process->file.parts.items[i];
        struct part_walk walk;
        struct event event;
        if (part->type != type)
            continue;
        out->part = (uint32_t)i;
        if (map_count(&out->gpu_ops) > 0)
            map_release(&out->gpu_ops);
        part_walk_begin(&walk, process, part, spool_part_data(part, &out->scratch), false);
        while (result == 0 && part_walk_next(&walk, &event))
            if (passes[event.type].write)
                result = passes[event.type].write(out, process, &event);
        part_walk_end(&walk);
    }
    return result;
}

static int write_cupti_parts(struct piece_writer *out, struct process *process, size_t first, size_t end)
{
    return write_parts(out, process, first, end, SPOOL_CUPTI, cupti_passes);
}

static int write_own_parts(struct piece_writer *out, struct process *process, size_t first, size_t end)
{
    return write_parts(out, process, first, end, SPOOL_RECORDS, agent_passes);
}

/* A piece of this many bytes of records, or this many ranges, becomes some MiB of JSON. */
#define PIECE_BYTES ((size_t)512 << 10)
#define PIECE_RANGES ((size_t)4096)

/* Bound on the memory of pieces that are being made or wait to be put into the file: some twenty at once. A byte of
 * records becomes TEXT_PER_BYTE bytes of JSON. What is read for ranges is scattered in the spool, and the kernel maps
 * pages around each page that is touched: MAPPED_PER_RANGE_BYTE times as much is in memory. */
#define MADE_BYTES ((size_t)160 << 20)
#define TEXT_PER_BYTE 5
#define MAPPED_PER_RANGE_BYTE 4
_Static_assert(PIECE_BYTES > 2 * MAPPED_AROUND, "a piece has some ranges");

/* More threads would write faster than one thread can put the pieces into the file, and need more memory. */
#define WORKERS_MOST 32

struct job {
    struct process *process;
    /* One is set: write() for items or parts FIRST to END, called by any thread; write_events() for everything of a
     * topic, called by the thread that puts the pieces into the file. */
    int (*write)(struct piece_writer *out, struct process *process, size_t first, size_t end);
    int (*write_events)(struct piece_writer *out, struct process *process);
    size_t first, end;
    size_t bytes;  /* about how many bytes of records are read; 0 for write_events() */
    size_t mapped; /* bytes of pages that reading them brings into memory */
};

struct worker {
    struct piece_writer out;
    struct gzip *gzip; /* NULL: the file is not compressed */
};

/* The output of a job. */
struct made {
    struct output_block block;
    uint64_t events, kernels;
};

struct write_pass {
    struct conversion *conversion;
    struct output *output;
    ARRAY(struct job) jobs;
    unsigned scale; /* factor on the size of pieces: the format's piece_scale */
    unsigned worker_count, slot_count;
    struct worker *workers;
    struct made *slots;
    struct piece_writer alone; /* for write_events() */
    uint64_t passed;           /* bytes of records written since pages were last evicted */
    uint64_t rested;           /* bytes of text that were in the file at the last eviction */
};

/* --- the plan --- */

static int plan(struct write_pass *write_pass, const struct job *job)
{
    return ADD(array_push, &write_pass->jobs, *job) ? 0 : error_no_memory("the plan of the trace");
}

static int plan_alone(struct write_pass *write_pass, struct process *process,
                      int (*write)(struct piece_writer *out, struct process *process))
{
    return plan(write_pass, &(struct job){.process = process, .write_events = write});
}

/* Plans jobs for COUNT items of an index, PIECE_RANGES each, or fewer if their records lie far apart in the spool. */
static int plan_ranges(struct write_pass *write_pass, struct process *process, size_t count,
                       int (*write)(struct piece_writer *, struct process *, size_t, size_t))
{
    /* For each item: itself, and what is between its record and the next, as far as the kernel maps that. */
    size_t records = 0;
    for (size_t i = 0; i < process->file.parts.count; i++)
        records += process->file.parts.items[i].type == SPOOL_RECORDS ? process->file.parts.items[i].size : 0;
    size_t apart = count > 0 ? records / count : 0;
    size_t each = sizeof(struct nvtx_range) + (apart < MAPPED_AROUND ? apart : MAPPED_AROUND);
    size_t most = (PIECE_BYTES / each < PIECE_RANGES ? PIECE_BYTES / each : PIECE_RANGES) * write_pass->scale;
    int result = 0;
    for (size_t first = 0; first < count && result == 0; first += most) {
        size_t end = count - first < most ? count : first + most, bytes = (end - first) * each;
        result = plan(write_pass, &(struct job){.process = process,
                                                .write = write,
                                                .first = first,
                                                .end = end,
                                                .bytes = bytes,
                                                .mapped = bytes * MAPPED_PER_RANGE_BYTE});
    }
    return result;
}

/* Plans jobs for the parts of a type, each with about PIECE_BYTES, times the scale. */
static int plan_parts(struct write_pass *write_pass, struct process *process, uint16_t type,
                      int (*write)(struct piece_writer *, struct process *, size_t, size_t))
{
    size_t bytes = 0, first = 0, count = process->file.parts.count;
    size_t piece = PIECE_BYTES * write_pass->scale;
    int result = 0;
    for (size_t i = 0; i < count && result == 0; i++) {
        const struct spool_part *part = &process->file.parts.items[i];
        bytes += part->type == type ? part->size : 0;
        if (bytes < piece && (i + 1 < count || bytes == 0))
            continue;
        result = plan(
            write_pass,
            &(struct job){
                .process = process, .write = write, .first = first, .end = i + 1, .bytes = bytes, .mapped = bytes});
        first = i + 1;
        bytes = 0;
    }
    return result;
}

static int write_other_slices(struct piece_writer *out, struct process *process)
{
    return write_deferred(out, process) != 0 || write_compilation(out, process) != 0
               ? -1
               : write_plugin_slices(out, process);
}

static int write_counters(struct piece_writer *out, struct process *process)
{
    return write_nvtx_counters(out, process) != 0 || write_nvtx_memory(out, process) != 0 ||
                   write_memory(out, process) != 0
               ? -1
               : write_pools(out, process);
}

/* Slices that may enclose others come first. Compilation comes before calls too: HTA takes the last host event in the
 * file with a correlation id for the launch. */
static int plan_process(struct write_pass *write_pass, struct process *process)
{
    size_t gpu_ranges = process->nvtx->projections.items.count + process->device_ranges->items.count;
    if (plan_ranges(write_pass, process, process->nvtx->ranges.count, write_nvtx_ranges) != 0 ||
        plan_ranges(write_pass, process, process->nvtx->started.count, write_nvtx_started) != 0 ||
        plan_alone(write_pass, process, write_nvtx_syncs) != 0 ||
        plan_ranges(write_pass, process, gpu_ranges, write_gpu_ranges) != 0 ||
        plan_alone(write_pass, process, write_other_slices) != 0)
        return -1;
    if (plan_parts(write_pass, process, SPOOL_CUPTI, write_cupti_parts) != 0 ||
        plan_parts(write_pass, process, SPOOL_RECORDS, write_own_parts) != 0)
        return -1;
    return plan_alone(write_pass, process, write_counters);
}

static int make_piece(void *context, size_t piece, unsigned slot, unsigned number)
{
    struct write_pass *write_pass = context;
    const struct job *job = &write_pass->jobs.items[piece];
    struct worker *worker = &write_pass->workers[number];
    struct made *made = &write_pass->slots[slot];
    if (!job->write)
        return 0;
    output_block_clear(&made->block);
    piece_writer_begin(&worker->out, write_pass->conversion, &made->block.text);
    int result = job->write(&worker->out, job->process, job->first, job->end);
    made->events = worker->out.sink.events;
    made->kernels = worker->out.kernels;
    piece_writer_end(&worker->out);
    output_block_pack(&made->block, worker->gzip);
    return result;
}

/* The bytes of memory that a piece needs: its text, and what is mapped for it. */
static size_t piece_size(void *context, size_t piece)
{
    const struct write_pass *write_pass = context;
    const struct job *job = &write_pass->jobs.items[piece];
    return job->bytes * TEXT_PER_BYTE / write_pass->scale + job->mapped;
}

static int publish_piece(void *context, size_t piece, unsigned slot)
{
    struct write_pass *write_pass = context;
    const struct job *job = &write_pass->jobs.items[piece];
    const struct made *made = &write_pass->slots[slot];
    struct convert_progress *progress = write_pass->conversion->options->progress;
    if (progress) {
        __atomic_store_n(&progress->done, piece, __ATOMIC_RELAXED);
        __atomic_store_n(&progress->total, write_pass->jobs.count, __ATOMIC_RELAXED);
    }
    conversion_evict(write_pass->conversion, piece);
    if (!job->write) {
        struct piece_writer *out = &write_pass->alone;
        piece_writer_begin(out, write_pass->conversion, &write_pass->output->buffer);
        int written = job->write_events(out, job->process);
        write_pass->conversion->events += out->sink.events;
        piece_writer_end(out);
        return written;
    }
    write_pass->conversion->events += made->events;
    write_pass->conversion->kernels += made->kernels;
    int result = output_put(write_pass->output, &made->block);
    uint64_t total = write_pass->output->buffer.total;
    write_pass->passed += job->bytes;
    if (write_pass->passed >= PROCESS_EVICT_BYTES || total - write_pass->rested >= PIECE_WRITER_EVICT_BYTES) {
        process_evict(job->process);
        write_pass->passed = 0;
        write_pass->rested = total;
    }
    return result;
}

static int set_up(struct write_pass *write_pass)
{
    unsigned most = write_pass->conversion->sink.format->one_thread ? 1 : WORKERS_MOST;
    write_pass->worker_count = ordered_loop_workers(write_pass->conversion->options->workers, most);
    write_pass->slot_count = ordered_loop_slots(write_pass->worker_count);
    write_pass->workers = calloc(write_pass->worker_count, sizeof(*write_pass->workers));
    write_pass->slots = calloc(write_pass->slot_count, sizeof(*write_pass->slots));
    if (!write_pass->workers || !write_pass->slots)
        return error_no_memory("writing");
    for (unsigned i = 0; i < write_pass->slot_count; i++)
        output_block_init(&write_pass->slots[i].block);
    for (unsigned i = 0; i < write_pass->worker_count && write_pass->output->gzip; i++)
        if (!(write_pass->workers[i].gzip = gzip_new(gzip_form(write_pass->output->gzip))))
            return -1;
    return 0;
}

int write_events(struct conversion *conversion, struct output *output)
{
    unsigned scale = conversion->sink.format->piece_scale;
    struct write_pass write_pass = {.conversion = conversion, .output = output, .scale = scale ? scale : 1};
    int result = 0;
    /* Ids of asynchronous ranges count on from process to process. */
    uint64_t before = 0;
    for (size_t i = 0; i < conversion->processes.count; i++) {
        struct process *process = conversion_process(conversion, i);
        process->async_before = before;
        before += process->nvtx->started.count + process->nvtx->syncs.holds.count + process->nvtx->deferred.started;
    }
    operators_number(conversion);
    for (size_t i = 0; i < conversion->processes.count && result == 0; i++)
        result = write_rows(conversion, conversion_process(conversion, i));
    for (size_t i = 0; i < conversion->processes.count && result == 0; i++)
        result = plan_process(&write_pass, conversion_process(conversion, i));
    result = result ?: set_up(&write_pass);
    result = result
                 ?: ordered_loop_run(&(struct ordered_loop){.count = write_pass.jobs.count,
                                                            .workers = write_pass.worker_count,
                                                            .make = make_piece,
                                                            .take = publish_piece,
                                                            .size = piece_size,
                                                            .most = MADE_BYTES,
                                                            .context = &write_pass});
    for (unsigned i = 0; write_pass.workers && i < write_pass.worker_count; i++) {
        piece_writer_release(&write_pass.workers[i].out);
        gzip_free(write_pass.workers[i].gzip);
    }
    for (unsigned i = 0; write_pass.slots && i < write_pass.slot_count; i++)
        output_block_release(&write_pass.slots[i].block);
    piece_writer_release(&write_pass.alone);
    array_release(&write_pass.jobs);
    free(write_pass.workers);
    free(write_pass.slots);
    return result;
}
