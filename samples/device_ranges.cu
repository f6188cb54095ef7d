/*
 * device_ranges: ranges that start and end on the GPU, around kernels that are known.
 *
 * On every device two threads with a stream each put ranges and kernels into their streams while a gate holds these
 * back, so that the GPU goes from one to the next without a pause: ranges that nest, that overlap, that follow one
 * another. Then the default streams; a range that another thread ends, and one that ends in another stream; starts that
 * are refused because a stream is being captured; and a range in the context that comes after cudaDeviceReset(), which
 * took all events of the one before with it.
 *
 * A correct trace holds each range as often as it is stated, on the row of its stream. The number of kernels in the
 * name of a range is how many of its stream are within it, and it starts and ends where the kernel before is done:
 * tests/samples/check_device_ranges holds a trace to that. The events that mark starts and ends are not the program's:
 * neither they nor calls about them are in the trace.
 */
#include <cuda_runtime_api.h>
#include <gputrace/gputrace.h>

#include "statement.h"

enum { DEVICES_MAX = 16, THREADS = 2, FOLLOWING = 20 };
static const long long ticks = 20000;

/* Spends TICKS of the GPU's clock. */
__global__ void work(long long ticks)
{
    long long start = clock64();
    while (clock64() - start < ticks)
        ;
}

static void put_work(cudaStream_t stream)
{
    LAUNCH(work<<<1, 1, 0, stream>>>(ticks));
}

static uint64_t start(const char *name, cudaStream_t stream)
{
    state("device-range \"%s\"", name);
    state_count("device-ranges", 1);
    return gputrace_device_range_start(name, stream);
}

static void end(uint64_t range, cudaStream_t stream)
{
    gputrace_device_range_end(range, stream);
}

/* --- a gate: what is put into a stream behind it waits until it is opened --- */

struct gate {
    pthread_mutex_t lock;
    pthread_cond_t opened;
    bool is_open;
};

static void wait_for_gate(void *data)
{
    struct gate *gate = (struct gate *)data;
    pthread_mutex_lock(&gate->lock);
    while (!gate->is_open)
        pthread_cond_wait(&gate->opened, &gate->lock);
    pthread_mutex_unlock(&gate->lock);
}

/* The first kernel, and the first range of a thread, take longer than others: they are not for times. A kernel comes
 * after the gate, so that the first range has one before it. */
static void close_gate(struct gate *gate, cudaStream_t stream)
{
    uint64_t first = start("first", stream);
    put_work(stream);
    end(first, stream);
    CALL(cudaStreamSynchronize(stream));
    did_wait("Stream Sync");
    pthread_mutex_init(&gate->lock, NULL);
    pthread_cond_init(&gate->opened, NULL);
    gate->is_open = false;
    CALL(cudaLaunchHostFunc(stream, wait_for_gate, gate));
    put_work(stream);
}

/* And waits for what was behind it. */
static void open_gate(struct gate *gate, cudaStream_t stream)
{
    pthread_mutex_lock(&gate->lock);
    gate->is_open = true;
    pthread_cond_signal(&gate->opened);
    pthread_mutex_unlock(&gate->lock);
    CALL(cudaStreamSynchronize(stream));
    did_wait("Stream Sync");
    pthread_cond_destroy(&gate->opened);
    pthread_mutex_destroy(&gate->lock);
}

/* --- ranges --- */

static void nest(cudaStream_t stream)
{
    uint64_t outer = start("outer: 3 kernels", stream);
    put_work(stream);
    uint64_t inner = start("inner: 1 kernels", stream);
    put_work(stream);
    end(inner, stream);
    put_work(stream);
    end(outer, stream);
    put_work(stream);
}

static void overlap(cudaStream_t stream)
{
    uint64_t left = start("left: 2 kernels", stream);
    put_work(stream);
    uint64_t right = start("right: 2 kernels", stream);
    put_work(stream);
    end(left, stream);
    put_work(stream);
    end(right, stream);
    put_work(stream);
}

/* The events under them are used again and again, long before the GPU comes to them. */
static void follow(cudaStream_t stream)
{
    for (int i = 0; i < FOLLOWING; i++) {
        uint64_t one = start("one of many: 1 kernels", stream);
        put_work(stream);
        end(one, stream);
    }
    put_work(stream);
}

static void put_ranges(cudaStream_t stream)
{
    struct gate gate;
    close_gate(&gate, stream);
    nest(stream);
    overlap(stream);
    follow(stream);
    open_gate(&gate, stream);
}

/* --- threads and devices --- */

struct worker {
    pthread_t thread;
    int device;
};

