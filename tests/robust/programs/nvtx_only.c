/* NVTX and nothing of CUDA; the exit status is the first argument, a pause in milliseconds the second, the name of a
 * domain the third. */
#include <nvtx3/nvToolsExt.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    nvtxEventAttributes_t event = {.version = NVTX_VERSION,
                                   .size = NVTX_EVENT_ATTRIB_STRUCT_SIZE,
                                   .messageType = NVTX_MESSAGE_TYPE_ASCII,
                                   .message.ascii = "only"};
    nvtxDomainHandle_t domain = argc > 3 ? nvtxDomainCreateA(argv[3]) : NULL;
    nvtxDomainRangePushEx(domain, &event);
    if (argc > 2)
        usleep((unsigned)atoi(argv[2]) * 1000u);
    nvtxDomainRangePop(domain);
    puts("done");
    return argc > 1 ? atoi(argv[1]) : 0;
}
