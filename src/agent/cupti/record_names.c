#include "agent/cupti/record_names.h"

#include <pthread.h>
#include <stdbool.h>

#include "common/clock.h"
#include "common/map.h"
#include "agent/dispatch/registry.h"
#include "agent/dispatch/text.h"

static struct {
    pthread_mutex_t lock;
    struct map known;   /* pointer -> look_of() its text */
    uint32_t newest;    /* correlation of all records whose names were told */
    uint32_t unloading; /* how often code was unloaded, … */
    uint32_t before;    /* … `newest` then, … */
    uint64_t since;     /* … and when */
} names = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Correlation ids begin again after 2^32. */
static bool is_later(uint32_t correlation, uint32_t other)
{
    return correlation != 0 && (int32_t)(correlation - other) > 0;
}

/* What was found at a pointer, and after which unloading. */
static uint64_t look_of(struct gputrace_text text)
{
    return (uint64_t)names.unloading << 32 | (uint32_t)hash_bytes(text.bytes, text.length);
}

/* Under the lock. An earlier record's name may be gone by now, and was told. */
static bool is_due(uint64_t look, uint32_t correlation)
{
    return look >> 32 != names.unloading && is_later(correlation, names.before);
}

/* Whether this is news of NAME; *TEXT is what it stands for, *SINCE the time from which it does. */
static bool look_at(const char *name, uint32_t correlation, struct gputrace_text *text, uint64_t *since)
{
    bool is_new = false;
    uint64_t *look = map_put(&names.known, (uint64_t)(uintptr_t)name, &is_new);
    if (!look || (!is_new && !is_due(*look, correlation)))
        return false;
    uint64_t before = *look;
    *text = text_of(name);
    *since = is_new ? clock_now() : record_names_since();
    *look = look_of(*text);
    return is_new || (uint32_t)before != (uint32_t)*look;
}

void record_names_tell(const char *name, uint32_t correlation)
{
    struct gputrace_pointer_name told = {.pointer = name};
    if (!name)
        return;
    pthread_mutex_lock(&names.lock);
    bool is_news = look_at(name, correlation, &told.text, &told.since);
    if (is_later(correlation, names.newest))
        names.newest = correlation;
    pthread_mutex_unlock(&names.lock);
    if (is_news)
        registry_pointer_name_publish(&told);
}

void record_names_unloading(void)
{
    pthread_mutex_lock(&names.lock);
    names.unloading++;
    names.before = names.newest;
    pthread_mutex_unlock(&names.lock);
    record_names_unloaded(); /* what is launched meanwhile belongs to other code */
}

void record_names_unloaded(void)
{
    __atomic_store_n(&names.since, clock_now(), __ATOMIC_RELAXED);
}

uint64_t record_names_since(void)
{
    return __atomic_load_n(&names.since, __ATOMIC_RELAXED);
}

void record_names_leave(void)
{
    pthread_mutex_init(&names.lock, NULL);
    names.known = (struct map){0}; /* the parent's memory is a copy here: leave it, malloc may be locked */
    names.newest = names.before = 0;
}
