/*
 * CUPTI's activity kinds, a row each: which --trace group asks for the kind, when it is on, and how long its records
 * are.
 *
 * The agent enables kinds by this table (agent/cupti/activity_kinds.c). It asks the CUPTI at hand for the sizes of
 * records and writes them into the spool's header. For a kind without a size there, both processes use the table's
 * size. trace/spool/event_record.h shows what the tool decodes.
 */
#ifndef GPUTRACE_COMMON_CUPTI_H
#define GPUTRACE_COMMON_CUPTI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/settings.h"

/* Versions as cuptiGetVersion() returns them. CUDA 12.1 is 19 too, CUDA 12.9 is 27 and 28; there is no 25. */
enum {
    CUPTI_11_8 = 18, /* the oldest that works: an older one crashes programs */
    CUPTI_12_0 = 19,
    CUPTI_12_2 = 20,
    CUPTI_12_3 = 21,
    CUPTI_12_4 = 22,
    CUPTI_12_5 = 23,
    CUPTI_12_6 = 24,
    CUPTI_12_8 = 26,
    CUPTI_13_0 = 130000,
    CUPTI_13_1 = 130100, /* not in the table: longer kernels; from 13.2 on also devices and contexts */
};

enum cupti_kind_on {
    CUPTI_KIND_NEVER,     /* never enabled, but CUPTI may write such records */
    CUPTI_KIND_AT_START,  /* enabled from start to end, because its records come once */
    CUPTI_KIND_RECORDING, /* enabled while recording is on */
};

/*
 * X(number, kind, --trace groups, when it is on, sizes): CUPTI_ACTIVITY_KIND_<kind>, which is <number>.
 * SIZE(since, bytes, type): from version <since> up to the next SIZE, its record is a CUpti_Activity<type> of <bytes>.
 *
 * Sizes are from CUPTI's release notes ("is deprecated and replaced by"), which do not mention Device5: the headers of
 * 12.3 have it. Measured with the libraries of 11.8, 12.4 and 13.0; trace/spool/cupti.c compares them with the headers.
 *
 * The group `sync` has no kind: SYNCHRONIZATION and CUDA_EVENT each make every launch 0.1 us longer (13.0), so the
 * agent records waits from their calls (record_events.c) unless the GPU is asked for the times of events. Switched on
 * late (13.0), neither of the two reports all without the other.
 */
#define CUPTI_KINDS(X)                                                                                                \
    X(1, MEMCPY, TRACE_MEMCPY, RECORDING, SIZE(CUPTI_11_8, 88, Memcpy5) SIZE(CUPTI_12_8, 96, Memcpy6))                \
    X(2, MEMSET, TRACE_MEMSET, RECORDING, SIZE(CUPTI_11_8, 88, Memset4))                                              \
    X(3, KERNEL, 0, NEVER, CUPTI_KERNEL_SIZES)                                                                        \
    X(4, DRIVER, TRACE_DRIVER, RECORDING, SIZE(CUPTI_11_8, 40, API))                                                  \
    X(5, RUNTIME, TRACE_RUNTIME, RECORDING, SIZE(CUPTI_11_8, 40, API))                                                \
    X(8, DEVICE, TRACE_OF_CUDA, AT_START, SIZE(CUPTI_11_8, 176, Device4) SIZE(CUPTI_12_3, 184, Device5))              \
    X(9, CONTEXT, TRACE_OF_CUDA, AT_START,                                                                            \
      SIZE(CUPTI_11_8, 16, Context) SIZE(CUPTI_12_4, 24, Context2) SIZE(CUPTI_12_5, 32, Context3))                    \
    X(10, CONCURRENT_KERNEL, TRACE_KERNEL, RECORDING, CUPTI_KERNEL_SIZES)                                             \
    X(17, OVERHEAD, TRACE_OVERHEAD, RECORDING,                                                                        \
      SIZE(CUPTI_11_8, 40, Overhead) SIZE(CUPTI_12_2, 48, Overhead2) SIZE(CUPTI_12_4, 56, Overhead3))                 \
    X(22, MEMCPY2, TRACE_MEMCPY, RECORDING, SIZE(CUPTI_11_8, 96, MemcpyPtoP4))                                        \
    X(25, UNIFIED_MEMORY_COUNTER, TRACE_UNIFIED_MEMORY, RECORDING,                                                    \
      SIZE(CUPTI_11_8, 64, UnifiedMemoryCounter2) SIZE(CUPTI_13_0, 104, UnifiedMemoryCounter3))                       \
    X(36, CUDA_EVENT, TRACE_EVENT_TIMES, RECORDING, SIZE(CUPTI_11_8, 24, CudaEvent) SIZE(CUPTI_12_8, 56, CudaEvent2)) \
    X(37, STREAM, 0, NEVER, SIZE(CUPTI_11_8, 24, Stream))                                                             \
    X(38, SYNCHRONIZATION, TRACE_EVENT_TIMES, RECORDING,                                                              \
      SIZE(CUPTI_11_8, 40, Synchronization) SIZE(CUPTI_12_8, 56, Synchronization2))                                   \
    X(48, INTERNAL_LAUNCH_API, 0, NEVER, SIZE(CUPTI_11_8, 40, API))                                                   \
    X(51, GRAPH_TRACE, TRACE_GRAPH, RECORDING, SIZE(CUPTI_11_8, 48, GraphTrace) SIZE(CUPTI_12_3, 56, GraphTrace2))    \
    X(52, JIT, TRACE_COMPILE, RECORDING, SIZE(CUPTI_11_8, 64, Jit) SIZE(CUPTI_12_4, 72, Jit2))

