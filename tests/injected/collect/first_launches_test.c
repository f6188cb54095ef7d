#include "injected/collect/first_launches.h"

#include <pthread.h>

#include "base/clock.h"
#include "injected/collect/cupti_callbacks.h"
#include "injected/collect/function_names.h"
#include "injected/registry/registry.h"
#include "tests/injected/collect/fake_cupti.h"
#include "tests/unit.h"

#define LAUNCH CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel

static struct {
    unsigned count;
    uint32_t correlation;
    char text[64];
} told;

static void hear(void *data, const struct gputrace_launch_name *name)
{
    (void)data;
    told.count++;
    told.correlation = name->correlation;
    snprintf(told.text, sizeof(told.text), "%.*s", (int)name->text.length, name->text.bytes);
}

static bool launches_are_on(void)
{
    return fake_is_on(CUPTI_CB_DOMAIN_DRIVER_API, LAUNCH);
}

static void get_function(const char *name)
{
    CUfunction function = (CUfunction)0x10;
    cuModuleGetFunction_params p = {&function, (CUmodule)0x1, name};
    fake_call(CUPTI_DRIVER_TRACE_CBID_cuModuleGetFunction, &p, CUDA_SUCCESS);
}

static void get_kernel(const char *name, CUresult result)
{
    CUkernel kernel = (CUkernel)0x20;
    cuLibraryGetKernel_params p = {&kernel, (CUlibrary)0x1, name};
    fake_call(CUPTI_DRIVER_TRACE_CBID_cuLibraryGetKernel, &p, result);
}

/* By whatever handle. */
static void launch(const char *name)
{
    cuLaunchKernel_params p = {.f = (CUfunction)0x30};
    fake_symbol = name;
    fake_call(LAUNCH, &p, CUDA_SUCCESS);
    fake_symbol = NULL;
}

static void launch_others(unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        launch("other");
}

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

static uint64_t registration;

static int start(void **state)
{
    char why[256];
    (void)state;
    registration = registry_add(REGISTRY_LIBRARY, REGISTRY_launch_name, (gputrace_any_fn *)hear, NULL);
    return registration == 0 || cupti_callbacks_init(&fake_cupti, why, sizeof(why)) != 0;
}

static int clear(void **state)
{
    (void)state;
    first_launches_forget();
    memset(&told, 0, sizeof(told));
    return launches_are_on();
}

static void nothing_is_heard_before_a_function_is_got(void **state)
{
    (void)state;
    assert_false(launches_are_on());
    launch_others(1);
    assert_int_equal(told.count, 0);
}

/* At its begin: the process can be killed before it returns. */
static void a_first_launch_is_told_when_it_begins(void **state)
{
    (void)state;
    cuLaunchKernel_params p = {.f = (CUfunction)0x30};
    get_function("_Z5firstv");
    assert_true(launches_are_on());
    fake_symbol = "_Z5firstv";
    fake_correlation = 55;
    fake_enter(LAUNCH, &p);
    assert_int_equal(told.count, 1);
    assert_int_equal(told.correlation, 55);
    assert_string_equal(told.text, "_Z5firstv");
    assert_true(launches_are_on());
    fake_exit(LAUNCH, &p, CUDA_SUCCESS);
    fake_correlation = 0;
    assert_false(launches_are_on());
    launch("_Z5firstv");
    assert_int_equal(told.count, 1);
}

static void every_function_is_told_once_whenever_it_is_launched(void **state)
{
    (void)state;
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
        assert_int_equal(told.count, i);
        assert_string_equal(told.text, name);
    }
    assert_false(launches_are_on());
}

/* The last was launched first, as only the order of launches matters. */
static void the_last_that_was_got_does_not_end_it(void **state)
{
    (void)state;
    get_function("one");
    get_function("two");
    launch("two");
    assert_true(launches_are_on());
    launch("one");
    assert_string_equal(told.text, "one");
    assert_int_equal(told.count, 2);
    assert_false(launches_are_on());
}

/* A library's kernel has a function in each context, and is launched by any of these handles. */
static void what_has_several_handles_is_launched_once(void **state)
{
    (void)state;
    CUfunction function = (CUfunction)0x40;
    cuKernelGetFunction_params p = {&function, (CUkernel)0x20};
    function_names_replace_driver(function_is_called, kernel_is_called);
    get_kernel("kernel", CUDA_SUCCESS);
    fake_call(CUPTI_DRIVER_TRACE_CBID_cuKernelGetFunction, &p, CUDA_SUCCESS);
    launch("kernel");
    assert_int_equal(told.count, 1);
    assert_false(launches_are_on());
}

