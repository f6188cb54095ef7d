/*
 * libnvtx_all.so: a shared library with a copy of NVTX of its own, as every library has that includes NVTX's headers.
 * What it does is stated by nvtx_all.c, which calls it.
 */
#include <nvtx3/nvToolsExt.h>

#include "nvtx_all_library.h"

static nvtxDomainHandle_t shared;

/* A domain of the program's: both have it, each by a handle that it asked for. */
void library_open(const char *domain)
{
    shared = nvtxDomainCreateA(domain);
    nvtxDomainNameCategoryA(shared, LIBRARY_CATEGORY, "from the library");
}

void library_work(void)
{
    nvtxEventAttributes_t event = {.version = NVTX_VERSION,
                                   .size = NVTX_EVENT_ATTRIB_STRUCT_SIZE,
                                   .category = LIBRARY_CATEGORY,
                                   .messageType = NVTX_MESSAGE_TYPE_REGISTERED,
                                   .message = {.registered = nvtxDomainRegisterStringA(shared, "in the library")}};
    nvtxDomainRangePushEx(shared, &event);
    nvtxMarkA("a mark of the library's");
    nvtxDomainRangePop(shared);
}

/* Pops what the program has pushed: a thread has one stack for each domain, shared by all libraries. */
int library_pop(void)
{
    return nvtxDomainRangePop(shared);
}

void library_end(uint64_t range)
{
    nvtxRangeEnd(range);
}

void library_close(void)
{
    nvtxDomainDestroy(shared);
}
