/*
 * The one place where things that happen are told to whoever asks. Collectors publish, subscribers register.
 *
 * For each row of REGISTRY_KINDS there are
 *     typedef void registry_KIND_fn(void *data, const struct KIND_event *event);
 *     int  registry_KIND_register(registry_KIND_fn *call, void *data);     0, or -1: no memory
 *     void registry_KIND_publish(const struct KIND_event *event);
 *     bool registry_KIND_wanted(void);                                      somebody is registered
 *
 * Callbacks run on the publishing thread, in order of registration. Publishing takes no lock: the list of a kind is
 * replaced as a whole, and lists that were replaced are kept, since a thread may still be walking them.
 */
#ifndef GPUTRACE_INJECTED_REGISTRY_REGISTRY_H
#define GPUTRACE_INJECTED_REGISTRY_REGISTRY_H

#include <stddef.h>

#include "injected/registry/events.h"

#define REGISTRY_KINDS(X) \
    X(memory)             \
    X(context)            \
    X(stream)             \
    X(profiler)           \
    X(nvtx)               \
    X(nvtx_name)          \
    X(pointer_name)

enum registry_kind {
#define KIND(name) REGISTRY_##name,
    REGISTRY_KINDS(KIND)
#undef KIND
        REGISTRY_KIND_COUNT
};

typedef void registry_any_fn(void);

struct subscriber {
    registry_any_fn *call;
    void *data;
};

struct subscribers {
    struct subscribers *replaced; /* the list before this one */
    unsigned count;
    struct subscriber each[];
};

extern struct subscribers *registry_lists[REGISTRY_KIND_COUNT];

int registry_register(enum registry_kind kind, registry_any_fn *call, void *data);

#define KIND(name)                                                                                      \
    typedef void registry_##name##_fn(void *data, const struct name##_event *event);                    \
    static inline int registry_##name##_register(registry_##name##_fn *call, void *data)                \
    {                                                                                                   \
        return registry_register(REGISTRY_##name, (registry_any_fn *)call, data);                       \
    }                                                                                                   \
    static inline void registry_##name##_publish(const struct name##_event *event)                      \
    {                                                                                                   \
        struct subscribers *list = __atomic_load_n(&registry_lists[REGISTRY_##name], __ATOMIC_ACQUIRE); \
        for (unsigned i = 0; list && i < list->count; i++)                                              \
            ((registry_##name##_fn *)list->each[i].call)(list->each[i].data, event);                    \
    }                                                                                                   \
    static inline bool registry_##name##_wanted(void)                                                   \
    {                                                                                                   \
        return __atomic_load_n(&registry_lists[REGISTRY_##name], __ATOMIC_ACQUIRE) != NULL;             \
    }
REGISTRY_KINDS(KIND)
#undef KIND

#endif
