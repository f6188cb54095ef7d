#include "agent/cupti/cupti_library.h"
#include "agent/cupti/kernel_names.h"

#include <pthread.h>

#include "tests/agent/cupti/launching.h"
#include "tests/unit.h"

static CUresult function_is_called(const char **name, CUfunction function)
{
    (void)function;
    *name = "function";
    return CUDA_SUCCESS;
}

static CUresult kernel_is_called(const char **name, CUkernel kernel)
{
    (void)kernel;
    *name = "kernel";
    return CUDA_SUCCESS;
}

static const struct driver named = {.cuFuncGetName = function_is_called, .cuKernelGetName = kernel_is_called};

UNIT_TEST_WITH(nothing_is_heard_before_a_function_is_got, NULL, launching_clear)
{
    assert_false(launches_are_on());
    launch_others(1);
    assert_int_equal(published.count, 0);
}

/* At its begin: the process can be killed before it returns. */
UNIT_TEST_WITH(a_first_launch_is_reported_when_it_begins, NULL, launching_clear)
{
    cuLaunchKernel_params p = {.f = (CUfunction)0x30};
    get_function("_Z5firstv");
    assert_true(launches_are_on());
    fake_symbol = "_Z5firstv";
    fake_correlation = 55;
    fake_enter(LAUNCH, &p);
    assert_int_equal(published.count, 1);
    assert_int_equal(published.correlation, 55);
    assert_string_equal(published.text, "_Z5firstv");
    assert_true(launches_are_on());
    fake_exit(LAUNCH, &p, CUDA_SUCCESS);
    fake_correlation = 0;
    assert_false(launches_are_on());
    launch("_Z5firstv");
    assert_int_equal(published.count, 1);
}

UNIT_TEST_WITH(every_function_is_reported_once_whenever_it_is_launched, NULL, launching_clear)
{
    char name[16];
    for (unsigned i = 1; i <= 64; i++) {
        snprintf(name, sizeof(name), "f%u", i);
        get_function(name);
    }
    for (unsigned i = 1; i <= 64; i++) {
        assert_true(launches_are_on());
        snprintf(name, sizeof(name), "f%u", i);
        for (unsigned again = 0; again < 10; again++)
            launch(name);
        assert_int_equal(published.count, i);
        assert_string_equal(published.text, name);
    }
    assert_false(launches_are_on());
}

/* The last was launched first, as only the order of launches matters. */
UNIT_TEST_WITH(the_last_that_was_got_does_not_end_it, NULL, launching_clear)
{
    get_function("one");
    get_function("two");
    launch("two");
    assert_true(launches_are_on());
    launch("one");
    assert_string_equal(published.text, "one");
    assert_int_equal(published.count, 2);
    assert_false(launches_are_on());
}

/* A library's kernel has a function in each context, and is launched by any of these handles. */
UNIT_TEST_WITH(what_has_several_handles_is_launched_once, NULL, launching_clear)
{
    CUfunction function = (CUfunction)0x40;
    cuKernelGetFunction_params p = {&function, (CUkernel)0x20};
    driver_replace(&named);
    get_kernel("kernel", CUDA_SUCCESS);
    fake_call(CUPTI_DRIVER_TRACE_CBID_cuKernelGetFunction, &p, CUDA_SUCCESS);
    launch("kernel");
    assert_int_equal(published.count, 1);
    assert_false(launches_are_on());
}

UNIT_TEST_WITH(what_was_launched_once_is_not_waited_for_again, NULL, launching_clear)
{
    get_function("again");
    launch("again");
    get_function("again");
    assert_false(launches_are_on());
}

/* Outside of a capture range a launch has no callback; what was got meanwhile is named when recording is on. */
UNIT_TEST_WITH(nothing_is_heard_while_suspended, NULL, launching_clear)
{
    get_function("before");
    assert_true(launches_are_on());
    first_launches_suspend(true);
    assert_false(launches_are_on());
    get_function("meanwhile");
    first_launches_renew(UINT64_MAX);
    assert_false(launches_are_on());
    launch("before");
    assert_int_equal(published.count, 0);
    first_launches_suspend(false);
    assert_true(launches_are_on());
    launch("before");
    launch("meanwhile");
    assert_int_equal(published.count, 2);
    assert_false(launches_are_on());
    first_launches_suspend(true);
    first_launches_suspend(false);
    assert_false(launches_are_on());
}

