/*
 * Loads plugins, creates a `struct gputrace_host` for each, and records how long their callbacks take. The program
 * itself is one more client, with the host that gputrace_own_host() returns.
 */
#include "agent/main/plugins.h"

#include <dlfcn.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/cupti/cupti_library.h"
#include "agent/dispatch/registry.h"
#include "agent/ranges/device_ranges.h"
#include "agent/spool/recorder.h"
#include "agent/spool/stacks.h"
#include "agent/spool/writer.h"
#include "common/clock.h"
#include "common/log.h"
#include "common/memory.h"

struct client_time {
    uint64_t calls, ns;
};

struct client {
    struct gputrace_host host; /* must be first: client_of() casts the host to its client */
    unsigned number;           /* 0: the host was not created */
    char *name;
    char *settings, *settings_end; /* "key=value" or "key" items, each ended by a NUL */
    struct client_time before;     /* calls and time before the fork, of the parent process */
    struct client_time recorded;
};

static struct {
    pthread_mutex_t lock; /* guards creation of hosts and recording of times */
    struct client client[EPOCH_CLIENTS];
} hosts = {.lock = PTHREAD_MUTEX_INITIALIZER};

static const struct client *client_of(const struct gputrace_host *host)
{
    return (const struct client *)(const void *)host;
}

/* --- the functions of a host --- */

static uint64_t host_add(const struct gputrace_host *host, uint32_t kind, gputrace_any_fn *call, void *data)
{
    return kind < GPUTRACE_KIND_COUNT ? registry_add(client_of(host)->number, kind, call, data) : 0;
}

static int host_remove(const struct gputrace_host *host, uint64_t registration)
{
    return registry_remove(client_of(host)->number, registration);
}

static void host_clear(const struct gputrace_host *host, uint32_t kind)
{
    if (kind < GPUTRACE_KIND_COUNT || kind == GPUTRACE_EVERY_KIND)
        registry_clear(client_of(host)->number, kind == GPUTRACE_EVERY_KIND ? REGISTRY_KIND_COUNT : kind);
}

/* Host functions that do not depend on the client. */
#define COMMON_FUNCTION(type, name, body, ...)                               \
    static type host_##name(const struct gputrace_host *host, ##__VA_ARGS__) \
    {                                                                        \
        (void)host;                                                          \
        body;                                                                \
    }
COMMON_FUNCTION(void, synchronize, registry_synchronize())
COMMON_FUNCTION(uint64_t, now, return clock_now())
COMMON_FUNCTION(uint32_t, stack, return stacks_record(skip), uint32_t skip)
COMMON_FUNCTION(uint32_t, stream_id, return cupti_stream_id((uint64_t)(uintptr_t)context, (uint64_t)(uintptr_t)stream),
                struct CUctx_st *context, struct CUstream_st *stream)
COMMON_FUNCTION(const struct gputrace_cached_event *, event_get, return event_cache_get(context, timing != 0),
                struct CUctx_st *context, uint32_t timing)
COMMON_FUNCTION(void, event_return, event_cache_return(event), const struct gputrace_cached_event *event)

static const char *host_setting(const struct gputrace_host *host, const char *key)
{
    const struct client *client = client_of(host);
    size_t length = key ? strlen(key) : 0;
    for (const char *item = client->settings; length > 0 && item < client->settings_end; item += strlen(item) + 1) {
        if (strncmp(item, key, length) != 0)
            continue;
        if (item[length] == '=')
            return item + length + 1;
        if (item[length] == '\0')
            return item + length;
    }
    return NULL;
}

static void host_slice(const struct gputrace_host *host, const char *name, uint64_t start, uint64_t end,
                       const char *detail)
{
    plugin_record_event(&(struct plugin_event){.what = SPOOL_PLUGIN_SLICE,
                                               .client = client_of(host)->number,
                                               .start = start,
                                               .end = end > start ? end : start,
                                               .name = name,
                                               .detail = detail});
}

static void host_instant(const struct gputrace_host *host, const char *name, uint64_t time, const char *detail)
{
    plugin_record_event(&(struct plugin_event){.what = SPOOL_PLUGIN_INSTANT,
                                               .client = client_of(host)->number,
                                               .start = time,
                                               .name = name,
                                               .detail = detail});
}

static void host_counter(const struct gputrace_host *host, const char *name, uint64_t time, double value)
{
    plugin_record_event(&(struct plugin_event){
        .what = SPOOL_PLUGIN_COUNTER, .client = client_of(host)->number, .start = time, .value = value, .name = name});
}

