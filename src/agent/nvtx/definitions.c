#include "agent/nvtx/definitions.h"

#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "agent/dispatch/fork_watch.h"
#include "agent/dispatch/registry.h"
#include "common/payload.h"

/* A copy of what was defined; its record and its texts lie behind it. */
struct definition {
    struct gputrace_nvtx_extension definition;
    struct definition *next;
};

/* Only ever added to, by any thread without a lock; the latest first. */
static struct definition *definitions;
static uint32_t last_number;
static uint64_t last_id = PAYLOAD_FIRST_DYNAMIC;

void nvtx_publish(struct gputrace_nvtx_extension *what)
{
    if (what->time == 0)
        what->time = clock_now();
    registry_nvtx_extension_publish(what);
}

static char *copy(char *at, const void *from, size_t size)
{
    if (size > 0)
        memcpy(at, from, size);
    return at + size;
}

static void keep(const struct gputrace_nvtx_extension *what)
{
    struct definition *kept = malloc(sizeof(*kept) + what->bytes + what->text.length + what->more.length);
    if (!kept)
        return; /* a forked child will lack it; this process does not */
    kept->definition = *what;
    char *record = (char *)(kept + 1), *text = copy(record, what->record, what->bytes);
    char *more = copy(text, what->text.bytes, what->text.length);
    copy(more, what->more.bytes, what->more.length);
    kept->definition.record = record;
    kept->definition.text.bytes = text;
    kept->definition.more.bytes = more;
    kept->next = __atomic_load_n(&definitions, __ATOMIC_RELAXED);
    while (!__atomic_compare_exchange_n(&definitions, &kept->next, kept, true, __ATOMIC_RELEASE, __ATOMIC_RELAXED))
        ;
}

void nvtx_define(struct gputrace_nvtx_extension *what)
{
    what->always = true;
    nvtx_publish(what);
    if (!fork_unannounced())
        keep(what);
}

void nvtx_definitions_republish(void)
{
    for (struct definition *kept = __atomic_load_n(&definitions, __ATOMIC_ACQUIRE); kept; kept = kept->next)
        registry_nvtx_extension_publish(&kept->definition);
}

uint32_t nvtx_definition_number(void)
{
    return __atomic_add_fetch(&last_number, 1, __ATOMIC_RELAXED);
}

uint64_t nvtx_definition_id(uint64_t chosen)
{
    if (chosen >= PAYLOAD_FIRST_SCHEMA && chosen < PAYLOAD_FIRST_DYNAMIC)
        return chosen;
    return __atomic_add_fetch(&last_id, 1, __ATOMIC_RELAXED);
}
