#include "agent/main/host.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "agent/cupti/cupti_ids.h"
#include "agent/spool/stacks.h"
#include "agent/spool/plugin_records.h"
#include "agent/ranges/event_cache.h"
#include "agent/dispatch/registry.h"

struct spent {
    uint64_t calls, ns;
};

struct client {
    struct gputrace_host host; /* first: the host that a function is given is the client's */
    unsigned number;           /* 0: not made */
    char *name;
    char *settings, *settings_end; /* "key=value" and "key", each ended by a NUL */
    struct spent before;           /* of a parent process */
    struct spent told;
};

static struct {
    pthread_mutex_t lock; /* of making and telling */
    struct client client[READER_CLIENTS];
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
    if (kind <= GPUTRACE_KIND_COUNT)
        registry_clear(client_of(host)->number, kind < GPUTRACE_KIND_COUNT ? kind : REGISTRY_KIND_COUNT);
}

static void host_synchronize(const struct gputrace_host *host)
{
    (void)host;
    registry_synchronize();
}

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

static uint64_t host_now(const struct gputrace_host *host)
{
    (void)host;
    return clock_now();
}

static uint32_t host_stream_id(const struct gputrace_host *host, struct CUctx_st *context, struct CUstream_st *stream)
{
    (void)host;
    return cupti_stream_id((uint64_t)(uintptr_t)context, (uint64_t)(uintptr_t)stream);
}

static uint32_t host_stack(const struct gputrace_host *host, uint32_t skip)
{
    (void)host;
    return stacks_take(skip);
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
    plugin_record_line(client_of(host)->number, stack, text);
}

static const struct gputrace_cached_event *host_event_take(const struct gputrace_host *host, struct CUctx_st *context,
                                                           uint32_t timing)
{
    (void)host;
    return event_cache_take(context, timing != 0);
}

static void host_event_give_back(const struct gputrace_host *host, const struct gputrace_cached_event *event)
{
    (void)host;
    event_cache_give_back(event);
}

static void host_allocation_failed(const struct gputrace_host *host,
                                   const struct gputrace_memory_allocation_failure *failure)
{
    (void)host;
    registry_memory_allocation_failure_publish(failure);
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
    .event_take = host_event_take,
    .event_give_back = host_event_give_back,
    .allocation_failed = host_allocation_failed,
};

/* --- making --- */

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

static void tell_time(struct client *client)
{
    struct spent now;
    readers_spent(client->number, &now.calls, &now.ns);
    if (now.calls - client->before.calls == client->told.calls)
        return;
    client->told = (struct spent){now.calls - client->before.calls, now.ns - client->before.ns};
    plugin_record_time(client->number, client->told.calls, client->told.ns);
}

void hosts_tell_times(void)
{
    pthread_mutex_lock(&hosts.lock);
    for (unsigned i = 0; i < READER_CLIENTS; i++)
        if (hosts.client[i].number)
            tell_time(&hosts.client[i]);
    pthread_mutex_unlock(&hosts.lock);
}

void hosts_leave(void)
{
    pthread_mutex_init(&hosts.lock, NULL);
    for (unsigned i = 0; i < READER_CLIENTS; i++) {
        struct client *client = &hosts.client[i];
        readers_spent(i, &client->before.calls, &client->before.ns);
        client->told = (struct spent){0};
    }
}

void hosts_retell(void)
{
    pthread_mutex_lock(&hosts.lock);
    for (unsigned i = 0; i < READER_CLIENTS; i++)
        if (hosts.client[i].number)
            plugin_record_client(i, hosts.client[i].name);
    pthread_mutex_unlock(&hosts.lock);
}
