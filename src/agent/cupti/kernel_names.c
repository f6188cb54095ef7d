/*
 * Names of kernels reach the spool in three ways, so that a killed process loses none: by the pointers in CUPTI's
 * records, by the first launch of each kernel, and by the functions that the program looks up. Each part below keeps
 * what it has already written, because the same name comes many times.
 */
#include "agent/cupti/kernel_names.h"

#include <linux/futex.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "agent/cupti/cupti_library.h"
#include "agent/cupti/driver_calls.h"
#include "agent/dispatch/registry.h"
#include "common/clock.h"
#include "common/map.h"

static struct {
    uint32_t requested; /* number of requests; the futex word */
    uint32_t handled;   /* requests handled; only the service thread uses this */
    uint32_t waits;     /* 1 while the service thread waits */
} capture;

static long futex(int operation, uint32_t value, const struct timespec *limit)
{
    return syscall(SYS_futex, &capture.requested, operation | FUTEX_PRIVATE_FLAG, value, limit, NULL, 0);
}

void name_capture_request(void)
{
    __atomic_add_fetch(&capture.requested, 1, __ATOMIC_SEQ_CST);
    if (__atomic_load_n(&capture.waits, __ATOMIC_SEQ_CST))
        futex(FUTEX_WAKE, 1, NULL);
}

bool name_capture_wait(uint64_t ns)
{
    struct timespec limit = {.tv_sec = (time_t)(ns / NS_PER_S), .tv_nsec = (long)(ns % NS_PER_S)};
    __atomic_store_n(&capture.waits, 1, __ATOMIC_SEQ_CST);
    if (__atomic_load_n(&capture.requested, __ATOMIC_SEQ_CST) == capture.handled)
        futex(FUTEX_WAIT, capture.handled, &limit);
    __atomic_store_n(&capture.waits, 0, __ATOMIC_SEQ_CST);
    uint32_t requested = __atomic_load_n(&capture.requested, __ATOMIC_ACQUIRE);
    bool due = requested != capture.handled;
    capture.handled = requested;
    return due;
}

/* --- names that records point to --- */

static struct {
    pthread_mutex_t lock;
    struct map known;   /* pointer -> `unloading` when its text was read (high half) and the text's hash (low half) */
    uint32_t newest;    /* latest correlation id of a record whose name was published */
    uint32_t unloading; /* how often code was unloaded */
    uint32_t before;    /* value of `newest` at the last unloading */
    uint64_t since;     /* time of the last unloading */
} names = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Whether one correlation id is later than another. Ids start again after 2^32. */
static bool is_later(uint32_t correlation, uint32_t other)
{
    return correlation != 0 && (int32_t)(correlation - other) > 0;
}

/* Whether the text at NAME is new or has changed. Then *TEXT is the text, and *SINCE the time from which NAME means it.
 */
static bool is_news(const char *name, uint32_t correlation, struct gputrace_text *text, uint64_t *since)
{
    bool is_new = false;
    uint64_t *known = map_put(&names.known, (uint64_t)(uintptr_t)name, &is_new);
    /* The name of a record before the last unloading may be freed, and was already published. */
    if (!known || (!is_new && (*known >> 32 == names.unloading || !is_later(correlation, names.before))))
        return false;
    uint64_t before = *known;
    *text = text_of(name);
    *since = is_new ? clock_now() : kernel_names_since();
    *known = (uint64_t)names.unloading << 32 | (uint32_t)hash_bytes(text->bytes, text->length);
    return is_new || (uint32_t)before != (uint32_t)*known;
}

void kernel_names_publish(const char *name, uint32_t correlation)
{
    struct gputrace_pointer_name update = {.pointer = name};
    if (!name)
        return;
    pthread_mutex_lock(&names.lock);
    bool publish = is_news(name, correlation, &update.text, &update.since);
    if (is_later(correlation, names.newest))
        names.newest = correlation;
    pthread_mutex_unlock(&names.lock);
    if (publish)
        registry_pointer_name_publish(&update);
}

void kernel_names_unloading(void)
{
    pthread_mutex_lock(&names.lock);
    names.unloading++;
    names.before = names.newest;
    pthread_mutex_unlock(&names.lock);
    kernel_names_unloaded(); /* launches from now until the end of the unloading call belong to other code */
}

void kernel_names_unloaded(void)
{
    __atomic_store_n(&names.since, clock_now(), __ATOMIC_RELAXED);
}

uint64_t kernel_names_since(void)
{
    return __atomic_load_n(&names.since, __ATOMIC_RELAXED);
}

/* --- first launches of kernels --- */

#define NO_NAME UINT64_C(0) /* a launch without a name matches no expected one */
#define NS_EACH (NS_PER_MS / FIRST_LAUNCHES_PER_MS)

static struct {
    pthread_mutex_t lock; /* guards all members; `on` is also read without it */
    bool on;              /* launches have callbacks */
    bool suspended;       /* recording is off: launches have no callbacks, even if names are expected */
    struct map waiting;   /* hashes of names that were looked up and not launched since -> module */
    struct map launched;  /* set of hashes of launched names */
    unsigned budget;      /* launches of other functions until callbacks are switched off */
    uint64_t renewed;     /* CLOCK_MONOTONIC up to which the budget has grown */
} first = {.lock = PTHREAD_MUTEX_INITIALIZER};

static __thread struct {
    bool launches; /* this thread's launch is the first of its function */
    uint64_t name; /* hash of the launched function's name */
} mine;

