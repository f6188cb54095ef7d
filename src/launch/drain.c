/*
 * The thread that packs spools while the program runs. It looks for new spools, drains each spool in rounds (more
 * rarely while its process writes little) and lowers its priority so that the program keeps its processors. The figures
 * of `gputrace run --live` (how busy each GPU was in each millisecond, and how much GPU memory is in use) are computed
 * from chunks while these are drained.
 */
#include "launch/drain.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "common/spool_records.h"
#include "trace/spool/agent_records.h"
#include "trace/spool/cupti.h"
#include "common/clock.h"
#include "common/text.h"
#include "common/threads.h"
#include "launch/run_directory.h"

/* Time until a spool is read again: PAUSE_LEAST after a round that drained something, then twice as long each time. */
#define PAUSE_LEAST (10 * NS_PER_MS)
#define PAUSE_MOST (160 * NS_PER_MS)
#define PAUSE_NO_SPACE NS_PER_S
/* LOOK: time between searches for new spools. A directory that changed less than SETTLED ago may have changed again
 * without a new modification time. */
#define LOOK (50 * NS_PER_MS)
#define SETTLED (1 * NS_PER_S)

#define NICE_BYTES ((uint64_t)8 << 20)
#define HOLD_TRIES 200 /* of 10 ms */

struct drain {
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t stopping;
    bool stop, nice;
    struct drain_tools tools;
    struct drain_listener listener;
    struct drain_figures figures; /* sums over the spools that were dropped from `spools` */
    uint64_t ended_disk;          /* bytes that dropped spools take on the disk */
    uint64_t reported;            /* time of the listener's last call (CLOCK_MONOTONIC, ns) */
    struct timespec looked;       /* modification time of the directory at the last search */
    int hold;         /* file whose lock another gputrace takes to stop the draining (drain_hold()), or -1 */
    struct map known; /* hashes of the names of spools that were found */
    ARRAY(struct spool_drain) spools;
};

/* --- which spools there are --- */

static void find_spools(struct drain *drain)
{
    struct stat status;
    if (fstat(drain->tools.directory, &status) != 0 ||
        (status.st_mtim.tv_sec == drain->looked.tv_sec && status.st_mtim.tv_nsec == drain->looked.tv_nsec))
        return;
    DIR *files = run_directory_files(drain->tools.directory);
    if (!files)
        return;
    for (struct dirent *file; (file = readdir(files));) {
        bool is_spool = text_ends_with(file->d_name, SPOOL_SUFFIX), is_new = false;
        if (is_spool)
            map_put(&drain->known, hash_bytes(file->d_name, strlen(file->d_name)), &is_new);
        struct spool_drain *spool = is_new ? array_push(&drain->spools) : NULL;
        if (spool && spool_drain_init(spool, file->d_name) != 0)
            drain->spools.count--;
    }
    closedir(files);
    uint64_t changed = (uint64_t)status.st_mtim.tv_sec * NS_PER_S + (uint64_t)status.st_mtim.tv_nsec;
    if (clock_now() > changed + SETTLED)
        drain->looked = status.st_mtim;
}

/* --- rounds --- */

static void sum(struct drain *drain, const struct spool_drain *spool)
{
    drain->figures.chunks += spool->drained;
    drain->figures.bytes += spool->bytes;
    drain->figures.packed += spool->packed_size;
}

static bool is_stopping(const struct drain *drain)
{
    return __atomic_load_n(&drain->stop, __ATOMIC_RELAXED);
}

static void look_at(struct drain *drain, struct spool_drain *spool)
{
    int count = spool_drain_round(spool, &drain->tools);
    if (count == 0 && !spool->unusable && !is_stopping(drain))
        spool_drain_end(spool, &drain->tools);
    uint64_t longer = spool->pause ? 2 * spool->pause : PAUSE_LEAST;
    spool->pause = spool->no_space       ? PAUSE_NO_SPACE
                   : count > 0           ? PAUSE_LEAST
                   : longer < PAUSE_MOST ? longer
                                         : PAUSE_MOST;
    spool->next = clock_monotonic() + spool->pause;
}

