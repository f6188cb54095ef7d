#include <cupti_activity.h>
#include <cupti_activity_deprecated.h>

#include "tool/decode/cupti.h"

/*
 * Record sizes by version, for spools whose writer had not learnt them when it died. A version's row holds from its
 * first number, as cuptiGetVersion tells it, up to the next row's. Seen on machines: kernel, copy and API of
 * 11.8, 12.9 and 13.0; the rest follows from the structures that those headers declare as current.
 */
enum { CUPTI_11_8 = 0, CUPTI_12_9 = 19, CUPTI_12_4 = 22, CUPTI_13_0 = 130000 };

/*      kind                11.8                            12.9                            13.0 */
#define KINDS(X)                                                                                                      \
    X(CONCURRENT_KERNEL, CUpti_ActivityKernel8, CUpti_ActivityKernel9, CUpti_ActivityKernel10)                        \
    X(KERNEL, CUpti_ActivityKernel8, CUpti_ActivityKernel9, CUpti_ActivityKernel10)                                   \
    X(MEMCPY, CUpti_ActivityMemcpy5, CUpti_ActivityMemcpy6, CUpti_ActivityMemcpy6)                                    \
    X(MEMCPY2, CUpti_ActivityMemcpyPtoP4, CUpti_ActivityMemcpyPtoP4, CUpti_ActivityMemcpyPtoP4)                       \
    X(MEMSET, CUpti_ActivityMemset4, CUpti_ActivityMemset4, CUpti_ActivityMemset4)                                    \
    X(RUNTIME, CUpti_ActivityAPI, CUpti_ActivityAPI, CUpti_ActivityAPI)                                               \
    X(DRIVER, CUpti_ActivityAPI, CUpti_ActivityAPI, CUpti_ActivityAPI)                                                \
    X(INTERNAL_LAUNCH_API, CUpti_ActivityAPI, CUpti_ActivityAPI, CUpti_ActivityAPI)                                   \
    X(SYNCHRONIZATION, CUpti_ActivitySynchronization, CUpti_ActivitySynchronization2, CUpti_ActivitySynchronization2) \
    X(CUDA_EVENT, CUpti_ActivityCudaEvent, CUpti_ActivityCudaEvent2, CUpti_ActivityCudaEvent2)                        \
    X(GRAPH_TRACE, CUpti_ActivityGraphTrace, CUpti_ActivityGraphTrace2, CUpti_ActivityGraphTrace2)                    \
    X(OVERHEAD, CUpti_ActivityOverhead, CUpti_ActivityOverhead3, CUpti_ActivityOverhead3)                             \
    X(DEVICE, CUpti_ActivityDevice4, CUpti_ActivityDevice5, CUpti_ActivityDevice5)                                    \
    X(CONTEXT, CUpti_ActivityContext, CUpti_ActivityContext3, CUpti_ActivityContext3)                                 \
    X(STREAM, CUpti_ActivityStream, CUpti_ActivityStream, CUpti_ActivityStream)

static uint16_t known_size(uint32_t kind, uint32_t version)
{
    int column = version >= CUPTI_13_0 ? 2 : version >= CUPTI_12_9 ? 1 : 0;
    if (kind == CUPTI_ACTIVITY_KIND_JIT) /* which came with 12.0 and grew with 12.4 */
        return version < CUPTI_12_4 ? sizeof(CUpti_ActivityJit) : sizeof(CUpti_ActivityJit2);
    switch (kind) {
#define ROW(name, first, second, third)                                                 \
    case CUPTI_ACTIVITY_KIND_##name: {                                                  \
        static const uint16_t sizes[] = {sizeof(first), sizeof(second), sizeof(third)}; \
        return sizes[column];                                                           \
    }
        KINDS(ROW)
#undef ROW
    default: return 0;
    }
}

void cupti_record_sizes(uint16_t sizes[SPOOL_CUPTI_KINDS], const struct spool_header *header)
{
    for (uint32_t kind = 0; kind < SPOOL_CUPTI_KINDS; kind++) {
        uint16_t told = header->record_bytes[kind];
        sizes[kind] = told >= 8 && told % 8 == 0 ? told : known_size(kind, header->cupti_version);
    }
}
