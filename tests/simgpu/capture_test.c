/* Captures: who belongs to one, and what breaks it. */
#include "tests/unit.h"

#include <pthread.h>

#include "recording.h"

static cudaStream_t stream, side, free_stream;
static cudaEvent_t event;

UNIT_FIXTURE(start)
{
    recording_start(1 << 16);
    cudaFree(NULL);
    recording_kernel();
    return cudaStreamCreate(&stream) || cudaStreamCreate(&side) ||
           cudaStreamCreateWithFlags(&free_stream, cudaStreamNonBlocking) || cudaEventCreate(&event);
}

UNIT_FIXTURE(clear)
{
    recording_clear();
    return cudaDeviceSynchronize();
}

static void launch(cudaStream_t where)
{
    CUDA_OK(cudaLaunchKernel((const void *)recording_kernel, (dim3){1, 1, 1}, (dim3){32, 1, 1}, NULL, 0, where));
}

static void begin_in(cudaStream_t where, enum cudaStreamCaptureMode mode)
{
    CUDA_OK(cudaStreamBeginCapture(where, mode));
    launch(where);
}

static void begin(enum cudaStreamCaptureMode mode)
{
    begin_in(stream, mode);
}

static enum cudaStreamCaptureStatus status_of(cudaStream_t of)
{
    enum cudaStreamCaptureStatus status;
    CUDA_OK(cudaStreamIsCapturing(of, &status));
    return status;
}

/* The capture was broken: it says so from here to its end, which gives no graph; then the stream can be used again. */
static void assert_broken(void)
{
    cudaGraph_t graph = (cudaGraph_t)&event;
    assert_int_equal(status_of(stream), cudaStreamCaptureStatusInvalidated);
    assert_int_equal(cudaEventRecord(event, stream), cudaErrorStreamCaptureInvalidated);
    assert_int_equal(cudaStreamEndCapture(stream, &graph), cudaErrorStreamCaptureInvalidated);
    assert_null(graph);
    assert_int_equal(status_of(stream), cudaStreamCaptureStatusNone);
    launch(stream);
    CUDA_OK(cudaStreamSynchronize(stream));
}

static size_t end_with_nodes(void)
{
    cudaGraph_t graph;
    size_t count = 0;
    CUDA_OK(cudaStreamEndCapture(stream, &graph));
    CUDA_OK(cudaGraphGetNodes(graph, NULL, &count));
    CUDA_OK(cudaGraphDestroy(graph));
    return count;
}

UNIT_TEST_WITH(a_stream_that_waits_for_a_captured_event_joins, NULL, clear)
{
    begin(cudaStreamCaptureModeThreadLocal);
    CUDA_OK(cudaEventRecord(event, stream));
    assert_int_equal(status_of(side), cudaStreamCaptureStatusNone);
    CUDA_OK(cudaStreamWaitEvent(side, event, 0));
    assert_int_equal(status_of(side), cudaStreamCaptureStatusActive);
    launch(side);
    CUDA_OK(cudaEventRecord(event, side));
    CUDA_OK(cudaStreamWaitEvent(stream, event, 0));
    launch(stream);
    assert_int_equal(end_with_nodes(), 3);
    assert_int_equal(status_of(side), cudaStreamCaptureStatusNone);
}

UNIT_TEST_WITH(synchronising_breaks_it, NULL, clear)
{
    begin(cudaStreamCaptureModeGlobal);
    assert_int_equal(cudaStreamSynchronize(stream), cudaErrorStreamCaptureUnsupported);
    assert_broken();
    begin(cudaStreamCaptureModeGlobal);
    assert_int_equal(cudaStreamQuery(stream), cudaErrorStreamCaptureUnsupported);
    assert_broken();
    begin(cudaStreamCaptureModeRelaxed);
    assert_int_equal(cudaDeviceSynchronize(), cudaErrorStreamCaptureUnsupported);
    assert_broken();
}

UNIT_TEST_WITH(asking_for_an_event_in_it_breaks_it, NULL, clear)
{
    begin(cudaStreamCaptureModeRelaxed);
    CUDA_OK(cudaEventRecord(event, stream));
    assert_int_equal(cudaEventQuery(event), cudaErrorCapturedEvent);
    assert_broken();
    assert_int_equal(cudaEventSynchronize(event), cudaErrorCapturedEvent);
    assert_int_equal(cudaStreamWaitEvent(side, event, 0), cudaErrorCapturedEvent); /* its capture is no more */
    CUDA_OK(cudaEventRecord(event, stream));
    CUDA_OK(cudaEventSynchronize(event));
}

static void nothing(void *unused)
{
    (void)unused;
}

UNIT_TEST_WITH(the_legacy_stream_breaks_it_for_streams_that_block, NULL, clear)
{
    begin(cudaStreamCaptureModeRelaxed);
    assert_int_equal(cudaLaunchHostFunc(NULL, nothing, NULL), cudaErrorStreamCaptureImplicit);
    assert_broken();
    begin_in(free_stream, cudaStreamCaptureModeRelaxed);
    launch(NULL);
    cudaGraph_t graph;
    CUDA_OK(cudaStreamEndCapture(free_stream, &graph));
    CUDA_OK(cudaGraphDestroy(graph));
}

/* As the documentation has it: the answer would be no, and using the stream would break the capture; asking does not.
 */
