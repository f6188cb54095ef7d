/* How long the record of each kind is. CUPTI appends fields from version to version, so an older record is the newest
 * one cut short. */
#include "core/activity.h"

#include <cupti_activity_deprecated.h>

#include "core/config.h"

size_t activity_size(CUpti_ActivityKind kind)
{
    uint64_t version = config()->cupti_version;
    switch ((int)kind) {
    case CUPTI_ACTIVITY_KIND_KERNEL:
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
        return version >= 130000 ? sizeof(CUpti_ActivityKernel10) : version >= 19 ? 208 : 200;
    case CUPTI_ACTIVITY_KIND_MEMCPY: return version >= 24 ? sizeof(CUpti_ActivityMemcpy6) : 88;
    case CUPTI_ACTIVITY_KIND_MEMORY2: return version >= 24 ? sizeof(CUpti_ActivityMemory4) : 120;
    case CUPTI_ACTIVITY_KIND_MEMCPY2: return sizeof(CUpti_ActivityMemcpyPtoP4);
    case CUPTI_ACTIVITY_KIND_MEMSET: return sizeof(CUpti_ActivityMemset4);
    case CUPTI_ACTIVITY_KIND_DRIVER:
    case CUPTI_ACTIVITY_KIND_RUNTIME: return sizeof(CUpti_ActivityAPI);
    case CUPTI_ACTIVITY_KIND_DEVICE: return sizeof(CUpti_ActivityDevice5);
    case CUPTI_ACTIVITY_KIND_CONTEXT: return sizeof(CUpti_ActivityContext3);
    case CUPTI_ACTIVITY_KIND_OVERHEAD: return sizeof(CUpti_ActivityOverhead3);
    case CUPTI_ACTIVITY_KIND_CUDA_EVENT:
        return version >= 26 ? sizeof(CUpti_ActivityCudaEvent2) : sizeof(CUpti_ActivityCudaEvent);
    case CUPTI_ACTIVITY_KIND_STREAM: return sizeof(CUpti_ActivityStream);
    case CUPTI_ACTIVITY_KIND_SYNCHRONIZATION: return sizeof(CUpti_ActivitySynchronization2);
    case CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION: return sizeof(CUpti_ActivityExternalCorrelation);
    case CUPTI_ACTIVITY_KIND_MEMORY_POOL: return version >= 130000 ? sizeof(CUpti_ActivityMemoryPool3) : 72;
    case CUPTI_ACTIVITY_KIND_JIT: return sizeof(CUpti_ActivityJit2);
    case CUPTI_ACTIVITY_KIND_GRAPH_TRACE: return sizeof(CUpti_ActivityGraphTrace2);
    default: return 0;
    }
}
