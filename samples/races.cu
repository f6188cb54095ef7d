/*
 * races: programs with a planted hazard each, and the same programs mended; and programs that look dangerous and are
 * right. For `gputrace run --plugin hazards`.
 *
 *     races                   lists them
 *     races copy-copy         runs one
 *     races copy-copy-mended
 *
 * Each prints what must be reported of it, and nothing else may be:
 *
 *     expect hazard "KIND" SECOND FIRST     one report of that kind: the function that did the second thing, and the
 *                                           function that did the first ("-": the kind has but one)
 *     expect hazards N                      reports in all
 */
#include "races_planted.h"
#include "races_right.h"

static const struct {
    const char *name;
    void (*run)();
    bool planted;
} scenes[] = {
    {"copy-copy", copy_copy, true},
    {"set-copy", set_copy, true},
    {"staging", staging, true},
    {"kernels", kernels, true},
    {"free-async", free_async, true},
    {"use-after-free", use_after_free, true},
    {"use-after-cudafree", use_after_cuda_free, true},
    {"use-before-allocation", use_before_allocation, true},
    {"wait-never-recorded", wait_never_recorded, true},
    {"legacy", legacy, true},
    {"halo", halo, true},
    {"recorded-too-early", recorded_too_early, true},
    {"polling", polling, false},
    {"host-function", host_function, false},
    {"held-back", held_back, false},
    {"threads", threads, false},
    {"taken-over", taken_over, false},
    {"graph", graph, false},
    {"readers", readers, false},
    {"waiting-copies", waiting_copies, false},
    {"ring", ring, false},
};

static void scene_init()
{
    CHECK(cudaSetDevice(0)); /* starts CUDA, and the tracer with it */
    CHECK(cudaMalloc((void **)&the.data, bytes));
    CHECK(cudaMalloc((void **)&the.other, bytes));
    CHECK(cudaMallocHost((void **)&the.host, bytes));
    CHECK(cudaMallocHost((void **)&the.host_too, bytes));
    CHECK(cudaStreamCreateWithFlags(&the.one, cudaStreamNonBlocking));
    CHECK(cudaStreamCreateWithFlags(&the.two, cudaStreamNonBlocking));
    CHECK(cudaEventCreateWithFlags(&the.event, cudaEventDisableTiming));
    run_spend(the.one); /* loads the code, so that nothing waits for that later */
    fill<<<1, 1, 0, the.one>>>(the.data, 0);
    add<<<1, 1, 0, the.one>>>(the.data, the.data);
    CHECK(cudaMemset(the.data, 0, bytes));
    CHECK(cudaMemset(the.other, 0, bytes));
    CHECK(cudaDeviceSynchronize());
}

static void scene_release()
{
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaEventDestroy(the.event));
    CHECK(cudaStreamDestroy(the.two));
    CHECK(cudaStreamDestroy(the.one));
    CHECK(cudaFreeHost(the.host_too));
    CHECK(cudaFreeHost(the.host));
    CHECK(cudaFree(the.other));
    CHECK(cudaFree(the.data));
}

int main(int argc, char **argv)
{
    char mended[64];
    for (const auto &scene : scenes) {
        snprintf(mended, sizeof(mended), "%s-mended", scene.name);
        if (argc < 2) {
            printf("%s\n%s%s", scene.name, scene.planted ? mended : "", scene.planted ? "\n" : "");
            continue;
        }
        the.mended = scene.planted && strcmp(argv[1], mended) == 0;
        if (!the.mended && strcmp(argv[1], scene.name) != 0)
            continue;
        scene_init();
        scene.run();
        scene_release();
        printf("expect hazards %d\n", the.reports);
        return 0;
    }
    if (argc >= 2)
        fprintf(stderr, "there is no '%s'; without arguments all are listed\n", argv[1]);
    return argc >= 2;
}
