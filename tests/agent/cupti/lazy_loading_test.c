
#include <pthread.h>
#include <time.h>

#include "agent/cupti/calls_code.h"
#include "agent/cupti/driver_calls.h"
#include "common/clock.h"
#include "tests/agent/cupti/fake_cupti.h"
#include "tests/unit.h"

#define LAUNCH CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel
#define OTHER_LAUNCH CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx

static unsigned phases_reported, launches_reported;
static char last_function[64];

static void hear_end(void *data, const struct gputrace_compilation_phase_end *end)
{
    (void)data;
    assert_int_equal(end->trigger, GPUTRACE_TRIGGER_FUNCTION_LOAD);
    assert_int_equal(end->ending, GPUTRACE_ENDING_RETURNED);
    assert_true(end->call.start < end->call.end);
    snprintf(last_function, sizeof(last_function), "%s", end->call.function);
    phases_reported++;
}

static void hear_launch(void *data, const struct gputrace_kernel_launch *launch)
{
    (void)data, (void)launch;
    launches_reported++;
}

static bool launches_are_on(void)
{
    return fake_is_on(CUPTI_CB_DOMAIN_DRIVER_API, LAUNCH);
}

static void get_kernel(CUkernel kernel)
{
    cuLibraryGetKernel_params p = {&kernel, (CUlibrary)0x1, "k"};
    fake_call(CUPTI_DRIVER_TRACE_CBID_cuLibraryGetKernel, &p, 0);
}

static void launch(CUfunction function)
{
    cuLaunchKernel_params p = {.f = function};
    fake_call(LAUNCH, &p, 0);
}

/* A call of the runtime's: both calls of the driver have its correlation id. */
static void launch_first_time(CUkernel kernel)
{
    fake_correlation = 77;
    get_kernel(kernel);
    launch((CUfunction)0xf1);
    fake_correlation = 0;
}

/* The clock of this program: a microsecond later each time that it is read. */
static uint64_t time_ns = NS_PER_S;

int clock_gettime(clockid_t clock, struct timespec *now)
{
    (void)clock;
    uint64_t ns = __atomic_add_fetch(&time_ns, NS_PER_US, __ATOMIC_RELAXED);
    *now = (struct timespec){.tv_sec = (time_t)(ns / NS_PER_S), .tv_nsec = (long)(ns % NS_PER_S)};
    return 0;
}

static void wait_out(void)
{
    __atomic_add_fetch(&time_ns, LAZY_LOADING_NS, __ATOMIC_RELAXED);
}

UNIT_FIXTURE(clear)
{
    phases_reported = launches_reported = 0;
    return 0;
}

UNIT_TEST_WITH(the_first_launch_is_a_phase_and_no_other, clear, NULL)
{
    assert_false(launches_are_on());
    launch_first_time((CUkernel)0xa1);
    assert_int_equal(phases_reported, 1);
    assert_string_equal(last_function, "cuLaunchKernel");
    assert_false(launches_are_on()); /* nothing is left behind */
    launch((CUfunction)0xf1);
    assert_int_equal(phases_reported, 1);
    assert_int_equal(phases_pending(), 0);
}

UNIT_TEST_WITH(a_kernel_launched_by_its_handle_is_known, clear, NULL)
{
    get_kernel((CUkernel)0xa1);
    assert_true(launches_are_on());
    launch((CUfunction)0xf9); /* another, in another call */
    assert_int_equal(phases_reported, 0);
    assert_true(launches_are_on());
    launch((CUfunction)0xa1);
    assert_int_equal(phases_reported, 1);
    assert_false(launches_are_on());
}

UNIT_TEST_WITH(every_way_to_launch_loads, clear, NULL)
{
    fake_correlation = 78;
    get_kernel((CUkernel)0xa1);
    cuLaunchKernelEx_params p = {.f = (CUfunction)0xf1};
    fake_call(OTHER_LAUNCH, &p, CUDA_ERROR_INVALID_VALUE); /* a failed one as well */
    assert_int_equal(phases_reported, 1);
    assert_string_equal(last_function, "cuLaunchKernelEx");
    get_kernel((CUkernel)0xa2);
    cuLaunchCooperativeKernel_params cooperative = {.f = (CUfunction)0xf1};
    fake_call(CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel_ptsz, &cooperative, 0);
    assert_int_equal(phases_reported, 2);
    fake_correlation = 0;
    assert_false(launches_are_on());
}

