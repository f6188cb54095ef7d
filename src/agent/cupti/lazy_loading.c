#include "agent/cupti/lazy_loading.h"

#include <pthread.h>
#include <stddef.h>

#include "common/clock.h"
#include "common/map.h"
#include "agent/cupti/callback_switches.h"

static struct {
    pthread_mutex_t lock; /* of changes; armed and round are read without it */
    unsigned armed;       /* threads, with those that are loading */
    unsigned loading;
    unsigned round; /* goes up when all of them are given up */
    uint64_t deadline;
} lazy = {.lock = PTHREAD_MUTEX_INITIALIZER};

static struct {
    pthread_mutex_t lock;
    struct map functions; /* hashes of a kernel and a context */
} asked = {.lock = PTHREAD_MUTEX_INITIALIZER};

static __thread struct {
    CUkernel kernel; /* armed for, in `round` */
    uint32_t correlation;
    unsigned round;
    bool loading;
} mine;

static unsigned current(const unsigned *counter)
{
    return __atomic_load_n(counter, __ATOMIC_RELAXED);
}

static void set(unsigned *counter, unsigned value)
{
    __atomic_store_n(counter, value, __ATOMIC_RELAXED);
}

static bool is_armed(void)
{
    return mine.kernel && mine.round == current(&lazy.round);
}

void lazy_loading_arm(CUkernel kernel, uint32_t correlation)
{
    lazy_loading_ends(); /* of a launch that never returned here */
    pthread_mutex_lock(&lazy.lock);
    if (!is_armed())
        set(&lazy.armed, lazy.armed + 1);
    mine.kernel = kernel;
    mine.correlation = correlation;
    mine.round = lazy.round;
    __atomic_store_n(&lazy.deadline, clock_monotonic() + LAZY_LOADING_NS, __ATOMIC_RELAXED);
    callback_switches_need(CALLBACKS_LAZY_LOADING, true);
    pthread_mutex_unlock(&lazy.lock);
}

/* Under the lock. */
static void one_less(void)
{
    set(&lazy.armed, lazy.armed - 1);
    if (lazy.armed == 0)
        callback_switches_need(CALLBACKS_LAZY_LOADING, false);
}

/* Under the lock. */
static void give_all_up(void)
{
    set(&lazy.round, lazy.round + 1);
    set(&lazy.armed, 0);
    lazy.loading = 0;
    callback_switches_need(CALLBACKS_LAZY_LOADING, false);
}

bool lazy_loading_is_first(CUkernel kernel, CUcontext context)
{
    const void *both[] = {kernel, context};
    bool first = true;
    pthread_mutex_lock(&asked.lock);
    map_put(&asked.functions, hash_bytes(both, sizeof(both)), &first);
    pthread_mutex_unlock(&asked.lock);
    return first;
}

void lazy_loading_unloaded(void)
{
    pthread_mutex_lock(&asked.lock);
    map_release(&asked.functions);
    pthread_mutex_unlock(&asked.lock);
}

void lazy_loading_loaded(CUkernel kernel)
{
    if (!is_armed() || mine.kernel != kernel)
        return;
    pthread_mutex_lock(&lazy.lock);
    if (is_armed())
        one_less();
    mine.kernel = NULL;
    pthread_mutex_unlock(&lazy.lock);
}

/* Threads that ended, or launched nothing, would keep the callbacks on for ever. A launch that is loading needs its
 * callback when it returns. */
static void look_at_deadline(void)
{
    pthread_mutex_lock(&lazy.lock);
    if (lazy.armed > 0 && lazy.loading == 0 && clock_monotonic() > lazy.deadline)
        give_all_up();
    pthread_mutex_unlock(&lazy.lock);
}

static bool begin(void)
{
    pthread_mutex_lock(&lazy.lock);
    mine.loading = is_armed();
    mine.kernel = NULL;
    lazy.loading += mine.loading;
    pthread_mutex_unlock(&lazy.lock);
    return mine.loading;
}

bool lazy_loading_begins(CUfunction launched, uint32_t correlation)
{
    if (current(&lazy.armed) == 0)
        return false;
    if (is_armed() && ((const void *)launched == (const void *)mine.kernel || correlation == mine.correlation))
        return begin();
    if (clock_monotonic() > __atomic_load_n(&lazy.deadline, __ATOMIC_RELAXED))
        look_at_deadline();
    return false;
}

void lazy_loading_ends(void)
{
    if (!mine.loading)
        return;
    pthread_mutex_lock(&lazy.lock);
    mine.loading = false;
    if (mine.round == lazy.round) {
        lazy.loading--;
        one_less();
    }
    pthread_mutex_unlock(&lazy.lock);
}

void lazy_loading_give_up(void)
{
    pthread_mutex_lock(&lazy.lock);
    give_all_up();
    pthread_mutex_unlock(&lazy.lock);
}

void lazy_loading_atfork_child(void)
{
    pthread_mutex_init(&lazy.lock, NULL);
    lazy.armed = lazy.loading = 0;
    mine.kernel = NULL;
    mine.loading = false;
    pthread_mutex_init(&asked.lock, NULL);
    asked.functions = (struct map){0}; /* the parent's memory is a copy here: leave it, malloc may be locked */
}