/* Adds the spool's figures to those of the drain, and removes it from the list. */
static void drop(struct drain *drain, struct spool_drain *spool)
{
    sum(drain, spool);
    drain->ended_disk += spool->disk;
    if (spool->removed) /* a later process with the same pid makes a spool of that name */
        map_remove(&drain->known, hash_bytes(spool->name, strlen(spool->name)));
    live_process_release(&spool->process, drain->tools.live);
    spool_drain_release(spool);
    *spool = drain->spools.items[--drain->spools.count];
}

/* Drains the spools that are due and drops finished ones. Returns when the next spool is due (CLOCK_MONOTONIC, ns). */
static uint64_t drain_due(struct drain *drain)
{
    uint64_t now = clock_monotonic(), due = now + LOOK;
    for (size_t i = 0; i < drain->spools.count && !is_stopping(drain);) {
        struct spool_drain *spool = &drain->spools.items[i];
        if (spool->next <= now)
            look_at(drain, spool);
        if (spool->over || spool->unusable) {
            drop(drain, spool);
            continue;
        }
        due = spool->next < due ? spool->next : due;
        i++;
    }
    return due;
}

static void report(struct drain *drain)
{
    uint64_t now = clock_monotonic(), disk = 0;
    if (!drain->listener.report || now - drain->reported < drain->listener.every)
        return;
    drain->reported = now;
    disk = drain->ended_disk;
    for (size_t i = 0; i < drain->spools.count; i++)
        disk += drain->spools.items[i].disk;
    drain->listener.report(drain->listener.context, drain->tools.live, disk);
}

/* Raises the thread's nice value once it has packed NICE_BYTES, because packing takes CPU time from the program.
 * Before, it keeps its priority, so that spools of short processes do not pile up while the program uses all
 * processors. */
static void give_way(struct drain *drain)
{
    uint64_t bytes = drain->figures.bytes;
    for (size_t i = 0; i < drain->spools.count && !drain->nice; i++)
        bytes += drain->spools.items[i].bytes;
    if (drain->nice || bytes < NICE_BYTES)
        return;
    id_t thread = (id_t)syscall(SYS_gettid);
    setpriority(PRIO_PROCESS, thread, getpriority(PRIO_PROCESS, thread) + 10);
    drain->nice = true;
}

static void *run(void *context)
{
    struct drain *drain = context;
    prctl(PR_SET_NAME, "gputrace-drain", 0, 0, 0);
    while (!is_stopping(drain)) {
        uint64_t due = clock_monotonic() + LOOK;
        if (drain->hold < 0 || flock(drain->hold, LOCK_EX | LOCK_NB) == 0) {
            find_spools(drain);
            due = drain_due(drain);
            give_way(drain);
            if (drain->hold >= 0)
                flock(drain->hold, LOCK_UN);
        }
        report(drain);
        pthread_mutex_lock(&drain->lock);
        if (!drain->stop)
            monotonic_cond_wait(&drain->stopping, &drain->lock, due);
        pthread_mutex_unlock(&drain->lock);
    }
    drain->figures.processor = clock_read(CLOCK_THREAD_CPUTIME_ID);
    return NULL;
}

/* --- begin and end --- */

static void release(struct drain *drain)
{
    for (size_t i = 0; i < drain->spools.count; i++) {
        live_process_release(&drain->spools.items[i].process, NULL);
        spool_drain_release(&drain->spools.items[i]);
    }
    array_release(&drain->spools);
    map_release(&drain->known);
    packer_release(&drain->tools.packer);
    free(drain->tools.data);
    free(drain->tools.live);
    if (drain->tools.directory >= 0)
        close(drain->tools.directory);
    if (drain->hold >= 0)
        close(drain->hold);
    free(drain);
}

