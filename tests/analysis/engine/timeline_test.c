/*
 * What calls of CUDA and of other programming interfaces for accelerators do, by their names.
 */
#include "tests/unit.h"

#include "analysis/engine/timeline.h"

UNIT_TEST(calls_of_hip_are_those_of_cuda)
{
    static const char *const functions[] = {"DeviceSynchronize",
                                            "StreamSynchronize",
                                            "EventSynchronize",
                                            "Malloc",
                                            "MallocAsync",
                                            "Free",
                                            "FreeAsync",
                                            "HostAlloc",
                                            "HostRegister",
                                            "Memcpy",
                                            "MemcpyAsync",
                                            "Memcpy2D",
                                            "Memset",
                                            "MemsetAsync",
                                            "LaunchKernel",
                                            "GraphLaunch",
                                            "GraphInstantiate",
                                            "StreamQuery",
                                            "EventQuery",
                                            "EventRecord",
                                            "StreamWaitEvent",
                                            "DeviceReset",
                                            "StreamBeginCapture"};
    for (size_t i = 0; i < sizeof(functions) / sizeof(*functions); i++) {
        char cuda[64], hip[64];
        snprintf(cuda, sizeof(cuda), "cuda%s", functions[i]);
        snprintf(hip, sizeof(hip), "hip%s", functions[i]);
        assert_int_not_equal(call_kind_of(hip), CALL_OTHER);
        assert_int_equal(call_kind_of(hip), call_kind_of(cuda));
    }
}

UNIT_TEST(calls_that_cuda_has_not_are_known)
{
    static const struct {
        const char *name;
        enum call_kind kind;
    } calls[] = {
        {"hipMemcpyWithStream", CALL_COPY},
        {"hipHostMalloc", CALL_ALLOCATE_HOST},
        {"hipHostFree", CALL_FREE_HOST},
        {"hipExtMallocWithFlags", CALL_ALLOCATE},
        {"hipModuleLoadData", CALL_MODULE},
        {"hipModuleLaunchKernel", CALL_LAUNCH},
        {"hipExtModuleLaunchKernel", CALL_LAUNCH},
        {"hiprtcCompileProgram", CALL_MODULE},
        {"musaLaunchKernel", CALL_LAUNCH},
        {"urEnqueueKernelLaunch", CALL_LAUNCH},
        {"urEnqueueUSMMemcpy", CALL_COPY_ASYNC},
        {"urEnqueueUSMFill", CALL_SET_ASYNC},
        {"urEventWait", CALL_SYNC_EVENT},
        {"urQueueFinish", CALL_SYNC_STREAM},
        {"urUSMDeviceAlloc", CALL_ALLOCATE},
        {"urUSMHostAlloc", CALL_ALLOCATE_HOST},
        {"urUSMFree", CALL_FREE},
        {"urProgramBuildExp", CALL_MODULE},
        {"zeCommandListAppendLaunchKernel", CALL_LAUNCH},
        {"zeCommandListAppendMemoryCopy", CALL_COPY_ASYNC},
        {"zeCommandQueueSynchronize", CALL_SYNC_STREAM},
        {"zeEventHostSynchronize", CALL_SYNC_EVENT},
        {"zeMemAllocDevice", CALL_ALLOCATE},
        {"zeMemAllocHost", CALL_ALLOCATE_HOST},
        {"zeModuleCreate", CALL_MODULE},
        {"aclrtSynchronizeDevice", CALL_SYNC_DEVICE},
        {"aclrtSynchronizeStream", CALL_SYNC_STREAM},
        {"aclrtMallocHost", CALL_ALLOCATE_HOST},
        {"AscendCL@aclrtMemcpyAsync", CALL_COPY_ASYNC},
        {"aclrtRecordEvent", CALL_RECORD_EVENT},
        {"aclnnMatmul", CALL_LAUNCH},
        {"aclnnMatmulGetWorkspaceSize", CALL_OTHER},
        {"HcclAllReduce", CALL_LAUNCH},
        {"hipGetDevice", CALL_OTHER},
        {"cudaLaunchHostFunc", CALL_OTHER},
        {"__hipPushCallConfiguration", CALL_OTHER},
    };
    for (size_t i = 0; i < sizeof(calls) / sizeof(*calls); i++)
        assert_int_equal(call_kind_of(calls[i].name), calls[i].kind);
}

UNIT_MAIN(NULL, NULL)
