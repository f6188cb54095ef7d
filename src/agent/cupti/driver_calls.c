#include "agent/cupti/driver_calls.h"

static const struct driver_calls *const groups[] = {
    &event_calls,      &stream_calls, &sync_calls,     &memory_calls, &copy_calls,  &copy_shape_calls,
    &copy_batch_calls, &set_calls,    &launch_calls,   &queue_calls,  &graph_calls, &graph_node_calls,
    &module_calls,     &code_calls,   &profiler_calls, &pool_calls,
};

const struct driver_call *driver_calls_by_cbid[CUPTI_DRIVER_TRACE_CBID_SIZE];

void driver_calls_init(void)
{
    for (size_t group = 0; group < sizeof(groups) / sizeof(groups[0]); group++)
        for (size_t i = 0; i < groups[group]->count; i++)
            driver_calls_by_cbid[groups[group]->rows[i].cbid] = &groups[group]->rows[i];
}