static void host_line(const struct gputrace_host *host, uint32_t stack, const char *text)
{
    record_write_text(SPOOL_RECORD_PLUGIN_LINE, plugin_line, clock_now(), text_of(text),
                      .plugin = client_of(host)->number, .stack = stack);
}

static void host_allocation_failed(const struct gputrace_host *host,
                                   const struct gputrace_memory_allocation_failure *failure)
{
    (void)host;
    struct gputrace_memory_allocation_failure known = {.stream_id = GPUTRACE_NO_STREAM};
    memcpy(&known, failure, failure->call.size < sizeof(known) ? failure->call.size : sizeof(known));
    registry_memory_allocation_failure_publish(&known);
}

static const struct gputrace_host functions = {
    .version = GPUTRACE_CALLBACKS_VERSION,
    .size = sizeof(struct gputrace_host),
    .add = host_add,
    .remove = host_remove,
    .clear = host_clear,
    .synchronize = host_synchronize,
    .setting = host_setting,
    .now = host_now,
    .stream_id = host_stream_id,
    .stack = host_stack,
    .slice = host_slice,
    .instant = host_instant,
    .counter = host_counter,
    .line = host_line,
    .event_take = host_event_get,
    .event_give_back = host_event_return,
    .allocation_failed = host_allocation_failed,
};

/* --- creating hosts --- */

static bool fill(struct client *client, unsigned number, const char *name, const char *settings)
{
    client->name = strdup(name);
    client->settings = strdup(settings);
    if (!client->name || !client->settings) {
        free(client->name);
        free(client->settings);
        return false;
    }
    client->settings_end = client->settings + strlen(client->settings);
    for (char *comma = client->settings; (comma = strchr(comma, ','));)
        *comma++ = '\0';
    client->host = functions;
    client->number = number;
    return true;
}

const struct gputrace_host *host_make(unsigned number, const char *name, const char *settings)
{
    struct client *client = &hosts.client[number];
    pthread_mutex_lock(&hosts.lock);
    if (!client->number && fill(client, number, name, settings)) {
        stacks_prepare();
        plugin_record_client(number, client->name);
    }
    bool made = client->number != 0;
    pthread_mutex_unlock(&hosts.lock);
    return made ? &client->host : NULL;
}

/* --- times, forks --- */

/* Records the time spent in callbacks of each client for which it changed. */
static void record_host_times(void)
{
    pthread_mutex_lock(&hosts.lock);
    for (unsigned i = 0; i < EPOCH_CLIENTS; i++) {
        struct client *client = &hosts.client[i];
        struct client_time now;
        epoch_client_time(i, &now.calls, &now.ns);
        if (!client->number || now.calls - client->before.calls == client->recorded.calls)
            continue;
        client->recorded = (struct client_time){now.calls - client->before.calls, now.ns - client->before.ns};
        record_write(SPOOL_RECORD_PLUGIN_TIME, plugin_time, clock_now(), .plugin = client->number,
                     .calls = client->recorded.calls, .ns = client->recorded.ns);
    }
    pthread_mutex_unlock(&hosts.lock);
}

/* --- plugins --- */

#define PLUGINS_MAX (EPOCH_CLIENTS - REGISTRY_FIRST_PLUGIN)
#define RECORD_INTERVAL_NS NS_PER_S

/* The size of the struct in its first version; later versions added members behind these. */
#define PLUGIN_BYTES_LEAST (offsetof(struct gputrace_plugin, start) + sizeof(((struct gputrace_plugin *)0)->start))

#define OTHER_VERSION                                                                                              \
    "built for version %" PRIu32 " of gputrace's callbacks, and this gputrace (%s) has version %u: build it anew " \
    "with the callbacks.h of this gputrace"

static struct {
    unsigned count; /* number of plugins in `started` */
    const struct gputrace_plugin *started[PLUGINS_MAX];
    uint64_t recorded; /* when times were last recorded, in CLOCK_MONOTONIC */
    bool begun;        /* plugins were loaded in this process, and its end was not published yet */
} plugins;

/* Says why a plugin is left out. The value is false. */
#define LEFT_OUT "plugin '%s' is left out: "
#define refuse(path, format, ...) (recorder_warn(LEFT_OUT format, (path), ##__VA_ARGS__), false)

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
    if (world_writable(path, where)) {
        recorder_warn(LEFT_OUT "everybody can write to '%s'", path, where);
        return NULL;
    }
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        const char *words = dlerror();
        recorder_warn(LEFT_OUT "%s", path, words ? words : "it cannot be loaded");
        return NULL;
    }
    const struct gputrace_plugin *plugin = dlsym(library, "gputrace_plugin");
    if (plugin ? is_ours(path, plugin)
               : refuse(path, "it has no 'gputrace_plugin'; a plugin says GPUTRACE_PLUGIN(\"name\", start), as in "
                              "gputrace-callbacks(3)"))
        return plugin; /* the library stays loaded */
    dlclose(library);
    return NULL;
}

