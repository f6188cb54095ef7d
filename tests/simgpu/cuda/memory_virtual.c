/*
 * The driver API: addresses and memory apart. An address range is a mapping without access; memory is a file without a
 * name, which can be mapped at several addresses; giving access sets the protection of the pages.
 */
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/api.h"
#include "core/memory.h"
#include "core/sim.h"
#include "cuda/need.h"

enum { GRANULARITY = 2 << 20 };

/* Behind CUmemGenericAllocationHandle. */
struct physical {
    int file;
    size_t size;
    CUmemAllocationProp properties;
    unsigned references; /* its handle, and each mapping */
};

static struct physical *physical_of(CUmemGenericAllocationHandle handle)
{
    return (struct physical *)(uintptr_t)handle;
}

static void physical_drop(struct physical *physical)
{
    sim_lock();
    bool last = --physical->references == 0;
    sim_unlock();
    if (!last)
        return;
    memory_untake(device_get(physical->properties.location.id), physical->size);
    close(physical->file);
    free(physical);
}

DRIVER_ANSWER(cuMemGetAllocationGranularity, NEED_VALUE(p->prop), granularity, GRANULARITY)

DRIVER_API(cuMemAddressReserve)
{
    NEED_VALUE(p->ptr && p->size && p->size % GRANULARITY == 0);
    size_t alignment = p->alignment > GRANULARITY ? p->alignment : GRANULARITY;
    uint8_t *pages = mmap(NULL, p->size + alignment, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    NEED(pages != MAP_FAILED, CUDA_ERROR_OUT_OF_MEMORY);
    size_t before = (alignment - (uintptr_t)pages % alignment) % alignment;
    if (before)
        munmap(pages, before);
    munmap(pages + before + p->size, alignment - before);
    *p->ptr = (uintptr_t)(pages + before);
    return CUDA_SUCCESS;
}

DRIVER_API(cuMemAddressFree)
{
    return munmap((void *)(uintptr_t)p->ptr, p->size) ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

DRIVER_API(cuMemCreate)
{
    NEED_VALUE(p->handle && p->prop && p->size && p->size % GRANULARITY == 0);
    NEED_DEVICE(device, p->prop->location.id);
    NEED(memory_take(device, p->size), CUDA_ERROR_OUT_OF_MEMORY);
    struct physical *physical = calloc(1, sizeof(*physical));
    int file = memfd_create("simgpu", MFD_CLOEXEC);
    if (!physical || file < 0 || ftruncate(file, (off_t)p->size)) {
        if (file >= 0)
            close(file);
        free(physical);
        memory_untake(device, p->size);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    *physical = (struct physical){.file = file, .size = p->size, .properties = *p->prop, .references = 1};
    *p->handle = (uintptr_t)physical;
    return CUDA_SUCCESS;
}

DRIVER_API(cuMemRelease)
{
    NEED_VALUE(p->handle);
    physical_drop(physical_of(p->handle));
    return CUDA_SUCCESS;
}

DRIVER_API(cuMemMap)
{
    NEED_CONTEXT(context);
    NEED_VALUE(p->ptr && p->handle && p->size % GRANULARITY == 0);
    struct physical *physical = physical_of(p->handle);
    NEED_VALUE(p->offset + p->size <= physical->size);
    void *address = (void *)(uintptr_t)p->ptr;
    if (mmap(address, p->size, PROT_NONE, MAP_SHARED | MAP_FIXED, physical->file, (off_t)p->offset) == MAP_FAILED)
        return CUDA_ERROR_INVALID_VALUE;
    const struct memory_range range = {.address = address,
                                       .size = p->size,
                                       .origin = MEMORY_MAPPED,
                                       .device = device_get(physical->properties.location.id),
                                       .context = context,
                                       .physical = physical};
    CUresult result = memory_enter(&range);
    if (result == CUDA_SUCCESS) {
        sim_lock();
        physical->references++;
        sim_unlock();
    }
    return result == CUDA_SUCCESS ? result : CUDA_ERROR_ALREADY_MAPPED;
}

DRIVER_API(cuMemUnmap)
{
    uint8_t *at = (uint8_t *)(uintptr_t)p->ptr, *end = at + p->size;
    while (at < end) {
        struct memory_range range;
        CUresult result = memory_remove(at, MEMORY_MAPPED, &range);
        NEED(result == CUDA_SUCCESS, result);
        void *pages = mmap(at, range.size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
        physical_drop(range.physical);
        NEED(pages != MAP_FAILED, CUDA_ERROR_UNKNOWN);
        at += range.size;
    }
    return CUDA_SUCCESS;
}

DRIVER_API(cuMemSetAccess)
{
    NEED_VALUE(p->desc && p->count);
    int protection = PROT_NONE;
    for (size_t i = 0; i < p->count; i++) {
        if (p->desc[i].flags == CU_MEM_ACCESS_FLAGS_PROT_READ)
            protection |= PROT_READ;
        if (p->desc[i].flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE)
            protection |= PROT_READ | PROT_WRITE;
    }
    return mprotect((void *)(uintptr_t)p->ptr, p->size, protection) ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}
