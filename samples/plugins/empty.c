/*
 * empty: a plugin that hears of everything and does nothing. A beginning for your own; and since it makes gputrace
 * listen to everything, the measure of what callbacks cost (tests/bench/callbacks).
 *
 *     gputrace run --plugin empty ./program
 */
#include <gputrace/callbacks.h>

#define GPUTRACE_KIND(name)                                                  \
    static void heard_##name(void *data, const struct gputrace_##name *what) \
    {                                                                        \
        (void)data;                                                          \
        (void)what;                                                          \
    }
GPUTRACE_KINDS(GPUTRACE_KIND)
#undef GPUTRACE_KIND

static int start(const struct gputrace_host *host)
{
    int failed = 0;
#define GPUTRACE_KIND(name) failed |= gputrace_##name##_register(host, heard_##name, NULL) == 0;
    GPUTRACE_KINDS(GPUTRACE_KIND)
#undef GPUTRACE_KIND
    return failed ? -1 : 0;
}

GPUTRACE_PLUGIN("empty", start);
GPUTRACE_PLUGIN_SETTINGS("");
