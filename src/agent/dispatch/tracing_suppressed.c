#include "agent/dispatch/tracing_suppressed.h"

#include "common/clock.h"
#include "agent/dispatch/registry.h"

bool tracing_suppress(struct tracing_suppressed *aside)
{
    struct epoch_reader *reader = epoch_reader();
    if (!reader)
        return false;
    *aside = (struct tracing_suppressed){.reader = reader, .within = reader->in_client, .began = clock_now()};
    reader->in_client = true;
    return true;
}

void tracing_resume(const struct tracing_suppressed *aside)
{
    if (aside->within)
        return;
    aside->reader->in_client = false;
    registry_plugin_window_publish(&(struct gputrace_plugin_window){aside->began, clock_now()});
}

bool tracing_is_suppressed(void)
{
    const struct epoch_reader *reader = epoch_reader();
    return reader && reader->in_client;
}
