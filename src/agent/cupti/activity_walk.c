#include "agent/cupti/activity_walk.h"

#include <assert.h>
#include <stdbool.h>
#include <string.h>

#include "agent/cupti/cupti_library.h"
#include "agent/cupti/record_names.h"
#include "agent/dispatch/registry.h"
#include "common/cupti_records.h"

/* The size of KIND's records: how far CUPTI steps in a buffer of nothing but this kind. 0: it steps nowhere. */
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

/* Whether records of KIND point to a name; *NAME is what this one points to, NULL: it is not there yet. */
static bool has_name(uint32_t kind, const uint8_t *record, const char **name)
{
    switch (kind) {
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
    case CUPTI_ACTIVITY_KIND_KERNEL: *name = ((const CUpti_ActivityKernel10 *)record)->name; return true;
    case CUPTI_ACTIVITY_KIND_DEVICE: *name = ((const CUpti_ActivityDevice5 *)record)->name; return true;
    default: return false;
    }
}

/* 0: it is no call's. */
static uint32_t correlation_of(uint32_t kind, const uint8_t *record)
{
    return kind == CUPTI_ACTIVITY_KIND_DEVICE ? 0 : ((const CUpti_ActivityKernel10 *)record)->correlationId;
}

/* Tells the text that a record of KIND points to. False when the kind has a name and it is not there yet. */
static bool tell_name_of(uint32_t kind, const uint8_t *record)
{
    const char *name;
    if (!has_name(kind, record, &name))
        return true;
    record_names_tell(name, correlation_of(kind, record));
    return name != NULL;
}

#define SAME(ours, theirs) static_assert((int)GPUTRACE_JIT_##ours == (int)CUPTI_ACTIVITY_JIT_OPERATION_##theirs, #ours)
SAME(CACHE_LOAD, CACHE_LOAD);
SAME(CACHE_STORE, CACHE_STORE);
SAME(COMPILE, COMPILE);
#undef SAME

/* A record of CUPTI 12.0 to 12.3 (BYTES) ends before the thread. */
static void tell_jit(const uint8_t *record, size_t bytes)
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

static void learn_size(struct spool_header *header, uint32_t kind, size_t bytes)
{
    if (kind < SPOOL_CUPTI_KINDS && bytes > 0 && bytes <= UINT16_MAX)
        __atomic_store_n(&header->record_bytes[kind], (uint16_t)bytes, __ATOMIC_RELAXED);
}

/* A record of BYTES (0: not known) in a complete buffer. */
static void look_at(struct spool_header *header, const uint8_t *record, size_t bytes)
{
    uint32_t kind = *(const uint32_t *)(const void *)record & ~SPOOL_IN_FLIGHT;
    learn_size(header, kind, bytes);
    tell_name_of(kind, record);
    if (kind == CUPTI_ACTIVITY_KIND_JIT)
        tell_jit(record, bytes);
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
            look_at(header, before, (size_t)(at - before));
        before = at;
    }
    bool whole = result == CUPTI_ERROR_MAX_LIMIT_REACHED; /* else CUPTI cannot read on: what follows is not known */
    if (before)
        look_at(header, before, whole ? (size_t)(data + valid - before) : 0);
    return calls_alone && whole;
}

/* CUPTI may be writing this very word: read it once, as one. */
static uint32_t kind_at(const uint8_t *record)
{
    return __atomic_load_n((const uint32_t *)(const void *)record, __ATOMIC_ACQUIRE);
}

/* The size of the record at AT; 0: there is none, or it cannot be told. WORD is its kind as CUPTI wrote it. */
static size_t size_at(const struct spool_header *header, const uint8_t *data, size_t bytes, size_t at, uint32_t *word)
{
    if (at + sizeof(uint64_t) > bytes)
        return 0;
    *word = kind_at(data + at);
    uint32_t kind = *word & ~SPOOL_IN_FLIGHT;
    bool known = kind > 0 && kind < SPOOL_CUPTI_KINDS;
    size_t size = known ? __atomic_load_n(&header->record_bytes[kind], __ATOMIC_RELAXED) : 0;
    return size <= bytes - at ? size : 0;
}

void activity_walk_dying(const struct spool_header *header, const uint8_t *data, size_t bytes, size_t walked,
                         void (*tell)(const char *name))
{
    uint32_t word;
    const char *name;
    for (size_t at = walked, size; (size = size_at(header, data, bytes, at, &word)) > 0; at += size)
        if (has_name(word & ~SPOOL_IN_FLIGHT, data + at, &name) && name)
            tell(name);
}

static unsigned walk_in_use(const struct spool_header *header, const uint8_t *data, size_t bytes, size_t from,
                            size_t *walked)
{
    unsigned untimed = 0;
    uint32_t word;
    bool named = true; /* every record so far */
    for (size_t at = from, size; (size = size_at(header, data, bytes, at, &word)) > 0;) {
        uint32_t kind = word & ~SPOOL_IN_FLIGHT;
        untimed += (word & SPOOL_IN_FLIGHT) != 0;
        if (at >= *walked)
            named = tell_name_of(kind, data + at) && named;
        at += size;
        if (named && at > *walked)
            *walked = at;
    }
    return untimed;
}

unsigned activity_walk_in_use(const struct spool_header *header, const uint8_t *data, size_t bytes, size_t *walked)
{
    return walk_in_use(header, data, bytes, 0, walked);
}

void activity_walk_names(const struct spool_header *header, const uint8_t *data, size_t bytes, size_t *walked)
{
    walk_in_use(header, data, bytes, *walked, walked);
}