static bool start(const char *path, const char *settings)
{
    if (plugins.count == PLUGINS_MAX)
        return refuse(path, "at most %u plugins can be used", (unsigned)PLUGINS_MAX);
    const struct gputrace_plugin *plugin = open_plugin(path);
    if (!plugin)
        return false;
    unsigned client = REGISTRY_FIRST_PLUGIN + plugins.count;
    const char *slash = strrchr(path, '/'), *name = plugin->name ? plugin->name : slash ? slash + 1 : path;
    const struct gputrace_host *host = host_make(client, name, settings);
    if (!host)
        return refuse(path, "out of memory");
    plugins.started[plugins.count++] = plugin;
    int failed = plugin->start(host);
    if (!failed)
        return true;
    registry_clear(client, REGISTRY_KIND_COUNT);
    return refuse(path, "its start failed with %d", failed);
}

void plugins_load(const char *lines)
{
    plugins.begun = true;
    char *copy = lines && *lines ? strdup(lines) : NULL;
    struct epoch_reader *reader = copy ? epoch_reader() : NULL;
    if (reader) {
        uint64_t began = clock_now();
        reader->in_client = true; /* this thread's calls are the plugins', not the program's */
        char *rest = copy;
        for (char *line; (line = strsep(&rest, "\n"));) { /* a line is "PATH,SETTINGS" */
            char *settings = line;
            const char *path = strsep(&settings, ",");
            uint64_t start_began = clock_monotonic();
            if (*path && start(path, settings ? settings : ""))
                verbose("plugin '%s' started in %" PRIu64 " us", path, (clock_monotonic() - start_began) / NS_PER_US);
        }
        reader->in_client = false;
        registry_plugin_window_publish(&(struct gputrace_plugin_window){began, clock_now()});
        atexit(plugins_process_end); /* after the plugins' constructors, so it is called before their destructors */
    }
    free(copy);
}

const struct gputrace_host *plugins_program_host(uint32_t version)
{
    static bool warned;
    if (version == GPUTRACE_CALLBACKS_VERSION)
        return host_make(REGISTRY_PROGRAM, "program", "");
    if (!__atomic_exchange_n(&warned, true, __ATOMIC_RELAXED))
        recorder_warn("the program's own callbacks are not called: " OTHER_VERSION, version, GPUTRACE_VERSION,
                      GPUTRACE_CALLBACKS_VERSION);
    return NULL;
}

void plugins_record_times(void)
{
    uint64_t now = clock_monotonic();
    if (now - plugins.recorded < RECORD_INTERVAL_NS)
        return;
    plugins.recorded = now;
    record_host_times();
}

#define CALL_AT(now) {.start = (now), .end = (now), .device = GPUTRACE_NO_DEVICE, .thread = writer_thread()}

void plugins_process_end(void)
{
    if (!__atomic_exchange_n(&plugins.begun, false, __ATOMIC_RELAXED))
        return;
    uint64_t now = clock_now();
    registry_process_end_publish(&(struct gputrace_process_end){CALL_AT(now)});
    record_host_times();
}

void plugins_atfork_child(void)
{
    plugins.begun = false;
    /* No other thread exists here, so the lock is free. Time spent in callbacks so far, and the old spool, are the
     * parent's. */
    pthread_mutex_init(&hosts.lock, NULL);
    for (unsigned i = 0; i < EPOCH_CLIENTS; i++) {
        struct client *client = &hosts.client[i];
        epoch_client_time(i, &client->before.calls, &client->before.ns);
        client->recorded = (struct client_time){0};
    }
}

void plugins_after_fork(uint32_t parent)
{
    plugins.begun = true;
    pthread_mutex_lock(&hosts.lock);
    for (unsigned i = 0; i < EPOCH_CLIENTS; i++) /* the new spool needs the clients, too */
        if (hosts.client[i].number)
            plugin_record_client(i, hosts.client[i].name);
    pthread_mutex_unlock(&hosts.lock);
    uint64_t now = clock_now();
    registry_process_fork_publish(&(struct gputrace_process_fork){CALL_AT(now), parent});
}
