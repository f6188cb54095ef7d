/* What the environment asks for: each in a process of its own, since it is read once. */
#include "tests/unit.h"

#include <signal.h>
#include <sys/wait.h>
#include <time.h>

#include "recording.h"

static const CUpti_ActivityKind kernels[] = {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_INVALID};

static int finds_no_device(void)
{
    int count = 7;
    void *memory;
    HOLDS(cuInit(0) == CUDA_ERROR_NO_DEVICE);
    HOLDS(cudaGetDeviceCount(&count) == cudaErrorNoDevice);
    HOLDS(count == 0);
    HOLDS(cudaMalloc(&memory, 1) == cudaErrorNoDevice);
    HOLDS(strcmp(cudaGetErrorString(cudaErrorNoDevice), "no CUDA-capable device is detected") == 0);
    return 0;
}

UNIT_TEST(no_device)
{
    EXITS(finds_no_device, "SIMGPU_NO_DEVICE", "1");
}

static int finds_three_devices(void)
{
    int count;
    HOLDS(cudaGetDeviceCount(&count) == cudaSuccess && count == 3);
    struct cudaDeviceProp properties;
    HOLDS(cudaGetDeviceProperties(&properties, 2) == cudaSuccess);
    HOLDS(strcmp(properties.name, "Simulated GPU") == 0 && properties.major == 9 && properties.warpSize == 32);
    HOLDS(cudaSetDevice(2) == cudaSuccess);
    HOLDS(cudaSetDevice(3) == cudaErrorInvalidDevice);
    HOLDS(cudaGetDevice(&count) == cudaSuccess && count == 2);
    return 0;
}

UNIT_TEST(several_devices)
{
    EXITS(finds_three_devices, "SIMGPU_DEVICES", "3");
}

static int cannot_subscribe(void)
{
    CUpti_SubscriberHandle subscriber;
    HOLDS(cuptiSubscribe(&subscriber, NULL, NULL) == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED);
    return 0;
}

UNIT_TEST(cupti_is_taken)
{
    EXITS(cannot_subscribe, "SIMGPU_CUPTI_TAKEN", "1");
}

static int runs_out_of_memory(void)
{
    void *memory;
    for (int i = 0; i < 10; i++) {
        HOLDS(cudaMalloc(&memory, 1000) == cudaSuccess);
        HOLDS(cudaFree(memory) == cudaSuccess);
    }
    HOLDS(cudaMalloc(&memory, 1) == cudaErrorMemoryAllocation);
    return 0;
}

UNIT_TEST(memory_ends_after_so_many_bytes)
{
    EXITS(runs_out_of_memory, "SIMGPU_OOM_AFTER", "10000");
}

static int has_little_memory(void)
{
    void *memory;
    HOLDS(cudaMalloc(&memory, 5001) == cudaErrorMemoryAllocation);
    HOLDS(cudaMalloc(&memory, 5000) == cudaSuccess);
    HOLDS(cudaFree(memory) == cudaSuccess);
    HOLDS(cudaMalloc(&memory, 5000) == cudaSuccess);
    return 0;
}

UNIT_TEST(devices_with_little_memory)
{
    EXITS(has_little_memory, "SIMGPU_MEMORY", "5000");
}

static int launches_and_dies(void)
{
    struct sigaction action = {.sa_handler = SIG_DFL};
    sigaction(SIGSEGV, &action, NULL); /* a sanitizer would have its own */
    for (int i = 0; i < 10; i++)
        recording_kernel();
    return 0;
}

static int launches_a_graph(void)
{
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    if (cudaGraphCreate(&graph, 0) != cudaSuccess || cudaGraphInstantiate(&exec, graph, 0) != cudaSuccess)
        return 1;
    for (int i = 0; i < 2; i++)
        if (cudaGraphLaunch(exec, NULL) != cudaSuccess)
            return 2;
    return 0;
}

UNIT_TEST(a_launch_that_crashes_and_one_that_kills)
{
    int status = recording_in_child(launches_and_dies, "SIMGPU_CRASH_LAUNCH", "10");
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), SIGSEGV);
    status = recording_in_child(launches_and_dies, "SIMGPU_KILL_LAUNCH", "3");
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), SIGKILL);
    status = recording_in_child(launches_and_dies, "SIMGPU_KILL_LAUNCHED", "10");
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), SIGKILL);
    status = recording_in_child(launches_a_graph, "SIMGPU_KILL_GRAPH_LAUNCHED", "2");
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), SIGKILL);
    EXITS(launches_a_graph, "SIMGPU_KILL_GRAPH_LAUNCHED", "3");
    EXITS(launches_and_dies, "SIMGPU_CRASH_LAUNCH", "11");
    EXITS(launches_and_dies, "SIMGPU_KILL_LAUNCHED", "11");
}

static int launches_what_never_ends(void)
{
    recording_start(1 << 16);
    recording_enable(kernels);
    for (int i = 0; i < 4; i++)
        recording_kernel();
    nanosleep(&(struct timespec){0, 20000000}, NULL);
    HOLDS(cudaStreamQuery(NULL) == cudaErrorNotReady);
    recording_flush(true);
    HOLDS(recording_count(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) == 4);
    const CUpti_ActivityKernel10 *last = recording_get(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, 1);
    const CUpti_ActivityKernel10 *hung = recording_get(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, 2);
    HOLDS(last->end != 0 && hung->end == 0);
    return 0;
}