UNIT_TEST_WITH(what_was_not_got_is_not_waited_for, NULL, launching_clear)
{
    get_kernel("none", CUDA_ERROR_NOT_FOUND);
    assert_false(launches_are_on());
}

static void unload(bool library, uintptr_t module)
{
    cuModuleUnload_params p = {(CUmodule)module};
    cuLibraryUnload_params q = {(CUlibrary)module};
    if (library)
        fake_call(CUPTI_DRIVER_TRACE_CBID_cuLibraryUnload, &q, CUDA_SUCCESS);
    else
        fake_call(CUPTI_DRIVER_TRACE_CBID_cuModuleUnload, &p, CUDA_SUCCESS);
}

UNIT_TEST_WITH(what_was_unloaded_is_waited_for_no_longer, NULL, launching_clear)
{
    get_function("function");
    get_kernel("kernel", CUDA_SUCCESS);
    unload(false, 0x2);
    assert_true(launches_are_on());
    unload(false, 0x1);
    unload(true, 0x1);
    assert_false(launches_are_on());
}

UNIT_TEST_WITH(what_is_enumerated_is_got_too, NULL, launching_clear)
{
    CUfunction functions[] = {(CUfunction)0x360, (CUfunction)0x370};
    CUkernel kernels[] = {(CUkernel)0x380};
    cuModuleEnumerateFunctions_params p = {functions, 2, (CUmodule)0x1};
    cuLibraryEnumerateKernels_params q = {kernels, 1, (CUlibrary)0x1};
    driver_replace(&named);
    fake_call(CUPTI_DRIVER_TRACE_CBID_cuModuleEnumerateFunctions, &p, CUDA_ERROR_INVALID_VALUE);
    assert_false(launches_are_on());
    fake_call(CUPTI_DRIVER_TRACE_CBID_cuModuleEnumerateFunctions, &p, CUDA_SUCCESS);
    fake_call(CUPTI_DRIVER_TRACE_CBID_cuLibraryEnumerateKernels, &q, CUDA_SUCCESS);
    assert_true(launches_are_on());
    launch("function");
    assert_true(launches_are_on());
    launch("kernel");
    assert_int_equal(published.count, 2);
    assert_false(launches_are_on());
}

/* Then it was no launch. */
UNIT_TEST_WITH(a_captured_launch_is_not_the_first, NULL, launching_clear)
{
    cuLaunchKernel_params p = {.f = (CUfunction)0x30};
    get_function("first");
    fake_symbol = "first";
    fake_enter(LAUNCH, &p);
    first_launches_captured();
    fake_exit(LAUNCH, &p, CUDA_SUCCESS);
    assert_true(launches_are_on());
    launch("first");
    assert_string_equal(published.text, "first");
    assert_false(launches_are_on());
}

static void *launch_elsewhere(void *name)
{
    launch(name);
    return NULL;
}

UNIT_TEST_WITH(another_thread_may_launch_it, NULL, launching_clear)
{
    pthread_t thread;
    char name[] = "elsewhere";
    get_function(name);
    assert_int_equal(pthread_create(&thread, NULL, launch_elsewhere, name), 0);
    pthread_join(thread, NULL);
    assert_string_equal(published.text, "elsewhere");
    assert_false(launches_are_on());
}

UNIT_TEST_WITH(nobody_who_wants_names_nothing_is_heard, NULL, launching_clear)
{
    get_function("late");
    assert_true(launches_are_on());
    assert_int_equal(launching_want_no_more(), 0);
    assert_false(launches_are_on());
    assert_int_equal(fake_count_on(CUPTI_CB_DOMAIN_DRIVER_API), 0);
    get_function("late");
    assert_false(launches_are_on());
    assert_int_equal(launching_want(), 0);
    assert_false(launches_are_on());
}

UNIT_MAIN(launching_start, NULL)
