/*
 * What differs between x86-64 and aarch64, in one place: the counter of time, and addresses of code with a signature.
 * On other processors operators of PyTorch are not recorded, and stacks are neither copied nor recalled.
 */
#ifndef GPUTRACE_COMMON_MACHINE_H
#define GPUTRACE_COMMON_MACHINE_H

#include <elf.h>
#include <stdint.h>

/* The number that ELF files have for this processor; EM_NONE: one that gputrace does not know. */
#if defined(__x86_64__)
#define MACHINE EM_X86_64
#elif defined(__aarch64__)
#define MACHINE EM_AARCH64
#else
#define MACHINE EM_NONE
#endif

/* Returns the counter by which the kernel tells the time, in units of its own. 0 on unknown processors. */
static inline uint64_t machine_counter(void)
{
#if defined(__x86_64__)
    return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
    uint64_t count;
    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(count));
    return count;
#else
    return 0;
#endif
}

/* Returns the units of the counter in a second, or 0 if the processor does not say. */
static inline uint64_t machine_counter_rate(void)
{
    uint64_t rate = 0;
#if defined(__aarch64__)
    __asm__("mrs %0, cntfrq_el0" : "=r"(rate));
#endif
    return rate;
}

/* Returns a return address of a program for MACHINE without its signature: aarch64 signs those on the stack, in the bits
 * that no address of a program uses (pointer authentication). */
static inline uint64_t machine_code_address(uint16_t machine, uint64_t address)
{
    return machine == EM_AARCH64 ? address & ((UINT64_C(1) << 48) - 1) : address;
}

#endif
