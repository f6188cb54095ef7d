#include "agent/cupti/calls_code.h"
#include "agent/cupti/driver_calls.h"
#include "agent/cupti/graphs.h"
#include "tests/agent/cupti/fake_cupti.h"
#include "tests/unit.h"

#define DRIVER CUPTI_CB_DOMAIN_DRIVER_API
#define RESOURCE CUPTI_CB_DOMAIN_RESOURCE

static void hear_launch(void *data, const struct gputrace_kernel_launch *launch)
{
    (void)data, (void)launch;
}

static uint64_t want(enum registry_kind kind)
{
    return registry_add(REGISTRY_LIBRARY, kind, (gputrace_any_fn *)hear_launch, NULL);
}

static void forget(uint64_t registration)
{
    assert_int_equal(registry_remove(REGISTRY_LIBRARY, registration), 0);
}

/* How many functions are on for these kinds. */
static unsigned serving(uint64_t kinds)
{
    unsigned count = 0;
    for (CUpti_CallbackId cbid = 0; cbid < CUPTI_DRIVER_TRACE_CBID_SIZE; cbid++) {
        const struct driver_call *row = driver_call_find(cbid);
        count += row && (row->kinds & kinds);
    }
    return count;
}

UNIT_TEST(nothing_is_on_when_nobody_registers)
{
    assert_int_equal(fake_count_on(DRIVER) + fake_count_on(RESOURCE), 0);
    assert_int_equal(fake_asked.switches, 0);
}

UNIT_TEST(exactly_the_functions_of_a_wanted_kind_are_on)
{
    for (unsigned kind = 0; kind < REGISTRY_KIND_COUNT; kind++) {
        uint64_t registration = want(kind);
        assert_int_equal(fake_count_on(DRIVER), serving(UINT64_C(1) << kind));
        for (CUpti_CallbackId cbid = 0; cbid < CUPTI_DRIVER_TRACE_CBID_SIZE; cbid++)
            if (fake_is_on(DRIVER, cbid))
                assert_true(driver_call_find(cbid)->kinds & (UINT64_C(1) << kind));
        assert_false(fake_is_on(RESOURCE, CUPTI_CBID_RESOURCE_MODULE_PROFILED));
        forget(registration);
        assert_int_equal(fake_count_on(DRIVER) + fake_count_on(RESOURCE), 0);
    }
}

UNIT_TEST(only_the_difference_is_switched)
{
    uint64_t allocations = want(REGISTRY_memory_allocation);
    unsigned before = fake_asked.switches;
    uint64_t failures = want(REGISTRY_memory_allocation_failure); /* served by the same functions */
    uint64_t again = want(REGISTRY_memory_allocation);
    forget(again);
    forget(allocations);
    assert_int_equal(fake_asked.switches, before);
    uint64_t profiler = want(REGISTRY_profiler);
    assert_int_equal(fake_asked.switches, before + 2);
    forget(failures);
    assert_int_equal(fake_count_on(DRIVER), 2);
    forget(profiler);
    assert_int_equal(fake_count_on(DRIVER), 0);
}

UNIT_TEST(resources_follow_too)
{
    static const struct {
        enum registry_kind kind;
        CUpti_CallbackId cbid;
    } each[] = {
        {REGISTRY_context_creation, CUPTI_CBID_RESOURCE_CONTEXT_CREATED},
        {REGISTRY_context_deletion, CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING},
        {REGISTRY_stream_deletion, CUPTI_CBID_RESOURCE_STREAM_DESTROY_STARTING},
        {REGISTRY_code_load, CUPTI_CBID_RESOURCE_MODULE_LOADED},
    };
    for (unsigned i = 0; i < sizeof(each) / sizeof(each[0]); i++) {
        uint64_t registration = want(each[i].kind);
        assert_int_equal(fake_count_on(RESOURCE), 1);
        assert_true(fake_is_on(RESOURCE, each[i].cbid));
        forget(registration);
        assert_int_equal(fake_count_on(RESOURCE), 0);
    }
    uint64_t phases = want(REGISTRY_compilation_end); /* which end with streams and contexts */
    assert_true(fake_is_on(RESOURCE, CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING));
    assert_true(fake_is_on(RESOURCE, CUPTI_CBID_RESOURCE_STREAM_DESTROY_STARTING));
    forget(phases);
    assert_int_equal(fake_count_on(RESOURCE), 0);
}

