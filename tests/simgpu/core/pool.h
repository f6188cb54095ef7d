/* Memory pools: what cuMemAllocAsync takes from. Here they only count: what they hold, and what of it is used. */
#ifndef SIMGPU_CORE_POOL_H
#define SIMGPU_CORE_POOL_H

#include <stdbool.h>
#include <stdint.h>

#include <cuda.h>

#include "core/device.h"

struct CUmemPoolHandle_st {
    struct device *device;
    CUmemoryPool next;        /* of all there are */
    uint64_t used, used_high; /* bytes, under the simulator's lock */
    uint64_t reserved, reserved_high;
    uint64_t threshold; /* CU_MEMPOOL_ATTR_RELEASE_THRESHOLD */
    int reuse[3];       /* the three CU_MEMPOOL_ATTR_REUSE_… */
    uint64_t most;      /* 0: as much as the device has */
    bool destroyed;     /* by the program; it goes with the last that was taken from it */
};

/* With a pool that is not, or no more, CUDA reads what lies there; this one ends the program, so that it is noticed. */
void pool_must_be(CUmemoryPool pool);
/* A high watermark of 0 begins anew with what there is; with the simulator's lock held. */
void pool_reset_high(CUmemoryPool pool);

CUmemoryPool pool_create(struct device *device, uint64_t most);
void pool_destroy(CUmemoryPool pool);
/* The device's own pool. */
CUmemoryPool pool_default(struct device *device);
/* What cuMemAllocAsync takes from now. */
CUmemoryPool pool_current(struct device *device);

/* Counts bytes as taken. False when the pool may not have so many. */
bool pool_use(CUmemoryPool pool, size_t size);
void pool_unuse(CUmemoryPool pool, size_t size);

/* Gives back what it holds beyond LEAST bytes and is not used. */
void pool_trim(CUmemoryPool pool, uint64_t least);
/* The device was waited for: its pools give back what they hold beyond their thresholds. */
void pool_settle(struct device *device);

#endif
