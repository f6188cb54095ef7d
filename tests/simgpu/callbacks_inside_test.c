/* What the tool does in its callbacks: it switches others on and off, and calls CUDA itself. */
#include "tests/unit.h"

#include <pthread.h>

#include "recording.h"

/* CUPTI heeds a function's switch only if it was on when the first context was made. */
UNIT_FIXTURE(start)
{
    cuptiActivityEnableDriverApi(CUPTI_DRIVER_TRACE_CBID_cuMemAlloc_v2, 1);
    int failed = recording_start_warm(1 << 16);
    cuptiActivityEnableDriverApi(CUPTI_DRIVER_TRACE_CBID_cuMemAlloc_v2, 0);
    return failed;
}

UNIT_FIXTURE(clear)
{
    recording_clear();
    return 0;
}

#define MALLOC CUPTI_CB_DOMAIN_RUNTIME_API, CUPTI_RUNTIME_TRACE_CBID_cudaMalloc_v3020
#define MEM_ALLOC CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuMemAlloc_v2
#define MEM_FREE CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuMemFree_v2

static void disable_at_entry(const struct recorded_call *call)
{
    if (call->cbid == CUPTI_DRIVER_TRACE_CBID_cuMemAlloc_v2)
        recording_tell_no_more(MEM_ALLOC);
}

UNIT_TEST_WITH(what_is_disabled_at_its_entry_has_no_exit, NULL, clear)
{
    recording_tell_one(MEM_ALLOC);
    recording_tell_one(MEM_FREE);
    recording_in_callbacks(disable_at_entry);
    void *memory;
    CUDA_OK(cudaMalloc(&memory, 100));
    CUDA_OK(cudaFree(memory));
    CUDA_OK(cudaMalloc(&memory, 100));
    assert_int_equal(recording_calls(), 3);
    assert_int_equal(recording_call(0)->site, CUPTI_API_ENTER);
    assert_int_equal(recording_call(1)->cbid, CUPTI_DRIVER_TRACE_CBID_cuMemFree_v2);
    CUDA_OK(cudaFree(memory));
}

static void enable_at_entry(const struct recorded_call *call)
{
    if (call->cbid == CUPTI_RUNTIME_TRACE_CBID_cudaMalloc_v3020)
        recording_tell_one(MEM_ALLOC);
}

UNIT_TEST_WITH(what_is_enabled_in_a_callback_is_told_at_once, NULL, clear)
{
    recording_tell_one(MALLOC);
    recording_in_callbacks(enable_at_entry);
    void *memory;
    CUDA_OK(cudaMalloc(&memory, 100));
    assert_int_equal(recording_calls(), 4);
    assert_int_equal(recording_call(1)->cbid, CUPTI_DRIVER_TRACE_CBID_cuMemAlloc_v2);
    CUDA_OK(cudaFree(memory));
}

static void *switch_often(void *unused)
{
    (void)unused;
    for (int i = 0; i < 5000; i++) {
        recording_tell_one(MEM_ALLOC);
        recording_tell_no_more(MEM_ALLOC);
    }
    return NULL;
}

UNIT_TEST_WITH(callbacks_are_switched_while_others_call, NULL, clear)
{
    pthread_t thread;
    pthread_create(&thread, NULL, switch_often, NULL);
    for (int i = 0; i < 500; i++) {
        void *memory;
        CUDA_OK(cudaMalloc(&memory, 100));
        CUDA_OK(cudaFree(memory));
    }
    pthread_join(thread, NULL);
    for (size_t i = 0; i < recording_calls(); i++)
        assert_int_equal(recording_call(i)->cbid, CUPTI_DRIVER_TRACE_CBID_cuMemAlloc_v2);
}

static void call_cuda(const struct recorded_call *call)
{
    void *memory;
    (void)call;
    cudaMalloc(&memory, 100);
    cudaMemset(memory, 0, 100);
    cudaFree(memory);
}

