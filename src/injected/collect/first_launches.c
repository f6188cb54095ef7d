#include "injected/collect/first_launches.h"

#include <pthread.h>
#include <stddef.h>
#include <string.h>

#include "base/map.h"
#include "injected/collect/callback_switches.h"
#include "injected/registry/registry.h"

static struct {
    pthread_mutex_t lock; /* of all; `on` is read without it */
    bool on;              /* launches are heard of */
    struct map waiting;   /* functions that were got and not launched since */
    unsigned patience;    /* launches of others that are still heard */
} first = {.lock = PTHREAD_MUTEX_INITIALIZER};

static __thread struct {
    const void *function; /* the last that was got, in the call `correlation` */
    uint32_t correlation;
    bool launches; /* for the first time */
} mine;

static uint64_t key_of(const void *function)
{
    return (uint64_t)(uintptr_t)function;
}

/* Under the lock. */
static void turn(bool on)
{
    if (first.on == on)
        return;
    __atomic_store_n(&first.on, on, __ATOMIC_RELAXED);
    callback_switches_new_functions(on);
}

void first_launches_got(const void *function, uint32_t correlation)
{
    if (!function || !registry_launch_name_wanted())
        return;
    mine.function = function;
    mine.correlation = correlation;
    pthread_mutex_lock(&first.lock);
    if (map_put(&first.waiting, key_of(function), NULL))
        turn(true);
    first.patience = FIRST_LAUNCHES_PATIENCE;
    pthread_mutex_unlock(&first.lock);
}

/* Under the lock. CUDA's runtime gets a kernel in the call that launches it, and may launch it by another handle. */
static bool take(const void *function, uint32_t correlation)
{
    if (map_remove(&first.waiting, key_of(function)))
        return true;
    return mine.function && mine.correlation == correlation && map_remove(&first.waiting, key_of(mine.function));
}

/* Under the lock. Launches are heard until this one has returned: no callback would tell that it has. */
static void look_at(const void *function, uint32_t correlation)
{
    mine.launches = take(function, correlation);
    if (mine.launches) {
        first.patience = FIRST_LAUNCHES_PATIENCE;
    } else if (first.waiting.count == 0 || --first.patience == 0) {
        map_release(&first.waiting);
        first.waiting = (struct map){0};
        turn(false);
    }
}

bool first_launches_begins(const void *function, uint32_t correlation, const char *name)
{
    mine.launches = false;
    if (!__atomic_load_n(&first.on, __ATOMIC_RELAXED))
        return false;
    pthread_mutex_lock(&first.lock);
    if (first.on)
        look_at(function, correlation);
    pthread_mutex_unlock(&first.lock);
    if (mine.launches && name) {
        size_t length = strlen(name);
        registry_launch_name_publish(
            &(struct gputrace_launch_name){correlation, {name, length > UINT32_MAX ? UINT32_MAX : (uint32_t)length}});
    }
    return mine.launches;
}

bool first_launches_returned(void)
{
    if (!mine.launches)
        return false;
    mine.launches = false;
    pthread_mutex_lock(&first.lock);
    if (first.waiting.count == 0)
        turn(false);
    pthread_mutex_unlock(&first.lock);
    return true;
}

void first_launches_forget(void)
{
    pthread_mutex_lock(&first.lock);
    map_release(&first.waiting);
    first.waiting = (struct map){0};
    turn(false);
    pthread_mutex_unlock(&first.lock);
}

void first_launches_leave(void)
{
    pthread_mutex_init(&first.lock, NULL);
    first.waiting = (struct map){0}; /* the parent's memory is a copy here: leave it, malloc may be locked */
    first.on = mine.launches = false;
    mine.function = NULL;
}
