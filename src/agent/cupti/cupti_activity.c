#include "agent/cupti/cupti_activity.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "agent/cupti/activity_kinds.h"
#include "agent/cupti/activity_walk.h"
#include "agent/cupti/cupti_library.h"
#include "agent/cupti/record_names.h"
#include "agent/dispatch/fork_watch.h"
#include "agent/dispatch/readers.h"

#define BUFFERS_MAX 1024u

static struct activity {
    const struct cupti *cupti;
    const struct activity_store *store;
    bool detached;
    bool keep;
    pthread_mutex_t lock; /* of what follows; never held while CUPTI is called */
    struct buffer {
        uint8_t *data;
        size_t bytes;
        size_t walked; /* names are gathered up to here */
        bool keep;     /* its API calls too: they were recorded while they were wanted */
    } in_use[BUFFERS_MAX];
    unsigned slots; /* of in_use, that were ever used */
} activity = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* CUPTI while it is there: the service thread looks for it before. */
static const struct cupti *running(void)
{
    const struct cupti *cupti = __atomic_load_n(&activity.cupti, __ATOMIC_ACQUIRE);
    return __atomic_load_n(&activity.detached, __ATOMIC_RELAXED) ? NULL : cupti;
}

static void note_taken(uint8_t *data, size_t bytes)
{
    pthread_mutex_lock(&activity.lock);
    for (unsigned i = 0; i < BUFFERS_MAX; i++) {
        struct buffer *buffer = &activity.in_use[i];
        if (buffer->data)
            continue;
        buffer->bytes = bytes;
        buffer->walked = 0;
        buffer->keep = activity.keep;
        __atomic_store_n(&buffer->data, data, __ATOMIC_RELEASE); /* looked at without the lock */
        if (i >= activity.slots)
            __atomic_store_n(&activity.slots, i + 1, __ATOMIC_RELAXED);
        break;
    }
    pthread_mutex_unlock(&activity.lock);
}

/* Returns whether its API calls are kept. */
static bool note_given_back(const uint8_t *data)
{
    bool keep = true;
    pthread_mutex_lock(&activity.lock);
    for (unsigned i = 0; i < BUFFERS_MAX; i++)
        if (activity.in_use[i].data == data) {
            keep = activity.in_use[i].keep;
            __atomic_store_n(&activity.in_use[i].data, NULL, __ATOMIC_RELAXED);
        }
    pthread_mutex_unlock(&activity.lock);
    return keep;
}

void cupti_activity_keep(bool keep)
{
    pthread_mutex_lock(&activity.lock);
    activity.keep = keep;
    for (unsigned i = 0; i < BUFFERS_MAX && keep; i++)
        activity.in_use[i].keep = true;
    pthread_mutex_unlock(&activity.lock);
}

/* CUPTI asks, on the program's own thread. */
static void buffer_requested(uint8_t **buffer, size_t *size, size_t *records_max)
{
    *records_max = 0; /* as many as fit */
    *size = 0;
    *buffer = fork_unannounced() ? NULL : activity.store->take(size);
    if (*buffer)
        note_taken(*buffer, *size);
}

static void count_dropped(CUcontext context, uint32_t stream)
{
    size_t dropped = 0;
    if (activity.cupti->cuptiActivityGetNumDroppedRecords(context, stream, &dropped) == CUPTI_SUCCESS && dropped > 0)
        __atomic_add_fetch(&activity.store->header()->losses.cupti_dropped, dropped, __ATOMIC_RELAXED);
}

static void buffer_completed(CUcontext context, uint32_t stream, uint8_t *buffer, size_t size, size_t valid)
{
    (void)size;
    if (fork_unannounced())
        return;
    bool keep = note_given_back(buffer);
    bool calls_alone = activity_walk_complete(activity.cupti, activity.store->header(), buffer, valid);
    if (calls_alone && !keep) {
        memset(buffer, 0, valid); /* as it was given */
        valid = 0;
    }
    activity.store->done(buffer, valid);
    count_dropped(context, stream);
}

int cupti_activity_init(const struct cupti *cupti, const struct activity_store *store, uint64_t trace_bits, char *why,
                        size_t size)
{
    activity.store = store;
    activity_walk_init(store->header(), cupti);
    __atomic_store_n(&activity.cupti, cupti, __ATOMIC_RELEASE);
    uint8_t zeroed = 1;
    size_t zeroed_size = sizeof(zeroed);
    cupti->cuptiActivitySetAttribute(CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER, &zeroed_size, &zeroed);
    cupti->cuptiSetThreadIdType(CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM);
    CUptiResult result = cupti->cuptiActivityRegisterCallbacks(buffer_requested, buffer_completed);
    if (result != CUPTI_SUCCESS) {
        snprintf(why, size, "CUPTI takes no buffers: %s", cupti_words(cupti, result));
        return -1;
    }
    activity_kinds_init(cupti, trace_bits);
    return 0;
}

void cupti_activity_flush(void)
{
    const struct cupti *cupti = running();
    if (!cupti)
        return;
    cupti->cuptiActivityFlushAll(0);
    count_dropped(NULL, 0); /* where there was no room for a buffer none is completed that would tell */
}

static unsigned gather(struct buffer *buffer, bool names_alone)
{
    const struct spool_header *header = activity.store->header();
    if (!names_alone)
        return activity_walk_in_use(header, buffer->data, buffer->bytes, &buffer->walked);
    activity_walk_names(header, buffer->data, buffer->bytes, &buffer->walked);
    return 0;
}

static unsigned gather_all(bool names_alone)
{
    unsigned untimed = 0, slots = __atomic_load_n(&activity.slots, __ATOMIC_RELAXED);
    if (!running())
        return 0;
    for (unsigned i = 0; i < slots; i++) {
        struct buffer *buffer = &activity.in_use[i];
        if (!__atomic_load_n(&buffer->data, __ATOMIC_RELAXED))
            continue;
        pthread_mutex_lock(&activity.lock); /* so that it cannot be given back and unmapped while it is read */
        if (buffer->data)
            untimed += gather(buffer, names_alone);
        pthread_mutex_unlock(&activity.lock);
    }
    return untimed;
}

unsigned cupti_activity_gather(void)
{
    return gather_all(false);
}

bool cupti_activity_gather_names(void)
{
    const struct reader *reader = reader_of_thread();
    if (!reader || reader->in_client)
        return false;
    gather_all(true);
    return true;
}

void cupti_activity_unloading(void)
{
    if (cupti_activity_gather_names())
        record_names_unloading();
}

bool cupti_activity_dying(unsigned i, void (*tell)(const char *name))
{
    if (!running() || i >= __atomic_load_n(&activity.slots, __ATOMIC_RELAXED))
        return false;
    const struct buffer *buffer = &activity.in_use[i];
    const uint8_t *data = __atomic_load_n(&buffer->data, __ATOMIC_ACQUIRE);
    if (data)
        activity_walk_dying(activity.store->header(), data, buffer->bytes, buffer->walked, tell);
    return true;
}

void cupti_activity_detached(void)
{
    __atomic_store_n(&activity.detached, true, __ATOMIC_RELAXED);
    activity_kinds_detached();
}

void cupti_activity_leave(void)
{
    memset(&activity, 0, sizeof(activity));
    pthread_mutex_init(&activity.lock, NULL);
    activity_kinds_leave();
    record_names_leave();
}
