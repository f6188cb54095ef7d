/* Objects of MPI's by their handles, which are different numbers for objects of different kinds. */
#include "mpi/objects.h"

#include <pthread.h>
#include <stdlib.h>

#include "common/map.h"

static struct map by_handle; /* -> struct range_facts * */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

void object_keep(uint64_t handle, const struct range_facts *facts)
{
    pthread_mutex_lock(&lock);
    uint64_t *place = map_put(&by_handle, handle, NULL);
    struct range_facts *kept = place ? (struct range_facts *)(uintptr_t)*place : NULL; /* NOLINT: put there below */
    if (place && !kept)
        kept = malloc(sizeof(*kept));
    if (kept) {
        *kept = *facts;
        *place = (uintptr_t)kept;
    }
    pthread_mutex_unlock(&lock);
}

void object_find(uint64_t handle, struct range_facts *facts)
{
    pthread_mutex_lock(&lock);
    const uint64_t *place = map_get(&by_handle, handle);
    *facts = place && *place ? *(const struct range_facts *)(uintptr_t)*place : (struct range_facts){0}; /* NOLINT */
    pthread_mutex_unlock(&lock);
}
