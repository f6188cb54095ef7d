#include "core/memory.h"

#include <search.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "core/config.h"
#include "core/context.h"
#include "core/records.h"
#include "core/sim.h"

enum {
    ALIGNMENT = 512,
    MAPPED_FROM = 1 << 20
}; /* larger ones get pages of their own, so that they cost nothing untouched */

static struct {
    void *ranges;  /* tree of struct memory_range, by address */
    void *retired; /* tree of those out of the table whose bytes are still there */
    uint64_t taken, ids;
} memory;

static int memory_compare(const void *a, const void *b)
{
    const struct memory_range *left = a, *right = b;
    uintptr_t left_end = (uintptr_t)left->address + (left->size ? left->size : 1);
    uintptr_t right_end = (uintptr_t)right->address + (right->size ? right->size : 1);
    return left_end <= (uintptr_t)right->address ? -1 : (uintptr_t)left->address >= right_end;
}

static struct memory_range *memory_lookup(void *const *tree, const void *address)
{
    const struct memory_range key = {.address = (uint8_t *)(uintptr_t)address, .size = 1};
    struct memory_range **found = tfind(&key, tree, memory_compare);
    return found ? *found : NULL;
}

/* ---- the device's limit ---- */

static bool memory_on_device(enum memory_origin origin)
{
    return origin != MEMORY_HOST && origin != MEMORY_REGISTERED;
}

bool memory_take(struct device *device, size_t size)
{
    sim_lock();
    bool has = size <= config()->memory - device->used && memory.taken <= config()->memory_until &&
               size <= config()->memory_until - memory.taken;
    if (has) {
        device->used += size;
        memory.taken += size;
    }
    sim_unlock();
    return has;
}

void memory_untake(struct device *device, size_t size)
{
    sim_lock();
    device->used -= size;
    sim_unlock();
}

uint64_t memory_free(const struct device *device)
{
    sim_lock();
    uint64_t left = config()->memory - device->used;
    sim_unlock();
    return left;
}

/* ---- bytes ---- */

static void *memory_bytes(size_t size)
{
    if (size < MAPPED_FROM)
        return aligned_alloc(ALIGNMENT, (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT);
    void *pages = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return pages == MAP_FAILED ? NULL : pages;
}

static void memory_free_bytes(struct memory_range *range)
{
    if (range->size < MAPPED_FROM)
        free(range->address);
    else
        munmap(range->address, range->size);
    if (memory_on_device(range->origin))
        memory_untake(range->device, range->size);
    free(range);
}

/* ---- the table ---- */

CUresult memory_enter(const struct memory_range *range)
{
    struct memory_range *entry = malloc(sizeof(*entry));
    if (!entry)
        return CUDA_ERROR_OUT_OF_MEMORY;
    *entry = *range;
    sim_lock();
    entry->id = ++memory.ids;
    struct memory_range **place = tsearch(entry, &memory.ranges, memory_compare);
    bool entered = place && *place == entry;
    sim_unlock();
    if (!entered)
        free(entry);
    return entered ? CUDA_SUCCESS : CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
}

/* The entry that starts at ADDRESS and has one of ORIGINS, out of the table. NULL when there is none. */
static struct memory_range *memory_unlink(const void *address, unsigned origins)
{
    sim_lock();
    struct memory_range *range = memory_lookup(&memory.ranges, address);
    if (range && range->address == address && (origins >> range->origin) & 1)
        tdelete(range, &memory.ranges, memory_compare);
    else
        range = NULL;
    sim_unlock();
    return range;
}

CUresult memory_remove(void *address, enum memory_origin origin, struct memory_range *removed)
{
    struct memory_range *range = memory_unlink(address, 1u << origin);
    if (!range)
        return origin == MEMORY_REGISTERED ? CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED : CUDA_ERROR_INVALID_VALUE;
    *removed = *range;
    free(range);
    return CUDA_SUCCESS;
}

bool memory_find(const void *address, struct memory_range *range)
{
    sim_lock();
    struct memory_range *found = memory_lookup(&memory.ranges, address);
    if (found)
        *range = *found;
    sim_unlock();
    return found != NULL;
}

/* ---- allocating and freeing ---- */

CUresult memory_allocate(CUcontext context, enum memory_origin origin, size_t size, unsigned flags, CUmemoryPool pool,
                         void **address)
{
    if (!size || !address)
        return CUDA_ERROR_INVALID_VALUE;
    bool on_device = memory_on_device(origin);
    if (on_device && !memory_take(context->device, size))
        return CUDA_ERROR_OUT_OF_MEMORY;
    struct memory_range range = {.address = memory_bytes(size),
                                 .size = size,
                                 .origin = origin,
                                 .device = context->device,
                                 .context = context,
                                 .flags = flags,
                                 .pool = pool};
    if (!range.address || memory_enter(&range) != CUDA_SUCCESS) {
        if (on_device)
            memory_untake(context->device, size);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    *address = range.address;
    return CUDA_SUCCESS;
}

CUresult memory_release(void *address, unsigned origins)
{
    struct memory_range *range = memory_unlink(address, origins);
    if (!range)
        return CUDA_ERROR_INVALID_VALUE;
    memory_free_bytes(range);
    return CUDA_SUCCESS;
}

CUresult memory_retire(void *address, unsigned origins)
{
    struct memory_range *range = memory_unlink(address, origins);
    if (!range)
        return CUDA_ERROR_INVALID_VALUE;
    sim_lock();
    tsearch(range, &memory.retired, memory_compare);
    sim_unlock();
    return CUDA_SUCCESS;
}

void memory_give_back(void *address)
{
    sim_lock();
    struct memory_range *range = memory_lookup(&memory.retired, address);
    if (range)
        tdelete(range, &memory.retired, memory_compare);
    sim_unlock();
    if (range)
        memory_free_bytes(range);
}

/* ---- what a pointer is ---- */

CUpti_ActivityMemoryKind memory_kind(enum memory_origin origin)
{
    switch (origin) {
    case MEMORY_MANAGED: return CUPTI_ACTIVITY_MEMORY_KIND_MANAGED;
    case MEMORY_HOST:
    case MEMORY_REGISTERED: return CUPTI_ACTIVITY_MEMORY_KIND_PINNED;
    case MEMORY_ARRAY: return CUPTI_ACTIVITY_MEMORY_KIND_ARRAY;
    case MEMORY_MODULE:
    case MEMORY_DEVICE:
    case MEMORY_ASYNC:
    case MEMORY_MAPPED: return CUPTI_ACTIVITY_MEMORY_KIND_DEVICE;
    }
    return CUPTI_ACTIVITY_MEMORY_KIND_UNKNOWN;
}

struct op_place memory_place(const void *address)
{
    struct memory_range range;
    struct op_place place = {
        .address = (uint8_t *)(uintptr_t)address, .kind = CUPTI_ACTIVITY_MEMORY_KIND_PAGEABLE, .device = -1};
    if (memory_find(address, &range)) {
        place.kind = memory_kind(range.origin);
        place.device = memory_on_device(range.origin) ? range.device->ordinal : -1;
    }
    return place;
}
