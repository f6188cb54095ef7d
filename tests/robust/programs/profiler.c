/* A program that profiles itself where it can: it subscribes to CUPTI, before (`first`) or after (`later`) CUDA begins,
 * and goes on without where somebody else has. */
#include "gpu.h"

#include <cupti.h>
#include <dlfcn.h>

static unsigned heard;

static void CUPTIAPI hear(void *data, CUpti_CallbackDomain domain, CUpti_CallbackId id, const void *about)
{
    (void)data, (void)domain, (void)id, (void)about;
    heard++;
}

static void subscribe(void)
{
    void *cupti = dlopen("libcupti.so.13", RTLD_NOW);
    CUpti_SubscriberHandle mine;
    if (!cupti)
        exit(7);
    __typeof__(&cuptiSubscribe) subscribe_to = (__typeof__(&cuptiSubscribe))dlsym(cupti, "cuptiSubscribe");
    __typeof__(&cuptiEnableCallback) enable = (__typeof__(&cuptiEnableCallback))dlsym(cupti, "cuptiEnableCallback");
    if (subscribe_to(&mine, hear, NULL) == CUPTI_SUCCESS)
        enable(1, mine, CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuMemAlloc_v2);
}

int main(int argc, char **argv)
{
    int first = argc > 1 && strcmp(argv[1], "first") == 0;
    if (first)
        subscribe();
    gpu_start();
    if (!first)
        subscribe();
    printf("%08x\n", gpu_work(30));
    fprintf(stderr, "heard %u\n", heard);
    return 0;
}
