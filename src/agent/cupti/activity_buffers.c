/*
 * CUPTI asks for a buffer, writes activity records into it and returns it. The records stay where CUPTI wrote them;
 * this file walks over them for what the reader of the spool cannot get later: the size of each kind of record, the
 * names that records point to, and records that are still being written when the process dies.
 */
#include "agent/cupti/activity_buffers.h"
#include "agent/cupti/activity_kinds.h"

#include <assert.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "agent/cupti/cupti_library.h"
#include "agent/cupti/kernel_names.h"
#include "agent/dispatch/registry.h"
#include "common/cupti.h"

/* Returns the size of KIND's records, which is CUPTI's first step in a buffer with nothing but this kind, or 0 if CUPTI
 * refuses to step. */
static uint16_t ask_size(const struct cupti *cupti, uint32_t kind)
{
    _Alignas(8) uint8_t buffer[2048] = {0};
    CUpti_Activity *record = NULL;
    for (size_t at = 0; at < sizeof(buffer); at += sizeof(uint64_t))
        memcpy(buffer + at, &kind, sizeof(kind));
    for (int i = 0; i < 2; i++)
        if (cupti->cuptiActivityGetNextRecord(buffer, sizeof(buffer), &record) != CUPTI_SUCCESS)
            return 0;
    return (uint16_t)((uint8_t *)record - buffer);
}

void activity_walk_init(struct spool_header *header, const struct cupti *cupti)
{
    header->cupti_version = cupti->version;
    for (uint32_t kind = 1; kind < SPOOL_CUPTI_KINDS; kind++) {
        uint16_t bytes = ask_size(cupti, kind);
        header->record_bytes[kind] = bytes > 0 ? bytes : cupti_record_bytes(kind, cupti->version);
    }
}

/* Whether records of KIND point to a name. *NAME is this record's pointer, or NULL if CUPTI has not written it yet. */
static bool has_name(uint32_t kind, const uint8_t *record, const char **name)
{
    switch (kind) {
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
    case CUPTI_ACTIVITY_KIND_KERNEL: *name = ((const CUpti_ActivityKernel10 *)record)->name; return true;
    case CUPTI_ACTIVITY_KIND_DEVICE: *name = ((const CUpti_ActivityDevice5 *)record)->name; return true;
    default: return false;
    }
}

/* Publishes the text that a record of KIND points to. Returns false if CUPTI has not written the pointer yet. */
static bool publish_name_of(uint32_t kind, const uint8_t *record)
{
    const char *name;
    if (!has_name(kind, record, &name))
        return true;
    bool is_kernel = kind != CUPTI_ACTIVITY_KIND_DEVICE; /* a device's record has no correlation id */
    kernel_names_publish(name, is_kernel ? ((const CUpti_ActivityKernel10 *)record)->correlationId : 0);
    return name != NULL;
}

#define SAME(ours, theirs) static_assert((int)GPUTRACE_JIT_##ours == (int)CUPTI_ACTIVITY_JIT_OPERATION_##theirs, #ours)
SAME(CACHE_LOAD, CACHE_LOAD);
SAME(CACHE_STORE, CACHE_STORE);
SAME(COMPILE, COMPILE);
#undef SAME

/* Publishes a record of just-in-time compilation. In CUPTI 12.0 to 12.3 the record (BYTES) ends before the thread. */
static void publish_jit(const uint8_t *record, size_t bytes)
{
    const CUpti_ActivityJit2 *jit = (const CUpti_ActivityJit2 *)record;
    registry_jit_publish(&(struct gputrace_jit){
        .call = {.start = jit->start,
                 .end = jit->end,
                 .device = jit->deviceId,
                 .correlation = jit->correlationId,
                 .thread = bytes >= sizeof(*jit) ? jit->threadId : 0},
        .cache_bytes = jit->cacheSize,
        .cache_path = jit->cachePath,
        .operation = (uint32_t)jit->jitOperationType,
        .from_ptx = jit->jitEntryType == CUPTI_ACTIVITY_JIT_ENTRY_PTX_TO_CUBIN,
        .group = jit->jitOperationCorrelationId,
    });
}