UNIT_TEST(launches_are_switched_alone_while_phases_are_wanted)
{
    callback_switches_need(CALLBACKS_LAZY_LOADING, true); /* nobody wants phases */
    assert_int_equal(fake_count_on(DRIVER), 0);
    uint64_t phases = want(REGISTRY_compilation_start);
    unsigned quiet = fake_count_on(DRIVER);
    callback_switches_need(CALLBACKS_LAZY_LOADING, true);
    assert_true(fake_is_on(DRIVER, CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel));
    assert_true(fake_is_on(DRIVER, CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx_ptsz));
    assert_int_equal(fake_count_on(DRIVER), quiet + 6);
    callback_switches_need(CALLBACKS_LAZY_LOADING, false);
    assert_int_equal(fake_count_on(DRIVER), quiet);
    callback_switches_need(CALLBACKS_LAZY_LOADING, true);
    uint64_t launches = want(REGISTRY_kernel_launch);
    callback_switches_need(CALLBACKS_LAZY_LOADING, false);
    assert_true(fake_is_on(DRIVER, CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel)); /* wanted for itself */
    forget(launches);
    callback_switches_need(CALLBACKS_LAZY_LOADING, true);
    forget(phases);
    assert_int_equal(fake_count_on(DRIVER), 0);
}

/* Else they would seem to go on for ever. */
UNIT_TEST(who_hears_captures_begin_hears_them_end)
{
    static const enum registry_kind kinds[] = {REGISTRY_graph_capture_start, REGISTRY_graph_capture_end,
                                               REGISTRY_event_record, REGISTRY_event_wait, REGISTRY_graph_node};
    for (unsigned i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        uint64_t registration = want(kinds[i]);
        assert_true(fake_is_on(DRIVER, CUPTI_DRIVER_TRACE_CBID_cuStreamBeginCapture_v2));
        assert_true(fake_is_on(DRIVER, CUPTI_DRIVER_TRACE_CBID_cuStreamEndCapture));
        forget(registration);
    }
}

UNIT_TEST(captures_switch_launches_where_nodes_are_wanted)
{
    uint64_t events = want(REGISTRY_event_record);
    captures_begin();
    assert_true(captures_go_on());
    assert_false(fake_is_on(DRIVER, CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel));
    captures_end();
    assert_false(captures_go_on());
    uint64_t nodes = want(REGISTRY_graph_node);
    captures_begin();
    assert_true(fake_is_on(DRIVER, CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel));
    forget(nodes);
    assert_false(fake_is_on(DRIVER, CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel));
    assert_true(captures_go_on()); /* for events */
    forget(events);
    assert_false(captures_go_on());
}

/* The last test: the process is a fork's child from here on. */
UNIT_TEST(a_forked_child_calls_nothing)
{
    unsigned before = fake_asked.switches;
    registry_atfork_child();
    cupti_callbacks_atfork_child();
    want(REGISTRY_memory_allocation);
    callback_switches_need(CALLBACKS_LAZY_LOADING, true);
    assert_int_equal(fake_asked.switches, before);
    assert_int_equal(cupti_stream_id(0x11, 0x22), GPUTRACE_NO_STREAM);
}

UNIT_FIXTURE(start)
{
    char why[256];
    return cupti_callbacks_init(&fake_cupti, why, sizeof(why));
}

UNIT_MAIN(start, NULL)
