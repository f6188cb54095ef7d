/*
 * The headers of CUDA's driver and of CUPTI, and what those of CUDA 12 lack of 13.0's.
 *
 * With older headers, each name here is a macro that leads to a declaration of ours, also where the older headers have
 * the name: so it does not matter which version of CUDA 12 introduced it. Members that gputrace does not read are
 * padding. tests/lint/cuda_headers.bats compares places, sizes and numbers with CUDA 13.0's headers.
 */
#ifndef GPUTRACE_COMMON_CUDA_HEADERS_H
#define GPUTRACE_COMMON_CUDA_HEADERS_H

#include <cuda.h>
#include <cupti.h>
#include <stdint.h>

#if CUDA_VERSION < 12000
#error "gputrace is built with headers of CUDA 12.0 or newer; these are older (it traces with CUPTI 11.8 or newer)"
#endif

#if CUPTI_API_VERSION < 130000
#define CUDA_HEADERS_OLD
#endif

#ifdef CUDA_HEADERS_OLD

/* --- CUPTI's records --- */

/* Older structs that have all members that are read, in the same places. */
#define CUpti_ActivityContext3 CUpti_ActivityContext
#define CUpti_ActivityDevice5 CUpti_ActivityDevice4
#define CUpti_ActivityGraphTrace2 CUpti_ActivityGraphTrace
#define CUpti_ActivityKernel10 CUpti_ActivityKernel8

#define CUpti_ActivityMemcpy6 gputrace_ActivityMemcpy6
typedef struct {
    CUpti_ActivityKind kind;
    uint8_t copyKind, srcKind, dstKind, flags;
    uint64_t bytes, start, end;
    uint32_t deviceId, contextId, streamId, correlationId, runtimeCorrelationId, padding;
    void *padding2;
    uint64_t graphNodeId;
    uint32_t graphId, padding3[3];
    uint64_t copyCount;
} CUpti_ActivityMemcpy6;

#define CUpti_ActivitySynchronization2 gputrace_ActivitySynchronization2
typedef struct {
    CUpti_ActivityKind kind;
    CUpti_ActivitySynchronizationType type;
    uint64_t start, end;
    uint32_t correlationId, contextId, streamId, cudaEventId;
    uint64_t cudaEventSyncId;
    uint32_t returnValue, padding;
} CUpti_ActivitySynchronization2;

#define CUpti_ActivityCudaEvent2 gputrace_ActivityCudaEvent2
typedef struct {
    CUpti_ActivityKind kind;
    uint32_t correlationId, contextId, streamId, eventId, padding, deviceId, padding2;
    void *padding3;
    uint64_t deviceTimestamp, cudaEventSyncId;
} CUpti_ActivityCudaEvent2;

#define CUpti_ActivityOverhead3 gputrace_ActivityOverhead3
typedef struct {
    CUpti_ActivityKind kind;
    CUpti_ActivityOverheadKind overheadKind;
    CUpti_ActivityObjectKind objectKind;
    CUpti_ActivityObjectKindId objectId;
    uint64_t start, end;
    uint32_t correlationId, padding;
    void *overheadData;
} CUpti_ActivityOverhead3;

#define CUpti_ActivityJit2 gputrace_ActivityJit2
typedef struct {
    CUpti_ActivityKind kind;
    CUpti_ActivityJitEntryType jitEntryType;
    CUpti_ActivityJitOperationType jitOperationType;
    uint32_t deviceId;
    uint64_t start, end;
    uint32_t correlationId, padding;
    uint64_t jitOperationCorrelationId, cacheSize;
    const char *cachePath;
    uint32_t processId, threadId;
} CUpti_ActivityJit2;

#define CUpti_ActivityUnifiedMemoryCounter3 gputrace_ActivityUnifiedMemoryCounter3
typedef struct {
    CUpti_ActivityKind kind;
    CUpti_ActivityUnifiedMemoryCounterKind counterKind;
    uint64_t value, start, end, address;
    uint32_t srcId, dstId, streamId, processId, flags, padding;
    uint64_t processors[5];
} CUpti_ActivityUnifiedMemoryCounter3;