UNIT_TEST_WITH(calls_in_a_callback_are_not_told_but_recorded_as_the_call_s_own, NULL, clear)
{
    static const CUpti_ActivityKind kinds[] = {CUPTI_ACTIVITY_KIND_RUNTIME, CUPTI_ACTIVITY_KIND_MEMSET,
                                               CUPTI_ACTIVITY_KIND_INVALID};
    recording_tell(CUPTI_CB_DOMAIN_DRIVER_API);
    recording_enable(kinds);
    recording_in_callbacks(call_cuda);
    cudaStream_t stream;
    CUDA_OK(cudaStreamCreate(&stream));
    recording_in_callbacks(NULL);
    CUDA_OK(cudaDeviceSynchronize());
    recording_flush(false);
    assert_int_equal(recording_calls(), 4); /* cuStreamCreate and cuCtxSynchronize */
    const CUpti_ActivityAPI *outer =
        recording_api(CUPTI_ACTIVITY_KIND_RUNTIME, CUPTI_RUNTIME_TRACE_CBID_cudaStreamCreate_v3020);
    const CUpti_ActivityAPI *inner;
    size_t inside = 0;
    for (size_t i = 0; (inner = recording_get(CUPTI_ACTIVITY_KIND_RUNTIME, i)); i++) {
        if (inner == outer || inner->correlationId != outer->correlationId)
            continue;
        assert_true(inner->start >= outer->start && inner->end <= outer->end);
        inside++;
    }
    assert_int_equal(inside, 6); /* three at the entry, three at the exit */
    assert_int_equal(recording_count(CUPTI_ACTIVITY_KIND_MEMSET), 2);
    const CUpti_ActivityMemset4 *set = recording_get(CUPTI_ACTIVITY_KIND_MEMSET, 0);
    assert_int_equal(set->correlationId, outer->correlationId);
    CUDA_OK(cudaStreamDestroy(stream));
}

static void call_the_driver(const struct recorded_call *call)
{
    CUdeviceptr memory;
    (void)call;
    cuMemAlloc(&memory, 100);
    cuMemFree(memory);
}

UNIT_TEST_WITH(single_ids_are_recorded_of_calls_that_the_tool_makes, NULL, clear)
{
    CUDA_OK(cuptiActivityEnableDriverApi(CUPTI_DRIVER_TRACE_CBID_cuMemAlloc_v2, 1));
    recording_tell_one(CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuStreamCreate);
    recording_in_callbacks(call_the_driver);
    cudaStream_t stream;
    CUDA_OK(cudaStreamCreate(&stream));
    recording_in_callbacks(call_cuda); /* its runtime calls call the driver */
    CUDA_OK(cudaStreamCreate(&stream));
    recording_flush(false);
    CUDA_OK(cuptiActivityEnableDriverApi(CUPTI_DRIVER_TRACE_CBID_cuMemAlloc_v2, 0));
    assert_int_equal(recording_count(CUPTI_ACTIVITY_KIND_DRIVER), 2);
    const CUpti_ActivityAPI *record = recording_get(CUPTI_ACTIVITY_KIND_DRIVER, 0);
    assert_int_equal(record->correlationId, recording_call(0)->correlation);
}

static int asked;

static void ask_in_callback(const struct recorded_call *call)
{
    (void)call;
    asked += recording_tells(MALLOC);
}

UNIT_TEST_WITH(the_tool_can_ask_in_a_callback_what_is_enabled, NULL, clear)
{
    assert_true(recording_tells(MALLOC) == false);
    recording_tell_one(MALLOC);
    assert_true(recording_tells(MALLOC));
    recording_in_callbacks(ask_in_callback);
    void *memory;
    CUDA_OK(cudaMalloc(&memory, 100));
    assert_int_equal(asked, 2);
    CUDA_OK(cudaFree(memory));
}

UNIT_MAIN(start, NULL)