UNIT_TEST_WITH(a_kernel_whose_function_was_got_is_loaded, clear, NULL)
{
    get_kernel((CUkernel)0xa1);
    cuKernelGetFunction_params p = {NULL, (CUkernel)0xa1};
    fake_call(CUPTI_DRIVER_TRACE_CBID_cuKernelGetFunction, &p, 0);
    assert_int_equal(phases_reported, 1); /* getting it */
    assert_false(launches_are_on());
    launch((CUfunction)0xa1);
    assert_int_equal(phases_reported, 1);
}

UNIT_TEST_WITH(the_next_launch_after_the_deadline_switches_off, clear, NULL)
{
    get_kernel((CUkernel)0xa1);
    wait_out();
    assert_true(launches_are_on()); /* which costs nothing while nobody launches */
    launch((CUfunction)0xf9);
    assert_false(launches_are_on());
    launch((CUfunction)0xa1); /* too late */
    assert_int_equal(phases_reported, 0);
    launch_first_time((CUkernel)0xa2);
    assert_int_equal(phases_reported, 1);
    assert_false(launches_are_on());
}

static void *get_and_end(void *unused)
{
    (void)unused;
    get_kernel((CUkernel)0xb1);
    return NULL;
}

UNIT_TEST_WITH(a_thread_that_ended_is_given_up, clear, NULL)
{
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, get_and_end, NULL), 0);
    pthread_join(thread, NULL);
    launch_first_time((CUkernel)0xa1);
    assert_int_equal(phases_reported, 1);
    assert_true(launches_are_on()); /* for the other thread */
    wait_out();
    launch((CUfunction)0xf9);
    assert_false(launches_are_on());
}

static void *launch_while_another_loads(void *unused)
{
    (void)unused;
    wait_out();
    launch((CUfunction)0xf9); /* after the deadline */
    launch_first_time((CUkernel)0xb1);
    return NULL;
}

/* Or the phase would never end. */
UNIT_TEST_WITH(a_launch_that_is_loading_keeps_its_callback, clear, NULL)
{
    cuLaunchKernel_params p = {.f = (CUfunction)0xa1};
    fake_correlation = 90;
    get_kernel((CUkernel)0xa1);
    fake_enter(LAUNCH, &p);
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, launch_while_another_loads, NULL), 0);
    pthread_join(thread, NULL);
    assert_int_equal(phases_reported, 1);
    assert_true(launches_are_on());
    fake_correlation = 90;
    fake_exit(LAUNCH, &p, 0);
    fake_correlation = 0;
    assert_int_equal(phases_reported, 2);
    assert_false(launches_are_on());
}

UNIT_TEST_WITH(launches_that_are_wanted_stay_on, clear, NULL)
{
    uint64_t registration =
        registry_add(REGISTRY_LIBRARY, REGISTRY_kernel_launch, (gputrace_any_fn *)hear_launch, NULL);
    launch_first_time((CUkernel)0xa1);
    assert_int_equal(phases_reported, 1);
    assert_true(launches_are_on());
    launch((CUfunction)0xf9);
    assert_int_equal(launches_reported, 2);
    registry_remove(REGISTRY_LIBRARY, registration);
    assert_false(launches_are_on());
}

UNIT_TEST_WITH(nothing_is_left_when_nobody_wants_phases_any_more, clear, NULL)
{
    uint64_t *registration = *state;
    cuLaunchKernel_params p = {.f = (CUfunction)0xa1};
    get_kernel((CUkernel)0xa1);
    fake_enter(LAUNCH, &p);
    registry_remove(REGISTRY_LIBRARY, *registration);
    assert_false(launches_are_on());
    fake_exit(LAUNCH, &p, 0); /* not reported */
    *registration = registry_add(REGISTRY_LIBRARY, REGISTRY_compilation_phase_end, (gputrace_any_fn *)hear_end, NULL);
    launch_first_time((CUkernel)0xa2);
    assert_int_equal(phases_reported, 1);
    assert_false(launches_are_on());
}

static uint64_t phase_registration;

static int start(void **state)
{
    char why[256];
    phase_registration =
        registry_add(REGISTRY_LIBRARY, REGISTRY_compilation_phase_end, (gputrace_any_fn *)hear_end, NULL);
    *state = &phase_registration;
    return cupti_callbacks_init(&fake_cupti, why, sizeof(why));
}

UNIT_MAIN(start, NULL)
