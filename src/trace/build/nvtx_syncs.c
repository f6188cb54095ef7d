#include "trace/build/nvtx_syncs.h"

#include "common/log.h"
#include "common/spool_records.h"

#define REST_STEPS ((size_t)1 << 17) /* are taken before pages are given back */

void nvtx_syncs_evict(const struct nvtx_syncs *syncs)
{
    file_vector_evict(&syncs->steps);
    file_vector_evict(&syncs->waits);
    file_vector_evict(&syncs->holds);
}

void nvtx_syncs_release(struct nvtx_syncs *syncs)
{
    file_vector_release(&syncs->steps);
    file_vector_release(&syncs->waits);
    file_vector_release(&syncs->holds);
    map_release(&syncs->waiting);
    map_release(&syncs->held);
}

int nvtx_syncs_index(struct nvtx_syncs *syncs, const struct event *event)
{
    struct nvtx_sync_step *step = file_vector_push(&syncs->steps);
    if (!step)
        return error_no_memory("NVTX synchronisation");
    *step = (struct nvtx_sync_step){
        .time = event->start, .object = event->nvtx.range, .thread = event->thread, .what = event->nvtx.what};
    return 0;
}

static int by_time(const void *a, const void *b)
{
    const struct nvtx_sync_step *left = a, *right = b;
    if (left->time != right->time)
        return left->time < right->time ? -1 : 1;
    if (left->thread != right->thread)
        return left->thread < right->thread ? -1 : 1;
    return (left->what > right->what) - (left->what < right->what);
}

/* Objects are numbered from 1, threads have 22 bits. */
static uint64_t waiting_key(const struct nvtx_sync_step *step)
{
    return (uint64_t)step->thread << 42 ^ step->object;
}

static int begin_wait(struct nvtx_syncs *syncs, const struct nvtx_sync_step *step)
{
    struct nvtx_wait *wait = file_vector_push(&syncs->waits);
    uint64_t *waiting = map_put(&syncs->waiting, waiting_key(step), NULL);
    if (!wait || !waiting)
        return error_no_memory("NVTX synchronisation");
    *wait = (struct nvtx_wait){.object = step->object, .start = step->time, .thread = step->thread};
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
    struct nvtx_wait *wait = &syncs->waits.items[*waiting - 1];
    wait->end = step->time;
    wait->failed = step->what == SPOOL_NVTX_ACQUIRE_FAILED;
    map_remove(&syncs->waiting, waiting_key(step));
}

static int begin_hold(struct nvtx_syncs *syncs, const struct nvtx_sync_step *step)
{
    uint64_t *first = map_put(&syncs->held, step->object, NULL);
    struct nvtx_hold *hold = first ? file_vector_push(&syncs->holds) : NULL;
    if (!hold)
        return error_no_memory("NVTX synchronisation");
    *hold = (struct nvtx_hold){
        .object = step->object, .start = step->time, .thread = step->thread, .next = (uint32_t)*first};
    *first = syncs->holds.count;
    return 0;
}

/* Where the index + 1 stands of what a thread gives back: what it took last, else what was taken first of all. 0 stands
 * there when nothing is held. */
static uint32_t *find_hold(struct nvtx_syncs *syncs, uint32_t *first, uint32_t thread)
{
    uint32_t *oldest = first;
    for (uint32_t *at = first; *at; at = &syncs->holds.items[*at - 1].next) {
        if (syncs->holds.items[*at - 1].thread == thread)
            return at;
        oldest = at;
    }
    return oldest;
}

static void end_hold(struct nvtx_syncs *syncs, const struct nvtx_sync_step *step)
{
    uint64_t *held = map_get(&syncs->held, step->object);
    uint32_t first = held ? (uint32_t)*held : 0;
    uint32_t *index = find_hold(syncs, &first, step->thread);
    if (*index == 0) {
        syncs->unmatched++;
        return;
    }
    struct nvtx_hold *hold = &syncs->holds.items[*index - 1];
    hold->end = step->time;
    hold->end_thread = step->thread;
    *index = hold->next;
    *held = first;
}

static int take_step(struct nvtx_syncs *syncs, const struct nvtx_sync_step *step)
{
    switch (step->what) {
    case SPOOL_NVTX_ACQUIRE: return begin_wait(syncs, step);
    case SPOOL_NVTX_ACQUIRED: end_wait(syncs, step); return begin_hold(syncs, step);
    case SPOOL_NVTX_ACQUIRE_FAILED: end_wait(syncs, step); return 0;
    default: end_hold(syncs, step); return 0;
    }
}

/* What is open at the end of all, or of the capture interval it began in, ends there. */
static uint64_t last_time(const struct capture_intervals *capture_intervals, uint64_t start, uint64_t time)
{
    uint64_t window_end = capture_intervals_end(capture_intervals, start);
    uint64_t end = time < window_end ? time : window_end;
    return end > start ? end : start;
}

static void end_open_waits(struct nvtx_syncs *syncs, const struct capture_intervals *capture_intervals, uint64_t time)
{
    for (size_t i = 0; i < syncs->waits.count; i++) {
        struct nvtx_wait *wait = &syncs->waits.items[i];
        wait->open_at_end = wait->end == 0;
        if (wait->open_at_end)
            wait->end = last_time(capture_intervals, wait->start, time);
        if (i % REST_STEPS == 0)
            nvtx_syncs_evict(syncs);
    }
}

static void end_open_holds(struct nvtx_syncs *syncs, const struct capture_intervals *capture_intervals, uint64_t time)
{
    for (size_t i = 0; i < syncs->holds.count; i++) {
        struct nvtx_hold *hold = &syncs->holds.items[i];
        hold->open_at_end = hold->end == 0;
        if (hold->open_at_end) {
            hold->end = last_time(capture_intervals, hold->start, time);
            hold->end_thread = hold->thread;
        }
        if (i % REST_STEPS == 0)
            nvtx_syncs_evict(syncs);
    }
}

int nvtx_syncs_match(struct nvtx_syncs *syncs, const struct capture_intervals *capture_intervals, uint64_t time)
{
    if (file_vector_sort(&syncs->steps, by_time) != 0)
        return error_no_memory("NVTX synchronisation");
    for (size_t i = 0; i < syncs->steps.count; i++) {
        if (take_step(syncs, &syncs->steps.items[i]) != 0)
            return -1;
        if (i % REST_STEPS == 0)
            nvtx_syncs_evict(syncs);
    }
    file_vector_release(&syncs->steps);
    end_open_waits(syncs, capture_intervals, time);
    end_open_holds(syncs, capture_intervals, time);
    if (capture_intervals->limited)
        syncs->unmatched = 0; /* what they follow from may have come while recording was off */
    return 0;
}
