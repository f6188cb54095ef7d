/*
 * Worker threads, which take no signals but their own faults, and the ordered loop: workers make pieces in any order,
 * and the caller receives them in the order of their numbers. A worker waits if it is too far ahead.
 */
#include "common/threads.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/clock.h"

unsigned threads_start(pthread_t *threads, unsigned count, void *(*run)(void *context), void *context)
{
    static const int own[] = {SIGBUS, SIGSEGV, SIGFPE, SIGILL, SIGABRT, SIGTRAP, SIGSYS};
    sigset_t blocked, before;
    unsigned started = 0;
    sigfillset(&blocked);
    for (size_t i = 0; i < sizeof(own) / sizeof(*own); i++)
        sigdelset(&blocked, own[i]);
    pthread_sigmask(SIG_BLOCK, &blocked, &before);
    int failure = 0;
    while (started < count && (failure = pthread_create(&threads[started], NULL, run, context)) == 0)
        started++;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    errno = failure ? failure : errno;
    return started;
}

bool thread_key_set(struct thread_key *key, void (*ended)(void *unused))
{
    uint32_t place = __atomic_load_n(&key->place, __ATOMIC_ACQUIRE);
    if (place == 0) {
        pthread_key_t made;
        uint32_t mine = thread_keys_work() && pthread_key_create(&made, ended) == 0 ? made + 1 : UINT32_MAX;
        if (__atomic_compare_exchange_n(&key->place, &place, mine, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
            place = mine;
        else if (mine != UINT32_MAX)
            pthread_key_delete(made); /* another thread made it meanwhile */
    }
    return place != UINT32_MAX && pthread_setspecific(place - 1, key) == 0;
}

bool thread_is_alone(void)
{
    struct stat tasks;
    return stat("/proc/self/task", &tasks) == 0 && tasks.st_nlink == 3; /* a folder for each thread, `.` and `..` */
}

void monotonic_cond_init(pthread_cond_t *cond)
{
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(cond, &monotonic);
    pthread_condattr_destroy(&monotonic);
}

int monotonic_cond_wait(pthread_cond_t *cond, pthread_mutex_t *lock, uint64_t time)
{
    struct timespec until = {.tv_sec = (time_t)(time / NS_PER_S), .tv_nsec = (long)(time % NS_PER_S)};
    return pthread_cond_timedwait(cond, lock, &until);
}

bool thread_keys_work(void)
{
    static int known; /* 1: they do; -1: they do not */
    int works = __atomic_load_n(&known, __ATOMIC_RELAXED);
    if (works == 0) {
        Dl_info unused;
        struct link_map *map = NULL;
        Lmid_t space = LM_ID_BASE;
        if (dladdr1(&known, &unused, (void **)&map, RTLD_DL_LINKMAP) != 0 && map)
            dlinfo(map, RTLD_DI_LMID, &space);
        works = space == LM_ID_BASE ? 1 : -1;
        __atomic_store_n(&known, works, __ATOMIC_RELAXED);
    }
    return works > 0;
}

enum slot_state { SLOT_EMPTY, SLOT_MADE, SLOT_NOTHING, SLOT_FAILED };

struct slot {
    enum slot_state state;
    unsigned of_piece; /* slot of the piece in flight whose number % slot_count is this index */
    unsigned free;     /* the first `free_count` of these are the unused slots */
};

struct ordered_run {
    struct ordered_loop loop;
    pthread_mutex_t lock;       /* protects all fields below */
    pthread_cond_t made, space; /* the caller waits for a piece, a worker for a slot */
    unsigned slot_count, free_count;
    struct slot *slots;
    size_t begun, taken; /* number of pieces that were begun, and taken */
    size_t held;         /* bytes of the pieces that were begun and not taken */
    bool in_use;         /* the caller has piece `taken` */
    bool stopped;
    unsigned next_worker, started;
    pthread_t threads[];
};

unsigned ordered_loop_workers(unsigned wanted, unsigned most)
{
    cpu_set_t allowed; /* of 1,024 processors; if there are more, the call fails */
    long there =
        sched_getaffinity(0, sizeof(allowed), &allowed) == 0 ? CPU_COUNT(&allowed) : sysconf(_SC_NPROCESSORS_ONLN);
    unsigned count = wanted ? wanted : there > 0 ? (unsigned)there : 1;
    return count < most ? count : most;
}

/* --- with the lock held --- */

static size_t size_of(const struct ordered_run *run, size_t piece)
{
    return run->loop.size ? run->loop.size(run->loop.context, piece) : 0;
}

static bool has_space(const struct ordered_run *run)
{
    if (run->begun == run->taken)
        return true;
    return run->free_count > 0 && (!run->loop.size || run->held + size_of(run, run->begun) <= run->loop.most);
}

static unsigned *slot_of(const struct ordered_run *run, size_t piece)
{
    return &run->slots[piece % run->slot_count].of_piece;
}

static bool is_over(const struct ordered_run *run)
{
    return run->stopped || run->begun == run->loop.count;
}

/* Wakes one worker if it can begin a piece. This worker wakes the next one, because all of them at once would wait for
 * the lock. */
static void wake(struct ordered_run *run)
{
    if (is_over(run))
        pthread_cond_broadcast(&run->space);
    else if (has_space(run))
        pthread_cond_signal(&run->space);
}

/* Waits until a piece can begin, and begins it. Returns false if there is no further piece. */
static bool begin_piece(struct ordered_run *run, size_t *piece)
{
    while (!is_over(run) && !has_space(run))
        pthread_cond_wait(&run->space, &run->lock);
    if (is_over(run))
        return false;
    unsigned slot = run->slots[run->free_count - 1].free;
    run->free_count--;
    *piece = run->begun++;
    *slot_of(run, *piece) = slot;
    run->held += size_of(run, *piece);
    wake(run);
    return true;
}

/* --- threads --- */

static void *work(void *data)
{
    struct ordered_run *run = data;
    size_t piece;
    pthread_mutex_lock(&run->lock);
    unsigned worker = run->next_worker++;
    while (begin_piece(run, &piece)) {
        unsigned slot = *slot_of(run, piece);
        pthread_mutex_unlock(&run->lock);
        int result = run->loop.make(run->loop.context, piece, slot, worker);
        pthread_mutex_lock(&run->lock);
        run->slots[slot].state = result == 0 ? SLOT_MADE : result > 0 ? SLOT_NOTHING : SLOT_FAILED;
        pthread_cond_signal(&run->made);
    }
    pthread_mutex_unlock(&run->lock);
    return NULL;
}

/* Stops the threads, waits for their end, and frees RUN. */
static void run_end(struct ordered_run *run)
{
    pthread_mutex_lock(&run->lock);
    run->stopped = true;
    pthread_cond_broadcast(&run->space);
    pthread_mutex_unlock(&run->lock);
    for (unsigned i = 0; i < run->started; i++)
        pthread_join(run->threads[i], NULL);
    pthread_cond_destroy(&run->space);
    pthread_cond_destroy(&run->made);
    pthread_mutex_destroy(&run->lock);
    free(run->slots);
    free(run);
}

/* Starts the threads. Returns NULL if the loop needs none, if none can be started, or without memory. */
static struct ordered_run *run_begin(const struct ordered_loop *loop)
{
    if (loop->workers <= 1 || loop->count <= 1)
        return NULL;
    struct ordered_run *run = calloc(1, sizeof(*run) + loop->workers * sizeof(*run->threads));
    if (!run)
        return NULL;
    run->loop = *loop;
    run->slot_count = ordered_loop_slots(loop->workers);
    run->slots = calloc(run->slot_count, sizeof(*run->slots));
    for (; run->slots && run->free_count < run->slot_count; run->free_count++)
        run->slots[run->free_count].free = run->free_count;
    pthread_mutex_init(&run->lock, NULL);
    pthread_cond_init(&run->made, NULL);
    pthread_cond_init(&run->space, NULL);
    if (run->slots)
        run->started = threads_start(run->threads, loop->workers, work, run);
    if (run->started > 0)
        return run;
    run_end(run);
    return NULL;
}

/* Waits for the next piece and sets *SLOT, which the caller may use until the next call. Returns 0, -1 if the piece
 * failed, or 1 after the last piece. */
static int run_next(struct ordered_run *run, unsigned *slot)
{
    int result = 1;
    pthread_mutex_lock(&run->lock);
    if (run->in_use) { /* the caller is done with the piece before */
        unsigned before = *slot_of(run, run->taken);
        run->slots[before].state = SLOT_EMPTY;
        run->slots[run->free_count++].free = before;
        run->held -= size_of(run, run->taken++);
        run->in_use = false;
        wake(run);
    }
    while (run->taken == run->begun ? !is_over(run) : run->slots[*slot_of(run, run->taken)].state == SLOT_EMPTY)
        pthread_cond_wait(&run->made, &run->lock);
    if (run->taken < run->begun) {
        *slot = *slot_of(run, run->taken);
        enum slot_state state = run->slots[*slot].state;
        result = state == SLOT_MADE ? 0 : state == SLOT_NOTHING ? 1 : -1;
        run->in_use = result == 0;
    }
    pthread_mutex_unlock(&run->lock);
    return result;
}

int ordered_loop_run(const struct ordered_loop *loop)
{
    struct ordered_run *run = run_begin(loop);
    unsigned slot;
    int result = 0;
    for (size_t i = 0; !run && i < loop->count && result == 0; i++)
        result = loop->make(loop->context, i, 0, 0) ?: loop->take(loop->context, i, 0);
    for (size_t i = 0; run && result == 0 && (result = run_next(run, &slot)) == 0; i++)
        result = loop->take(loop->context, i, slot);
    if (run)
        run_end(run);
    return result > 0 ? 0 : result;
}

/* --- tasks: an ordered loop whose pieces nobody takes --- */

static int run_task(void *context, size_t number, unsigned slot, unsigned worker)
{
    (void)slot;
    (void)worker;
    const struct task *task = &((const struct task *)context)[number];
    return task->run(task->context) < 0 ? -1 : 0;
}

static int ignore_result(void *context, size_t number, unsigned slot)
{
    (void)context;
    (void)number;
    (void)slot;
    return 0;
}

int tasks_run(const struct task *tasks, size_t count, unsigned workers)
{
    struct ordered_loop loop = {
        .count = count, .make = run_task, .take = ignore_result, .context = (void *)(uintptr_t)tasks};
    loop.workers = workers < count ? workers : (unsigned)count;
    return ordered_loop_run(&loop);
}
