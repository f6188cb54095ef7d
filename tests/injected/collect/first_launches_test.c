#include "injected/collect/first_launches.h"

#include <pthread.h>

#include "injected/collect/cupti_callbacks.h"
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

static void get_function(CUfunction function)
{
    cuModuleGetFunction_params p = {&function, (CUmodule)0x1, "f"};
    fake_call(CUPTI_DRIVER_TRACE_CBID_cuModuleGetFunction, &p, CUDA_SUCCESS);
}

static void get_kernel(CUkernel kernel, CUresult result)
{
    cuLibraryGetKernel_params p = {&kernel, (CUlibrary)0x1, "k"};
    fake_call(CUPTI_DRIVER_TRACE_CBID_cuLibraryGetKernel, &p, result);
}

static void launch(CUfunction function, const char *symbol)
{
    cuLaunchKernel_params p = {.f = function};
    fake_symbol = symbol;
    fake_call(LAUNCH, &p, CUDA_SUCCESS);
    fake_symbol = NULL;
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
    launch((CUfunction)0xf0, "other");
    assert_int_equal(told.count, 0);
}

/* At its begin: the process can be killed before it returns. */
static void a_first_launch_is_told_when_it_begins(void **state)
{
    (void)state;
    CUfunction function = (CUfunction)0xf1;
    cuLaunchKernel_params p = {.f = function};
    get_function(function);
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
    launch(function, "_Z5firstv");
    assert_int_equal(told.count, 1);
}

static void every_function_is_told_once_whenever_it_is_launched(void **state)
{
    (void)state;
    for (uintptr_t i = 1; i <= 64; i++)
        get_function((CUfunction)(i << 8));
    for (uintptr_t i = 1; i <= 64; i++) {
        assert_true(launches_are_on());
        for (unsigned again = 0; again < 10; again++)
            launch((CUfunction)(i << 8), "f");
        assert_int_equal(told.count, i);
    }
    assert_false(launches_are_on());
}

/* The last was launched first, as only the order of launches matters. */
static void the_last_that_was_got_does_not_end_it(void **state)
{
    (void)state;
    get_function((CUfunction)0x100);
    get_function((CUfunction)0x200);
    launch((CUfunction)0x200, "second");
    assert_true(launches_are_on());
    launch((CUfunction)0x100, "first");
    assert_string_equal(told.text, "first");
    assert_int_equal(told.count, 2);
    assert_false(launches_are_on());
}

/* CUDA's runtime may launch by another handle than the one it got in the same call. */
static void a_kernel_got_in_the_same_call_is_the_one_that_is_launched(void **state)
{
    (void)state;
    fake_correlation = 77;
    get_kernel((CUkernel)0xa1, CUDA_SUCCESS);
    launch((CUfunction)0xf1, "kernel");
    fake_correlation = 0;
    assert_int_equal(told.count, 1);
    assert_int_equal(told.correlation, 77);
    assert_false(launches_are_on());
}

static void what_was_not_got_is_not_waited_for(void **state)
{
    (void)state;
    get_kernel((CUkernel)0xa2, CUDA_ERROR_NOT_FOUND);
    assert_false(launches_are_on());
}

static void patience_ends_with_launches_of_others(void **state)
{
    (void)state;
    get_function((CUfunction)0x300);
    for (unsigned i = 1; i < FIRST_LAUNCHES_PATIENCE; i++)
        launch((CUfunction)0xf0, "other");
    assert_true(launches_are_on());
    launch((CUfunction)0xf0, "other");
    assert_false(launches_are_on());
    launch((CUfunction)0x300, "late");
    assert_int_equal(told.count, 0);
}

static void a_first_launch_renews_the_patience(void **state)
{
    (void)state;
    get_function((CUfunction)0x400);
    get_function((CUfunction)0x500);
    for (unsigned i = 1; i < FIRST_LAUNCHES_PATIENCE; i++)
        launch((CUfunction)0xf0, "other");
    launch((CUfunction)0x400, "one");
    for (unsigned i = 1; i < FIRST_LAUNCHES_PATIENCE; i++)
        launch((CUfunction)0xf0, "other");
    launch((CUfunction)0x500, "two");
    assert_int_equal(told.count, 2);
    assert_false(launches_are_on());
}

static void a_launch_without_a_symbol_ends_the_waiting_and_tells_nothing(void **state)
{
    (void)state;
    get_function((CUfunction)0x600);
    launch((CUfunction)0x600, NULL);
    assert_int_equal(told.count, 0);
    assert_false(launches_are_on());
}

static void *launch_elsewhere(void *function)
{
    launch((CUfunction)function, "elsewhere");
    return NULL;
}

static void another_thread_may_launch_it(void **state)
{
    (void)state;
    pthread_t thread;
    get_function((CUfunction)0x700);
    assert_int_equal(pthread_create(&thread, NULL, launch_elsewhere, (void *)0x700), 0);
    pthread_join(thread, NULL);
    assert_string_equal(told.text, "elsewhere");
    assert_false(launches_are_on());
}

static void nobody_who_wants_names_nothing_is_heard(void **state)
{
    (void)state;
    get_function((CUfunction)0x800);
    assert_true(launches_are_on());
    assert_int_equal(registry_remove(REGISTRY_LIBRARY, registration), 0);
    assert_false(launches_are_on());
    assert_int_equal(fake_count_on(CUPTI_CB_DOMAIN_DRIVER_API), 0);
    get_function((CUfunction)0x900);
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
        cmocka_unit_test_teardown(a_kernel_got_in_the_same_call_is_the_one_that_is_launched, clear),
        cmocka_unit_test_teardown(what_was_not_got_is_not_waited_for, clear),
        cmocka_unit_test_teardown(patience_ends_with_launches_of_others, clear),
        cmocka_unit_test_teardown(a_first_launch_renews_the_patience, clear),
        cmocka_unit_test_teardown(a_launch_without_a_symbol_ends_the_waiting_and_tells_nothing, clear),
        cmocka_unit_test_teardown(another_thread_may_launch_it, clear),
        cmocka_unit_test_teardown(nobody_who_wants_names_nothing_is_heard, clear),
    };
    return cmocka_run_group_tests_name("collect/first_launches", tests, start, NULL);
}
