#include "core/activity.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "core/config.h"
#include "core/list.h"

struct activity_buffer {
    uint8_t *data;
    size_t size, used;
    size_t records, most_records; /* most 0: as many as fit */
    size_t incomplete;
    struct activity_owner *owner; /* who writes into it; NULL when nobody will any more */
    bool handed;                  /* given back: what completes now is not seen by anyone */
};

/* Of a thread, or of all threads together. */
struct activity_owner {
    struct activity_buffer *current;
};

static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed; /* a buffer can be handed over, or the last handing over has ended */
    CUpti_BuffersCallbackRequestFunc request;
    CUpti_BuffersCallbackCompleteFunc complete;
    struct list buffers; /* all that the tool has not been given back */
    struct activity_owner shared;
    size_t dropped, written, handing;
    bool single_buffer, zeroed, worker;
    pthread_key_t owner_key;
} activity = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

static atomic_uint_least64_t enabled[CUPTI_ACTIVITY_KIND_COUNT]; /* a bit for each context, counted from 1 */

bool activity_enable(CUpti_ActivityKind kind, uint32_t context_id, bool enable)
{
    if (kind <= CUPTI_ACTIVITY_KIND_INVALID || kind >= CUPTI_ACTIVITY_KIND_COUNT)
        return false;
    uint64_t contexts = context_id ? UINT64_C(1) << (context_id % 64) : UINT64_MAX;
    if (enable)
        atomic_fetch_or(&enabled[kind], contexts);
    else
        atomic_fetch_and(&enabled[kind], ~contexts);
    return true;
}

bool activity_wanted(CUpti_ActivityKind kind, uint32_t context_id)
{
    uint64_t contexts = atomic_load_explicit(&enabled[kind], memory_order_relaxed);
    return context_id ? (contexts >> (context_id % 64)) & 1 : contexts == UINT64_MAX;
}

/* ---- handing over. All with the lock held, which is let go while the tool is told. ---- */

static void activity_free(struct activity_buffer *buffer)
{
    if (buffer->handed && !buffer->incomplete)
        free(buffer);
}

static void activity_seal(struct activity_buffer *buffer)
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
    CUpti_BuffersCallbackCompleteFunc complete = activity.complete;
    pthread_mutex_unlock(&activity.lock);
    complete(NULL, 0, buffer->data, buffer->size, buffer->used);
    pthread_mutex_lock(&activity.lock);
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

static void activity_cut(struct activity_buffer *buffer);

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

/* ---- writing ---- */

static struct activity_owner *activity_owner(void)
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

static bool activity_fits(const struct activity_buffer *buffer, size_t size)
{
    return buffer && buffer->size - buffer->used >= size &&
           (!buffer->most_records || buffer->records < buffer->most_records);
}

/* Asks the tool, with the lock let go. NULL when it has nothing that would hold SIZE bytes. */
static struct activity_buffer *activity_request(struct activity_owner *owner, size_t size)
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

static void activity_put(uint8_t *place, const void *record, size_t size, uint32_t kind)
{
    memcpy(place + sizeof(kind), (const uint8_t *)record + sizeof(kind), size - sizeof(kind));
    __atomic_store_n((uint32_t *)(void *)place, kind, __ATOMIC_RELEASE);
}

static struct activity_slot activity_append(const void *record, uint32_t flag)
{
    CUpti_ActivityKind kind = ((const CUpti_Activity *)record)->kind;
    size_t size = activity_size(kind);
    struct activity_slot slot = {0};
    pthread_mutex_lock(&activity.lock);
    struct activity_owner *owner = activity_owner();
    struct activity_buffer *buffer = owner->current;
    activity.written++;
    if (config()->drop_records && activity.written % config()->drop_records == 0) {
        buffer = NULL;
    } else if (!activity_fits(buffer, size)) {
        activity_seal(buffer);
        buffer = activity_request(owner, size);
    }
    if (buffer) {
        slot = (struct activity_slot){buffer, buffer->used};
        activity_put(buffer->data + buffer->used, record, size, (uint32_t)kind | flag);
        buffer->used += size;
        buffer->records++;
        buffer->incomplete += flag != 0;
    } else {
        activity.dropped++;
    }
    pthread_mutex_unlock(&activity.lock);
    return slot;
}

void activity_write(const void *record)
{
    activity_append(record, 0);
}

struct activity_slot activity_begin(const void *record)
{
    return activity_append(record, ACTIVITY_INCOMPLETE);
}

/* ---- completing ---- */

static void activity_set(uint8_t *record, size_t offset, uint64_t value)
{
    memcpy(record + offset, &value, sizeof(value));
}

static void activity_set_times(uint8_t *record, uint32_t kind, uint64_t start, uint64_t end)
{
    switch (kind) {
    case CUPTI_ACTIVITY_KIND_KERNEL:
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
        activity_set(record, offsetof(CUpti_ActivityKernel10, start), start);
        activity_set(record, offsetof(CUpti_ActivityKernel10, end), end);
        activity_set(record, offsetof(CUpti_ActivityKernel10, completed), end);
        break;
    case CUPTI_ACTIVITY_KIND_CUDA_EVENT:
        activity_set(record, offsetof(CUpti_ActivityCudaEvent2, deviceTimestamp), end);
        break;
    case CUPTI_ACTIVITY_KIND_GRAPH_TRACE:
        activity_set(record, offsetof(CUpti_ActivityGraphTrace2, start), start);
        activity_set(record, offsetof(CUpti_ActivityGraphTrace2, end), end);
        break;
    default: /* memcpy, memcpy2, memset */
        activity_set(record, offsetof(CUpti_ActivityMemcpy6, start), start);
        activity_set(record, offsetof(CUpti_ActivityMemcpy6, end), end);
        break;
    }
}

void activity_complete(struct activity_slot *slot, uint64_t start, uint64_t end)
{
    struct activity_buffer *buffer = slot->buffer;
    if (!buffer)
        return;
    pthread_mutex_lock(&activity.lock);
    if (!buffer->handed) {
        uint8_t *record = buffer->data + slot->offset;
        uint32_t kind = *(uint32_t *)(void *)record & ~ACTIVITY_INCOMPLETE;
        activity_set_times(record, kind, start, end);
        __atomic_store_n((uint32_t *)(void *)record, kind, __ATOMIC_RELEASE);
    }
    buffer->incomplete--;
    if (!buffer->incomplete && !buffer->owner && !buffer->handed)
        pthread_cond_broadcast(&activity.changed);
    activity_free(buffer);
    pthread_mutex_unlock(&activity.lock);
    *slot = (struct activity_slot){0};
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

/* ---- reading, and the rest ---- */

bool activity_next(uint8_t *buffer, size_t valid, CUpti_Activity **record)
{
    size_t offset = 0;
    if (*record)
        offset = (size_t)((uint8_t *)*record - buffer) + activity_size((*record)->kind);
    if (offset + sizeof(CUpti_Activity) > valid)
        return false;
    uint32_t kind = *(uint32_t *)(void *)(buffer + offset);
    size_t size = kind & ACTIVITY_INCOMPLETE ? 0 : activity_size((CUpti_ActivityKind)kind);
    if (!size || offset + size > valid)
        return false;
    *record = (CUpti_Activity *)(void *)(buffer + offset);
    return true;
}

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
