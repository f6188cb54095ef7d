/*
 * A host for plugins without gputrace: it keeps what they register and print, and tests make the callbacks.
 *
 *     fake_start("top=3");                          starts the plugin that the test is linked with
 *     fake.stack = 7;                               what gputrace_stack() gives from now on
 *     FAKE(event_record, .event = e, .stream = s);  calls those who registered for that kind
 *     fake.lines[i].text, fake.line_count           what was said
 *
 * One thread, or several that call back at once: what is kept is under a lock.
 */
#ifndef TESTS_SAMPLES_PLUGINS_FAKE_HOST_H
#define TESTS_SAMPLES_PLUGINS_FAKE_HOST_H

#include <gputrace/callbacks.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>

enum { FAKE_REGISTRATIONS_MAX = 128, FAKE_LINES_MAX = 4096, FAKE_TEXT_MAX = 512 };

#define FAKE_CONTEXT ((struct CUctx_st *)0x1000)

struct fake_line {
    uint32_t stack;
    char text[FAKE_TEXT_MAX];
};

static struct {
    pthread_mutex_t lock;
    struct {
        uint32_t kind;
        gputrace_any_fn *call;
        void *data;
    } registered[FAKE_REGISTRATIONS_MAX];
    unsigned registered_count;
    struct fake_line lines[FAKE_LINES_MAX];
    unsigned line_count, instants;
    const char *settings;
    char values[256]; /* of settings that were asked for */
    size_t values_used;
    uint64_t now;
    uint32_t stack;
} fake = {.lock = PTHREAD_MUTEX_INITIALIZER};

static uint64_t fake_add(const struct gputrace_host *host, uint32_t kind, gputrace_any_fn *call, void *data)
{
    (void)host;
    pthread_mutex_lock(&fake.lock);
    unsigned number = fake.registered_count;
    fake.registered[number].kind = kind;
    fake.registered[number].call = call;
    fake.registered[number].data = data;
    __atomic_store_n(&fake.registered_count, number + 1, __ATOMIC_RELEASE);
    pthread_mutex_unlock(&fake.lock);
    return number + 1;
}

static int fake_remove(const struct gputrace_host *host, uint64_t registration)
{
    (void)host, (void)registration;
    return -1;
}

static void fake_clear(const struct gputrace_host *host, uint32_t kind)
{
    (void)host, (void)kind;
}

static void fake_synchronize(const struct gputrace_host *host)
{
    (void)host;
}

static const char *fake_setting(const struct gputrace_host *host, const char *key)
{
    (void)host;
    size_t length = strlen(key);
    for (const char *at = fake.settings; at && *at; at += strcspn(at, ","), at += *at == ',') {
        size_t size = strcspn(at, ",");
        if (size < length || strncmp(at, key, length) != 0 || (size > length && at[length] != '='))
            continue;
        char *value = fake.values + fake.values_used;
        int used = snprintf(value, sizeof(fake.values) - fake.values_used, "%.*s",
                            size > length ? (int)(size - length - 1) : 0, at + length + 1);
        fake.values_used += (size_t)used + 1;
        return value;
    }
    return NULL;
}

static uint64_t fake_now(const struct gputrace_host *host)
{
    (void)host;
    return __atomic_add_fetch(&fake.now, 1000, __ATOMIC_RELAXED);
}

static uint32_t fake_stream_id(const struct gputrace_host *host, struct CUctx_st *context, struct CUstream_st *stream)
{
    (void)host, (void)context;
    return stream ? 8 : 7;
}

static uint32_t fake_stack(const struct gputrace_host *host, uint32_t skip)
{
    (void)host, (void)skip;
    return __atomic_load_n(&fake.stack, __ATOMIC_RELAXED);
}

static void fake_slice(const struct gputrace_host *host, const char *name, uint64_t start, uint64_t end,
                       const char *detail)
{
    (void)host, (void)name, (void)start, (void)end, (void)detail;
}

static void fake_instant(const struct gputrace_host *host, const char *name, uint64_t time, const char *detail)
{
    (void)host, (void)name, (void)time, (void)detail;
    __atomic_add_fetch(&fake.instants, 1, __ATOMIC_RELAXED);
}

static void fake_counter(const struct gputrace_host *host, const char *name, uint64_t time, double value)
{
    (void)host, (void)name, (void)time, (void)value;
}

static void fake_say(const struct gputrace_host *host, uint32_t stack, const char *text)
{
    (void)host;
    pthread_mutex_lock(&fake.lock);
    if (fake.line_count < FAKE_LINES_MAX) {
        struct fake_line *line = &fake.lines[fake.line_count++];
        line->stack = stack;
        snprintf(line->text, sizeof(line->text), "%s", text);
    }
    pthread_mutex_unlock(&fake.lock);
}

static const struct gputrace_host fake_host = {
    .version = GPUTRACE_CALLBACKS_VERSION,
    .size = sizeof(struct gputrace_host),
    .add = fake_add,
    .remove = fake_remove,
    .clear = fake_clear,
    .synchronize = fake_synchronize,
    .setting = fake_setting,
    .now = fake_now,
    .stream_id = fake_stream_id,
    .stack = fake_stack,
    .slice = fake_slice,
    .instant = fake_instant,
    .counter = fake_counter,
    .line = fake_say,
};

/* What the plugin said and registered before is forgotten. */
__attribute__((unused)) static int fake_start(const char *settings)
{
    fake.settings = settings;
    fake.registered_count = fake.line_count = fake.instants = 0;
    fake.values_used = 0;
    return gputrace_plugin.start(&fake_host);
}

/* A call that began now and is over. */
__attribute__((unused)) static struct gputrace_call fake_call(const char *function)
{
    uint64_t start = fake_now(&fake_host);
    return (struct gputrace_call){.start = start,
                                  .end = start + 500,
                                  .function = function,
                                  .context = FAKE_CONTEXT,
                                  .context_id = 1,
                                  .device = 0,
                                  .thread = 100};
}

#define GPUTRACE_KIND(name)                                                                       \
    __attribute__((unused)) static void fake_##name(const struct gputrace_##name *what)           \
    {                                                                                             \
        unsigned count = __atomic_load_n(&fake.registered_count, __ATOMIC_ACQUIRE);               \
        for (unsigned i = 0; i < count; i++)                                                      \
            if (fake.registered[i].kind == GPUTRACE_KIND_##name)                                  \
                ((gputrace_##name##_fn *)fake.registered[i].call)(fake.registered[i].data, what); \
    }
GPUTRACE_KINDS(GPUTRACE_KIND)
#undef GPUTRACE_KIND

/* FAKE(kind, .field = value …): it happens, by a call named after the kind. */
#define FAKE(kind, ...) fake_##kind(&(struct gputrace_##kind){.call = fake_call(#kind), __VA_ARGS__})

/* The first line that has TEXT in it, or NULL. */
__attribute__((unused)) static const struct fake_line *fake_find(const char *text)
{
    for (unsigned i = 0; i < fake.line_count; i++)
        if (strstr(fake.lines[i].text, text))
            return &fake.lines[i];
    return NULL;
}

__attribute__((unused)) static void fake_show(void)
{
    for (unsigned i = 0; i < fake.line_count; i++)
        fprintf(stderr, "[%u] %s\n", fake.lines[i].stack, fake.lines[i].text);
}

#endif
