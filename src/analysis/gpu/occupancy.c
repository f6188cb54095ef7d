/*
 * Fills struct multiprocessor with the numbers of the trace, and computes by common/multiprocessor.h.
 */
#include "analysis/gpu/occupancy.h"

#include "common/multiprocessor.h"
#include "analysis/engine/trace.h"

enum { WARP = 32 };

static uint32_t number(int64_t value)
{
    return value <= 0 ? 0 : value >= UINT32_MAX ? UINT32_MAX : (uint32_t)value;
}

int64_t device_blocks(const struct trace_device *device, const struct block_shape *shape)
{
    const struct multiprocessor known = {
        .major = device->major > 0 ? number(device->major) : 9,
        .warp_size = WARP,
        .warps = number(device->threads) / WARP,
        .blocks = multiprocessor_most_blocks(device->major, device->minor),
        .registers = device->registers > 0 ? number(device->registers) : UINT32_MAX,
        .shared_bytes = device->shared_bytes > 0 ? number(device->shared_bytes) : UINT32_MAX,
    };
    return multiprocessor_blocks(&known, number(shape->threads), number(shape->registers), number(shape->shared_bytes));
}

int64_t device_occupancy(const struct trace_device *device, const struct block_shape *shape)
{
    int64_t warps = (shape->threads + WARP - 1) / WARP, all = device->threads / WARP;
    int64_t blocks = device_blocks(device, shape);
    return blocks > 0 ? blocks * warps * 100 / all : 0;
}
