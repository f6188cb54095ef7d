#include "injected/registry/registry.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct subscribers *registry_lists[REGISTRY_KIND_COUNT];

static pthread_mutex_t registering = PTHREAD_MUTEX_INITIALIZER;

static struct subscribers *longer_by_one(const struct subscribers *old)
{
    unsigned count = old ? old->count : 0;
    struct subscribers *list = malloc(sizeof(*list) + (count + 1) * sizeof(list->each[0]));
    if (!list)
        return NULL;
    if (count)
        memcpy(list->each, old->each, count * sizeof(list->each[0]));
    list->count = count + 1;
    return list;
}

int registry_register(enum registry_kind kind, registry_any_fn *call, void *data)
{
    pthread_mutex_lock(&registering);
    struct subscribers *old = registry_lists[kind];
    struct subscribers *list = longer_by_one(old);
    if (list) {
        list->replaced = old;
        list->each[list->count - 1] = (struct subscriber){.call = call, .data = data};
        __atomic_store_n(&registry_lists[kind], list, __ATOMIC_RELEASE);
    }
    pthread_mutex_unlock(&registering);
    return list ? 0 : -1;
}
