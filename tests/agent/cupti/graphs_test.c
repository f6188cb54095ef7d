#include "tests/agent/cupti/hearing.h"

#include "agent/cupti/calls_code.h"

static const CUstream stream = (CUstream)0x52;

static unsigned ended_as(uint32_t ending)
{
    unsigned found = 0;
    for (unsigned i = 0; i < heard(REGISTRY_compilation_phase_end); i++) {
        const struct gputrace_compilation_phase_end *end = heard_what(REGISTRY_compilation_phase_end, i);
        assert_int_equal(end->trigger, GPUTRACE_TRIGGER_GRAPH_CAPTURE);
        found += end->ending == ending;
    }
    return found;
}

/* The legacy default stream cannot be captured; the thread's own can. */
static CUstream captured_stream(bool own)
{
    return own ? NULL : stream;
}

/* Begins a capture with one function, ends it with cuStreamEndCapture or its _ptsz. */
#define CAPTURE(function, own, capture_mode, ...)                                                            \
    do {                                                                                                     \
        function##_params p = {.hStream = captured_stream(own), ##__VA_ARGS__};                              \
        const struct gputrace_graph_capture_start *start = HEAR(graph_capture_start, function, &p, 0);       \
        assert_ptr_equal(start->stream, own ? CU_STREAM_PER_THREAD : stream);                                \
        assert_int_equal(start->mode, capture_mode);                                                         \
        assert_int_equal(phases_pending(), 1);                                                               \
        end_capture(own);                                                                                    \
        p.hStream = stream;                                                                                  \
        assert_ptr_equal(HEAR(graph_capture_start, function, &p, CUDA_ERROR_ILLEGAL_STATE)->stream, stream); \
        assert_int_equal(phases_pending(), 0);                                                               \
    } while (0)

static void end_capture(bool own)
{
    CUgraph graph = (CUgraph)0x60;
    cuStreamEndCapture_params p = {captured_stream(own), &graph};
    const struct gputrace_graph_capture_end *end = own ? HEAR(graph_capture_end, cuStreamEndCapture_ptsz, &p, 0)
                                                       : HEAR(graph_capture_end, cuStreamEndCapture, &p, 0);
    assert_ptr_equal(end->graph, (CUgraph)0x60);
    assert_ptr_equal(end->stream, own ? CU_STREAM_PER_THREAD : stream);
    assert_int_equal(phases_pending(), 0);
    assert_int_equal(ended_as(GPUTRACE_ENDING_RETURNED), 1);
}

