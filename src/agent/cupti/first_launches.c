#include "agent/cupti/first_launches.h"

#include <pthread.h>
#include <stddef.h>
#include <string.h>

#include "common/clock.h"
#include "common/map.h"
#include "agent/cupti/callback_switches.h"
#include "agent/dispatch/registry.h"
#include "agent/dispatch/text.h"

#define NO_NAME UINT64_C(0) /* nobody waits for it */
#define NS_EACH (NS_PER_MS / FIRST_LAUNCHES_PER_MS)

static struct {
    pthread_mutex_t lock; /* of all; `on` is read without it */
    bool on;              /* launches are heard of */
    bool suspended;       /* nothing is recorded: launches have no callbacks, even if names are waited for */
    struct map waiting;   /* names of what was got and not launched since, by their hashes -> the module */
    struct map launched;  /* names */
    unsigned patience;    /* launches of others that are still heard */
    uint64_t renewed;     /* CLOCK_MONOTONIC, up to which patience has grown */
} first = {.lock = PTHREAD_MUTEX_INITIALIZER};

static __thread struct {
    bool launches; /* for the first time … */
    uint64_t name; /* … what is called so */
} mine;

static uint64_t key_of(const void *module)
{
    return (uint64_t)(uintptr_t)module;
}

/* Under the lock. */
static void turn(bool on)
{
    on = on && !first.suspended;
    if (first.on == on)
        return;
    __atomic_store_n(&first.on, on, __ATOMIC_RELAXED);
    callback_switches_new_functions(on);
}

/* Under the lock: NAME waits to be launched. */
static void wait_for(uint64_t name, uint64_t module)
{
    uint64_t *of = map_put(&first.waiting, name, NULL);
    if (!of)
        return;
    if (module != 0)
        *of = module;
    turn(true);
    first.patience = FIRST_LAUNCHES_PATIENCE;
}

void first_launches_got(const char *name, const void *module)
{
    if (!name || !registry_launch_name_wanted())
        return;
    uint64_t hash = hash_bytes(name, strlen(name));
    pthread_mutex_lock(&first.lock);
    if (!map_get(&first.launched, hash))
        wait_for(hash, key_of(module));
    pthread_mutex_unlock(&first.lock);
}

/* --- what is unloaded --- */

struct staying {
    struct map map;
    uint64_t without; /* this module's */
};

static int let_stay(void *context, uint64_t key, uint64_t *module)
{
    struct staying *staying = context;
    uint64_t *of = *module != staying->without ? map_put(&staying->map, key, NULL) : NULL;
    if (of)
        *of = *module;
    return 0;
}

void first_launches_unloaded(const void *module)
{
    struct staying staying = {.without = key_of(module)};
    pthread_mutex_lock(&first.lock);
    map_each(&first.waiting, let_stay, &staying);
    map_release(&first.waiting);
    first.waiting = staying.map;
    if (first.waiting.count == 0)
        turn(false);
    pthread_mutex_unlock(&first.lock);
}

/* --- launches --- */

/* Under the lock. Launches are heard until this one has returned: no callback would tell that it has. */
static void look_at(uint64_t name)
{
    mine.launches = map_remove(&first.waiting, name);
    if (mine.launches) {
        map_put(&first.launched, name, NULL);
        first.patience = FIRST_LAUNCHES_PATIENCE;
    } else if (first.waiting.count == 0 || --first.patience == 0) {
        turn(false);
    }
}

void first_launches_begins(const char *name, uint32_t correlation)
{
    mine.launches = false;
    if (!__atomic_load_n(&first.on, __ATOMIC_RELAXED))
        return;
    size_t length = name ? strlen(name) : 0;
    mine.name = name ? hash_bytes(name, length) : NO_NAME;
    pthread_mutex_lock(&first.lock);
    if (first.on)
        look_at(mine.name);
    pthread_mutex_unlock(&first.lock);
    if (mine.launches)
        registry_launch_name_publish(&(struct gputrace_launch_name){correlation, text_of_bytes(name, length)});
}

void first_launches_captured(void)
{
    if (!mine.launches)
        return;
    mine.launches = false;
    pthread_mutex_lock(&first.lock);
    map_remove(&first.launched, mine.name);
    wait_for(mine.name, 0);
    pthread_mutex_unlock(&first.lock);
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

/* Under the lock: patience grows with time, and launches are heard again when it is whole. */
static void renew(uint64_t now)
{
    uint64_t grown = now > first.renewed ? (now - first.renewed) / NS_EACH : 0;
    unsigned lacks = FIRST_LAUNCHES_PATIENCE - first.patience;
    first.renewed = grown < lacks ? first.renewed + grown * NS_EACH : now;
    first.patience += grown < lacks ? (unsigned)grown : lacks;
    if (first.patience == FIRST_LAUNCHES_PATIENCE && first.waiting.count > 0)
        turn(true);
}

void first_launches_renew(uint64_t now)
{
    pthread_mutex_lock(&first.lock);
    renew(now);
    pthread_mutex_unlock(&first.lock);
}

void first_launches_suspend(bool suspended)
{
    pthread_mutex_lock(&first.lock);
    first.suspended = suspended;
    first.patience = FIRST_LAUNCHES_PATIENCE;
    turn(first.waiting.count > 0);
    pthread_mutex_unlock(&first.lock);
}

void first_launches_forget(void)
{
    pthread_mutex_lock(&first.lock);
    map_release(&first.waiting);
    map_release(&first.launched);
    turn(false);
    pthread_mutex_unlock(&first.lock);
}

void first_launches_leave(void)
{
    pthread_mutex_init(&first.lock, NULL);
    first.waiting = (struct map){0}; /* the parent's memory is a copy here: leave it, malloc may be locked */
    first.launched = (struct map){0};
    first.on = first.suspended = mine.launches = false;
}
