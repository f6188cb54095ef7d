/*
 * callbacks: everything that gputrace/callbacks.h tells, done a known number of times through every version of CUDA's
 * functions: the runtime's and the driver's, plain, asynchronous, with flags, pitched, of arrays, pools and addresses
 * apart from memory; and calls that fail. Built a second time as callbacks_per_thread with `-default-stream
 * per-thread`, which calls functions of other names.
 *
 *     gputrace run --plugin=calls,file=calls.txt build/samples/callbacks >statement
 *     tests/samples/compare_calls statement calls.txt
 *
 * The first call starts CUDA, and the tracer with it; nothing that is stated here happens before. What CUDA does on its
 * own account is stated too, where its number is known: the primary context, the program's own code. A kind that is not
 * stated at all is not compared: loading and compiling, which compile.cu is about.
 */
#include <cudaProfiler.h>
#include <cuda_profiler_api.h>
#include <gputrace/gputrace.h>
#include <nvtx3/nvToolsExt.h>
#include <unistd.h>

#include "callbacks.h"
#include "callbacks_copies.h"
#include "callbacks_memory.h"
#include "callbacks_work.h"

static void wait_for_gate(void *gate)
{
    while (!__atomic_load_n((int *)gate, __ATOMIC_ACQUIRE))
        usleep(100);
}

/* --- events --- */

static void events(void)
{
    cudaEvent_t event[9];
    float ms;
    int made = 0, gate = 0;
    TELLS(3, "event_creation cuEventCreate", cudaEventCreate(&event[made++]));
    TELLS(4, "event_creation cuEventCreate", cudaEventCreateWithFlags(&event[made++], cudaEventDisableTiming));
    TELLS(2, "event_creation cuEventCreate", cuEventCreate(&event[made++], CU_EVENT_DEFAULT));
    TELLS_FAILED(1, "event_creation cuEventCreate", cuEventCreate(&event[0], 0xffff));

    TELLS(5, "event_record " STREAM("cuEventRecord"), cudaEventRecord(event[0], stream));
    TELLS(1, "event_record " STREAM("cuEventRecord"), cuEventRecord(event[1], stream));
    TELLS(3, "event_record " STREAM("cuEventRecordWithFlags"), cudaEventRecordWithFlags(event[1], stream, 0));
    TELLS(1, "event_record " STREAM("cuEventRecordWithFlags"), cuEventRecordWithFlags(event[2], stream, 0));
    TELLS_FAILED(2, "event_record " STREAM("cuEventRecord"), cuEventRecord(NULL, stream));
    TELLS(6, "event_wait " STREAM("cuStreamWaitEvent"), cudaStreamWaitEvent(stream, event[0], 0));
    TELLS(1, "event_wait " STREAM("cuStreamWaitEvent"), cuStreamWaitEvent(stream, event[1], 0));
    TELLS(3, "event_synchronization cuEventSynchronize", cudaEventSynchronize(event[1]));
    TELLS(1, "event_synchronization cuEventSynchronize", cuEventSynchronize(event[2]));

    TELLS(4, "event_query cuEventQuery", cudaEventQuery(event[2]));
    TELLS(2, "event_query cuEventQuery", cuEventQuery(event[2]));
    for (int i = 0; i < 2; i++) /* tells that both events are done */
        TELLS(1, "event_query cuEventElapsedTime_v2", cudaEventElapsedTime(&ms, event[0], event[2]));
    state_reported("event_query cuEventElapsedTime_v2", 2);

    TELLS(1, "host_function " STREAM("cuLaunchHostFunc"), cudaLaunchHostFunc(stream, wait_for_gate, &gate));
    TELLS(1, "event_record " STREAM("cuEventRecord"), cudaEventRecord(event[3], stream));
    TELLS_NOT_READY(3, "event_query cuEventQuery", cudaEventQuery(event[3]));
    TELLS_NOT_READY(2, "stream_query " STREAM("cuStreamQuery"), cudaStreamQuery(stream));
    __atomic_store_n(&gate, 1, __ATOMIC_RELEASE);
    wait_for_stream();
    while (made)
        TELLS(1, "event_deletion cuEventDestroy_v2", cudaEventDestroy(event[--made]));
    TELLS_FAILED(1, "event_deletion cuEventDestroy_v2", cuEventDestroy(NULL));
}

/* --- streams, contexts, waiting --- */

