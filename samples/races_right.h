/* Programs that look dangerous and are right: there is nothing to mend. */
#ifndef SAMPLES_RACES_RIGHT_H
#define SAMPLES_RACES_RIGHT_H

#include <sys/mman.h>

#include "races_scene.h"

static void polling()
{
    clear(the.data, the.one);
    CHECK(cudaEventRecord(the.event, the.one));
    while (cudaEventQuery(the.event) == cudaErrorNotReady)
        ;
    copy_out(the.host, the.data, the.two);
    while (cudaStreamQuery(the.two) == cudaErrorNotReady)
        ;
    clear(the.data, the.one);
}

/* Host memory at an address where memory of the device was freed: CUDA does not know it. A driver that keeps the
 * address for itself lets nobody have it. */
static void taken_over()
{
    const size_t large = 8 << 20; /* drivers keep small blocks */
    void *freed;
    CHECK(cudaMalloc(&freed, large));
    CHECK(cudaFree(freed));
    void *host = mmap(freed, large, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    if (host == freed) {
        CHECK(cudaMemcpyAsync(the.data, host, bytes, cudaMemcpyHostToDevice, the.one));
        CHECK(cudaMemcpyAsync(the.data, host, bytes, cudaMemcpyDefault, the.one));
        CHECK(cudaMemcpyAsync(host, the.data, bytes, cudaMemcpyDeviceToHost, the.one));
    }
    clear(the.data, the.one);
    CHECK(cudaStreamSynchronize(the.one));
    if (host != MAP_FAILED)
        munmap(host, large);
}

static void tell(void *)
{
    __atomic_store_n(&the.host_done, 1, __ATOMIC_RELEASE);
}

static void await(void *)
{
    while (!__atomic_load_n(&the.host_done, __ATOMIC_ACQUIRE))
        ;
}

/* A function of the host tells the program that the work before it is done. */
static void host_function()
{
    clear(the.data, the.one);
    CHECK(cudaLaunchHostFunc(the.one, tell, nullptr));
    await(nullptr);
    copy_out(the.host, the.data, the.two);
}

/* The other way round: a function of the host holds back work that was put there before what it waits for. */
static void held_back()
{
    CHECK(cudaLaunchHostFunc(the.one, await, nullptr));
    clear(the.data, the.one);
    copy_out(the.host, the.data, the.two);
    CHECK(cudaStreamSynchronize(the.two));
    tell(nullptr);
}

static void *take_over(void *)
{
    copy_out(the.host, the.data, the.two);
    return nullptr;
}

/* One thread waits for its work, another goes on with the memory. */
static void threads()
{
    pthread_t thread;
    clear(the.data, the.one);
    CHECK(cudaStreamSynchronize(the.one));
    if (pthread_create(&thread, nullptr, take_over, nullptr) != 0)
        exit(1);
    pthread_join(thread, nullptr);
}

/* A captured graph with two branches; what it does is ordered within it. */
static void graph()
{
    cudaGraph_t captured;
    cudaGraphExec_t ready;
    cudaEvent_t back;
    CHECK(cudaEventCreateWithFlags(&back, cudaEventDisableTiming));
    CHECK(cudaStreamBeginCapture(the.one, cudaStreamCaptureModeThreadLocal));
    clear(the.data, the.one);
    CHECK(cudaEventRecord(the.event, the.one));
    CHECK(cudaStreamWaitEvent(the.two, the.event, 0));
    copy_out(the.host, the.data, the.two);
    CHECK(cudaEventRecord(back, the.two));
    CHECK(cudaStreamWaitEvent(the.one, back, 0));
    clear_too(the.data, the.one);
    CHECK(cudaStreamEndCapture(the.one, &captured));
    CHECK(cudaGraphInstantiateWithFlags(&ready, captured, 0));
    clear(the.data, the.two);
    CHECK(cudaStreamSynchronize(the.two));
    for (int i = 0; i < 3; i++)
        CHECK(cudaGraphLaunch(ready, the.one));
    CHECK(cudaStreamSynchronize(the.one));
    copy_out(the.host, the.data, the.two);
    CHECK(cudaGraphExecDestroy(ready));
    CHECK(cudaGraphDestroy(captured));
    CHECK(cudaEventDestroy(back));
}

static void readers()
{
    copy_out(the.host, the.data, the.one);
    copy_out(the.host_too, the.data, the.two);
}

/* Copies that the host waits for by themselves. */
static void waiting_copies()
{
    CHECK(cudaMemcpy(the.data, the.host, bytes, cudaMemcpyHostToDevice));
    clear(the.data, the.one);
    CHECK(cudaStreamSynchronize(the.one));
    CHECK(cudaMemcpy(the.host, the.data, bytes, cudaMemcpyDeviceToHost));
    clear(the.data, the.two);
}

/* A ring of buffers, filled by one stream and emptied by the other; the first waits are for events not yet recorded. */
static void ring()
{
    enum { SLOTS = 2, ROUNDS = 6 };
    cudaEvent_t full[SLOTS], empty[SLOTS];
    int *slots[SLOTS] = {the.data, the.other};
    for (int i = 0; i < SLOTS; i++) {
        CHECK(cudaEventCreateWithFlags(&full[i], cudaEventDisableTiming));
        CHECK(cudaEventCreateWithFlags(&empty[i], cudaEventDisableTiming));
    }
    for (int round = 0; round < ROUNDS; round++) {
        int i = round % SLOTS;
        wait_for(the.one, empty[i]);
        copy_in(slots[i], the.host, the.one);
        CHECK(cudaEventRecord(full[i], the.one));
        wait_for(the.two, full[i]);
        copy_out(the.host_too, slots[i], the.two);
        CHECK(cudaEventRecord(empty[i], the.two));
    }
    for (int i = 0; i < SLOTS; i++) {
        CHECK(cudaEventDestroy(full[i]));
        CHECK(cudaEventDestroy(empty[i]));
    }
}

#endif
