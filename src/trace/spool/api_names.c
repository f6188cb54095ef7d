#include "trace/spool/api_names.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>

static const char *const runtime_names[] = {
#include "common/runtime_cbid.inc"
};

static const char *const driver_names[] = {
#include "common/driver_cbid.inc"
};

static_assert(sizeof(runtime_names) / sizeof(*runtime_names) <= API_CBID_LIMIT, "limit");
static_assert(sizeof(driver_names) / sizeof(*driver_names) <= API_CBID_LIMIT, "limit");

const char *api_name(enum event_api_domain domain, uint32_t cbid)
{
    if (domain == EVENT_API_RUNTIME)
        return cbid < sizeof(runtime_names) / sizeof(*runtime_names) ? runtime_names[cbid] : NULL;
    return cbid < sizeof(driver_names) / sizeof(*driver_names) ? driver_names[cbid] : NULL;
}

unsigned api_sorts(enum event_api_domain domain, uint32_t cbid)
{
    static const struct {
        const char *prefix;
        unsigned sorts;
    } known[] = {{"LaunchHostFunc", 0},   {"Launch", LAUNCH_KERNELS},       {"Memcpy", LAUNCH_COPIES},
                 {"Memset", LAUNCH_SETS}, {"GraphLaunch", LAUNCH_ANYTHING}, {"EventRecord", LAUNCH_CUDA_EVENTS}};
    const char *name = api_name(domain, cbid);
    size_t prefix = domain == EVENT_API_RUNTIME ? strlen("cuda") : strlen("cu");
    if (!name || strlen(name) < prefix)
        return 0;
    for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
        if (strncmp(name + prefix, known[i].prefix, strlen(known[i].prefix)) == 0)
            return known[i].sorts;
    return 0;
}
