#include "analysis/event_run.h"

#include <string.h>

#include "analysis/event_fields.h"

const char *event_run_take(const char *bytes, const uint32_t *numbers, struct trace_event *event)
{
    uint16_t extent;
    memcpy(&extent, bytes + offsetof(struct trace_event, extent), sizeof(extent));
    event_put(event, bytes, extent);
    event_translate(event, numbers);
    return bytes + extent;
}
