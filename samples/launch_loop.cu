/*
 * launch_loop: N launches of an empty kernel, for measuring what tracing costs and for losing nothing of a long run.
 *
 *     launch_loop [N] [--threads T] [--time]
 *
 * N is 1000 without a number; --threads shares the launches among T host threads with a stream each; --time prints what
 * a launch took on the host.
 *
 * A correct trace holds exactly N kernels `empty` and N calls of cudaLaunchKernel, and says that nothing was lost.
 */
#include <cuda_runtime_api.h>
#include <time.h>

#include "statement.h"

enum { THREADS_MAX = 256 };

__global__ void empty()
{
}

struct share {
    pthread_t thread;
    long launches;
    double ns; /* what its loop took */
};

static double now_ns()
{
    timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static void *launch_share(void *argument)
{
    share *s = (share *)argument;
    cudaStream_t stream;
    CALL(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    double begin = now_ns();
    for (long i = 0; i < s->launches; i++)
        empty<<<1, 1, 0, stream>>>();
    s->ns = now_ns() - begin;
    CHECK(cudaGetLastError());
    CALL(cudaStreamSynchronize(stream));
    CALL(cudaStreamDestroy(stream));

    /* Counted here, not in the loop: the loop is what is measured. */
    state_count("api cudaLaunchKernel", (uint64_t)s->launches);
    did_kernels("empty", (uint64_t)s->launches);
    return nullptr;
}

static int usage()
{
    fprintf(stderr, "usage: launch_loop [N] [--threads T] [--time]\n");
    return 2;
}

/* TEXT as a number from 1 to MOST, 0 when it is none. */
static long number(const char *text, long most)
{
    char *end;
    long value = text ? strtol(text, &end, 10) : 0;
    return text && !*end && value >= 1 && value <= most ? value : 0;
}

int main(int argc, char **argv)
{
    long launches = 1000, threads = 1;
    bool timed = false;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--time") == 0)
            timed = true;
        else if (strcmp(argv[i], "--threads") == 0)
            threads = number(argv[++i], THREADS_MAX);
        else
            launches = number(argv[i], 1000000000);
        if (!launches || !threads)
            return usage();
    }

    CHECK(cudaSetDevice(0)); /* starts CUDA, and the tracer with it */
    CHECK(cudaFree(nullptr));
    static share shares[THREADS_MAX];
    double begin = now_ns();
    for (long i = 0; i < threads; i++) {
        shares[i].launches = launches / threads + (i < launches % threads);
        if (pthread_create(&shares[i].thread, nullptr, launch_share, &shares[i]) != 0) {
            perror("cannot start a thread");
            return 1;
        }
    }
    double in_loops = 0;
    for (long i = 0; i < threads; i++) {
        pthread_join(shares[i].thread, nullptr);
        in_loops += shares[i].ns;
    }
    double whole = now_ns() - begin;
    if (timed)
        printf("%ld launches on %ld threads: %.1f ns each in its thread, %.1f ms in all\n", launches, threads,
               in_loops / (double)launches, whole / 1e6);
    state_count("streams", (uint64_t)(launches < threads ? launches : threads));
    state_count("devices", 1);
    state_print();
    return 0;
}
