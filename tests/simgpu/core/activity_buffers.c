#include "core/activity_buffers.h"

#include <pthread.h>
#include <signal.h>

#include "core/activity.h"

struct activity_state activity = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

/* ---- handing over ---- */

void activity_free(struct activity_buffer *buffer)
{
    if (buffer->handed && !buffer->incomplete)
        free(buffer);
}

void activity_seal(struct activity_buffer *buffer)
{
    if (!buffer)
        return;
    buffer->owner->current = NULL;
    buffer->owner = NULL;
    if (!buffer->incomplete)
        pthread_cond_broadcast(&activity.changed);
}

static void activity_hand_over(struct activity_buffer *buffer)
{
    if (buffer->owner)
        activity_seal(buffer);
    buffer->handed = true;
    list_remove(&activity.buffers, buffer);
    activity.handing++;
    buffer->incomplete++; /* keeps it while the lock is let go */
    CUpti_BuffersCallbackCompleteFunc complete = activity.complete;
    pthread_mutex_unlock(&activity.lock);
    complete(NULL, 0, buffer->data, buffer->size, buffer->used);
    pthread_mutex_lock(&activity.lock);
    buffer->incomplete--;
    if (!--activity.handing)
        pthread_cond_broadcast(&activity.changed);
    activity_free(buffer);
}

static struct activity_buffer *activity_find_full(void)
{
    for (size_t i = 0; i < activity.buffers.count; i++) {
        struct activity_buffer *buffer = activity.buffers.items[i];
        if (!buffer->owner && !buffer->incomplete)
            return buffer;
    }
    return NULL;
}

static void *activity_worker(void *unused)
{
    (void)unused;
    pthread_mutex_lock(&activity.lock);
    for (;;) {
        struct activity_buffer *buffer = activity_find_full();
        if (buffer)
            activity_hand_over(buffer);
        else
            pthread_cond_wait(&activity.changed, &activity.lock);
    }
    return NULL;
}

static void activity_thread_ended(void *owner)
{
    pthread_mutex_lock(&activity.lock);
    activity_seal(((struct activity_owner *)owner)->current);
    pthread_mutex_unlock(&activity.lock);
    free(owner);
}

static void activity_start_worker(void)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pthread_t thread;
    activity.worker = pthread_create(&thread, NULL, activity_worker, NULL) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (activity.worker)
        pthread_detach(thread);
}

void activity_register(CUpti_BuffersCallbackRequestFunc request, CUpti_BuffersCallbackCompleteFunc complete)
{
    pthread_mutex_lock(&activity.lock);
    activity.request = request;
    activity.complete = complete;
    if (!activity.worker) {
        pthread_key_create(&activity.owner_key, activity_thread_ended);
        activity_start_worker();
    }
    pthread_mutex_unlock(&activity.lock);
}

/* Makes the open records of BUFFER readable as they are: they will not be delivered again. */
static void activity_cut(struct activity_buffer *buffer)
{
    for (size_t offset = 0; offset < buffer->used;) {
        uint32_t *kind = (uint32_t *)(void *)(buffer->data + offset);
        __atomic_store_n(kind, *kind & ~ACTIVITY_INCOMPLETE, __ATOMIC_RELEASE);
        offset += activity_size((CUpti_ActivityKind)*kind);
    }
}

void activity_flush(bool forced)
{
    pthread_mutex_lock(&activity.lock);
    struct list seen = {0};
    list_copy(&seen, &activity.buffers);
    for (size_t i = 0; i < seen.count; i++) {
        struct activity_buffer *buffer = seen.items[i];
        if (!list_has(&activity.buffers, buffer) || !buffer->used)
            continue;
        if (forced)
            activity_cut(buffer);
        if (forced || !buffer->incomplete)
            activity_hand_over(buffer);
    }
    while (activity.handing)
        pthread_cond_wait(&activity.changed, &activity.lock);
    list_release(&seen);
    pthread_mutex_unlock(&activity.lock);
}

/* ---- asking for them ---- */

struct activity_owner *activity_owner(void)
{
    if (activity.single_buffer || !activity.worker)
        return &activity.shared;
    struct activity_owner *owner = pthread_getspecific(activity.owner_key);
    if (!owner) {
        owner = calloc(1, sizeof(*owner));
        if (!owner)
            abort();
        pthread_setspecific(activity.owner_key, owner);
    }
    return owner;
}

struct activity_buffer *activity_request(struct activity_owner *owner, size_t size)
{
    CUpti_BuffersCallbackRequestFunc request = activity.request;
    if (!request)
        return NULL;
    struct activity_buffer fresh = {0};
    pthread_mutex_unlock(&activity.lock);
    request(&fresh.data, &fresh.size, &fresh.most_records);
    pthread_mutex_lock(&activity.lock);
    if (!fresh.data || fresh.size < size)
        return NULL;
    struct activity_buffer *buffer = malloc(sizeof(*buffer));
    if (!buffer)
        abort();
    if (!activity.zeroed)
        memset(fresh.data, 0, fresh.size);
    *buffer = fresh;
    activity_seal(owner->current); /* another thread may have been as quick, when all share one */
    buffer->owner = owner;
    owner->current = buffer;
    list_add(&activity.buffers, buffer);
    return buffer;
}

/* ---- settings, and fork ---- */

size_t activity_dropped(void)
{
    pthread_mutex_lock(&activity.lock);
    size_t dropped = activity.dropped;
    activity.dropped = 0;
    pthread_mutex_unlock(&activity.lock);
    return dropped;
}

void activity_set_per_thread(bool per_thread)
{
    pthread_mutex_lock(&activity.lock);
    activity.single_buffer = !per_thread;
    pthread_mutex_unlock(&activity.lock);
}

bool activity_per_thread(void)
{
    pthread_mutex_lock(&activity.lock);
    bool per_thread = !activity.single_buffer;
    pthread_mutex_unlock(&activity.lock);
    return per_thread;
}

void activity_set_zeroed(bool zeroed)
{
    pthread_mutex_lock(&activity.lock);
    activity.zeroed = zeroed;
    pthread_mutex_unlock(&activity.lock);
}

bool activity_zeroed(void)
{
    pthread_mutex_lock(&activity.lock);
    bool zeroed = activity.zeroed;
    pthread_mutex_unlock(&activity.lock);
    return zeroed;
}

void activity_lock(void)
{
    pthread_mutex_lock(&activity.lock);
}

void activity_unlock(void)
{
    pthread_mutex_unlock(&activity.lock);
}