static void streams(void)
{
    cudaStream_t made[9];
    CUcontext context;
    CUstream own;
    CUdevice first;
    int count = 0;
    TELLS(2, "stream_creation cuStreamCreate", cudaStreamCreate(&made[count++]));
    TELLS(3, "stream_creation cuStreamCreate", cudaStreamCreateWithFlags(&made[count++], cudaStreamNonBlocking));
    TELLS(1, "stream_creation cuStreamCreate", cuStreamCreate(&made[count++], CU_STREAM_DEFAULT));
    TELLS(2, "stream_creation cuStreamCreateWithPriority", cudaStreamCreateWithPriority(&made[count++], 0, -1));
    TELLS(1, "stream_creation cuStreamCreateWithPriority", cuStreamCreateWithPriority(&made[count++], 0, 0));
    TELLS_FAILED(1, "stream_creation cuStreamCreate", cuStreamCreate(&own, 0xff00));
    TELLS(2, "stream_synchronization " STREAM("cuStreamSynchronize"), cudaStreamSynchronize(made[0]));
    TELLS(1, "stream_synchronization " STREAM("cuStreamSynchronize"), cuStreamSynchronize(made[1]));
    TELLS(3, "stream_query " STREAM("cuStreamQuery"), cudaStreamQuery(made[0]));
    TELLS(1, "stream_query " STREAM("cuStreamQuery"), cuStreamQuery(made[0]));
    while (count > 4)
        TELLS(1, "stream_deletion cuStreamDestroy_v2", cudaStreamDestroy(made[--count]));
    while (count)
        TELLS(1, "stream_deletion cuStreamDestroy_v2", cuStreamDestroy(made[--count]));
    TELLS(3, "device_synchronization cuCtxSynchronize_v2", cudaDeviceSynchronize());
    TELLS(2, "device_synchronization cuCtxSynchronize", cuCtxSynchronize());

    /* A stream that goes with its context. Which function made and destroys a context is not reported. */
    CHECK(cuDeviceGet(&first, 0));
#if CUDA_VERSION >= 13000
    TELLS(1, "context_creation -", cuCtxCreate(&context, NULL, 0, first));
#else
    TELLS(1, "context_creation -", cuCtxCreate(&context, 0, first));
#endif
    TELLS(1, "stream_creation cuStreamCreate", cuStreamCreate(&own, CU_STREAM_NON_BLOCKING));
    CHECK(cuCtxDestroy(context));
    state_reported("stream_deletion -", 1);
    state_reported_range("context_deletion -", 1,
                         2); /* the primary context may go before the end of the program is reported */
}

/* --- graphs --- */

