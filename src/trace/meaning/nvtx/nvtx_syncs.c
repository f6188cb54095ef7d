/*
 * Synchronisation objects of NVTX: a slice for each time that a thread waited for an object, and a range for each time
 * that an object was held.
 */
#include "trace/meaning/nvtx/nvtx_syncs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/log.h"
#include "common/array.h"
#include "common/map.h"
#include "common/spool_records.h"
#include "trace/meaning/base/process.h"
#include "trace/meaning/nvtx/nvtx_data.h"
#include "trace/meaning/nvtx/nvtx_describe.h"
#include "trace/meaning/nvtx/nvtx_names.h"

#define EVICT_STEPS ((size_t)1 << 17) /* pages are evicted after so many steps */

static void evict(const struct nvtx_syncs *syncs)
{
    file_vector_evict(&syncs->steps);
    file_vector_evict(&syncs->waits);
    file_vector_evict(&syncs->holds);
}

int nvtx_syncs_index(struct nvtx_syncs *syncs, const struct event *event)
{
    struct nvtx_sync_step step = {
        .time = event->start, .object = event->nvtx.range, .thread = event->thread, .what = event->nvtx.what};
    return ADD(file_vector_push, &syncs->steps, step) ? 0 : error_no_memory("NVTX synchronisation");
}

/* --- which step follows which --- */

ORDER_BY(by_time, struct nvtx_sync_step, time, thread, what)

/* Keys do not collide: objects are numbered from 1, threads have 22 bits. */
static uint64_t waiting_key(const struct nvtx_sync_step *step)
{
    return (uint64_t)step->thread << 42 ^ step->object;
}

static int begin_wait(struct nvtx_syncs *syncs, const struct nvtx_sync_step *step)
{
    struct nvtx_sync_span wait = {.object = step->object, .start = step->time, .thread = step->thread};
    uint64_t *waiting = map_put(&syncs->waiting, waiting_key(step), NULL);
    if (!waiting || !ADD(file_vector_push, &syncs->waits, wait))
        return error_no_memory("NVTX synchronisation");
    *waiting = syncs->waits.count;
    return 0;
}

static void end_wait(struct nvtx_syncs *syncs, const struct nvtx_sync_step *step)
{
    const uint64_t *waiting = map_get(&syncs->waiting, waiting_key(step));
    if (!waiting) {
        syncs->unmatched++;
        return;
    }
    struct nvtx_sync_span *wait = &syncs->waits.items[*waiting - 1];
    wait->end = step->time;
    wait->failed = step->what == SPOOL_NVTX_ACQUIRE_FAILED;
    map_remove(&syncs->waiting, waiting_key(step));
}

static int begin_hold(struct nvtx_syncs *syncs, const struct nvtx_sync_step *step)
{
    uint64_t *last = map_put(&syncs->held, step->object, NULL);
    struct nvtx_sync_span hold = {.object = step->object, .start = step->time, .thread = step->thread};
    hold.next = last ? (uint32_t)*last : 0;
    if (!last || !ADD(file_vector_push, &syncs->holds, hold))
        return error_no_memory("NVTX synchronisation");
    *last = syncs->holds.count;
    return 0;
}

static void end_hold(struct nvtx_syncs *syncs, const struct nvtx_sync_step *step)
{
    uint64_t *held = map_get(&syncs->held, step->object);
    uint32_t first = held ? (uint32_t)*held : 0;
    /* Where the index + 1 of the hold is stored that the thread releases: its own last hold, or else the oldest one. */
    uint32_t *index = &first;
    for (uint32_t *at = &first; *at; at = &syncs->holds.items[*at - 1].next) {
        index = at;
        if (syncs->holds.items[*at - 1].thread == step->thread)
            break;
    }
    if (*index == 0) {
        syncs->unmatched++;
        return;
    }
    struct nvtx_sync_span *hold = &syncs->holds.items[*index - 1];
    hold->end = step->time;
    hold->end_thread = step->thread;
    *index = hold->next;
    *held = first;
}

/* A span that is open at the end of the trace, or of the capture interval it began in, ends there. */
static void end_open(struct nvtx_sync_span *spans, size_t count, const struct nvtx_syncs *syncs,
                     const struct capture_intervals *capture_intervals, uint64_t time)
{
    for (size_t i = 0; i < count; i++) {
        struct nvtx_sync_span *span = &spans[i];
        span->open_at_end = span->end == 0;
        if (span->open_at_end) {
            uint64_t interval_end = capture_intervals_end(capture_intervals, span->start);
            span->end = time < interval_end ? time : interval_end;
            span->end = span->end > span->start ? span->end : span->start;
            span->end_thread = span->thread;
        }
        if (i % EVICT_STEPS == 0)
            evict(syncs);
    }
}