/* Switches the callbacks of launches, except on while suspended. The caller holds the lock. */
static void turn(bool on)
{
    on = on && !first.suspended;
    if (first.on == on)
        return;
    __atomic_store_n(&first.on, on, __ATOMIC_RELAXED);
    callback_switches_need(CALLBACKS_FIRST_LAUNCHES, on);
}

/* Expects a launch of NAME, a hash. MODULE 0 keeps the known module. The caller holds the lock. */
static void wait_for(uint64_t name, uint64_t module)
{
    uint64_t *of = map_put(&first.waiting, name, NULL);
    if (!of)
        return;
    if (module != 0)
        *of = module;
    turn(true);
    first.budget = FIRST_LAUNCHES_BUDGET;
}

void first_launches_got(const char *name, const void *module)
{
    if (!name || !registry_launch_name_wanted())
        return;
    uint64_t hash = hash_bytes(name, strlen(name));
    pthread_mutex_lock(&first.lock);
    if (!map_get(&first.launched, hash))
        wait_for(hash, (uint64_t)(uintptr_t)module);
    pthread_mutex_unlock(&first.lock);
}

/* --- unloading --- */

struct staying {
    struct map map;
    uint64_t without; /* module whose names are dropped */
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
    struct staying staying = {.without = (uint64_t)(uintptr_t)module};
    pthread_mutex_lock(&first.lock);
    map_each(&first.waiting, let_stay, &staying);
    map_release(&first.waiting);
    first.waiting = staying.map;
    if (map_count(&first.waiting) == 0)
        turn(false);
    pthread_mutex_unlock(&first.lock);
}

/* --- launches --- */

void first_launches_begins(const char *name, uint32_t correlation)
{
    mine.launches = false;
    if (!__atomic_load_n(&first.on, __ATOMIC_RELAXED))
        return;
    size_t length = name ? strlen(name) : 0;
    mine.name = name ? hash_bytes(name, length) : NO_NAME;
    pthread_mutex_lock(&first.lock);
    mine.launches = first.on && map_remove(&first.waiting, mine.name);
    if (mine.launches) {
        /* Does not switch callbacks off before this launch has returned: without them its return would not be seen. */
        map_put(&first.launched, mine.name, NULL);
        first.budget = FIRST_LAUNCHES_BUDGET;
    } else if (first.on && (map_count(&first.waiting) == 0 || --first.budget == 0)) {
        turn(false);
    }
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
    if (map_count(&first.waiting) == 0)
        turn(false);
    pthread_mutex_unlock(&first.lock);
    return true;
}

void first_launches_renew(uint64_t now)
{
    pthread_mutex_lock(&first.lock);
    /* Lets the budget grow with time; when it is full, callbacks are switched on again. */
    uint64_t grown = now > first.renewed ? (now - first.renewed) / NS_EACH : 0;
    unsigned lacks = FIRST_LAUNCHES_BUDGET - first.budget;
    first.renewed = grown < lacks ? first.renewed + grown * NS_EACH : now;
    first.budget += grown < lacks ? (unsigned)grown : lacks;
    if (first.budget == FIRST_LAUNCHES_BUDGET && map_count(&first.waiting) > 0)
        turn(true);
    pthread_mutex_unlock(&first.lock);
}

void first_launches_suspend(bool suspended)
{
    pthread_mutex_lock(&first.lock);
    first.suspended = suspended;
    first.budget = FIRST_LAUNCHES_BUDGET;
    turn(map_count(&first.waiting) > 0);
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

/* --- names of functions --- */

static struct {
    pthread_mutex_t lock;
    struct map of_function; /* handle -> hash of its name */
} published = {.lock = PTHREAD_MUTEX_INITIALIZER};

void function_name_publish(const void *function, const char *name)
{
    if (!function || !name || !registry_function_name_wanted())
        return;
    size_t length = strlen(name);
    uint64_t hash = hash_bytes(name, length);
    bool added = false;
    pthread_mutex_lock(&published.lock);
    uint64_t *known = map_put(&published.of_function, (uint64_t)(uintptr_t)function, &added);
    bool same = known && !added && *known == hash;
    if (known)
        *known = hash;
    pthread_mutex_unlock(&published.lock);
    if (!same)
        registry_function_name_publish(&(struct gputrace_function_name){function, text_of_bytes(name, length)});
}

#define NAME_ASK(asker, type, call)                                                     \
    const char *asker(type handle)                                                      \
    {                                                                                   \
        const char *name = NULL;                                                        \
        const struct driver *driver = driver_known();                                   \
        bool wanted = registry_function_name_wanted() || registry_launch_name_wanted(); \
        bool asked = handle && driver && driver->call && wanted;                        \
        return asked && driver->call(&name, handle) == CUDA_SUCCESS ? name : NULL;      \
    }
NAME_ASK(function_name_ask, CUfunction, cuFuncGetName)
NAME_ASK(kernel_name_ask, CUkernel, cuKernelGetName)

void function_names_forget(void)
{
    pthread_mutex_lock(&published.lock);
    map_release(&published.of_function);
    pthread_mutex_unlock(&published.lock);
}

/* Empties the maps without freeing their memory, which is a copy of the parent's: malloc may be locked. */
void kernel_names_atfork_child(void)
{
    capture.requested = capture.handled = capture.waits = 0;
    pthread_mutex_init(&names.lock, NULL);
    names.known = (struct map){0};
    names.newest = names.before = 0;
    pthread_mutex_init(&first.lock, NULL);
    first.waiting = first.launched = (struct map){0};
    first.on = first.suspended = mine.launches = false;
    pthread_mutex_init(&published.lock, NULL);
    published.of_function = (struct map){0};
}