static void capture(void)
{
    TELLS(1, "graph_capture_start " STREAM("cuStreamBeginCapture_v2"),
          cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    TELLS(1, "memset " STREAM("cuMemsetD8Async"), cudaMemsetAsync(device, 0, BYTES, stream));
}

static cudaGraph_t end_capture(void)
{
    cudaGraph_t graph;
    TELLS(1, "kernel_launch " STREAM("cuLaunchKernel"), launch(32));
    TELLS(1, "graph_capture_end " STREAM("cuStreamEndCapture"), cudaStreamEndCapture(stream, &graph));
    return graph;
}

static void graphs(void)
{
    cudaGraph_t graph, built;
    cudaGraphExec_t exec[5];
    cudaGraphInstantiateParams params = {};
    int count = 0;
    for (int i = 0; i < 2; i++) {
        capture();
        CHECK(cudaGraphDestroy(end_capture()));
    }
    capture(); /* which is broken by waiting for the stream */
    TELLS_FAILED(1, "stream_synchronization " STREAM("cuStreamSynchronize"), cudaStreamSynchronize(stream));
    TELLS_FAILED(2, "graph_capture_end " STREAM("cuStreamEndCapture"), cudaStreamEndCapture(stream, &graph));
    capture();
    TELLS_FAILED(1, "device_synchronization cuCtxSynchronize_v2", cudaDeviceSynchronize());
    TELLS_ANYHOW(1, "graph_capture_end " STREAM("cuStreamEndCapture"), cudaStreamEndCapture(stream, &graph));
    CHECK(cudaGraphCreate(&built, 0));
    TELLS(1, "graph_capture_start " STREAM("cuStreamBeginCaptureToGraph"),
          cudaStreamBeginCaptureToGraph(stream, built, NULL, NULL, 0, cudaStreamCaptureModeRelaxed));
    graph = end_capture();

    TELLS(2, "graph_instantiation cuGraphInstantiateWithFlags", cudaGraphInstantiate(&exec[count++], graph, 0));
    TELLS(1, "graph_instantiation cuGraphInstantiateWithFlags", cuGraphInstantiate(&exec[count++], graph, 0));
    TELLS(2, "graph_instantiation " STREAM("cuGraphInstantiateWithParams"),
          cudaGraphInstantiateWithParams(&exec[count++], graph, &params));
    TELLS_FAILED(1, "graph_instantiation cuGraphInstantiateWithFlags", cuGraphInstantiate(&exec[0] + 4, NULL, 0));
    TELLS(4, "graph_launch cuGraphLaunch", cudaGraphLaunch(exec[0], stream)); /* nvcc has but one of it */
    TELLS(2, "graph_launch " STREAM("cuGraphLaunch"), cuGraphLaunch(exec[3], stream));
    TELLS_FAILED(1, "graph_launch " STREAM("cuGraphLaunch"), cuGraphLaunch(NULL, stream));
    wait_for_stream();
    while (count)
        CHECK(cudaGraphExecDestroy(exec[--count]));
    CHECK(cudaGraphDestroy(graph));
}

/* --- what is said of the program --- */

static nvtxEventAttributes_t attributes(void)
{
    nvtxEventAttributes_t event = {};
    event.version = NVTX_VERSION;
    event.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
    event.messageType = NVTX_MESSAGE_TYPE_ASCII;
    event.message.ascii = "something";
    return event;
}

/* NVTX gives no errors: so many levels, so many times. */
#define SAYS(times, what, call)         \
    do {                                \
        for (int i = 0; i < times; i++) \
            (void)(call);               \
        state_reported(what, times);    \
    } while (0)
#define STARTS(times, name, end, domain, call)     \
    do {                                           \
        for (int i = 0; i < times; i++)            \
            domain(call);                          \
        state_reported("nvtx_start " name, times); \
        state_reported("nvtx_end " end, times);    \
    } while (0)
#define END(range) nvtxRangeEnd(range)
#define DOMAIN_END(range) nvtxDomainRangeEnd(domain, range)

static void annotations(void)
{
    nvtxDomainHandle_t domain = nvtxDomainCreateA("callbacks");
    nvtxEventAttributes_t event = attributes();
    SAYS(2, "nvtx_push nvtxRangePushA", nvtxRangePushA("a"));
    SAYS(1, "nvtx_push nvtxRangePushW", nvtxRangePushW(L"w"));
    SAYS(3, "nvtx_push nvtxRangePushEx", nvtxRangePushEx(&event));
    SAYS(4, "nvtx_push nvtxDomainRangePushEx", nvtxDomainRangePushEx(domain, &event));
    SAYS(6, "nvtx_pop nvtxRangePop", nvtxRangePop());
    SAYS(4, "nvtx_pop nvtxDomainRangePop", nvtxDomainRangePop(domain));
    STARTS(1, "nvtxRangeStartA", "nvtxRangeEnd", END, nvtxRangeStartA("a"));
    STARTS(3, "nvtxRangeStartW", "nvtxRangeEnd", END, nvtxRangeStartW(L"w"));
    STARTS(2, "nvtxRangeStartEx", "nvtxRangeEnd", END, nvtxRangeStartEx(&event));
    STARTS(5, "nvtxDomainRangeStartEx", "nvtxDomainRangeEnd", DOMAIN_END, nvtxDomainRangeStartEx(domain, &event));
    SAYS(4, "nvtx_mark nvtxMarkA", (nvtxMarkA("a"), 0));
    SAYS(2, "nvtx_mark nvtxMarkW", (nvtxMarkW(L"w"), 0));
    SAYS(1, "nvtx_mark nvtxMarkEx", (nvtxMarkEx(&event), 0));
    SAYS(3, "nvtx_mark nvtxDomainMarkEx", (nvtxDomainMarkEx(domain, &event), 0));
    for (int i = 0; i < 3; i++) /* of which there are not many answers without gputrace */
        (void)gputrace_access(device, BYTES, GPUTRACE_READ, stream);
    state_reported("memory_access -", 3);
    TELLS(2, "profiler cuProfilerStart", cudaProfilerStart());
    TELLS(1, "profiler cuProfilerStart", cuProfilerStart());
    TELLS(1, "profiler cuProfilerStop", cudaProfilerStop());
    TELLS(3, "profiler cuProfilerStop", cuProfilerStop());
}

int main()
{
    CHECK(cudaSetDevice(0)); /* starts CUDA, and the tracer with it */
    state_reported("context_creation -", 1);
    TELLS(1, "stream_creation cuStreamCreate", cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    TELLS(1, "memory_allocation cuMemAlloc_v2", cudaMalloc((void **)&device, BYTES));
    TELLS(1, "memory_allocation cuMemAlloc_v2", cudaMalloc((void **)&twin, BYTES));
    state_reported("module_load cuLibraryLoadData", 1); /* the program's own code, at its first use, … */
    state_reported_range("module_unload cuLibraryUnload", 0,
                         1); /* … which may go before the end of the program is reported */

    events();
    streams();
    device_memory();
    host_memory();
    arrays();
    pools();
    virtual_memory();
    copies();
    batches();
    copies_of_shapes();
    copies_of_arrays();
    sets();
    code_and_launches();
    queue();
    graphs();
    annotations();

    FREE("cuMemFree_v2", cudaFree(twin));
    FREE("cuMemFree_v2", cudaFree(device));
    TELLS(1, "stream_deletion cuStreamDestroy_v2", cudaStreamDestroy(stream));
    state_reported("process_end -", 1);
    printf("everything that callbacks report\n");
    return state_print_reported();
}
