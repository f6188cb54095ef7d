#include "tests/unit.h"

#include "analysis/engine/timeline.h"

static struct sorter_space space;

static void begin(struct sorter *calls)
{
    space = sorter_space_usual();
    calls_init(calls, &space);
}

static void add(struct sorter *calls, uint32_t correlation, uint32_t process, int64_t start, int64_t end, uint32_t name)
{
    struct call call = {.correlation = correlation, .process = process, .start = start, .end = end, .name = name};
    assert_int_equal(sorter_add(calls, &call), 0);
}

/* The name of the call that is found; 0: none. */
static uint32_t found(const struct sorter *calls, int64_t correlation, int64_t time)
{
    struct calls_join join;
    calls_join_begin(&join, calls);
    const struct call *call = calls_join_find(&join, correlation, time, CALLS_ANY_PROCESS);
    uint32_t name = call ? call->name : 0;
    assert_int_equal(calls_join_end(&join), 0);
    return name;
}

UNIT_TEST(the_outer_of_nested_calls_is_found)
{
    struct sorter calls;
    struct calls_walk walk;
    begin(&calls);
    add(&calls, 7, 0, 110, 190, 2); /* the driver's within the runtime's, which may come later in the file */
    add(&calls, 7, 0, 100, 200, 1);
    add(&calls, 6, 0, 50, 60, 3);
    assert_int_equal(sorter_ready(&calls), 0);
    assert_int_equal(found(&calls, 7, 300), 1);
    assert_int_equal(found(&calls, 6, 300), 3);
    calls_walk_begin(&walk, &calls);
    assert_int_equal(calls_next(&walk)->name, 3);
    assert_int_equal(calls_next(&walk)->name, 1);
    assert_null(calls_next(&walk));
    assert_int_equal(sorter_walk_end(&walk.walk), 0);
    sorter_release(&calls);
}

UNIT_TEST(a_correlation_that_no_call_has_is_not_found)
{
    struct sorter calls, none;
    begin(&none);
    assert_int_equal(sorter_ready(&none), 0);
    assert_int_equal(found(&none, 1, 0), 0);
    sorter_release(&none);
    begin(&calls);
    add(&calls, 2, 0, 0, 1, 1);
    assert_int_equal(sorter_ready(&calls), 0);
    const int64_t wrong[] = {1, 3, -1, INT64_MIN, INT64_MAX, INT64_C(0x100000002)};
    for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++)
        assert_int_equal(found(&calls, wrong[i], 10), 0);
    sorter_release(&calls);
}

UNIT_TEST(of_several_processes_the_last_to_start_before_counts)
{
    struct sorter calls;
    begin(&calls);
    add(&calls, 5, 0, 100, 110, 1);
    add(&calls, 5, 1, 200, 210, 2);
    add(&calls, 5, 2, 300, 310, 3);
    assert_int_equal(sorter_ready(&calls), 0);
    assert_int_equal(found(&calls, 5, 150), 1);
    assert_int_equal(found(&calls, 5, 250), 2);
    assert_int_equal(found(&calls, 5, 999), 3);
    assert_int_equal(found(&calls, 5, 50), 1); /* before all: some call is better than none */
    sorter_release(&calls);
}

UNIT_TEST(rising_correlations_are_joined_in_one_walk)
{
    struct sorter calls;
    struct calls_join join;
    begin(&calls);
    for (uint32_t i = 100; i > 0; i--)
        add(&calls, 2 * i, 0, i, i + 1, i);
    assert_int_equal(sorter_ready(&calls), 0);
    calls_join_begin(&join, &calls);
    for (int64_t i = -3; i < 300; i++)
        for (int again = 0; again < 2; again++) {
            const struct call *call = calls_join_find(&join, i, 50, CALLS_ANY_PROCESS);
            bool expected = i > 0 && i % 2 == 0 && i <= 200;
            assert_int_equal(call != NULL, expected);
            assert_true(!call || call->name == i / 2);
        }
    assert_int_equal(calls_join_end(&join), 0);
    sorter_release(&calls);
}

static int add_name(void *context, const struct call *call)
{
    uint32_t *names = context;
    *names = *names * 10 + call->name;
    return 0;
}

UNIT_TEST(calls_that_nothing_found_are_missed)
{
    struct sorter calls;
    struct calls_join join;
    uint32_t names = 0;
    begin(&calls);
    add(&calls, 1, 0, 100, 110, 1);
    add(&calls, 2, 0, 200, 210, 2);
    add(&calls, 2, 1, 300, 310, 3); /* of another process */
    add(&calls, 4, 0, 400, 410, 4);
    add(&calls, 4, 0, 401, 409, 5); /* within the one before */
    add(&calls, 6, 0, 600, 610, 6);
    assert_int_equal(sorter_ready(&calls), 0);
    calls_join_begin(&join, &calls);
    join.missed = add_name;
    join.context = &names;
    assert_int_equal(calls_join_find(&join, 2, 250, CALLS_ANY_PROCESS)->name, 2);
    assert_false(join.again);
    assert_int_equal(calls_join_find(&join, 2, 260, CALLS_ANY_PROCESS)->name, 2);
    assert_true(join.again);
    assert_null(calls_join_find(&join, 3, 350, CALLS_ANY_PROCESS));
    assert_int_equal(names, 13);
    calls_join_miss_rest(&join);
    assert_int_equal(calls_join_end(&join), 0);
    assert_int_equal(names, 1346);
    sorter_release(&calls);
}

UNIT_TEST(of_equal_ids_the_call_of_the_own_process_counts)
{
    struct sorter calls;
    struct calls_join join;
    calls_init(&calls, &space);
    for (uint32_t process = 0; process < 3; process++) {
        struct call call = {.correlation = 5, .process = process, .start = 100 + process, .end = 200, .name = process};
        assert_int_equal(sorter_add(&calls, &call), 0);
    }
    assert_int_equal(sorter_ready(&calls), 0);
    calls_join_begin(&join, &calls);
    for (uint32_t process = 0; process < 3; process++)
        assert_int_equal(calls_join_find(&join, 5, 300, process)->name, process);
    assert_int_equal(calls_join_find(&join, 5, 300, CALLS_ANY_PROCESS)->name, 2);
    assert_null(calls_join_find(&join, 5, 300, 3));
    assert_int_equal(calls_join_end(&join), 0);
    sorter_release(&calls);
}

/* --- what calls of CUDA and of other programming interfaces for accelerators do, by their names --- */

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
