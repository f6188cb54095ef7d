#include "agent/main/plugin.h"

#include <dlfcn.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/log.h"
#include "common/open_to_others.h"
#include "agent/main/host.h"
#include "agent/spool/recorder.h"
#include "agent/spool/writer.h"
#include "agent/dispatch/registry.h"

#define PLUGINS_MAX (READER_CLIENTS - REGISTRY_FIRST_PLUGIN)
#define TELL_INTERVAL_NS NS_PER_S

/* Of version 1; what it has more was added later. */
#define PLUGIN_BYTES_LEAST (offsetof(struct gputrace_plugin, start) + sizeof(((struct gputrace_plugin *)0)->start))

#define OTHER_VERSION                                                                                              \
    "built for version %" PRIu32 " of gputrace's callbacks, and this gputrace (%s) has version %u: build it anew " \
    "with the callbacks.h of this gputrace"

static struct {
    unsigned count; /* of those that were started */
    const struct gputrace_plugin *started[PLUGINS_MAX];
    uint64_t told; /* CLOCK_MONOTONIC */
    bool begun;    /* in this process, and its end was not told */
} plugins;

/* A word to the user, on stderr and in the trace. Gives false. */
static bool tell(const char *format, ...) __attribute__((format(printf, 1, 2)));
static bool tell(const char *format, ...)
{
    char words[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(words, sizeof(words), format, args);
    va_end(args);
    recorder_warn("%s", words);
    return false;
}

/* Says why a plugin is left out. Gives false. */
#define refuse(path, format, ...) tell("plugin '%s' is left out: " format, (path), ##__VA_ARGS__)

static bool is_ours(const char *path, const struct gputrace_plugin *plugin)
{
    if (plugin->version != GPUTRACE_CALLBACKS_VERSION)
        return refuse(path, OTHER_VERSION, plugin->version, GPUTRACE_VERSION, GPUTRACE_CALLBACKS_VERSION);
    if (plugin->size < PLUGIN_BYTES_LEAST || !plugin->start)
        return refuse(path, "its 'gputrace_plugin' is not whole; define it with GPUTRACE_PLUGIN(\"name\", start)");
    for (unsigned i = 0; i < plugins.count; i++)
        if (plugins.started[i] == plugin)
            return refuse(path, "it is named twice");
    return true;
}

static const struct gputrace_plugin *open_plugin(const char *path)
{
    char where[PATH_MAX];
    if (open_to_others(path, where)) {
        refuse(path, "everybody can write to '%s'", where);
        return NULL;
    }
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        const char *words = dlerror();
        refuse(path, "%s", words ? words : "it does not load");
        return NULL;
    }
    const struct gputrace_plugin *plugin = dlsym(library, "gputrace_plugin");
    if (plugin ? is_ours(path, plugin)
               : refuse(path, "it has no 'gputrace_plugin'; a plugin says GPUTRACE_PLUGIN(\"name\", start), as in "
                              "gputrace-callbacks(3)"))
        return plugin; /* and the library stays */
    dlclose(library);
    return NULL;
}

static const char *name_of(const struct gputrace_plugin *plugin, const char *path)
{
    const char *slash = strrchr(path, '/');
    return plugin->name ? plugin->name : slash ? slash + 1 : path;
}

static bool start(const char *path, const char *settings)
{
    if (plugins.count == PLUGINS_MAX)
        return refuse(path, "%u are the most that can be used at a time", (unsigned)PLUGINS_MAX);
    const struct gputrace_plugin *plugin = open_plugin(path);
    if (!plugin)
        return false;
    unsigned client = REGISTRY_FIRST_PLUGIN + plugins.count;
    const struct gputrace_host *host = host_make(client, name_of(plugin, path), settings);
    if (!host)
        return refuse(path, "there is no memory for it");
    plugins.started[plugins.count++] = plugin;
    int failed = plugin->start(host);
    if (!failed)
        return true;
    registry_clear(client, REGISTRY_KIND_COUNT);
    return refuse(path, "its start failed with %d", failed);
}

/* One line of the setting: cut at its first comma. */
static void load(char *line)
{
    size_t length = strcspn(line, ",");
    char *settings = line[length] ? line + length + 1 : line + length;
    line[length] = '\0';
    uint64_t began = clock_monotonic();
    if (*line && start(line, settings))
        verbose("plugin '%s' started in %" PRIu64 " us", line, (clock_monotonic() - began) / NS_PER_US);
}

static void load_all(char *lines)
{
    for (char *line; (line = strsep(&lines, "\n"));)
        load(line);
}

void plugins_load(const char *lines)
{
    plugins.begun = true;
    char *copy = lines && *lines ? strdup(lines) : NULL;
    struct reader *reader = copy ? reader_of_thread() : NULL;
    if (reader) {
        uint64_t began = clock_now();
        reader->in_client = true; /* what this thread does now is not the program's doing */
        load_all(copy);
        reader->in_client = false;
        registry_plugin_window_publish(&(struct gputrace_plugin_window){began, clock_now()});
        atexit(plugins_process_end); /* after the plugins' constructors, so it is called before their destructors */
    }
    free(copy);
}

const struct gputrace_host *plugins_program_host(uint32_t version)
{
    static bool told;
    if (version == GPUTRACE_CALLBACKS_VERSION)
        return host_make(REGISTRY_PROGRAM, "program", "");
    if (!__atomic_exchange_n(&told, true, __ATOMIC_RELAXED))
        tell("the program's own callbacks are not called: " OTHER_VERSION, version, GPUTRACE_VERSION,
             GPUTRACE_CALLBACKS_VERSION);
    return NULL;
}

void plugins_tell_time(void)
{
    uint64_t now = clock_monotonic();
    if (now - plugins.told < TELL_INTERVAL_NS)
        return;
    plugins.told = now;
    hosts_tell_times();
}

static struct gputrace_call this_moment(void)
{
    uint64_t now = clock_now();
    return (struct gputrace_call){.start = now, .end = now, .device = GPUTRACE_NO_DEVICE, .thread = writer_thread()};
}

void plugins_process_end(void)
{
    if (!__atomic_exchange_n(&plugins.begun, false, __ATOMIC_RELAXED))
        return;
    registry_process_end_publish(&(struct gputrace_process_end){this_moment()});
    hosts_tell_times();
}

void plugins_leave(void)
{
    plugins.begun = false;
    hosts_leave();
}

void plugins_after_fork(uint32_t parent)
{
    plugins.begun = true;
    hosts_retell();
    registry_process_fork_publish(&(struct gputrace_process_fork){this_moment(), parent});
}