#define CUPTI_ACTIVITY_OVERHEAD_RUNTIME_TRIGGERED_MODULE_LOADING (4 << 16)
#define CUPTI_ACTIVITY_OVERHEAD_LAZY_FUNCTION_LOADING (5 << 16)
#define CUPTI_ACTIVITY_OVERHEAD_COMMAND_BUFFER_FULL (6 << 16)
#define CUPTI_ACTIVITY_OVERHEAD_ACTIVITY_BUFFER_REQUEST (7 << 16)
#define CUPTI_ACTIVITY_OVERHEAD_UVM_ACTIVITY_INIT (8 << 16)

/* --- CUPTI's functions and callbacks --- */

CUptiResult CUPTIAPI cuptiGetGraphExecId(CUgraphExec exec, uint32_t *id);
CUptiResult CUPTIAPI cuptiActivityEnableDriverApi(CUpti_CallbackId cbid, uint8_t enable);
CUptiResult CUPTIAPI cuptiActivityEnableRuntimeApi(CUpti_CallbackId cbid, uint8_t enable);
CUptiResult CUPTIAPI cuptiActivityEnableCudaEventDeviceTimestamps(uint8_t enable);

#define CUPTI_CBID_RESOURCE_GRAPH_NODE_SET_PARAMS 23
#define CUPTI_CBID_RESOURCE_SIZE 24

#define CUPTI_DRIVER_TRACE_CBID_cuGraphAddNode 712
#define CUPTI_DRIVER_TRACE_CBID_cuGraphNodeSetParams 713
#define CUPTI_DRIVER_TRACE_CBID_cuGraphExecNodeSetParams 714
#define CUPTI_DRIVER_TRACE_CBID_cuKernelGetName 719
#define CUPTI_DRIVER_TRACE_CBID_cuStreamBeginCaptureToGraph 720
#define CUPTI_DRIVER_TRACE_CBID_cuStreamBeginCaptureToGraph_ptsz 721
#define CUPTI_DRIVER_TRACE_CBID_cuGraphAddNode_v2 723
#define CUPTI_DRIVER_TRACE_CBID_cuModuleEnumerateFunctions 738
#define CUPTI_DRIVER_TRACE_CBID_cuLibraryEnumerateKernels 740
#define CUPTI_DRIVER_TRACE_CBID_cuFuncLoad 742
#define CUPTI_DRIVER_TRACE_CBID_cuGreenCtxRecordEvent 749
#define CUPTI_DRIVER_TRACE_CBID_cuGreenCtxWaitEvent 750
#define CUPTI_DRIVER_TRACE_CBID_cuCtxRecordEvent 755
#define CUPTI_DRIVER_TRACE_CBID_cuCtxWaitEvent 756
#define CUPTI_DRIVER_TRACE_CBID_cuCtxCreate_v4 757
#define CUPTI_DRIVER_TRACE_CBID_cuGreenCtxStreamCreate 758
#define CUPTI_DRIVER_TRACE_CBID_cuMemcpyBatchAsync 776
#define CUPTI_DRIVER_TRACE_CBID_cuMemcpyBatchAsync_ptsz 777
#define CUPTI_DRIVER_TRACE_CBID_cuMemcpy3DBatchAsync 778
#define CUPTI_DRIVER_TRACE_CBID_cuMemcpy3DBatchAsync_ptsz 779
#define CUPTI_DRIVER_TRACE_CBID_cuEventElapsedTime_v2 780
#define CUPTI_DRIVER_TRACE_CBID_cuMemcpyBatchAsync_v2 796
#define CUPTI_DRIVER_TRACE_CBID_cuMemcpyBatchAsync_v2_ptsz 797
#define CUPTI_DRIVER_TRACE_CBID_cuMemcpy3DBatchAsync_v2 798
#define CUPTI_DRIVER_TRACE_CBID_cuMemcpy3DBatchAsync_v2_ptsz 799
#define CUPTI_DRIVER_TRACE_CBID_cuCtxSynchronize_v2 800
#define CUPTI_DRIVER_TRACE_CBID_SIZE 807

