/* callbacks.cu: code is loaded, kernels are launched, and what else is put into a stream. */
#ifndef SAMPLES_CALLBACKS_WORK_H
#define SAMPLES_CALLBACKS_WORK_H

#include "callbacks.h"

static void nothing(void *unused)
{
    (void)unused;
}

static void call_back(cudaStream_t of, cudaError_t status, void *unused)
{
    (void)of, (void)status, (void)unused;
}

static void code_and_launches(void)
{
    static char junk[] = "this is no code for any device";
    CUmodule module[3];
    CUlibrary library[2];
    CUfunction function;
    int count = 0;
    TELLS(2, "module_load cuModuleLoadData", cuModuleLoadData(&module[count++], ptx));
    TELLS(1, "module_load cuModuleLoadDataEx", cuModuleLoadDataEx(&module[count++], ptx, 0, NULL, NULL));
    TELLS_FAILED(1, "module_load cuModuleLoadData", cuModuleLoadData(&module[0], junk));
    TELLS_FAILED(1, "module_load cuModuleLoad", cuModuleLoad(&module[0], "/nowhere/code.cubin"));
    TELLS(1, "module_load cuLibraryLoadData", cuLibraryLoadData(&library[0], ptx, NULL, NULL, 0, NULL, NULL, 0));
    TELLS(1, "module_load cuLibraryLoadData", cudaLibraryLoadData(&library[1], ptx, NULL, NULL, 0, NULL, NULL, 0));
    TELLS_FAILED(1, "module_load cuLibraryLoadFromFile",
                 cuLibraryLoadFromFile(&library[0] + 1, "/nowhere/code.cubin", NULL, NULL, 0, NULL, NULL, 0));

    void *args[] = {&device};
    cudaLaunchConfig_t config = {};
    config.gridDim = config.blockDim = dim3(1);
    config.stream = stream;
    TELLS(5, "kernel_launch " STREAM("cuLaunchKernel"), launch(32));
    TELLS(2, "kernel_launch " STREAM("cuLaunchKernel"),
          cudaLaunchKernel((const void *)touch, dim3(1), dim3(32), args, 0, stream));
    TELLS(3, "kernel_launch " STREAM("cuLaunchKernelEx"), cudaLaunchKernelExC(&config, (const void *)touch, args));
    TELLS(2, "kernel_launch " STREAM("cuLaunchCooperativeKernel"),
          cudaLaunchCooperativeKernel((const void *)touch, dim3(1), dim3(32), args, 0, stream));
    TELLS_FAILED(2, "kernel_launch " STREAM("cuLaunchKernel"), launch(5000));
    CHECK(cuModuleGetFunction(&function, module[1], "nothing"));
    TELLS(1, "kernel_launch " STREAM("cuLaunchKernel"),
          cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, stream, NULL, NULL));
    TELLS(1, "kernel_launch " STREAM("cuLaunchCooperativeKernel"),
          cuLaunchCooperativeKernel(function, 1, 1, 1, 1, 1, 1, 0, stream, NULL));
    wait_for_stream();
    while (count)
        TELLS(1, "module_unload cuModuleUnload", cuModuleUnload(module[--count]));
    TELLS(1, "module_unload cuLibraryUnload", cuLibraryUnload(library[0]));
    TELLS(1, "module_unload cuLibraryUnload", cudaLibraryUnload(library[1]));
    TELLS_FAILED(1, "module_unload cuModuleUnload", cuModuleUnload(NULL));
}

static void queue(void)
{
    const CUdeviceptr value = address(device);
    CUstreamBatchMemOpParams both[2] = {};
    both[0].operation = CU_STREAM_MEM_OP_WRITE_VALUE_32;
    both[0].writeValue.address = value;
    both[1].operation = CU_STREAM_MEM_OP_WAIT_VALUE_32;
    both[1].waitValue.address = value;
    TELLS(3, "host_function " STREAM("cuLaunchHostFunc"), cudaLaunchHostFunc(stream, nothing, NULL));
    TELLS(1, "host_function " STREAM("cuLaunchHostFunc"), cuLaunchHostFunc(stream, nothing, NULL));
    TELLS(2, "host_function " STREAM("cuStreamAddCallback"), cudaStreamAddCallback(stream, call_back, NULL, 0));
    TELLS_FAILED(1, "host_function " STREAM("cuLaunchHostFunc"), cuLaunchHostFunc(stream, NULL, NULL));
    TELLS(2, "stream_value " STREAM("cuStreamWriteValue32_v2"), cuStreamWriteValue32(stream, value, 7, 0));
    TELLS(3, "stream_value " STREAM("cuStreamWaitValue32_v2"),
          cuStreamWaitValue32(stream, value, 7, CU_STREAM_WAIT_VALUE_EQ));
    TELLS(3, "stream_value " STREAM("cuStreamWriteValue64_v2"), cuStreamWriteValue64(stream, value, 7, 0));
    TELLS(1, "stream_value " STREAM("cuStreamWaitValue64_v2"),
          cuStreamWaitValue64(stream, value, 7, CU_STREAM_WAIT_VALUE_GEQ));
    TELLS(2, "stream_value " STREAM("cuStreamBatchMemOp_v2"), cuStreamBatchMemOp(stream, 2, both, 0));
    TELLS_FAILED(1, "stream_value " STREAM("cuStreamWaitValue32_v2"), cuStreamWaitValue32(stream, 1, 7, 0));
    wait_for_stream();
}

#endif