static void what_was_launched_once_is_not_waited_for_again(void **state)
{
    (void)state;
    get_function("again");
    launch("again");
    get_function("again");
    assert_false(launches_are_on());
}

static void what_was_not_got_is_not_waited_for(void **state)
{
    (void)state;
    get_kernel("none", CUDA_ERROR_NOT_FOUND);
    assert_false(launches_are_on());
}

static void patience_ends_with_launches_of_others(void **state)
{
    (void)state;
    get_function("late");
    launch_others(FIRST_LAUNCHES_PATIENCE - 1);
    assert_true(launches_are_on());
    launch_others(1);
    assert_false(launches_are_on());
    launch("late");
    assert_int_equal(told.count, 0);
}

/* Time goes by from here on; nothing is owed for what went by before. */
static uint64_t now_on(void)
{
    static uint64_t now = 1000 * NS_PER_S;
    now += 1000 * NS_PER_S;
    first_launches_renew(now);
    return now;
}

#define WHOLE_AGAIN (FIRST_LAUNCHES_PATIENCE / FIRST_LAUNCHES_PER_MS * NS_PER_MS + NS_PER_MS)

static void patience_comes_back_with_time(void **state)
{
    (void)state;
    uint64_t now = now_on();
    get_function("late");
    launch_others(FIRST_LAUNCHES_PATIENCE);
    first_launches_renew(now + WHOLE_AGAIN / 2);
    assert_false(launches_are_on());
    first_launches_renew(now + WHOLE_AGAIN);
    assert_true(launches_are_on());
    launch("late");
    assert_int_equal(told.count, 1);
    assert_string_equal(told.text, "late");
    assert_false(launches_are_on());
}

static void who_launches_seldom_is_heard_all_the_time(void **state)
{
    (void)state;
    uint64_t now = now_on();
    get_function("late");
    for (unsigned i = 1; i <= 1000; i++) {
        launch_others(FIRST_LAUNCHES_PER_MS * 10);
        assert_true(launches_are_on());
        first_launches_renew(now + i * 10 * NS_PER_MS);
    }
    launch("late");
    assert_string_equal(told.text, "late");
}

/* Of one that launches as fast as it can: a second. */
static void a_hundredth_of_the_time_is_the_most_that_hearing_takes(void **state)
{
    (void)state;
    uint64_t now = now_on(), launched = 0;
    get_function("late");
    for (unsigned ms = 1; ms <= 1000; ms++) {
        for (unsigned i = 0; i < 250 && launches_are_on(); i++, launched++)
            launch_others(1);
        first_launches_renew(now + ms * NS_PER_MS);
    }
    assert_in_range(launched, FIRST_LAUNCHES_PER_MS * 900, FIRST_LAUNCHES_PER_MS * 1000 + FIRST_LAUNCHES_PATIENCE);
}

