/*
 * Memory. A device's memory is the host's, taken lazily, within the device's limit; so copies can really move bytes and
 * the program can look at them afterwards. Every range that CUDA knows is in one table, from which the kind of a
 * pointer is known.
 */
#ifndef SIMGPU_CORE_MEMORY_H
#define SIMGPU_CORE_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cupti.h>

#include "core/device.h"
#include "core/op.h"

/* How a range came about; decides who may free it. */
enum memory_origin {
    MEMORY_DEVICE,     /* cuMemAlloc */
    MEMORY_ASYNC,      /* cuMemAllocAsync and pools */
    MEMORY_MANAGED,    /* cuMemAllocManaged */
    MEMORY_HOST,       /* cuMemAllocHost, cuMemHostAlloc */
    MEMORY_REGISTERED, /* cuMemHostRegister: the program's own */
    MEMORY_ARRAY,
    MEMORY_MODULE, /* a module's variable */
    MEMORY_MAPPED, /* cuMemMap */
};

struct memory_range {
    uint8_t *address;
    size_t size;
    enum memory_origin origin;
    struct device *device;
    CUcontext context;
    unsigned flags;    /* of cuMemHostAlloc, cuMemHostRegister, cuMemAllocManaged */
    CUmemoryPool pool; /* MEMORY_ASYNC */
    void *physical;    /* MEMORY_MAPPED: what is mapped there */
    uint64_t id;       /* unique, never reused */
};

/* Takes SIZE bytes and puts them into the table; 256-byte aligned, zeroed for what is large. Fails as CUDA does. */
CUresult memory_allocate(CUcontext context, enum memory_origin origin, size_t size, unsigned flags, CUmemoryPool pool,
                         void **address);
/* Frees a range that starts at ADDRESS and has one of ORIGINS (a bit each). */
CUresult memory_release(void *address, unsigned origins);
/* Takes a range out of the table, as memory_release, but leaves the bytes until memory_give_back, later in a stream. */
CUresult memory_retire(void *address, unsigned origins);
void memory_give_back(void *address);

/* Enters and removes a range whose bytes are somebody else's. */
CUresult memory_enter(const struct memory_range *range);
CUresult memory_remove(void *address, enum memory_origin origin, struct memory_range *removed);

/* The range that holds ADDRESS. False when CUDA does not know it. */
bool memory_find(const void *address, struct memory_range *range);
CUpti_ActivityMemoryKind memory_kind(enum memory_origin origin);
/* Where ADDRESS is, for a copy. */
struct op_place memory_place(const void *address);

/* Bytes that DEVICE has left. */
uint64_t memory_free(const struct device *device);
/* Counts SIZE bytes as taken from DEVICE. False when it has not so many, or SIMGPU_OOM_AFTER forbids. */
bool memory_take(struct device *device, size_t size);
void memory_untake(struct device *device, size_t size);

#endif