UNIT_TEST(a_kernel_that_never_ends_and_a_program_that_does)
{
    EXITS(launches_what_never_ends, "SIMGPU_HANG_KERNEL", "3");
}

static int launches_what_faults(void)
{
    void *memory;
    recording_start(1 << 16);
    recording_enable(kernels);
    HOLDS(cudaMalloc(&memory, 64) == cudaSuccess);
    for (int i = 0; i < 2; i++)
        recording_kernel();
    HOLDS(cudaDeviceSynchronize() == cudaSuccess);
    recording_kernel();
    HOLDS(cudaDeviceSynchronize() == cudaErrorIllegalAddress);
    HOLDS(cudaMalloc(&memory, 64) == cudaErrorIllegalAddress);
    HOLDS(cudaStreamQuery(NULL) == cudaErrorIllegalAddress);
    HOLDS(cudaDeviceSynchronize() == cudaErrorIllegalAddress);
    recording_flush(true);
    HOLDS(recording_count(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) == 3);
    const CUpti_ActivityKernel10 *fine = recording_get(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, 1);
    const CUpti_ActivityKernel10 *faulty = recording_get(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, 2);
    HOLDS(fine->end != 0 && faulty->end == 0);
    HOLDS(cudaDeviceReset() == cudaSuccess);
    HOLDS(cudaMalloc(&memory, 64) == cudaSuccess);
    return 0;
}

UNIT_TEST(a_kernel_that_faults_takes_its_context_with_it)
{
    EXITS(launches_what_faults, "SIMGPU_FAULT_KERNEL", "3");
}

static int launches_without_times(void)
{
    recording_start(1 << 16);
    recording_enable(kernels);
    for (int i = 0; i < 10; i++)
        recording_kernel();
    HOLDS(cudaDeviceSynchronize() == cudaSuccess);
    recording_flush(false);
    HOLDS(recording_count(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) == 10);
    for (size_t i = 0; i < 10; i++) {
        const CUpti_ActivityKernel10 *kernel = recording_get(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, i);
        HOLDS((kernel->start == 0 && kernel->end == 0) == ((i + 1) % 4 == 0));
    }
    return 0;
}

UNIT_TEST(kernels_without_times)
{
    EXITS(launches_without_times, "SIMGPU_ZERO_KERNELS", "4");
}

static int loses_records(void)
{
    recording_start(1 << 16);
    recording_enable(kernels);
    for (int i = 0; i < 100; i++)
        recording_kernel();
    HOLDS(cudaDeviceSynchronize() == cudaSuccess);
    recording_flush(false);
    size_t dropped = 0;
    HOLDS(recording_count(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) == 90);
    HOLDS(cuptiActivityGetNumDroppedRecords(NULL, 0, &dropped) == CUPTI_SUCCESS && dropped == 10);
    HOLDS(cuptiActivityGetNumDroppedRecords(NULL, 0, &dropped) == CUPTI_SUCCESS && dropped == 0);
    return 0;
}

UNIT_TEST(records_are_dropped_and_counted)
{
    EXITS(loses_records, "SIMGPU_DROP_RECORDS", "10");
}

static int gets_no_buffers(void)
{
    recording_start(0);
    recording_enable(kernels);
    for (int i = 0; i < 5; i++)
        recording_kernel();
    HOLDS(cudaDeviceSynchronize() == cudaSuccess);
    size_t dropped = 0;
    HOLDS(cuptiActivityGetNumDroppedRecords(NULL, 0, &dropped) == CUPTI_SUCCESS && dropped == 5);
    return 0;
}

UNIT_TEST(records_without_a_buffer_are_dropped_and_counted)
{
    EXITS(gets_no_buffers, NULL, NULL);
}

static int sees_records_of_11_8(void)
{
    uint32_t version;
    HOLDS(cuptiGetVersion(&version) == CUPTI_SUCCESS && version == 18);
    recording_start(1 << 16);
    recording_enable(kernels);
    recording_kernel();
    recording_kernel();
    HOLDS(cudaDeviceSynchronize() == cudaSuccess);
    const uint8_t *buffer = recording_open_buffer();
    HOLDS(buffer != NULL);
    HOLDS(((const CUpti_ActivityKernel10 *)(const void *)buffer)->correlationId + 1 ==
          ((const CUpti_ActivityKernel10 *)(const void *)(buffer + 200))->correlationId);
    recording_flush(false);
    HOLDS(recording_count(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) == 2);
    return 0;
}

UNIT_TEST(an_older_cupti_has_shorter_records)
{
    EXITS(sees_records_of_11_8, "SIMGPU_CUPTI_VERSION", "18");
}

static int takes_the_time_given(void)
{
    recording_start(1 << 16);
    recording_enable(kernels);
    recording_kernel();
    HOLDS(cudaDeviceSynchronize() == cudaSuccess);
    recording_flush(false);
    const CUpti_ActivityKernel10 *kernel = recording_get(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, 0);
    HOLDS(kernel->end - kernel->start == 1234567);
    return 0;
}

UNIT_TEST(kernels_take_the_time_given)
{
    EXITS(takes_the_time_given, "SIMGPU_KERNEL_NS", "1234567");
}

UNIT_MAIN(NULL, NULL)
