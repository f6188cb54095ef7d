/*
 * What can be recorded: the groups that --trace names, and CUPTI's activity kinds, a row each. All that differs from
 * kind to kind follows from its row: what the agent enables, the sizes of records, how the tool decodes them, and which
 * functions of the passes get them. The simulated GPU takes the sizes from here, too.
 */
#ifndef GPUTRACE_COMMON_RECORD_KINDS_H
#define GPUTRACE_COMMON_RECORD_KINDS_H

/* What can be recorded, by its name for `--trace`; `all` means everything that is on by default.
 *      bit      name on the command line, on by default, what it is */
#define TRACE_BITS(X)                                                                      \
    X(KERNEL, "kernel", 1, "kernels")                                                      \
    X(MEMCPY, "memcpy", 1, "copies of every kind, peer to peer too")                       \
    X(MEMSET, "memset", 1, "memory sets")                                                  \
    X(RUNTIME, "runtime", 1, "CUDA runtime calls")                                         \
    X(DRIVER, "driver", 1, "CUDA driver calls that the program makes itself")              \
    X(SYNC, "sync", 1, "synchronisation: who waited for what")                             \
    X(EVENT, "event", 1, "CUDA events")                                                    \
    X(STREAM, "stream", 1, "streams and contexts")                                         \
    X(GRAPH, "graph", 1, "CUDA graphs")                                                    \
    X(MEMORY, "memory", 1, "allocations and releases")                                     \
    X(NVTX, "nvtx", 1, "NVTX ranges, marks and names")                                     \
    X(COMPILE, "compile", 1, "module loads, compilation, captures of graphs")              \
    X(OVERHEAD, "overhead", 0, "CUPTI's own overhead")                                     \
    X(EVENT_TIMES, "event-times", 0, "when the GPU came to each CUDA event")               \
    X(API_ALL, "api-all", 0, "API calls that only ask, too (api_classes.list)")            \
    X(UNIFIED_MEMORY, "unified-memory", 0, "migrations and page faults of managed memory") \
    X(TORCH, "torch", 0, "PyTorch's operators and record_function() ranges")               \
    X(TORCH_SHAPES, "torch-shapes", 0, "the same, with the shapes of inputs")              \
    X(NCCL, "nccl", 0, "what NCCL tells a profiler plugin")

enum trace_index {
#define BIT(name, word, on, text) TRACE_INDEX_##name,
    TRACE_BITS(BIT)
#undef BIT
};

enum trace_bits {
#define BIT(name, word, on, text) TRACE_##name = 1 << TRACE_INDEX_##name,
    TRACE_BITS(BIT)
#undef BIT
#define BIT(name, word, on, text) | ((on) << TRACE_INDEX_##name)
        TRACE_DEFAULT = 0 TRACE_BITS(BIT),
#undef BIT
#define BIT(name, word, on, text) | TRACE_##name
    TRACE_OF_TORCH = TRACE_TORCH | TRACE_TORCH_SHAPES,
    TRACE_OF_CUDA = (0 TRACE_BITS(BIT)) & ~(TRACE_NVTX | TRACE_OF_TORCH | TRACE_NCCL),
#undef BIT
};