int nvtx_syncs_match(struct nvtx_syncs *syncs, const struct capture_intervals *capture_intervals, uint64_t time)
{
    if (file_vector_sort(&syncs->steps, by_time) != 0)
        return error_no_memory("NVTX synchronisation");
    for (size_t i = 0; i < syncs->steps.count; i++) {
        const struct nvtx_sync_step *step = &syncs->steps.items[i];
        int result = 0;
        if (step->what == SPOOL_NVTX_ACQUIRED || step->what == SPOOL_NVTX_ACQUIRE_FAILED)
            end_wait(syncs, step);
        if (step->what == SPOOL_NVTX_ACQUIRE)
            result = begin_wait(syncs, step);
        else if (step->what == SPOOL_NVTX_ACQUIRED)
            result = begin_hold(syncs, step);
        else if (step->what != SPOOL_NVTX_ACQUIRE_FAILED)
            end_hold(syncs, step);
        if (result != 0)
            return -1;
        if (i % EVICT_STEPS == 0)
            evict(syncs);
    }
    file_vector_release(&syncs->steps);
    end_open(syncs->waits.items, syncs->waits.count, syncs, capture_intervals, time);
    end_open(syncs->holds.items, syncs->holds.count, syncs, capture_intervals, time);
    if (capture_intervals->limited)
        syncs->unmatched = 0; /* the step before an unmatched one may have come while recording was off */
    return 0;
}

/* Sets the arguments of a span. Returns its name, "holding NAME" for example, which the caller frees, or NULL after
 * error(). */
static char *describe(struct args *args, const struct process *process, const struct nvtx_sync_span *span,
                      const char *doing)
{
    const struct nvtx_resource *object = nvtx_resource(&process->nvtx->resources, span->object);
    char *text = NULL;
    int length = object && object->name.length
                     ? asprintf(&text, "%s %.*s", doing, (int)object->name.length, object->name.text)
                     : asprintf(&text, "%s synchronisation object %llu", doing, (unsigned long long)span->object);
    if (length < 0) {
        error_no_memory("NVTX synchronisation");
        return NULL;
    }
    args->count = 0;
    if (object)
        describe_nvtx_domain(args, process->nvtx, object->domain);
    if (span->open_at_end)
        args_add(args, ARG_OPEN_AT_END, ARG_TYPE_TRUE);
    if (span->failed)
        args_add(args, ARG_FAILED, ARG_TYPE_TRUE);
    return text;
}

static int write_hold(struct piece_writer *out, struct process *process, const struct nvtx_sync_span *hold, uint64_t id)
{
    struct args args;
    char *name = describe(&args, process, hold, "holding");
    if (name)
        out->sink.format->async(&out->sink, &(struct async_slice){.category = CATEGORY_USER_ANNOTATION,
                                                                  .name = name_passing(name, strlen(name)),
                                                                  .begin = nvtx_thread_row(process, hold->thread),
                                                                  .end_row = nvtx_thread_row(process, hold->end_thread),
                                                                  .start = hold->start,
                                                                  .end = hold->end,
                                                                  .id = id,
                                                                  .args = &args});
    free(name);
    return name ? 0 : -1;
}

int write_nvtx_syncs(struct piece_writer *out, struct process *process)
{
    const struct nvtx_syncs *syncs = &process->nvtx->syncs;
    uint64_t before = process->async_before + process->nvtx->started.count;
    int result = 0;
    for (size_t i = 0; i < syncs->waits.count && result == 0; i++) {
        const struct nvtx_sync_span *wait = &syncs->waits.items[i];
        struct track *thread = tracks_get(&process->tracks, TRACK_THREAD, 0, 0, wait->thread);
        struct args args;
        char *name = describe(&args, process, wait, "acquiring");
        if (name && thread)
            piece_writer_slice(out, CATEGORY_USER_ANNOTATION, name_passing(name, strlen(name)),
                               track_row(thread, wait->start, wait->end), wait->start, wait->end, &args);
        free(name);
        result = name ? 0 : -1;
        piece_writer_passed(out, process);
    }
    for (size_t i = 0; i < syncs->holds.count && result == 0; i++) {
        result = write_hold(out, process, &syncs->holds.items[i], before + i + 1);
        piece_writer_passed(out, process);
    }
    return result;
}
