#include "core/work.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>

#include "core/clock.h"
#include "core/config.h"
#include "core/sim.h"

enum { LOOK_NS = 50000 }; /* between two looks at memory that somebody waits for */

pthread_mutex_t sim_mutex = PTHREAD_MUTEX_INITIALIZER;

static struct {
    pthread_cond_t scheduled, queued, done;
    struct list heap;    /* of what has times, the earliest end first */
    struct list waiting; /* of what waits for a value in memory */
    struct list host;    /* functions to be called, in order */
    bool threads;
} work = {.scheduled = PTHREAD_COND_INITIALIZER, .queued = PTHREAD_COND_INITIALIZER, .done = PTHREAD_COND_INITIALIZER};

/* ---- the heap ---- */

static uint64_t heap_end(size_t i)
{
    return ((const struct work *)work.heap.items[i])->end;
}

static void heap_swap(size_t a, size_t b)
{
    void *item = work.heap.items[a];
    work.heap.items[a] = work.heap.items[b];
    work.heap.items[b] = item;
}

static void heap_push(struct work *item)
{
    list_add(&work.heap, item);
    for (size_t i = work.heap.count - 1; i && heap_end(i) < heap_end((i - 1) / 2); i = (i - 1) / 2)
        heap_swap(i, (i - 1) / 2);
}

static struct work *heap_pop(void)
{
    heap_swap(0, --work.heap.count);
    size_t i = 0;
    for (;;) {
        size_t least = i;
        for (size_t child = 2 * i + 1; child <= 2 * i + 2 && child < work.heap.count; child++)
            if (heap_end(child) < heap_end(least))
                least = child;
        if (least == i)
            return work.heap.items[work.heap.count];
        heap_swap(i, least);
        i = least;
    }
}

/* ---- from ready to done ---- */

static void work_schedule(struct work *item)
{
    if (item->start < item->earliest)
        item->start = item->earliest;
    if (item->span && (!item->span->earliest || item->start < item->span->earliest))
        item->span->earliest = item->start;
    if (item->hangs)
        return;
    if (item->op.type == CU_GRAPH_NODE_TYPE_HOST) {
        list_add(&work.host, item);
        pthread_cond_signal(&work.queued);
        return;
    }
    if (op_waits(&item->op)) {
        list_add(&work.waiting, item);
        pthread_cond_signal(&work.scheduled);
        return;
    }
    item->end = item->start + op_duration(&item->op);
    heap_push(item);
    if (work.heap.items[0] == item)
        pthread_cond_signal(&work.scheduled);
}

static void work_resolve(struct work *item, uint64_t end)
{
    if (item->start < end)
        item->start = end;
    if (!--item->waiting)
        work_schedule(item);
}

static bool work_lost(const struct work *item)
{
    return item->lost && atomic_load(item->lost);
}

static void work_finish(struct work *item)
{
    item->done = true;
    uint64_t start = item->op.type == CU_GRAPH_NODE_TYPE_EMPTY && item->earliest ? item->earliest : item->start;
    if (item->faults && item->lost)
        atomic_store(item->lost, true);
    if (!work_lost(item))
        activity_complete(&item->slot, item->timeless ? 0 : start, item->timeless ? 0 : item->end);
    for (size_t i = 0; i < item->dependents.count; i++) {
        work_resolve(item->dependents.items[i], item->end);
        work_drop(item->dependents.items[i]);
    }
    list_release(&item->dependents);
    pthread_cond_broadcast(&work.done);
    work_drop(item);
}

static void work_run(struct work *item)
{
    if (work_lost(item))
        return;
    sim_unlock();
    op_run(&item->op);
    sim_lock();
}

/* Whether what ITEM waits for has come; then it has an end, which may be later than NOW. */
static bool work_has_come(struct work *item, uint64_t now)
{
    uint64_t latest = item->start;
    if (item->start > now)
        return false;
    item->end = now;
    if (item->op.type != CU_GRAPH_NODE_TYPE_KERNEL)
        return op_holds(&item->op);
    if (!item->entered)
        op_enter(&item->op, item->start);
    item->entered = true;
    if (!op_complete(&item->op, &latest))
        return false;
    item->end = latest + op_duration(&item->op);
    return true;
}

/* What nobody waits for any more is done, or goes to the heap. */
static void work_look(void)
{
    uint64_t now = clock_now();
    for (size_t i = 0; i < work.waiting.count;) {
        struct work *item = work.waiting.items[i];
        if (!work_has_come(item, now)) {
            i++;
            continue;
        }
        list_remove(&work.waiting, item);
        if (item->end <= now)
            work_finish(item);
        else
            heap_push(item);
    }
}

static void *work_device_thread(void *unused)
{
    (void)unused;
    sim_lock();
    for (;;) {
        work_look();
        uint64_t now = clock_now(), until = work.heap.count ? heap_end(0) : UINT64_MAX;
        if (work.waiting.count && until > now + LOOK_NS)
            until = now + LOOK_NS;
        if (until == UINT64_MAX) {
            pthread_cond_wait(&work.scheduled, &sim_mutex);
        } else if (until > now) {
            struct timespec time = clock_timespec(until);
            pthread_cond_timedwait(&work.scheduled, &sim_mutex, &time);
        } else {
            struct work *item = heap_pop();
            if (item->op.type != CU_GRAPH_NODE_TYPE_KERNEL && item->op.type != CU_GRAPH_NODE_TYPE_EMPTY)
                work_run(item);
            work_finish(item);
        }
    }
    return NULL;
}

static void *work_host_thread(void *unused)
{
    (void)unused;
    sim_lock();
    for (;;) {
        if (!work.host.count) {
            pthread_cond_wait(&work.queued, &sim_mutex);
            continue;
        }
        struct work *item = work.host.items[0];
        list_remove(&work.host, item);
        while (clock_now() < item->start) {
            struct timespec until = clock_timespec(item->start);
            pthread_cond_timedwait(&work.queued, &sim_mutex, &until);
        }
        item->start = clock_now();
        work_run(item);
        item->end = clock_now();
        work_finish(item);
    }
    return NULL;
}

static void work_start_threads(void)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pthread_t device, host;
    if (pthread_create(&device, NULL, work_device_thread, NULL) || pthread_create(&host, NULL, work_host_thread, NULL))
        abort();
    pthread_detach(device);
    pthread_detach(host);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    work.threads = true;
}

/* ---- for the others ---- */

struct work *work_new(const struct op *op)
{
    if (!work.threads)
        work_start_threads();
    struct work *item = calloc(1, sizeof(*item));
    if (!item)
        abort();
    item->op = *op;
    item->references = 1;
    item->waiting = 1; /* for work_start */
    return item;
}

void work_depend(struct work *item, struct work *on)
{
    if (!on || on == item)
        return;
    if (on->done) {
        if (item->start < on->end)
            item->start = on->end;
        return;
    }
    list_add(&on->dependents, work_hold(item));
    item->waiting++;
}

void work_start(struct work *item)
{
    work_hold(item); /* until it is done */
    work_resolve(item, 0);
}

void work_wait(struct work *item)
{
    if (!item)
        return;
    work_hold(item);
    while (!item->done)
        pthread_cond_wait(&work.done, &sim_mutex);
    work_drop(item);
}

struct work *work_hold(struct work *item)
{
    item->references++;
    return item;
}

void work_drop(struct work *item)
{
    if (!item || --item->references)
        return;
    list_release(&item->dependents);
    free(item);
}

void work_replace(struct work **place, struct work *item)
{
    struct work *before = *place;
    *place = item ? work_hold(item) : NULL;
    work_drop(before);
}
