/* What `unload` loads: it has NVTX's code of its own. */
#include "gpu.h"

unsigned unloaded_work(unsigned number);
unsigned unloaded_work(unsigned number)
{
    nvtxDomainHandle_t domain = nvtxDomainCreateA("a library that goes");
    nvtxDomainRegisterStringA(domain, "a string of it");
    nvtxDomainDestroy(domain);
    gpu_start();
    nvtx_work(10, number);
    return gpu_work(number % 4);
}