UNIT_TEST_WITH(the_legacy_stream_cannot_be_asked_about_while_others_are_captured, NULL, clear)
{
    enum cudaStreamCaptureStatus status;
    begin(cudaStreamCaptureModeThreadLocal);
    assert_int_equal(cudaStreamIsCapturing(NULL, &status), cudaErrorStreamCaptureImplicit);
    assert_int_equal(status_of(stream), cudaStreamCaptureStatusActive);
    assert_int_equal(end_with_nodes(), 1);
    assert_int_equal(status_of(NULL), cudaStreamCaptureStatusNone);
    begin_in(free_stream, cudaStreamCaptureModeThreadLocal);
    assert_int_equal(status_of(NULL), cudaStreamCaptureStatusNone);
    cudaGraph_t graph;
    CUDA_OK(cudaStreamEndCapture(free_stream, &graph));
    CUDA_OK(cudaGraphDestroy(graph));
}

static void *allocate(void *unused)
{
    (void)unused;
    void *memory = NULL;
    cudaError_t result = cudaMalloc(&memory, 100);
    if (result == cudaSuccess)
        cudaFree(memory);
    return (void *)(uintptr_t)result;
}

static cudaError_t allocate_elsewhere(void)
{
    pthread_t thread;
    void *result;
    pthread_create(&thread, NULL, allocate, NULL);
    pthread_join(thread, &result);
    return (cudaError_t)(uintptr_t)result;
}

UNIT_TEST_WITH(allocating_breaks_it_where_its_mode_says_so, NULL, clear)
{
    begin(cudaStreamCaptureModeGlobal);
    assert_int_equal(allocate_elsewhere(), cudaErrorStreamCaptureUnsupported);
    assert_broken();
    begin(cudaStreamCaptureModeThreadLocal);
    assert_int_equal(allocate_elsewhere(), cudaSuccess);
    assert_int_equal((uintptr_t)allocate(NULL), cudaErrorStreamCaptureUnsupported);
    assert_broken();
    begin(cudaStreamCaptureModeRelaxed);
    assert_int_equal((uintptr_t)allocate(NULL), cudaSuccess);
    assert_int_equal(end_with_nodes(), 1);
    begin(cudaStreamCaptureModeThreadLocal);
    enum cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;
    CUDA_OK(cudaThreadExchangeStreamCaptureMode(&mode));
    assert_int_equal((uintptr_t)allocate(NULL), cudaSuccess);
    CUDA_OK(cudaThreadExchangeStreamCaptureMode(&mode));
    assert_int_equal(end_with_nodes(), 1);
}

UNIT_TEST_WITH(two_captures_do_not_merge, NULL, clear)
{
    cudaGraph_t graph;
    begin(cudaStreamCaptureModeRelaxed);
    begin_in(free_stream, cudaStreamCaptureModeRelaxed);
    CUDA_OK(cudaEventRecord(event, stream));
    assert_int_equal(cudaStreamWaitEvent(free_stream, event, 0), cudaErrorStreamCaptureMerge);
    assert_int_equal(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed), cudaErrorIllegalState);
    CUDA_OK(cudaStreamEndCapture(free_stream, &graph));
    CUDA_OK(cudaGraphDestroy(graph));
    assert_int_equal(end_with_nodes(), 1);
    assert_int_equal(cudaStreamEndCapture(stream, &graph), cudaErrorIllegalState);
}

static void *end_capture(void *unused)
{
    (void)unused;
    cudaGraph_t graph;
    return (void *)(uintptr_t)cudaStreamEndCapture(stream, &graph);
}

UNIT_TEST_WITH(only_its_own_stream_and_thread_end_it, NULL, clear)
{
    cudaGraph_t graph;
    pthread_t thread;
    void *result;
    begin(cudaStreamCaptureModeThreadLocal);
    CUDA_OK(cudaEventRecord(event, stream));
    CUDA_OK(cudaStreamWaitEvent(side, event, 0));
    assert_int_equal(cudaStreamEndCapture(side, &graph), cudaErrorStreamCaptureUnmatched);
    pthread_create(&thread, NULL, end_capture, NULL);
    pthread_join(thread, &result);
    assert_int_equal((uintptr_t)result, cudaErrorStreamCaptureWrongThread);
    assert_int_equal(end_with_nodes(), 1);
}

UNIT_TEST_WITH(a_stream_that_goes_takes_its_capture_with_it, NULL, clear)
{
    cudaStream_t passing;
    CUDA_OK(cudaStreamCreate(&passing));
    begin(cudaStreamCaptureModeThreadLocal);
    CUDA_OK(cudaEventRecord(event, stream));
    CUDA_OK(cudaStreamWaitEvent(passing, event, 0));
    CUDA_OK(cudaStreamDestroy(passing));
    assert_broken();
    CUDA_OK(cudaStreamCreate(&passing));
    begin_in(passing, cudaStreamCaptureModeThreadLocal);
    CUDA_OK(cudaEventRecord(event, passing));
    CUDA_OK(cudaStreamWaitEvent(side, event, 0));
    CUDA_OK(cudaStreamDestroy(passing));
    assert_int_equal(status_of(side), cudaStreamCaptureStatusNone);
}

UNIT_MAIN(start, NULL)
