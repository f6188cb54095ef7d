/*
 * Pools of stream-ordered memory: what CUDA says was the most of each, which may lie between two values of the
 * counters.
 */
#include <inttypes.h>
#include <stdio.h>

#include "common/json_out.h"
#include "trace/build/conversion.h"

static void put_pool(const struct pool_peak *peak, struct json_out *json)
{
    char handle[24];
    snprintf(handle, sizeof(handle), "0x%" PRIx64, peak->pool);
    json_begin_object(json);
    json_key(json, "pool");
    json_string(json, handle);
    json_key(json, "device");
    json_u64(json, peak->device);
    json_key(json, "reserved_peak");
    json_u64(json, peak->reserved);
    json_key(json, "used_peak");
    json_u64(json, peak->used);
    json_end(json);
}

void put_pools(const struct pools *pools, struct json_out *json)
{
    if (pools->peaks.count == 0)
        return;
    json_key(json, "pools");
    json_begin_array(json);
    for (size_t i = 0; i < pools->peaks.count; i++)
        put_pool(&pools->peaks.items[i], json);
    json_end(json);
}
