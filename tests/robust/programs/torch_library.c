/*
 * Stands in for libtorch_cpu.so: what observers of operators call, by the names of PyTorch, with records of any of its
 * layouts. FAKE_TORCH chooses the layout: "new" (the default), "1.13", "old strings", "old strings 1.13", or "unknown",
 * in which a member stands elsewhere.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "torch_fake.h"

#define SHOWN __attribute__((visibility("default")))
#define AS(name) __asm__(name) SHOWN

#define CALLBACKS_MOST 8

struct callback {
    void **(*start)(void **observer, const void *function);
    void (*end)(const void *function, void *observer);
    double sampling_probability;
    bool scopes[10];
    bool needs_inputs, needs_outputs, needs_ids;
};

static struct callback callbacks[CALLBACKS_MOST];
static unsigned callback_count;

uint64_t add_callback(struct callback callback) AS("_ZN2at17addGlobalCallbackENS_22RecordFunctionCallbackE");
uint64_t add_callback(struct callback callback)
{
    unsigned number = callback_count;
    callbacks[number] = callback;
    __atomic_store_n(&callback_count, number + 1, __ATOMIC_RELEASE);
    return number + 1;
}

uint64_t current_thread(void) AS("_ZN2at14RecordFunction15currentThreadIdEv");
uint64_t current_thread(void)
{
    static uint64_t last;
    static __thread uint64_t mine;
    if (mine == 0)
        mine = __atomic_add_fetch(&last, 1, __ATOMIC_RELAXED);
    return mine;
}

void constructor(void) AS("_ZN2at14RecordFunctionC1EONS_13StepCallbacksE");
void constructor(void)
{
}

static const struct layout {
    const char *name;
    size_t thread, variant, sequence, keywords, outputs, forward;
} layouts[] = {
    {"new", 88, 192, 200, 224, 280, 304},         {"1.13", 88, 192, 200, 0, 224, 248},
    {"old strings", 88, 168, 176, 200, 256, 280}, {"old strings 1.13", 88, 168, 176, 0, 200, 224},
    {"unknown", 72, 192, 200, 224, 280, 304},
};

static const struct layout *layout(void)
{
    const char *wanted = getenv("FAKE_TORCH");
    for (size_t i = 0; wanted && i < sizeof(layouts) / sizeof(*layouts); i++)
        if (strcmp(layouts[i].name, wanted) == 0)
            return &layouts[i];
    return &layouts[0];
}

const char *name_of(const struct fake_operator *function) AS("_ZNK2at14RecordFunction4nameEv");
const char *name_of(const struct fake_operator *function)
{
    return function->name;
}

static void put(struct fake_operator *function, size_t at, uint64_t value)
{
    memcpy(function->bytes + at, &value, sizeof(value));
}

static __thread bool is_profiled;

SHOWN void fake_profile(bool on)
{
    is_profiled = on;
}

bool profiler_enabled(void) AS("_ZN5torch8profiler4impl15profilerEnabledEv");
bool profiler_enabled(void)
{
    return is_profiled;
}

SHOWN unsigned fake_callbacks(void)
{
    return __atomic_load_n(&callback_count, __ATOMIC_ACQUIRE);
}

SHOWN void fake_begin(struct fake_operator *function, unsigned scope, const char *name, int64_t sequence,
                      uint64_t forward)
{
    const struct layout *at = layout();
    const float load_factor = 1;
    memset(function->bytes, 0x5a, sizeof(function->bytes)); /* of members that nobody knows */
    function->name = name;
    function->scope = scope;
    put(function, at->thread, current_thread());
    function->bytes[96] = (unsigned char)scope;
    put(function, 160, (uint64_t)(uintptr_t)name);
    function->bytes[at->variant] = 0;
    put(function, at->sequence, (uint64_t)sequence);
    if (at->keywords) {
        put(function, at->keywords, (uint64_t)(uintptr_t)(function->bytes + at->keywords + 48));
        put(function, at->keywords + 8, 1);
        memcpy(function->bytes + at->keywords + 32, &load_factor, sizeof(load_factor));
    }
    for (size_t i = 0; i < 3; i++)
        put(function, at->outputs + i * sizeof(uint64_t), 0);
    put(function, at->forward, forward);
    for (unsigned i = 0; i < fake_callbacks(); i++) {
        void *observer = function; /* as it may be */
        if (callbacks[i].scopes[scope] && (callbacks[i].start(&observer, function) != &observer || observer != NULL))
            abort();
    }
}

SHOWN void fake_end(struct fake_operator *function)
{
    for (unsigned i = 0; i < fake_callbacks(); i++)
        if (callbacks[i].scopes[function->scope])
            callbacks[i].end(function, NULL);
}
