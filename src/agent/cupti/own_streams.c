#include "agent/cupti/own_streams.h"

#include <pthread.h>
#include <stddef.h>

#include "common/map.h"

static struct {
    pthread_mutex_t lock;
    struct map streams; /* handle -> nothing */
} own = {.lock = PTHREAD_MUTEX_INITIALIZER};

void own_streams_add(const struct CUstream_st *stream)
{
    pthread_mutex_lock(&own.lock);
    map_put(&own.streams, (uint64_t)(uintptr_t)stream, NULL); /* without memory its end is told by its own call alone */
    pthread_mutex_unlock(&own.lock);
}

bool own_streams_remove(const struct CUstream_st *stream)
{
    pthread_mutex_lock(&own.lock);
    bool was = map_remove(&own.streams, (uint64_t)(uintptr_t)stream);
    pthread_mutex_unlock(&own.lock);
    return was;
}

void own_streams_leave(void)
{
    pthread_mutex_init(&own.lock, NULL);
    own.streams = (struct map){0}; /* another thread may have been changing it: leave it */
}
