/* The classes of the API functions as two arrays by CUPTI's number of the function, made of api_classes.list. */
#include "common/api_classes.h"

#include "common/settings.h"

static const uint8_t runtime_classes[] = {
#include "common/runtime_classes.inc"
};

static const uint8_t driver_classes[] = {
#include "common/driver_classes.inc"
};

enum api_class api_runtime_class(uint32_t cbid)
{
    return cbid < sizeof(runtime_classes) ? runtime_classes[cbid] : API_ACTION;
}

enum api_class api_driver_class(uint32_t cbid)
{
    return cbid < sizeof(driver_classes) ? driver_classes[cbid] : API_ACTION;
}

bool api_class_recorded(enum api_class class, uint64_t trace_bits)
{
    return class == API_ACTION || (trace_bits & TRACE_API_ALL) ||
           (class == API_STATUS && (trace_bits & TRACE_EVENT_TIMES));
}
