#include "tool/decode/api_names.h"

#include <assert.h>
#include <stddef.h>

static const char *const runtime_names[] = {
#include "tool/decode/runtime_cbid.inc"
};

static const char *const driver_names[] = {
#include "tool/decode/driver_cbid.inc"
};

static_assert(sizeof(runtime_names) / sizeof(*runtime_names) <= API_CBID_LIMIT, "limit");
static_assert(sizeof(driver_names) / sizeof(*driver_names) <= API_CBID_LIMIT, "limit");

const char *api_name(enum event_api_domain domain, uint32_t cbid)
{
    if (domain == EVENT_API_RUNTIME)
        return cbid < sizeof(runtime_names) / sizeof(*runtime_names) ? runtime_names[cbid] : NULL;
    return cbid < sizeof(driver_names) / sizeof(*driver_names) ? driver_names[cbid] : NULL;
}
