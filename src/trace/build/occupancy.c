#include "trace/build/occupancy.h"

/*
 * Allocation rules from the CUDA C++ Programming Guide, "Compute Capabilities": registers are given to warps in units
 * of 256, from the quarter of the register file that a warp's scheduler owns; shared memory is given in units of 128
 * bytes (256 before 8.x), and from 8.x on the system takes 1 KiB of each block.
 */
enum { REGISTER_UNIT = 256, SCHEDULERS = 4 };

static uint32_t up_to_multiple(uint32_t value, uint32_t unit)
{
    return (value + unit - 1) / unit * unit;
}

static uint32_t least(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

static uint32_t blocks_by_registers(const struct device *device, uint32_t warps, uint32_t registers)
{
    uint32_t warp_registers = up_to_multiple(registers * device->warp_size, REGISTER_UNIT);
    if (warp_registers == 0)
        return UINT32_MAX;
    uint32_t warps_held = device->registers_per_multiprocessor / SCHEDULERS / warp_registers * SCHEDULERS;
    return warps_held / up_to_multiple(warps, SCHEDULERS);
}

static uint32_t blocks_by_shared(const struct device *device, uint32_t shared)
{
    uint32_t reserved = device->major >= 8 ? 1024 : 0;
    uint32_t taken = up_to_multiple(shared + reserved, device->major >= 8 ? 128 : 256);
    return taken ? device->shared_per_multiprocessor / taken : UINT32_MAX;
}

uint32_t occupancy_blocks(const struct device *device, uint32_t threads, uint32_t registers, uint32_t shared)
{
    if (threads == 0 || threads > 1u << 16 || registers > 1u << 16 || shared > 1u << 30 || device->warp_size == 0 ||
        device->warp_size > 1024)
        return 0; /* from a damaged record */
    uint32_t warps = (threads + device->warp_size - 1) / device->warp_size;
    uint32_t blocks = device->max_blocks_per_multiprocessor;
    blocks = least(blocks, device->max_warps_per_multiprocessor / warps);
    blocks = least(blocks, blocks_by_registers(device, warps, registers));
    return least(blocks, blocks_by_shared(device, shared));
}

static double product(const int32_t size[3])
{
    return (double)size[0] * (double)size[1] * (double)size[2];
}

struct occupancy occupancy_of(const struct device *device, const struct event *kernel)
{
    struct occupancy result = {0};
    if (!device || device->multiprocessors == 0 || device->warp_size == 0)
        return result;
    double threads = product(kernel->kernel.block);
    result.blocks_per_multiprocessor = product(kernel->kernel.grid) / device->multiprocessors;
    result.warps_per_multiprocessor = result.blocks_per_multiprocessor * (threads / device->warp_size);
    if (threads < 1 || threads > 65536 || device->max_warps_per_multiprocessor == 0)
        return result;
    uint32_t held = occupancy_blocks(device, (uint32_t)threads, kernel->kernel.registers,
                                     kernel->kernel.static_shared + kernel->kernel.dynamic_shared);
    double blocks = result.blocks_per_multiprocessor < held ? result.blocks_per_multiprocessor : held;
    double filled = blocks * threads / ((double)device->max_warps_per_multiprocessor * device->warp_size);
    result.percent = (int)(100.0 * (filled > 1 ? 1 : filled < 0 ? 0 : filled) + 0.5);
    return result;
}
