/*
 * Compiling PTX as the driver does: it takes its time, and what was compiled once is found in the cache from then on.
 * The cache is a folder when CUDA_CACHE_PATH names one, else it lives as long as the process; CUDA_CACHE_DISABLE=1:
 * there is none. Nothing is really compiled.
 */
#ifndef SIMGPU_CORE_JIT_H
#define SIMGPU_CORE_JIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What was done, for its record. */
struct jit_step {
    uint64_t start, end; /* ns */
    uint64_t unit;       /* those of one compilation have the same number */
    uint64_t cache_size; /* bytes, at most */
    const char *cache_path;
};

/* Compiles, or takes from the cache, SIZE bytes of PTX, compressed or not. Told to CUPTI in records. */
void jit_compile(const void *ptx, size_t size);

#endif
