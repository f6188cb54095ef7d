/* Creates many NVTX domains of different names, each with a registered string, a named category and a range in which
 * memory is allocated: domains NUMBER */
#include "gpu.h"

int main(int count, char **arguments)
{
    int number = count > 1 ? atoi(arguments[1]) : 1;
    gpu_start();
    for (int i = 0; i < number; i++) {
        char name[64];
        CUdeviceptr memory = 0;
        snprintf(name, sizeof(name), "domain %d", i);
        nvtxDomainHandle_t domain = nvtxDomainCreateA(name);
        nvtxEventAttributes_t attributes = {.version = NVTX_VERSION,
                                            .size = NVTX_EVENT_ATTRIB_STRUCT_SIZE,
                                            .category = (uint32_t)i + 1,
                                            .messageType = NVTX_MESSAGE_TYPE_REGISTERED,
                                            .message.registered = nvtxDomainRegisterStringA(domain, name)};
        nvtxDomainNameCategoryA(domain, (uint32_t)i + 1, name);
        nvtxDomainRangePushEx(domain, &attributes);
        MUST(cuMemAlloc(&memory, 256));
        nvtxDomainRangePop(domain);
        nvtxDomainDestroy(domain);
    }
    return 0;
}
