#include "agent/cupti/event_watch.h"

#include "agent/cupti/callback_switches.h"

bool event_watch_used;

static __thread struct {
    bool begun;
    uint32_t correlation;
} watch;

void event_watch_switch_on(void)
{
    callback_switches_event_records();
}

void event_watch_begin(void)
{
    __atomic_store_n(&event_watch_used, true, __ATOMIC_RELAXED);
    watch.begun = true;
    watch.correlation = 0;
}

uint32_t event_watch_end(void)
{
    watch.begun = false;
    return watch.correlation;
}

bool event_watch_looks(uint32_t correlation)
{
    if (watch.begun)
        watch.correlation = correlation;
    return watch.begun;
}