/* --- the driver's parameters --- */

#define CU_GRAPH_NODE_TYPE_CONDITIONAL 13
#define CU_MEMCPY_OPERAND_TYPE_ARRAY 2

/* clang-format off */
#define CUgraphNodeParams gputrace_graphNodeParams
typedef struct { CUgraphNodeType type; int padding[3]; CUDA_KERNEL_NODE_PARAMS kernel; } CUgraphNodeParams;
#define CUoffset3D gputrace_offset3D
typedef struct { size_t x, y, z; } CUoffset3D;
#define CUextent3D gputrace_extent3D
typedef struct { size_t width, height, depth; } CUextent3D;
#define CUmemcpy3DOperand gputrace_memcpy3DOperand
typedef struct {
    int type;
    union {
        struct { CUdeviceptr ptr; size_t rowLength, layerHeight; CUmemLocation padding; } ptr;
        struct { CUarray array; CUoffset3D offset; } array;
    } op;
} CUmemcpy3DOperand;
#define CUDA_MEMCPY3D_BATCH_OP gputrace_memcpy3DBatchOp
typedef struct { CUmemcpy3DOperand src, dst; CUextent3D extent; int padding; unsigned flags; } CUDA_MEMCPY3D_BATCH_OP;

#define cuGraphAddNode_params struct { CUgraphNode *phGraphNode; void *padding[3]; CUgraphNodeParams *nodeParams; }
#define cuGraphAddNode_v2_params struct { CUgraphNode *phGraphNode; void *padding[4]; CUgraphNodeParams *nodeParams; }
#define cuGraphNodeSetParams_params struct { CUgraphNode hNode; CUgraphNodeParams *nodeParams; }
#define cuGraphExecNodeSetParams_params struct { CUgraphExec hGraphExec; void *padding; CUgraphNodeParams *nodeParams; }
#define cuStreamBeginCaptureToGraph_params struct { CUstream hStream; void *padding[4]; CUstreamCaptureMode mode; }
#define cuModuleEnumerateFunctions_params struct { CUfunction *functions; unsigned numFunctions; CUmodule mod; }
#define cuLibraryEnumerateKernels_params struct { CUkernel *kernels; unsigned numKernels; CUlibrary lib; }
#define cuGreenCtxRecordEvent_params struct { void *padding; CUevent hEvent; }
#define cuGreenCtxWaitEvent_params struct { void *padding; CUevent hEvent; }
#define cuCtxRecordEvent_params struct { CUcontext hCtx; CUevent hEvent; }
#define cuCtxWaitEvent_params struct { CUcontext hCtx; CUevent hEvent; }
#define cuCtxSynchronize_v2_params struct { CUcontext ctx; }
#define cuEventElapsedTime_v2_params struct { float *pMilliseconds; CUevent hStart, hEnd; }
#define cuGreenCtxStreamCreate_params struct { CUstream *phStream; void *padding; unsigned flags; int priority; }
#define cuMemcpyBatchAsync_params \
    struct { CUdeviceptr *dsts, *srcs; size_t *sizes, count, padding[4]; CUstream hStream; }
#define cuMemcpyBatchAsync_v2_params \
    struct { CUdeviceptr *dsts, *srcs; size_t *sizes, count, padding[3]; CUstream hStream; }
#define cuMemcpy3DBatchAsync_params \
    struct { size_t numOps; CUDA_MEMCPY3D_BATCH_OP *opList, *padding[2]; CUstream hStream; }
#define cuMemcpy3DBatchAsync_v2_params \
    struct { size_t numOps; CUDA_MEMCPY3D_BATCH_OP *opList, *padding; CUstream hStream; }
/* clang-format on */

#endif

#endif