UNIT_TEST(captures_tell_mode_and_graph_and_are_phases)
{
    CAPTURE(cuStreamBeginCapture, false, CU_STREAM_CAPTURE_MODE_GLOBAL);
    CAPTURE(cuStreamBeginCapture_ptsz, true, CU_STREAM_CAPTURE_MODE_GLOBAL);
    CAPTURE(cuStreamBeginCapture_v2, false, CU_STREAM_CAPTURE_MODE_RELAXED, .mode = CU_STREAM_CAPTURE_MODE_RELAXED);
    CAPTURE(cuStreamBeginCapture_v2_ptsz, true, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL,
            .mode = CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
    CAPTURE(cuStreamBeginCaptureToGraph, false, CU_STREAM_CAPTURE_MODE_RELAXED, .mode = CU_STREAM_CAPTURE_MODE_RELAXED);
    CAPTURE(cuStreamBeginCaptureToGraph_ptsz, true, CU_STREAM_CAPTURE_MODE_GLOBAL);
}

static void begin_capture(void)
{
    cuStreamBeginCapture_v2_params p = {stream, CU_STREAM_CAPTURE_MODE_GLOBAL};
    make_call(CUPTI_DRIVER_TRACE_CBID_cuStreamBeginCapture_v2, &p, 0);
    assert_int_equal(phases_pending(), 1);
}

UNIT_TEST(a_broken_capture_ends)
{
    begin_capture();
    cuStreamEndCapture_params p = {stream, NULL};
    const struct gputrace_graph_capture_end *end =
        HEAR(graph_capture_end, cuStreamEndCapture, &p, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    assert_null(end->graph);
    assert_int_equal(phases_pending(), 0);
}

UNIT_TEST(a_capture_that_another_thread_must_end_goes_on)
{
    begin_capture();
    cuStreamEndCapture_params p = {stream, NULL};
    HEAR(graph_capture_end, cuStreamEndCapture, &p, CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD);
    assert_int_equal(phases_pending(), 1);
    hearing_clear();
    fake_resource(CUPTI_CBID_RESOURCE_STREAM_DESTROY_STARTING, FAKE_CONTEXT, stream, NULL);
    assert_int_equal(phases_pending(), 0);
    assert_int_equal(ended_as(GPUTRACE_ENDING_STREAM_DESTROYED), 1);
}

UNIT_TEST(a_capture_ends_with_its_context)
{
    begin_capture();
    hearing_clear();
    fake_resource(CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING, FAKE_CONTEXT, NULL, NULL);
    assert_int_equal(phases_pending(), 0);
    assert_int_equal(ended_as(GPUTRACE_ENDING_CONTEXT_DESTROYED), 1);
}

#define INSTANTIATES(function, expected_flags, ...)                                                       \
    do {                                                                                                  \
        CUgraphExec made = (CUgraphExec)0x61;                                                             \
        function##_params p = {.phGraphExec = &made, .hGraph = (CUgraph)0x60, ##__VA_ARGS__};             \
        const struct gputrace_graph_instantiation *reported = HEAR(graph_instantiation, function, &p, 0); \
        assert_ptr_equal(reported->exec, (CUgraphExec)0x61);                                              \
        assert_ptr_equal(reported->graph, (CUgraph)0x60);                                                 \
        assert_int_equal(reported->flags, expected_flags);                                                \
        const struct gputrace_compilation_phase_end *end = heard_what(REGISTRY_compilation_phase_end, 0); \
        assert_int_equal(end->trigger, GPUTRACE_TRIGGER_GRAPH_INSTANTIATION);                             \
        assert_int_equal(end->call.result, 0);                                                            \
        p.phGraphExec = NULL;                                                                             \
        assert_null(HEAR(graph_instantiation, function, &p, CUDA_ERROR_INVALID_VALUE)->exec);             \
        end = heard_what(REGISTRY_compilation_phase_end, 0);                                              \
        assert_int_equal(end->call.result, CUDA_ERROR_INVALID_VALUE);                                     \
        assert_int_equal(phases_pending(), 0);                                                            \
    } while (0)

UNIT_TEST(instantiations_tell_graph_and_exec_and_are_phases)
{
    CUDA_GRAPH_INSTANTIATE_PARAMS with = {.flags = CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD};
    INSTANTIATES(cuGraphInstantiate, 0);
    INSTANTIATES(cuGraphInstantiate_v2, 0);
    INSTANTIATES(cuGraphInstantiateWithFlags, 8, .flags = 8);
    INSTANTIATES(cuGraphInstantiateWithParams, CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD, .instantiateParams = &with);
    INSTANTIATES(cuGraphInstantiateWithParams_ptsz, CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD, .instantiateParams = &with);
}

UNIT_TEST(launches_tell_exec_and_stream)
{
#define CHECK(function, own)                                                                                       \
    do {                                                                                                           \
        function##_params p = {(CUgraphExec)0x61, stream};                                                         \
        const struct gputrace_graph_launch *launch = HEAR(graph_launch, function, &p, 0);                          \
        assert_ptr_equal(launch->exec, (CUgraphExec)0x61);                                                         \
        assert_ptr_equal(launch->stream, stream);                                                                  \
        p.hStream = NULL;                                                                                          \
        assert_ptr_equal(HEAR(graph_launch, function, &p, CUDA_ERROR_INVALID_VALUE)->stream, default_stream(own)); \
    } while (0)
    PLAIN_AND_PTSZ(CHECK, cuGraphLaunch);
#undef CHECK
    hearing_covers(&graph_calls,
                   REGISTRY_BIT(graph_capture_start) | REGISTRY_BIT(graph_instantiation) | REGISTRY_BIT(graph_launch));
}

UNIT_MAIN(hearing_start, NULL)