/* Reads from a record of BYTES (0: unknown) in a complete buffer what would die with the process. */
static void read_record(struct spool_header *header, const uint8_t *record, size_t bytes)
{
    uint32_t kind = *(const uint32_t *)(const void *)record & ~SPOOL_IN_FLIGHT;
    if (kind < SPOOL_CUPTI_KINDS && bytes > 0 && bytes <= UINT16_MAX)
        __atomic_store_n(&header->record_bytes[kind], (uint16_t)bytes, __ATOMIC_RELAXED);
    publish_name_of(kind, record);
    if (kind == CUPTI_ACTIVITY_KIND_JIT)
        publish_jit(record, bytes);
}

bool activity_walk_complete(const struct cupti *cupti, struct spool_header *header, uint8_t *data, size_t valid)
{
    CUpti_Activity *record = NULL;
    const uint8_t *before = NULL;
    bool calls_alone = true;
    CUptiResult result = CUPTI_ERROR_MAX_LIMIT_REACHED;
    while (valid > 0 && (result = cupti->cuptiActivityGetNextRecord(data, valid, &record)) == CUPTI_SUCCESS) {
        const uint8_t *at = (const uint8_t *)record;
        calls_alone &= record->kind == CUPTI_ACTIVITY_KIND_RUNTIME || record->kind == CUPTI_ACTIVITY_KIND_DRIVER;
        if (before)
            read_record(header, before, (size_t)(at - before));
        before = at;
    }
    bool whole = result == CUPTI_ERROR_MAX_LIMIT_REACHED; /* else CUPTI cannot read on: the last size is unknown */
    if (before)
        read_record(header, before, whole ? (size_t)(data + valid - before) : 0);
    return calls_alone && whole;
}

/* Returns the size of the record at AT, or 0 if there is none or its kind is unknown. *WORD is its kind as CUPTI wrote
 * it. */
static size_t size_at(const struct spool_header *header, const uint8_t *data, size_t bytes, size_t at, uint32_t *word)
{
    if (at + sizeof(uint64_t) > bytes)
        return 0;
    /* CUPTI may be writing this word, so it is read only once, atomically. */
    *word = __atomic_load_n((const uint32_t *)(const void *)(data + at), __ATOMIC_ACQUIRE);
    uint32_t kind = *word & ~SPOOL_IN_FLIGHT;
    bool known = kind > 0 && kind < SPOOL_CUPTI_KINDS;
    size_t size = known ? __atomic_load_n(&header->record_bytes[kind], __ATOMIC_RELAXED) : 0;
    return size <= bytes - at ? size : 0;
}

unsigned activity_walk_in_use(const struct spool_header *header, const uint8_t *data, size_t bytes, size_t from,
                              size_t *walked)
{
    unsigned untimed = 0;
    uint32_t word;
    bool named = true; /* every record so far had its name */
    for (size_t at = from, size; (size = size_at(header, data, bytes, at, &word)) > 0;) {
        uint32_t kind = word & ~SPOOL_IN_FLIGHT;
        untimed += (word & SPOOL_IN_FLIGHT) != 0;
        if (at >= *walked)
            named = publish_name_of(kind, data + at) && named;
        at += size;
        if (named && at > *walked)
            *walked = at;
    }
    return untimed;
}

/* --- buffers --- */

#define BUFFERS_MAX 1024u

static struct activity {
    const struct cupti *cupti;
    const struct activity_store *store;
    bool detached;
    bool keep;
    pthread_mutex_t lock; /* guards the members below; never held while CUPTI is called */
    struct buffer {
        uint8_t *data;
        size_t bytes;
        size_t walked; /* names before this offset are published */
        bool keep;     /* API calls in the buffer are kept, because recording was on while it was in use */
    } in_use[BUFFERS_MAX];
    unsigned slots; /* number of elements of in_use that were ever used */
} activity = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Returns CUPTI, or NULL before it is loaded and after it was detached. */
static const struct cupti *running(void)
{
    const struct cupti *cupti = __atomic_load_n(&activity.cupti, __ATOMIC_ACQUIRE);
    return __atomic_load_n(&activity.detached, __ATOMIC_RELAXED) ? NULL : cupti;
}

void activity_buffers_keep(bool keep)
{
    pthread_mutex_lock(&activity.lock);
    activity.keep = keep;
    for (unsigned i = 0; i < BUFFERS_MAX && keep; i++)
        activity.in_use[i].keep = true;
    pthread_mutex_unlock(&activity.lock);
}

