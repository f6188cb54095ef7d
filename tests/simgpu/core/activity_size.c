/* How long the record of each kind is. CUPTI appends fields from version to version, so an older record is the newest
 * one cut short, and one that is newer than the headers ends with bytes that they do not know. */
#include "core/activity.h"

#include <cupti_activity_deprecated.h>

#include "core/config.h"

/* Versions are those of cuptiGetVersion(): 19 is CUDA 12.0, 20 12.2, 21 12.3, 22 12.4, 23 12.5, 24 12.6, 26 12.8. */
static size_t activity_size_of(CUpti_ActivityKind kind, uint64_t version)
{
    switch ((int)kind) {
    case CUPTI_ACTIVITY_KIND_KERNEL:
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
        return version >= 130100   ? sizeof(CUpti_ActivityKernel10) + 8
               : version >= 130000 ? sizeof(CUpti_ActivityKernel10)
               : version >= 19     ? sizeof(CUpti_ActivityKernel9)
                                   : sizeof(CUpti_ActivityKernel8);
    case CUPTI_ACTIVITY_KIND_MEMCPY:
        return version >= 26 ? sizeof(CUpti_ActivityMemcpy6) : sizeof(CUpti_ActivityMemcpy5);
    case CUPTI_ACTIVITY_KIND_MEMORY2:
        return version >= 24 ? sizeof(CUpti_ActivityMemory4) : sizeof(CUpti_ActivityMemory3);
    case CUPTI_ACTIVITY_KIND_MEMCPY2: return sizeof(CUpti_ActivityMemcpyPtoP4);
    case CUPTI_ACTIVITY_KIND_MEMSET: return sizeof(CUpti_ActivityMemset4);
    case CUPTI_ACTIVITY_KIND_DRIVER:
    case CUPTI_ACTIVITY_KIND_RUNTIME: return sizeof(CUpti_ActivityAPI);
    case CUPTI_ACTIVITY_KIND_DEVICE:
        return version >= 130200 ? sizeof(CUpti_ActivityDevice5) + 8
               : version >= 21   ? sizeof(CUpti_ActivityDevice5)
                                 : sizeof(CUpti_ActivityDevice4);
    case CUPTI_ACTIVITY_KIND_CONTEXT:
        return version >= 130200 ? sizeof(CUpti_ActivityContext3) + 8
               : version >= 23   ? sizeof(CUpti_ActivityContext3)
               : version >= 22   ? sizeof(CUpti_ActivityContext2)
                                 : sizeof(CUpti_ActivityContext);
    case CUPTI_ACTIVITY_KIND_OVERHEAD:
        return version >= 22   ? sizeof(CUpti_ActivityOverhead3)
               : version >= 20 ? sizeof(CUpti_ActivityOverhead2)
                               : sizeof(CUpti_ActivityOverhead);
    case CUPTI_ACTIVITY_KIND_CUDA_EVENT:
        return version >= 26 ? sizeof(CUpti_ActivityCudaEvent2) : sizeof(CUpti_ActivityCudaEvent);
    case CUPTI_ACTIVITY_KIND_STREAM: return sizeof(CUpti_ActivityStream);
    case CUPTI_ACTIVITY_KIND_SYNCHRONIZATION:
        return version >= 26 ? sizeof(CUpti_ActivitySynchronization2) : sizeof(CUpti_ActivitySynchronization);
    case CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION: return sizeof(CUpti_ActivityExternalCorrelation);
    case CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER:
        return version >= 130000 ? sizeof(CUpti_ActivityUnifiedMemoryCounter3)
                                 : sizeof(CUpti_ActivityUnifiedMemoryCounter2);
    case CUPTI_ACTIVITY_KIND_MEMORY_POOL:
        return version >= 130000 ? sizeof(CUpti_ActivityMemoryPool3) : sizeof(CUpti_ActivityMemoryPool2);
    case CUPTI_ACTIVITY_KIND_JIT: return version >= 22 ? sizeof(CUpti_ActivityJit2) : sizeof(CUpti_ActivityJit);
    case CUPTI_ACTIVITY_KIND_GRAPH_TRACE:
        return version >= 21 ? sizeof(CUpti_ActivityGraphTrace2) : sizeof(CUpti_ActivityGraphTrace);
    default: return 0;
    }
}

size_t activity_size(CUpti_ActivityKind kind)
{
    return activity_size_of(kind, config()->cupti_version);
}

size_t activity_bytes_known(CUpti_ActivityKind kind)
{
    size_t newest = activity_size_of(kind, 130000), size = activity_size(kind);
    return size < newest ? size : newest;
}
