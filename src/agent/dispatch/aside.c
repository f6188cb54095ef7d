#include "agent/dispatch/aside.h"

#include "common/clock.h"
#include "agent/dispatch/registry.h"

bool aside_begin(struct aside *aside)
{
    struct reader *reader = reader_of_thread();
    if (!reader)
        return false;
    *aside = (struct aside){.reader = reader, .within = reader->in_client, .began = clock_now()};
    reader->in_client = true;
    return true;
}

void aside_end(const struct aside *aside)
{
    if (aside->within)
        return;
    aside->reader->in_client = false;
    registry_plugin_window_publish(&(struct gputrace_plugin_window){aside->began, clock_now()});
}

bool aside_is_within(void)
{
    const struct reader *reader = reader_of_thread();
    return reader && reader->in_client;
}