static void where_nothing_waits_time_changes_nothing(void **state)
{
    (void)state;
    now_on();
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

static void what_was_unloaded_is_waited_for_no_longer(void **state)
{
    (void)state;
    get_function("function");
    get_kernel("kernel", CUDA_SUCCESS);
    unload(false, 0x2);
    assert_true(launches_are_on());
    unload(false, 0x1);
    unload(true, 0x1);
    assert_false(launches_are_on());
}

static void what_is_enumerated_is_got_too(void **state)
{
    (void)state;
    CUfunction functions[] = {(CUfunction)0x360, (CUfunction)0x370};
    CUkernel kernels[] = {(CUkernel)0x380};
    cuModuleEnumerateFunctions_params p = {functions, 2, (CUmodule)0x1};
    cuLibraryEnumerateKernels_params q = {kernels, 1, (CUlibrary)0x1};
    function_names_replace_driver(function_is_called, kernel_is_called);
    fake_call(CUPTI_DRIVER_TRACE_CBID_cuModuleEnumerateFunctions, &p, CUDA_ERROR_INVALID_VALUE);
    assert_false(launches_are_on());
    fake_call(CUPTI_DRIVER_TRACE_CBID_cuModuleEnumerateFunctions, &p, CUDA_SUCCESS);
    fake_call(CUPTI_DRIVER_TRACE_CBID_cuLibraryEnumerateKernels, &q, CUDA_SUCCESS);
    assert_true(launches_are_on());
    launch("function");
    assert_true(launches_are_on());
    launch("kernel");
    assert_int_equal(told.count, 2);
    assert_false(launches_are_on());
}

/* Then it was no launch. */
static void a_captured_launch_is_not_the_first(void **state)
{
    (void)state;
    cuLaunchKernel_params p = {.f = (CUfunction)0x30};
    get_function("first");
    fake_symbol = "first";
    fake_enter(LAUNCH, &p);
    first_launches_captured();
    fake_exit(LAUNCH, &p, CUDA_SUCCESS);
    assert_true(launches_are_on());
    launch("first");
    assert_string_equal(told.text, "first");
    assert_false(launches_are_on());
}

static void a_first_launch_renews_the_patience(void **state)
{
    (void)state;
    get_function("one");
    get_function("two");
    launch_others(FIRST_LAUNCHES_PATIENCE - 1);
    launch("one");
    launch_others(FIRST_LAUNCHES_PATIENCE - 1);
    launch("two");
    assert_int_equal(told.count, 2);
    assert_false(launches_are_on());
}

static void launches_without_a_symbol_are_heard_in_vain(void **state)
{
    (void)state;
    get_function("late");
    for (unsigned i = 0; i < FIRST_LAUNCHES_PATIENCE; i++)
        launch(NULL);
    assert_int_equal(told.count, 0);
    assert_false(launches_are_on());
}

static void *launch_elsewhere(void *name)
{
    launch(name);
    return NULL;
}

static void another_thread_may_launch_it(void **state)
{
    (void)state;
    pthread_t thread;
    char name[] = "elsewhere";
    get_function(name);
    assert_int_equal(pthread_create(&thread, NULL, launch_elsewhere, name), 0);
    pthread_join(thread, NULL);
    assert_string_equal(told.text, "elsewhere");
    assert_false(launches_are_on());
}

static void nobody_who_wants_names_nothing_is_heard(void **state)
{
    (void)state;
    get_function("late");
    assert_true(launches_are_on());
    assert_int_equal(registry_remove(REGISTRY_LIBRARY, registration), 0);
    assert_false(launches_are_on());
    assert_int_equal(fake_count_on(CUPTI_CB_DOMAIN_DRIVER_API), 0);
    get_function("late");
    assert_false(launches_are_on());
    registration = registry_add(REGISTRY_LIBRARY, REGISTRY_launch_name, (gputrace_any_fn *)hear, NULL);
    assert_false(launches_are_on());
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(nothing_is_heard_before_a_function_is_got, clear),
        cmocka_unit_test_teardown(a_first_launch_is_told_when_it_begins, clear),
        cmocka_unit_test_teardown(every_function_is_told_once_whenever_it_is_launched, clear),
        cmocka_unit_test_teardown(the_last_that_was_got_does_not_end_it, clear),
        cmocka_unit_test_teardown(what_has_several_handles_is_launched_once, clear),
        cmocka_unit_test_teardown(what_was_launched_once_is_not_waited_for_again, clear),
        cmocka_unit_test_teardown(what_was_not_got_is_not_waited_for, clear),
        cmocka_unit_test_teardown(patience_ends_with_launches_of_others, clear),
        cmocka_unit_test_teardown(patience_comes_back_with_time, clear),
        cmocka_unit_test_teardown(who_launches_seldom_is_heard_all_the_time, clear),
        cmocka_unit_test_teardown(a_hundredth_of_the_time_is_the_most_that_hearing_takes, clear),
        cmocka_unit_test_teardown(where_nothing_waits_time_changes_nothing, clear),
        cmocka_unit_test_teardown(what_was_unloaded_is_waited_for_no_longer, clear),
        cmocka_unit_test_teardown(what_is_enumerated_is_got_too, clear),
        cmocka_unit_test_teardown(a_captured_launch_is_not_the_first, clear),
        cmocka_unit_test_teardown(a_first_launch_renews_the_patience, clear),
        cmocka_unit_test_teardown(launches_without_a_symbol_are_heard_in_vain, clear),
        cmocka_unit_test_teardown(another_thread_may_launch_it, clear),
        cmocka_unit_test_teardown(nobody_who_wants_names_nothing_is_heard, clear),
    };
    return cmocka_run_group_tests_name("collect/first_launches", tests, start, NULL);
}
