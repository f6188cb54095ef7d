/*
 * Computes how many blocks of a kernel a multiprocessor runs at once.
 *
 * Allocation rules from the CUDA C++ Programming Guide, "Compute Capabilities": registers are given to warps in units
 * of 256, from the quarter of the register file that a warp's scheduler owns; shared memory is given in units of 128
 * bytes (256 before 8.x), and from 8.x on the system takes 1 KiB of each block.
 */
#ifndef GPUTRACE_COMMON_MULTIPROCESSOR_H
#define GPUTRACE_COMMON_MULTIPROCESSOR_H

#include <stdbool.h>
#include <stdint.h>

struct multiprocessor {
    uint32_t major;                                  /* major number of the compute capability */
    uint32_t warp_size;                              /* threads of a warp */
    uint32_t warps, blocks, registers, shared_bytes; /* largest numbers that the multiprocessor holds */
};

static inline uint32_t multiprocessor_round_up(uint32_t value, uint32_t unit)
{
    return (value + unit - 1) / unit * unit;
}

static inline uint32_t multiprocessor_warps_by_registers(const struct multiprocessor *one, uint32_t registers)
{
    enum { REGISTER_UNIT = 256, SCHEDULERS = 4 };
    uint32_t of_warp = multiprocessor_round_up(registers * one->warp_size, REGISTER_UNIT);
    return of_warp ? one->registers / SCHEDULERS / of_warp * SCHEDULERS : one->warps;
}

static inline uint32_t multiprocessor_blocks_by_shared(const struct multiprocessor *one, uint32_t shared_bytes)
{
    uint32_t reserved = one->major >= 8 ? 1024 : 0;
    uint32_t taken = multiprocessor_round_up(shared_bytes + reserved, one->major >= 8 ? 128 : 256);
    return taken ? one->shared_bytes / taken : one->blocks;
}

/* Returns the largest number of blocks that a multiprocessor runs, however small they are, by compute capability:
 * traces do not have this number. MAJOR 0 means unknown, which is taken for 9.0. */
static inline uint32_t multiprocessor_most_blocks(int64_t major, int64_t minor)
{
    if (major == 7)
        return minor == 5 ? 16 : 32;
    if (major == 8)
        return minor == 0 ? 32 : minor == 9 ? 24 : 16;
    bool few = major == 12 || (major == 10 && minor == 1) || (major == 11 && minor == 0);
    return few ? 24 : 32;
}

/* Returns how many blocks run at once with THREADS threads, REGISTERS registers of each thread and SHARED_BYTES bytes
 * of shared memory. Returns 0 if not even one fits, or if the numbers are from a damaged record. */
static inline uint32_t multiprocessor_blocks(const struct multiprocessor *one, uint32_t threads, uint32_t registers,
                                             uint32_t shared_bytes)
{
    if (threads == 0 || threads > 1u << 16 || registers > 1u << 16 || shared_bytes > 1u << 30 || one->warp_size == 0 ||
        one->warp_size > 1024)
        return 0;
    uint32_t warps = (threads + one->warp_size - 1) / one->warp_size;
    uint32_t by_warps = one->warps / warps, by_registers = multiprocessor_warps_by_registers(one, registers) / warps;
    uint32_t by_shared = multiprocessor_blocks_by_shared(one, shared_bytes), most = one->blocks;
    most = by_warps < most ? by_warps : most;
    most = by_registers < most ? by_registers : most;
    return by_shared < most ? by_shared : most;
}

#endif
