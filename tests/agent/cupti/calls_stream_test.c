#include "tests/agent/cupti/hearing.h"

#include "agent/cupti/callback_switches.h"

static const CUstream stream = (CUstream)0x52;

static void check_creation(const struct gputrace_stream_creation *created, uint32_t flags, int priority)
{
    assert_ptr_equal(created->stream, stream);
    assert_int_equal(created->stream_id, 0x52);
    assert_int_equal(created->flags, flags);
    assert_int_equal(created->priority, priority);
}

UNIT_TEST(creation_tells_stream_number_flags_and_priority)
{
    CUstream made = stream;
    cuStreamCreate_params plain = {&made, CU_STREAM_NON_BLOCKING};
    check_creation(HEAR(stream_creation, cuStreamCreate, &plain, 0), CU_STREAM_NON_BLOCKING, 0);
    cuStreamCreateWithPriority_params with_priority = {&made, 0, -3};
    check_creation(HEAR(stream_creation, cuStreamCreateWithPriority, &with_priority, 0), 0, -3);
    cuGreenCtxStreamCreate_params green = {&made, (CUgreenCtx)0x9, CU_STREAM_NON_BLOCKING, 2};
    check_creation(HEAR(stream_creation, cuGreenCtxStreamCreate, &green, 0), CU_STREAM_NON_BLOCKING, 2);
    plain.phStream = NULL;
    const struct gputrace_stream_creation *failed = HEAR(stream_creation, cuStreamCreate, &plain, 2);
    assert_null(failed->stream);
    assert_int_equal(failed->stream_id, GPUTRACE_NO_STREAM);
}

/* As CUPTI does: the resource callback comes inside the call. */
static void destroy(CUpti_CallbackId cbid, CUresult result)
{
    cuStreamDestroy_v2_params p = {stream};
    hearing_clear();
    fake_enter(cbid, &p);
    fake_resource(CUPTI_CBID_RESOURCE_STREAM_DESTROY_STARTING, FAKE_CONTEXT, stream, NULL);
    fake_exit(cbid, &p, result);
}

UNIT_TEST(deletion_is_told_once_while_the_stream_is_there)
{
    static const struct {
        CUpti_CallbackId cbid;
        const char *name;
    } functions[] = {{CUPTI_DRIVER_TRACE_CBID_cuStreamDestroy, "cuStreamDestroy"},
                     {CUPTI_DRIVER_TRACE_CBID_cuStreamDestroy_v2, "cuStreamDestroy_v2"}};
    for (unsigned i = 0; i < 2; i++) {
        destroy(functions[i].cbid, 0);
        assert_int_equal(heard_in_all(), 1);
        const struct gputrace_stream_deletion *deleted = heard_what(REGISTRY_stream_deletion, 0);
        assert_ptr_equal(deleted->stream, stream);
        assert_int_equal(deleted->stream_id, 0x52);
        assert_string_equal(deleted->call.function, functions[i].name);
        assert_true(deleted->call.correlation > 0);
        assert_int_equal(deleted->call.context_id, FAKE_CONTEXT_ID);
        destroy(functions[i].cbid, CUDA_ERROR_LAUNCH_FAILED); /* an error of before: the stream goes all the same */
        assert_int_equal(heard_in_all(), 1);
    }
}

UNIT_TEST(deletion_that_fails_is_told_as_failed)
{
#define CHECK(function)                                                     \
    do {                                                                    \
        function##_params p = {stream};                                     \
        const struct gputrace_stream_deletion *deleted =                    \
            HEAR(stream_deletion, function, &p, CUDA_ERROR_INVALID_HANDLE); \
        assert_ptr_equal(deleted->stream, stream);                          \
        assert_int_equal(deleted->stream_id, GPUTRACE_NO_STREAM);           \
    } while (0)
    CHECK(cuStreamDestroy);
    CHECK(cuStreamDestroy_v2);
#undef CHECK
    hearing_covers(&sync_calls, REGISTRY_BIT(stream_creation) | REGISTRY_BIT(stream_deletion));
}

/* The program makes it. */
static void create(void)
{
    CUstream made = stream;
    cuStreamCreate_params p = {.phStream = &made};
    HEAR(stream_creation, cuStreamCreate, &p, 0);
}

UNIT_TEST(streams_that_cuda_made_for_itself_are_not_told)
{
    hearing_clear();
    fake_resource(CUPTI_CBID_RESOURCE_STREAM_DESTROY_STARTING, FAKE_CONTEXT, (CUstream)0x99, NULL);
    assert_int_equal(heard(REGISTRY_stream_deletion), 0);
}

UNIT_TEST(a_stream_that_goes_with_its_context_names_no_function)
{
    create();
    hearing_clear();
    fake_resource(CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING, FAKE_CONTEXT, NULL, NULL);
    fake_resource(CUPTI_CBID_RESOURCE_STREAM_DESTROY_STARTING, FAKE_CONTEXT, stream, NULL);
    const struct gputrace_context_deletion *context = heard_what(REGISTRY_context_deletion, 0);
    assert_ptr_equal(context->call.context, FAKE_CONTEXT);
    assert_int_equal(context->call.context_id, FAKE_CONTEXT_ID);
    assert_int_equal(context->call.device, FAKE_DEVICE);
    const struct gputrace_stream_deletion *deleted = heard_what(REGISTRY_stream_deletion, 0);
    assert_null(deleted->call.function);
    assert_int_equal(deleted->stream_id, 0x52);
}

UNIT_TEST(a_stream_that_another_call_takes_along_is_not_that_calls)
{
    cuStreamDestroy_v2_params p = {(CUstream)0x53};
    create();
    hearing_clear();
    fake_enter(CUPTI_DRIVER_TRACE_CBID_cuStreamDestroy_v2, &p);
    fake_resource(CUPTI_CBID_RESOURCE_STREAM_DESTROY_STARTING, FAKE_CONTEXT, stream, NULL);
    fake_exit(CUPTI_DRIVER_TRACE_CBID_cuStreamDestroy_v2, &p, CUDA_ERROR_INVALID_HANDLE);
    assert_int_equal(heard(REGISTRY_stream_deletion), 2);
    assert_null(((const struct gputrace_stream_deletion *)heard_what(REGISTRY_stream_deletion, 0))->call.function);
}

UNIT_TEST(contexts_are_told_when_they_are_made)
{
    hearing_clear();
    fake_resource(CUPTI_CBID_RESOURCE_CONTEXT_CREATED, (CUcontext)0x1044, NULL, NULL);
    const struct gputrace_context_creation *created = heard_what(REGISTRY_context_creation, 0);
    assert_int_equal(created->call.context_id, 0x44);
    assert_int_equal(created->call.thread, gettid());
}

UNIT_TEST(default_streams_have_numbers)
{
    assert_int_equal(cupti_stream_id(0x1011, 0), 7);
    assert_int_equal(cupti_stream_id(0x1011, 1), 7);
    assert_int_equal(cupti_stream_id(0x1011, 2), 8);
    assert_int_equal(cupti_stream_id(0, 0x99), 0x99);
}

UNIT_MAIN(hearing_start, NULL)
