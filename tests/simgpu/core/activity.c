#include "core/activity.h"

#include <cupti_activity_deprecated.h>
#include <stdatomic.h>
#include <string.h>

#include "core/activity_buffers.h"
#include "core/config.h"
#include "common/record_kinds.h"

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

/* ---- writing ---- */

static bool activity_fits(const struct activity_buffer *buffer, size_t size)
{
    return buffer && buffer->size - buffer->used >= size &&
           (!buffer->most_records || buffer->records < buffer->most_records);
}

static void activity_put(uint8_t *place, const void *record, size_t size, uint32_t kind)
{
    size_t known = activity_bytes_known(((const CUpti_Activity *)record)->kind);
    memcpy(place + sizeof(kind), (const uint8_t *)record + sizeof(kind), known - sizeof(kind));
    memset(place + known, 0, size - known);
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

/* ---- reading ---- */

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

/*
 * ---- sizes of records ----
 * CUPTI appends fields from version to version, so an older record is the newest one cut short, and one that is newer
 * than the headers ends with bytes that they do not know. Kinds that gputrace records are in its table.
 */

static size_t activity_size_of(CUpti_ActivityKind kind, uint64_t version)
{
    size_t size = 0;
    switch ((int)kind) {
#define SIZE(since, bytes, type) size = version >= (since) || size == 0 ? sizeof(CUpti_Activity##type) : size;
#define KIND(number, name, groups, on, sizes, ...) \
    case CUPTI_ACTIVITY_KIND_##name: sizes break;
        CUPTI_KINDS(KIND, KIND)
#undef KIND
#undef SIZE
    case CUPTI_ACTIVITY_KIND_MEMORY2:
        return version >= CUPTI_12_6 ? sizeof(CUpti_ActivityMemory4) : sizeof(CUpti_ActivityMemory3);
    case CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION: return sizeof(CUpti_ActivityExternalCorrelation);
    case CUPTI_ACTIVITY_KIND_MEMORY_POOL:
        return version >= CUPTI_13_0 ? sizeof(CUpti_ActivityMemoryPool3) : sizeof(CUpti_ActivityMemoryPool2);
    default: return 0;
    }
    bool is_kernel = kind == CUPTI_ACTIVITY_KIND_KERNEL || kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
    bool is_thing = kind == CUPTI_ACTIVITY_KIND_DEVICE || kind == CUPTI_ACTIVITY_KIND_CONTEXT;
    bool is_longer = (is_kernel && version >= CUPTI_13_1) || (is_thing && version >= 130200);
    return is_longer ? size + 8 : size;
}

size_t activity_size(CUpti_ActivityKind kind)
{
    return activity_size_of(kind, config()->cupti_version);
}

size_t activity_bytes_known(CUpti_ActivityKind kind)
{
    size_t newest = activity_size_of(kind, CUPTI_13_0), size = activity_size(kind);
    return size < newest ? size : newest;
}
