/*
 * What the fuzz targets share. Each target is one C file with LLVMFuzzerTestOneInput(), linked by clang with libFuzzer
 * and with objects of the tool, or of the library, that were built under the address and undefined sanitizers.
 *
 * A target may crash only by a fault of what it calls: what it checks itself it checks with FUZZ_HOLDS.
 */
#ifndef GPUTRACE_TESTS_FUZZ_FUZZ_H
#define GPUTRACE_TESTS_FUZZ_FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Takes bytes from the front of an input, then zeros. */
struct fuzz_bytes {
    const uint8_t *at;
    size_t left;
};

static inline void fuzz_take(struct fuzz_bytes *bytes, void *out, size_t size)
{
    size_t there = size < bytes->left ? size : bytes->left;
    memset(out, 0, size);
    if (there > 0)
        memcpy(out, bytes->at, there);
    bytes->at += there;
    bytes->left -= there;
}

static inline uint64_t fuzz_number(struct fuzz_bytes *bytes, size_t size)
{
    uint64_t number = 0;
    fuzz_take(bytes, &number, size);
    return number;
}

/* A copy of SIZE bytes at most that ends where its memory ends, so that the sanitizer sees a step beyond; freed by the
 * caller. It is aligned as malloc() aligns. *SIZE becomes what there is. */
static inline uint8_t *fuzz_copy(struct fuzz_bytes *bytes, size_t *size)
{
    *size = *size < bytes->left ? *size : bytes->left;
    uint8_t *copy = malloc(*size ? *size : 1);
    if (!copy)
        abort();
    fuzz_take(bytes, copy, *size);
    return copy;
}

/* What must be so whatever the input was. */
#define FUZZ_HOLDS(condition)                                                              \
    do {                                                                                   \
        if (!(condition)) {                                                                \
            fprintf(stderr, "%s:%d: does not hold: " #condition "\n", __FILE__, __LINE__); \
            abort();                                                                       \
        }                                                                                  \
    } while (0)

/* Reads every byte of what was given, so that a sanitizer sees those that are not there. */
static inline uint64_t fuzz_touch(const void *bytes, size_t size)
{
    static volatile uint64_t sum;
    uint64_t here = 0;
    for (size_t i = 0; i < size; i++)
        here += ((const uint8_t *)bytes)[i];
    sum += here;
    return here;
}

#endif