/* Versions as cuptiGetVersion() returns them. CUDA 12.1 is 19 too, CUDA 12.9 is 27 and 28; there is no 25. */
enum {
    CUPTI_11_8 = 18, /* the oldest that works */
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

/*
 * X(number, kind, --trace groups, when it is on, sizes, event, decode, type, last, index, resolve, write, cause)
 *   CUPTI_ACTIVITY_KIND_<kind> is <number>; enum cupti_kind_on (common/cupti.h) has when it is on. Its records become an
 *   EVENT_<event>. decode() of trace/spool/cupti.c reads a record as a CUpti_Activity<type>; it must be long enough for
 *   the field <last>. The three passes call index(), resolve() and write(), which lie in the file of their topic in
 *   trace/meaning; several threads scan API calls and GPU operations before (index_pass.c). CAUSE: enum event_cause.
 *
 * ALSO(number, kind, groups, when, sizes, event, decode, type, last)
 *   Another kind whose records become such an event, or none: TYPE_NONE.
 *
 * SIZE(since, bytes, type): from version <since> up to the next SIZE, its record is a CUpti_Activity<type> of <bytes>.
 *
 * Work of a GPU comes first: event_is_gpu_work().
 *
 * Sizes are from CUPTI's release notes ("is deprecated and replaced by"), which do not mention Device5: the headers of
 * 12.3 have it. Measured with the libraries of 11.8, 12.4 and 13.0; trace/spool/cupti.c compares them with the headers.
 *
 * The group `sync` has no kind: SYNCHRONIZATION and CUDA_EVENT each make every launch 0.1 us longer (13.0), so the
 * agent records waits from their calls (recorder.c) unless the GPU is asked for the times of events. Switched on
 * late (13.0), neither of the two reports all without the other.
 */
/* clang-format off */
#define CUPTI_KINDS(X, ALSO)                                                                                          \
    X(10, CONCURRENT_KERNEL, TRACE_KERNEL, RECORDING, CUPTI_KERNEL_SIZES,                                             \
      KERNEL, decode_kernel, Kernel10, name,                                                                          \
      index_gpu_op, resolve_gpu_op, write_gpu_op, STARTED_BY_CALL)                                                    \
    ALSO(3, KERNEL, 0, NEVER, CUPTI_KERNEL_SIZES,                                                                     \
         KERNEL, decode_kernel, Kernel10, name)                                                                       \
    X(1, MEMCPY, TRACE_MEMCPY, RECORDING, SIZE(CUPTI_11_8, 88, Memcpy5) SIZE(CUPTI_12_8, 96, Memcpy6),                \
      MEMCPY, decode_memcpy, Memcpy6, correlationId,                                                                  \
      index_gpu_op, resolve_gpu_op, write_gpu_op, STARTED_BY_CALL)                                                    \
    ALSO(22, MEMCPY2, TRACE_MEMCPY, RECORDING, SIZE(CUPTI_11_8, 96, MemcpyPtoP4),                                     \
         MEMCPY, decode_peer_copy, MemcpyPtoP4, correlationId)                                                        \
    X(2, MEMSET, TRACE_MEMSET, RECORDING, SIZE(CUPTI_11_8, 88, Memset4),                                              \
      MEMSET, decode_memset, Memset4, memoryKind,                                                                     \
      index_gpu_op, resolve_gpu_op, write_gpu_op, STARTED_BY_CALL)                                                    \
    X(51, GRAPH_TRACE, TRACE_GRAPH, RECORDING, SIZE(CUPTI_11_8, 48, GraphTrace) SIZE(CUPTI_12_3, 56, GraphTrace2),    \
      GRAPH, decode_graph, GraphTrace2, streamId,                                                                     \
      index_gpu_op, resolve_gpu_op, write_gpu_op, STARTED_BY_CALL)                                                    \
    X(5, RUNTIME, TRACE_RUNTIME, RECORDING, SIZE(CUPTI_11_8, 40, API),                                                \
      API, decode_api, API, returnValue,                                                                              \
      no_index, resolve_api, write_api, ON_THREAD)                                                                    \
    ALSO(4, DRIVER, TRACE_DRIVER, RECORDING, SIZE(CUPTI_11_8, 40, API),                                               \
         API, decode_api, API, returnValue)                                                                           \
    X(38, SYNCHRONIZATION, TRACE_EVENT_TIMES, RECORDING,                                                              \
      SIZE(CUPTI_11_8, 40, Synchronization) SIZE(CUPTI_12_8, 56, Synchronization2),                                   \
      SYNC, decode_sync, Synchronization2, cudaEventId,                                                               \
      index_sync, resolve_sync, write_sync, WITHIN_CALL)                                                              \
    X(36, CUDA_EVENT, TRACE_EVENT_TIMES, RECORDING, SIZE(CUPTI_11_8, 24, CudaEvent) SIZE(CUPTI_12_8, 56, CudaEvent2), \
      CUDA_EVENT, decode_cuda_event, CudaEvent2, eventId,                                                             \
      index_cuda_event, no_resolve, write_cuda_event, STARTED_BY_CALL)                                                \
    X(17, OVERHEAD, TRACE_OVERHEAD, RECORDING,                                                                        \
      SIZE(CUPTI_11_8, 40, Overhead) SIZE(CUPTI_12_2, 48, Overhead2) SIZE(CUPTI_12_4, 56, Overhead3),                 \
      OVERHEAD, decode_overhead, Overhead3, end,                                                                      \
      index_overhead, no_resolve, write_overhead, ON_THREAD)                                                          \
    X(25, UNIFIED_MEMORY_COUNTER, TRACE_UNIFIED_MEMORY, RECORDING,                                                    \
      SIZE(CUPTI_11_8, 64, UnifiedMemoryCounter2) SIZE(CUPTI_13_0, 104, UnifiedMemoryCounter3),                       \
      UNIFIED_MEMORY, decode_unified_memory, UnifiedMemoryCounter2, flags,                                            \
      index_unified_memory, resolve_unified_memory, write_unified_memory, NO_CALL)                                    \
    X(52, JIT, TRACE_COMPILE, RECORDING, SIZE(CUPTI_11_8, 64, Jit) SIZE(CUPTI_12_4, 72, Jit2),                        \
      JIT, decode_jit, Jit2, correlationId,                                                                           \
      index_jit, no_resolve, no_write, WITHIN_CALL) /* written with the phases */                                     \
    X(8, DEVICE, TRACE_OF_CUDA, AT_START, SIZE(CUPTI_11_8, 176, Device4) SIZE(CUPTI_12_3, 184, Device5),              \
      DEVICE, decode_device, Device5, name,                                                                           \
      index_device, no_resolve, no_write, NO_CALL)                                                                    \
    X(9, CONTEXT, TRACE_OF_CUDA, AT_START,                                                                            \
      SIZE(CUPTI_11_8, 16, Context) SIZE(CUPTI_12_4, 24, Context2) SIZE(CUPTI_12_5, 32, Context3),                    \
      CONTEXT, decode_context, Context3, deviceId,                                                                    \
      index_context, no_resolve, no_write, NO_CALL)                                                                   \
    ALSO(37, STREAM, 0, NEVER, SIZE(CUPTI_11_8, 24, Stream), TYPE_NONE, NULL, Stream, streamId)                       \
    ALSO(48, INTERNAL_LAUNCH_API, 0, NEVER, SIZE(CUPTI_11_8, 40, API), TYPE_NONE, NULL, API, cbid)
/* clang-format on */

#define CUPTI_KERNEL_SIZES SIZE(CUPTI_11_8, 200, Kernel8) SIZE(CUPTI_12_0, 208, Kernel9) SIZE(CUPTI_13_0, 216, Kernel10)

#endif
