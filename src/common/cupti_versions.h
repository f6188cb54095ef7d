/*
 * Where a libcupti may lie: one order of search for the library, which loads it, and for `gputrace doctor`.
 */
#ifndef GPUTRACE_COMMON_CUPTI_VERSIONS_H
#define GPUTRACE_COMMON_CUPTI_VERSIONS_H

#include <stdint.h>

#define CUPTI_OLDEST 18 /* what cuptiGetVersion() says of CUDA 11.8's: an older one crashes programs */

/*
 * Calls TRY with one name for dlopen() after the other, until it gives non-zero; returns that, else 0:
 *   1. PREFERRED (the setting GPUTRACE_CUPTI; NULL or "": none), whether it exists or not
 *   2. those that exist in the folders of LD_LIBRARY_PATH, for it says which CUDA this program shall use
 *   3. those that exist in the toolkits $CUDA_HOME, $CUDA_PATH and /usr/local/cuda
 *   4. bare sonames, newest first, for the rest of the loader's own search
 * PATH is valid during the call alone. Nothing is loaded, allocated or printed here.
 */
int cupti_path_each(const char *preferred, int (*try)(void *context, const char *path), void *context);

/*
 * How long CUPTI's activity records are, by kind and version.
 *
 * The library asks the CUPTI at hand (agent/cupti/activity_walk.h) and writes the answers into the spool's header.
 * This table is what both processes fall back on for a kind that has no answer there.
 */

/* Versions as cuptiGetVersion() returns them. CUDA 12.1 is 19 too, CUDA 12.9 is 27 and 28; there is no 25. */
enum {
    CUPTI_11_8 = 18,
    CUPTI_12_0 = 19,
    CUPTI_12_2 = 20,
    CUPTI_12_3 = 21,
    CUPTI_12_4 = 22,
    CUPTI_12_5 = 23,
    CUPTI_12_6 = 24,
    CUPTI_12_8 = 26,
    CUPTI_13_0 = 130000,
    CUPTI_13_1 = 130100, /* its kernels are longer, 13.2's devices and contexts: not in the table */
};

/*
 * X(number, kind, since, bytes, type): from version `since` on, up to the kind's next row, a record of
 * CUPTI_ACTIVITY_KIND_<kind>, which is <number>, is a CUpti_Activity<type> of <bytes>.
 *
 * From CUPTI's release notes ("is deprecated and replaced by"), which do not mention Device5: the headers of 12.3 have
 * it. Measured with the libraries of 11.8, 12.4 and 13.0. trace/spool/cupti_sizes.c compares all rows with the headers
 * at hand.
 */
#define CUPTI_RECORDS(X)                                     \
    X(1, MEMCPY, CUPTI_11_8, 88, Memcpy5)                    \
    X(1, MEMCPY, CUPTI_12_8, 96, Memcpy6)                    \
    X(2, MEMSET, CUPTI_11_8, 88, Memset4)                    \
    X(3, KERNEL, CUPTI_11_8, 200, Kernel8)                   \
    X(3, KERNEL, CUPTI_12_0, 208, Kernel9)                   \
    X(3, KERNEL, CUPTI_13_0, 216, Kernel10)                  \
    X(4, DRIVER, CUPTI_11_8, 40, API)                        \
    X(5, RUNTIME, CUPTI_11_8, 40, API)                       \
    X(8, DEVICE, CUPTI_11_8, 176, Device4)                   \
    X(8, DEVICE, CUPTI_12_3, 184, Device5)                   \
    X(9, CONTEXT, CUPTI_11_8, 16, Context)                   \
    X(9, CONTEXT, CUPTI_12_4, 24, Context2)                  \
    X(9, CONTEXT, CUPTI_12_5, 32, Context3)                  \
    X(10, CONCURRENT_KERNEL, CUPTI_11_8, 200, Kernel8)       \
    X(10, CONCURRENT_KERNEL, CUPTI_12_0, 208, Kernel9)       \
    X(10, CONCURRENT_KERNEL, CUPTI_13_0, 216, Kernel10)      \
    X(17, OVERHEAD, CUPTI_11_8, 40, Overhead)                \
    X(17, OVERHEAD, CUPTI_12_2, 48, Overhead2)               \
    X(17, OVERHEAD, CUPTI_12_4, 56, Overhead3)               \
    X(22, MEMCPY2, CUPTI_11_8, 96, MemcpyPtoP4)              \
    X(36, CUDA_EVENT, CUPTI_11_8, 24, CudaEvent)             \
    X(36, CUDA_EVENT, CUPTI_12_8, 56, CudaEvent2)            \
    X(37, STREAM, CUPTI_11_8, 24, Stream)                    \
    X(38, SYNCHRONIZATION, CUPTI_11_8, 40, Synchronization)  \
    X(38, SYNCHRONIZATION, CUPTI_12_8, 56, Synchronization2) \
    X(48, INTERNAL_LAUNCH_API, CUPTI_11_8, 40, API)          \
    X(51, GRAPH_TRACE, CUPTI_11_8, 48, GraphTrace)           \
    X(51, GRAPH_TRACE, CUPTI_12_3, 56, GraphTrace2)          \
    X(52, JIT, CUPTI_11_8, 64, Jit)                          \
    X(52, JIT, CUPTI_12_4, 72, Jit2)

/* Bytes of a record of KIND; 0: the table does not know the kind or the version. */
uint16_t cupti_record_bytes(uint32_t kind, uint32_t version);

#endif