static int open_hold(int directory)
{
    return openat(directory, SPOOL_SESSION_FILE, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
}

static int open_all(struct drain *drain, const char *path, const struct drain_listener *listener)
{
    struct drain_tools *tools = &drain->tools;
    tools->stop = &drain->stop;
    tools->directory = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (tools->directory < 0)
        return -1;
    drain->hold = open_hold(tools->directory);
    tools->data = aligned_alloc(SPOOL_ALIGN, SPOOL_SEGMENT_BYTES);
    if (listener) {
        drain->listener = *listener;
        drain->reported = clock_monotonic();
        tools->live = calloc(1, sizeof(*tools->live));
    }
    if (packer_init(&tools->packer) != 0 || !tools->data || (listener && !tools->live)) {
        errno = ENOMEM;
        return -1;
    }
    if (listener)
        tools->live->started = clock_now();
    return 0;
}

struct drain *drain_start(const char *path, const struct drain_listener *listener)
{
    struct drain *drain = calloc(1, sizeof(*drain));
    if (!drain)
        return NULL;
    drain->tools.directory = drain->hold = -1;
    pthread_mutex_init(&drain->lock, NULL);
    monotonic_cond_init(&drain->stopping);
    if (open_all(drain, path, listener) == 0 && threads_start(&drain->thread, 1, run, drain) == 1)
        return drain;
    int failure = errno;
    release(drain);
    errno = failure;
    return NULL;
}

struct drain_figures drain_stop(struct drain *drain)
{
    struct drain_figures figures = {0};
    if (!drain)
        return figures;
    pthread_mutex_lock(&drain->lock);
    __atomic_store_n(&drain->stop, true, __ATOMIC_RELAXED);
    pthread_cond_signal(&drain->stopping);
    pthread_mutex_unlock(&drain->lock);
    pthread_join(drain->thread, NULL);
    for (size_t i = 0; i < drain->spools.count; i++)
        sum(drain, &drain->spools.items[i]);
    figures = drain->figures;
    release(drain);
    return figures;
}

int drain_hold(const char *directory)
{
    int fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC), hold = fd < 0 ? -1 : open_hold(fd);
    if (fd >= 0)
        close(fd);
    for (int i = 0; hold >= 0 && i < HOLD_TRIES; i++) {
        if (flock(hold, LOCK_SH | LOCK_NB) == 0)
            return 0; /* the descriptor stays open */
        struct timespec step = {.tv_nsec = 10 * (long)NS_PER_MS};
        nanosleep(&step, NULL);
    }
    if (hold >= 0)
        close(hold);
    return -1;
}

/* --- figures for gputrace run --live --- */

/* --- how busy GPUs are --- */

static uint32_t *slot_of(struct live_gpu *gpu, uint64_t millisecond)
{
    return &gpu->slots[millisecond % LIVE_SLOTS];
}

static void add_work(struct live *live, const struct event *event)
{
    if (event->device >= LIVE_GPUS_MAX || event->start == 0 || event->end <= event->start)
        return;
    struct live_gpu *gpu = &live->gpus[event->device];
    uint64_t first = event->start / NS_PER_MS, last = (event->end - 1) / NS_PER_MS;
    if (!gpu->seen || last > gpu->latest) { /* slots after the latest one hold older milliseconds */
        uint64_t old = last - gpu->latest > LIVE_SLOTS ? last - LIVE_SLOTS + 1 : gpu->latest + 1;
        for (; old <= last; old++)
            *slot_of(gpu, old) = 0;
        gpu->latest = last;
    }
    gpu->seen = true;
    if (last - first >= LIVE_SLOTS)
        first = last - LIVE_SLOTS + 1;
    for (uint64_t at = first; at <= last; at++) {
        uint64_t from = at * NS_PER_MS, to = from + NS_PER_MS;
        from = event->start > from ? event->start : from;
        to = event->end < to ? event->end : to;
        if (gpu->latest - at < LIVE_SLOTS && *slot_of(gpu, at) < NS_PER_MS)
            *slot_of(gpu, at) += (uint32_t)(to - from);
    }
}