/* Called by CUPTI, on the program's own thread, for a buffer. */
static void buffer_requested(uint8_t **buffer, size_t *size, size_t *records_max)
{
    *records_max = 0; /* no limit but the buffer's size */
    *size = 0;
    *buffer = fork_unannounced() ? NULL : activity.store->get(size);
    if (!*buffer)
        return;
    pthread_mutex_lock(&activity.lock);
    unsigned slot = 0;
    while (slot < BUFFERS_MAX && activity.in_use[slot].data)
        slot++;
    if (slot < BUFFERS_MAX) {
        struct buffer *used = &activity.in_use[slot];
        used->bytes = *size;
        used->walked = 0;
        used->keep = activity.keep;
        __atomic_store_n(&used->data, *buffer, __ATOMIC_RELEASE); /* a crashing thread reads this without the lock */
        if (slot >= activity.slots)
            __atomic_store_n(&activity.slots, slot + 1, __ATOMIC_RELAXED);
    }
    pthread_mutex_unlock(&activity.lock);
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
    bool keep = true; /* API calls are kept */
    pthread_mutex_lock(&activity.lock);
    for (unsigned i = 0; i < BUFFERS_MAX; i++)
        if (activity.in_use[i].data == buffer) {
            keep = activity.in_use[i].keep;
            __atomic_store_n(&activity.in_use[i].data, NULL, __ATOMIC_RELAXED);
        }
    pthread_mutex_unlock(&activity.lock);
    bool calls_alone = activity_walk_complete(activity.cupti, activity.store->header(), buffer, valid);
    if (calls_alone && !keep) {
        memset(buffer, 0, valid); /* chunks must be zeroed when they are not used */
        valid = 0;
    }
    activity.store->done(buffer, valid);
    count_dropped(context, stream);
}

int activity_buffers_init(const struct cupti *cupti, const struct activity_store *store, uint64_t trace_bits, char *why,
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

void activity_buffers_flush(void)
{
    const struct cupti *cupti = running();
    if (!cupti)
        return;
    cupti->cuptiActivityFlushAll(0);
    /* Counts dropped records also if CUPTI had no buffer, because then buffer_completed() is not called. */
    count_dropped(NULL, 0);
}

unsigned activity_buffers_gather(bool names_alone)
{
    unsigned untimed = 0, slots = __atomic_load_n(&activity.slots, __ATOMIC_RELAXED);
    if (!running())
        return 0;
    for (unsigned i = 0; i < slots; i++) {
        struct buffer *buffer = &activity.in_use[i];
        if (!__atomic_load_n(&buffer->data, __ATOMIC_RELAXED))
            continue;
        pthread_mutex_lock(&activity.lock); /* so that the buffer cannot be returned and unmapped while it is read */
        if (buffer->data)
            untimed += activity_walk_in_use(activity.store->header(), buffer->data, buffer->bytes,
                                            names_alone ? buffer->walked : 0, &buffer->walked);
        pthread_mutex_unlock(&activity.lock);
    }
    return untimed;
}

bool activity_buffers_gather_names(void)
{
    const struct epoch_reader *reader = epoch_reader();
    if (!reader || reader->in_client)
        return false;
    activity_buffers_gather(true);
    return true;
}

void activity_buffers_unloading(void)
{
    if (activity_buffers_gather_names())
        kernel_names_unloading();
}

bool activity_buffers_crash_names(unsigned i, void (*publish)(const char *name))
{
    if (!running() || i >= __atomic_load_n(&activity.slots, __ATOMIC_RELAXED))
        return false;
    const struct buffer *buffer = &activity.in_use[i];
    const uint8_t *data = __atomic_load_n(&buffer->data, __ATOMIC_ACQUIRE);
    const struct spool_header *header = activity.store->header();
    uint32_t word;
    const char *name;
    /* No lock is taken, so the bytes may change or be unmapped meanwhile: the caller is prepared for a fault. */
    for (size_t at = buffer->walked, size; data && (size = size_at(header, data, buffer->bytes, at, &word)) > 0;
         at += size)
        if (has_name(word & ~SPOOL_IN_FLIGHT, data + at, &name) && name)
            publish(name);
    return true;
}

void activity_buffers_detached(void)
{
    __atomic_store_n(&activity.detached, true, __ATOMIC_RELAXED);
    activity_kinds_detached();
}

void activity_buffers_atfork_child(void)
{
    memset(&activity, 0, sizeof(activity));
    pthread_mutex_init(&activity.lock, NULL);
    activity_kinds_atfork_child();
    kernel_names_atfork_child();
}
