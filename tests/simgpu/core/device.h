/* The simulated devices. Their figures are those of an NVIDIA H200, but for the name and the memory. */
#ifndef SIMGPU_CORE_DEVICE_H
#define SIMGPU_CORE_DEVICE_H

#include <stdbool.h>
#include <stdint.h>

#include <cuda.h>

enum { DEVICE_MOST = 8 };

struct device {
    int ordinal;
    uint64_t used;     /* bytes allocated */
    CUcontext primary; /* NULL until it is retained */
    unsigned primary_references, primary_flags;
    CUmemoryPool default_pool, pool; /* pool: what cuMemAllocAsync takes from */
    bool peers[DEVICE_MOST];         /* to whose memory access was enabled */
};

/* How many there are: 0 when SIMGPU_NO_DEVICE is set. */
int device_count(void);
/* NULL when ORDINAL is none of them. */
struct device *device_get(int ordinal);
void device_uuid(const struct device *device, CUuuid *uuid);
/* False when this attribute is not known. */
bool device_attribute(const struct device *device, CUdevice_attribute attribute, int *value);

#endif