#define CUPTI_KERNEL_SIZES SIZE(CUPTI_11_8, 200, Kernel8) SIZE(CUPTI_12_0, 208, Kernel9) SIZE(CUPTI_13_0, 216, Kernel10)

struct cupti_kind {
    uint32_t number;
    enum cupti_kind_on on;
    uint64_t groups; /* enum trace_bits */
    struct {
        uint32_t since;
        uint16_t bytes;
    } sizes[4]; /* unused entries are 0 */
};

#define ONE(...) +1
enum { CUPTI_KIND_COUNT = CUPTI_KINDS(ONE) };
#undef ONE
extern const struct cupti_kind cupti_kinds[CUPTI_KIND_COUNT];

/* Returns the bytes of a record of KIND, or 0 if the table does not have the kind or the version. */
uint16_t cupti_record_bytes(uint32_t kind, uint32_t version);

/* --- where a libcupti is searched --- */

/* The agent, which loads a libcupti, and `gputrace doctor` search it in one order. */

#define CUPTI_OLDEST 18 /* cuptiGetVersion() of CUDA 11.8: older versions crash programs */

/*
 * Calls TRY with one name for dlopen() after another, until TRY returns non-zero. Returns its last result. The order:
 *   1. PREFERRED (the setting GPUTRACE_CUPTI; NULL or "": none), whether it exists or not
 *   2. existing files in the folders of LD_LIBRARY_PATH, which selects the CUDA of this program
 *   3. files of NVIDIA's wheels (nvidia-cuda-cupti) beside other Python packages that this process has loaded
 *   4. existing files in the toolkits $CUDA_HOME, $CUDA_PATH and /usr/local/cuda
 *   5. files of the wheels in $VIRTUAL_ENV, in $CONDA_PREFIX, and in the environment that gputrace is installed in
 *   6. bare sonames, newest first, for the rest of the loader's own search
 * PATH is valid only during the call. Nothing is loaded or printed.
 */
int cupti_path_each(const char *preferred, int (*try)(void *context, const char *path), void *context);

/* --- classes of functions --- */

/*
 * The class of each function of CUDA's API, which decides whether its calls are recorded by default. The table is
 * api_classes.list. The agent enables only the calls that are recorded. An old CUPTI cannot enable single functions;
 * the tool drops the superfluous calls.
 */

enum api_class {
    API_ACTION, /* also functions that are not in the table */
    API_QUERY,
    API_STATUS,
};

/* Return the class of the function with CUPTI's callback id CBID. */
enum api_class api_runtime_class(uint32_t cbid);
enum api_class api_driver_class(uint32_t cbid);

/* Returns whether calls of functions of CLASS are recorded with TRACE_BITS (common/settings.h). */
bool api_class_recorded(enum api_class class, uint64_t trace_bits);

#endif