double live_busy(const struct live *live, uint32_t number, uint64_t from, uint64_t to)
{
    const struct live_gpu *gpu = &live->gpus[number];
    uint64_t busy = 0, first = from / NS_PER_MS, end = to / NS_PER_MS;
    if (!gpu->seen)
        return -1;
    for (uint64_t at = first; at < end; at++) {
        bool known = at <= gpu->latest && gpu->latest - at < LIVE_SLOTS;
        uint32_t ns = known ? gpu->slots[at % LIVE_SLOTS] : 0;
        busy += ns < NS_PER_MS ? ns : NS_PER_MS;
    }
    return end > first ? (double)busy / (double)((end - first) * NS_PER_MS) : 0;
}

size_t live_add_cupti(struct live *live, const struct spool_part *part, const uint16_t record_bytes[SPOOL_CUPTI_KINDS])
{
    struct cupti_walk walk;
    struct event event;
    size_t seen = 0;
    cupti_walk_begin(&walk, part, part->data, record_bytes);
    while (cupti_walk_next(&walk) && (part->state == SPOOL_DONE || !walk.in_flight)) {
        seen = (size_t)(walk.at - part->data);
        if (!cupti_kind_decoded(walk.kind))
            continue;
        cupti_decode(&event, &walk);
        live->events += event.type != EVENT_TYPE_NONE;
        if (event_is_gpu_work(event.type))
            add_work(live, &event);
    }
    live->recorded += seen;
    return seen;
}

/* --- memory in use --- */

/* Limit of the map `released`, which holds releases that were read before their allocation. An allocation on a GPU
 * follows a round or two later; releases of host memory stay, as its allocations are not counted. A full map is
 * emptied. */
#define RELEASED_MOST ((size_t)1 << 16)

static void allocate(struct live *live, struct live_process *process, const struct event *event)
{
    const uint64_t *released = map_get(&process->released, event->memory.address);
    if (released && *released >= event->start) {
        map_remove(&process->released, event->memory.address);
        return;
    }
    if (released)
        map_remove(&process->released, event->memory.address);
    uint64_t *bytes = map_put(&process->allocated, event->memory.address, NULL);
    if (!bytes)
        return;
    live->memory += event->memory.size - *bytes; /* an older allocation at the address may still be counted */
    *bytes = event->memory.size;
}

static void release_memory(struct live *live, struct live_process *process, const struct event *event)
{
    const uint64_t *bytes = map_get(&process->allocated, event->memory.address);
    if (bytes) {
        live->memory -= *bytes;
        map_remove(&process->allocated, event->memory.address);
        return;
    }
    if (map_count(&process->released) >= RELEASED_MOST)
        map_release(&process->released);
    map_set(&process->released, event->memory.address, event->start);
}

void live_add_agent(struct live *live, struct live_process *process, const struct spool_part *part)
{
    struct agent_walk walk;
    struct event event;
    agent_walk_begin(&walk, part);
    while (agent_walk_next(&walk)) {
        agent_decode(&event, &walk, part->thread);
        live->events += event.type == EVENT_NVTX || event.type == EVENT_MEMORY || event.type == EVENT_NVTX_EXTENSION;
        if (event.type != EVENT_MEMORY || event.memory.result != 0)
            continue;
        if (event.memory.operation == SPOOL_MEMORY_RELEASE)
            release_memory(live, process, &event);
        else if (event.memory.operation == SPOOL_MEMORY_ALLOCATE && event.device != EVENT_NO_DEVICE)
            allocate(live, process, &event);
    }
    live->recorded += part->size;
}

static int add_bytes(void *context, uint64_t address, uint64_t *bytes)
{
    uint64_t *sum = context;
    (void)address;
    *sum += *bytes;
    return 0;
}

void live_process_release(struct live_process *process, struct live *live)
{
    uint64_t held = 0;
    map_each(&process->allocated, add_bytes, &held);
    if (live)
        live->memory -= held;
    map_release(&process->allocated);
    map_release(&process->released);
}
