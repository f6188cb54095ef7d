/*
 * Stands in for libtorch_cpu.so: what observers of operators call, by the names of PyTorch, with records of any of its
 * layouts. A C++ compiler passes and returns objects as in PyTorch. FAKE_TORCH chooses the layout: "new" (the default),
 * "1.13", "old strings", "old strings 1.13", or "unknown", in which a member stands elsewhere.
 */
#include <array>
#include <memory>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

extern "C" {
#include "torch_fake.h"
}

#define SHOWN __attribute__((visibility("default")))

#define CALLBACKS_MOST 8

namespace at {

struct RecordFunction : fake_operator {
    SHOWN const char *name() const;
    SHOWN static uint64_t currentThreadId();
};

struct ObserverContext {
    virtual ~ObserverContext() {}
};

struct RecordFunctionCallback {
    std::unique_ptr<ObserverContext> (*start)(const RecordFunction &function);
    void (*end)(const RecordFunction &function, ObserverContext *observer);
    double sampling_probability;
    std::array<bool, 10> scopes;
    bool needs_inputs, needs_outputs, needs_ids;
};

static RecordFunctionCallback callbacks[CALLBACKS_MOST];
static unsigned callback_count;

SHOWN uint64_t addGlobalCallback(RecordFunctionCallback callback)
{
    unsigned number = callback_count;
    callbacks[number] = callback;
    __atomic_store_n(&callback_count, number + 1, __ATOMIC_RELEASE);
    return number + 1;
}

SHOWN uint64_t RecordFunction::currentThreadId()
{
    static uint64_t last;
    static __thread uint64_t mine;
    if (mine == 0)
        mine = __atomic_add_fetch(&last, 1, __ATOMIC_RELAXED);
    return mine;
}

SHOWN const char *RecordFunction::name() const
{
    return fake_operator::name;
}

} // namespace at

/* The constructor that PyTorch has had since 1.12, by its name alone. */
extern "C" SHOWN void constructor(void) __asm__("_ZN2at14RecordFunctionC1EONS_13StepCallbacksE");
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

static void put(struct fake_operator *function, size_t at, uint64_t value)
{
    memcpy(function->bytes + at, &value, sizeof(value));
}

static __thread bool is_profiled;

extern "C" SHOWN void fake_profile(bool on)
{
    is_profiled = on;
}

namespace torch {
namespace profiler {
namespace impl {
SHOWN bool profilerEnabled()
{
    return is_profiled;
}
} // namespace impl
} // namespace profiler
} // namespace torch

extern "C" SHOWN unsigned fake_callbacks(void)
{
    return __atomic_load_n(&at::callback_count, __ATOMIC_ACQUIRE);
}

extern "C" SHOWN void fake_begin(struct fake_operator *function, unsigned scope, const char *name, int64_t sequence,
                      uint64_t forward)
{
    const struct layout *at = layout();
    const float load_factor = 1;
    memset(function->bytes, 0x5a, sizeof(function->bytes)); /* of members that nobody knows */
    function->name = name;
    function->scope = scope;
    put(function, at->thread, at::RecordFunction::currentThreadId());
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
        if (!at::callbacks[i].scopes[scope])
            continue;
        std::unique_ptr<at::ObserverContext> observer = at::callbacks[i].start(*(at::RecordFunction *)function);
        if (observer)
            abort();
    }
}

extern "C" SHOWN void fake_end(struct fake_operator *function)
{
    for (unsigned i = 0; i < fake_callbacks(); i++)
        if (at::callbacks[i].scopes[function->scope])
            at::callbacks[i].end(*(at::RecordFunction *)function, NULL);
}
