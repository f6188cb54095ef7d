#include "wire/api_classes.h"

static const uint8_t runtime_queries[] = {
#include "wire/runtime_queries.inc"
};

static const uint8_t driver_queries[] = {
#include "wire/driver_queries.inc"
};

bool api_runtime_is_query(uint32_t cbid)
{
    return cbid < sizeof(runtime_queries) && runtime_queries[cbid];
}

bool api_driver_is_query(uint32_t cbid)
{
    return cbid < sizeof(driver_queries) && driver_queries[cbid];
}