static void *run_worker(void *data)
{
    const struct worker *worker = (const struct worker *)data;
    cudaStream_t stream;
    QUERY(cudaSetDevice(worker->device));
    CALL(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    put_ranges(stream);
    CALL(cudaStreamDestroy(stream));
    return NULL;
}

static void start_thread(pthread_t *thread, void *(*run)(void *), void *data)
{
    if (pthread_create(thread, NULL, run, data) != 0) {
        perror("cannot start a thread");
        exit(1);
    }
}

static void run_device(int device)
{
    struct worker workers[THREADS];
    for (struct worker &worker : workers) {
        worker.device = device;
        start_thread(&worker.thread, run_worker, &worker);
    }
    for (struct worker &worker : workers)
        pthread_join(worker.thread, NULL);
}

/* --- ends elsewhere --- */

struct passed_on {
    uint64_t range;
    cudaStream_t stream;
};

static void *end_it(void *data)
{
    const struct passed_on *passed_on = (const struct passed_on *)data;
    put_work(passed_on->stream);
    end(passed_on->range, passed_on->stream);
    put_work(passed_on->stream);
    return NULL;
}

static void end_on_another_thread(cudaStream_t stream)
{
    struct gate gate;
    pthread_t thread;
    close_gate(&gate, stream);
    struct passed_on passed_on = {start("passed on: 1 kernels", stream), stream};
    start_thread(&thread, end_it, &passed_on);
    pthread_join(thread, NULL);
    open_gate(&gate, stream);
}

static void end_in_another_stream(cudaStream_t stream, cudaStream_t other)
{
    struct gate gate;
    cudaEvent_t done;
    CALL(cudaEventCreateWithFlags(&done, cudaEventDisableTiming));
    close_gate(&gate, stream);
    uint64_t across = start("across: 1 kernels", stream);
    put_work(stream);
    CALL(cudaEventRecord(done, stream));
    CALL(cudaStreamWaitEvent(other, done, 0));
    did_wait("Stream Wait Event");
    put_work(other);
    end(across, other);
    put_work(other);
    open_gate(&gate, stream);
    CALL(cudaStreamSynchronize(other));
    did_wait("Stream Sync");
    CALL(cudaEventDestroy(done));
}

/* --- captures --- */

/* A range cannot start there, nor may asking for it do any harm. */
static void must_be_refused(const char *name, cudaStream_t stream)
{
    uint64_t range = gputrace_device_range_start(name, stream);
    if (range != 0) {
        fprintf(stderr, "the range '%s' was not refused\n", name);
        exit(1);
    }
    end(range, stream);
}

static void capture()
{
    cudaStream_t stream; /* the default stream would wait for it */
    cudaGraph_t graph;
    cudaGraphExec_t executable;
    CALL(cudaStreamCreate(&stream));
    CALL(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    must_be_refused("captured", stream);
    must_be_refused("implied", 0);
    CAPTURE_LAUNCH(work<<<1, 1, 0, stream>>>(ticks));
    CALL(cudaStreamEndCapture(stream, &graph));
    CALL(cudaGraphInstantiate(&executable, graph, 0));
    uint64_t launched = start("launched", stream);
    CALL(cudaGraphLaunch(executable, stream));
    did_kernels("work", 1);
    state_count("graph-kernels", 1);
    end(launched, stream);
    CALL(cudaStreamSynchronize(stream));
    did_wait("Stream Sync");
    CALL(cudaGraphExecDestroy(executable));
    CALL(cudaGraphDestroy(graph));
    CALL(cudaStreamDestroy(stream));
}

static void use_next_context()
{
    cudaStream_t stream;
    CALL(cudaDeviceReset());
    CALL(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    uint64_t range = start("in the next context", stream);
    put_work(stream);
    end(range, stream);
    CALL(cudaStreamSynchronize(stream));
    did_wait("Stream Sync");
    CALL(cudaStreamDestroy(stream));
}

int main()
{
    int devices = 0;
    CHECK(cudaGetDeviceCount(&devices)); /* starts CUDA, and the tracer with it */
    if (devices > DEVICES_MAX)
        devices = DEVICES_MAX;
    for (int i = 0; i < devices; i++)
        run_device(i);

    cudaStream_t stream, other;
    QUERY(cudaSetDevice(0));
    CALL(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    CALL(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking));
    put_ranges(0);
    put_ranges(cudaStreamPerThread);
    end_on_another_thread(stream);
    end_in_another_stream(stream, other);
    capture();
    CALL(cudaStreamDestroy(other));
    CALL(cudaStreamDestroy(stream));
    use_next_context();

    /* What marks the ranges is not the program's: it makes and records one event itself. */
    state_count("api cudaEventRecord", 0);
    state_count("api cuEventRecord", 0);
    state_count("api cuEventCreate", 0);
    state_count("api cuStreamIsCapturing", 0);
    state_count("api cuStreamGetCtx", 0);
    state_count("devices", (uint64_t)devices);
    state_print();
    return 0;
}
