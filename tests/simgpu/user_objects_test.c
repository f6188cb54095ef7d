/* User objects: graphs hold them, and the program is told when the last holder is gone. */
#include "tests/unit.h"

#include <stdatomic.h>

#include "recording.h"

static atomic_int told;
static cudaStream_t stream;

static void tell(void *data)
{
    atomic_fetch_add((atomic_int *)data, 1);
}

UNIT_FIXTURE(start)
{
    recording_start(1 << 16);
    return cudaStreamCreate(&stream);
}

UNIT_FIXTURE(clear)
{
    atomic_store(&told, 0);
    return 0;
}

static cudaUserObject_t object(unsigned references)
{
    cudaUserObject_t made;
    CUDA_OK(cudaUserObjectCreate(&made, &told, tell, references, cudaUserObjectNoDestructorSync));
    return made;
}

/* A graph of one node that takes so long, with an object that nobody else holds. */
static cudaGraph_t graph_with_object(void)
{
    cudaGraph_t graph;
    CUDA_OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    CUDA_OK(cudaLaunchKernel((const void *)recording_kernel, (dim3){1, 1, 1}, (dim3){32, 1, 1}, NULL, 0, stream));
    CUDA_OK(cudaStreamEndCapture(stream, &graph));
    CUDA_OK(cudaGraphRetainUserObject(graph, object(1), 1, cudaGraphUserObjectMove));
    return graph;
}

static void wait_until_told(int times)
{
    for (int i = 0; i < 2000 && atomic_load(&told) < times; i++)
        usleep(1000);
    assert_int_equal(atomic_load(&told), times);
}

UNIT_TEST_WITH(the_last_reference_counts, clear, NULL)
{
    cudaUserObject_t made = object(2);
    CUDA_OK(cudaUserObjectRetain(made, 1));
    CUDA_OK(cudaUserObjectRelease(made, 2));
    usleep(2000);
    assert_int_equal(atomic_load(&told), 0);
    CUDA_OK(cudaUserObjectRelease(made, 1));
    wait_until_told(1);
}

UNIT_TEST_WITH(a_graph_and_what_is_made_of_it_hold_it, clear, NULL)
{
    cudaGraph_t graph = graph_with_object(), clone;
    cudaGraphExec_t exec;
    CUDA_OK(cudaGraphClone(&clone, graph));
    CUDA_OK(cudaGraphInstantiate(&exec, graph, 0));
    CUDA_OK(cudaGraphDestroy(graph));
    CUDA_OK(cudaGraphDestroy(clone));
    usleep(2000);
    assert_int_equal(atomic_load(&told), 0);
    CUDA_OK(cudaGraphExecDestroy(exec));
    wait_until_told(1);
}

UNIT_TEST_WITH(a_launch_holds_it_until_it_is_done, clear, NULL)
{
    cudaGraph_t graph = graph_with_object();
    cudaGraphExec_t exec;
    cudaEvent_t gate;
    CUDA_OK(cudaEventCreate(&gate));
    CUDA_OK(cudaGraphInstantiate(&exec, graph, 0));
    CUDA_OK(cudaGraphDestroy(graph));
    for (int i = 0; i < 2000; i++) /* in front of it, so that it is not done when its graph goes */
        CUDA_OK(cudaLaunchKernel((const void *)recording_kernel, (dim3){1, 1, 1}, (dim3){32, 1, 1}, NULL, 0, stream));
    CUDA_OK(cudaEventRecord(gate, stream));
    CUDA_OK(cudaGraphLaunch(exec, stream));
    CUDA_OK(cudaGraphExecDestroy(exec));
    usleep(1000);
    int so_far = atomic_load(&told);
    if (cudaEventQuery(gate) == cudaErrorNotReady) /* then it had not begun before */
        assert_int_equal(so_far, 0);
    CUDA_OK(cudaStreamSynchronize(stream));
    wait_until_told(1);
    CUDA_OK(cudaEventDestroy(gate));
}

UNIT_TEST_WITH(an_update_takes_over_what_the_new_graph_holds, clear, NULL)
{
    cudaGraph_t graph = graph_with_object(), other = graph_with_object();
    cudaGraphExec_t exec;
    cudaGraphExecUpdateResultInfo result;
    CUDA_OK(cudaGraphInstantiate(&exec, graph, 0));
    CUDA_OK(cudaGraphDestroy(graph));
    CUDA_OK(cudaGraphExecUpdate(exec, other, &result));
    wait_until_told(1);
    CUDA_OK(cudaGraphDestroy(other));
    usleep(2000);
    assert_int_equal(atomic_load(&told), 1);
    CUDA_OK(cudaGraphExecDestroy(exec));
    wait_until_told(2);
}

UNIT_TEST_WITH(a_graph_can_let_it_go, clear, NULL)
{
    cudaGraph_t graph;
    cudaUserObject_t made = object(1);
    CUDA_OK(cudaGraphCreate(&graph, 0));
    CUDA_OK(cudaGraphRetainUserObject(graph, made, 2, 0));
    CUDA_OK(cudaUserObjectRelease(made, 1));
    CUDA_OK(cudaGraphReleaseUserObject(graph, made, 1));
    usleep(2000);
    assert_int_equal(atomic_load(&told), 0);
    CUDA_OK(cudaGraphReleaseUserObject(graph, made, 1));
    wait_until_told(1);
    CUDA_OK(cudaGraphDestroy(graph));
    assert_int_equal(cudaUserObjectCreate(&made, &told, tell, 1, 0), cudaErrorInvalidValue);
    assert_int_equal(cudaUserObjectCreate(&made, &told, tell, 0, cudaUserObjectNoDestructorSync),
                     cudaErrorInvalidValue);
}

UNIT_MAIN(start, NULL)
