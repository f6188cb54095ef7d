#include "agent/cupti/streams.h"

#include <pthread.h>
#include <stddef.h>

#include "agent/cupti/callback_switches.h"
#include "agent/cupti/cupti_library.h"
#include "common/map.h"

static struct {
    CUresult (*cuStreamIsCapturing)(CUstream stream, CUstreamCaptureStatus *status); /* NULL: was not found */
} driver;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* so that launches are switched in the order of counts */
unsigned captures_going_on;                              /* read without it */

void captures_init(void)
{
    static const char *const name = "cuStreamIsCapturing";
    if (!driver.cuStreamIsCapturing && !driver_library_find(&driver, &name, 1))
        driver.cuStreamIsCapturing = NULL;
}

/* Under the lock. */
static void set_going_on(unsigned count)
{
    __atomic_store_n(&captures_going_on, count, __ATOMIC_RELAXED);
    callback_switches_captures(count > 0);
}

void captures_begin(void)
{
    pthread_mutex_lock(&lock);
    set_going_on(captures_going_on + 1);
    pthread_mutex_unlock(&lock);
}

/* Of one whose begin was not heard there is nothing to end. */
void captures_end(void)
{
    pthread_mutex_lock(&lock);
    if (captures_going_on > 0)
        set_going_on(captures_going_on - 1);
    pthread_mutex_unlock(&lock);
}

void captures_forget(void)
{
    pthread_mutex_lock(&lock);
    set_going_on(0);
    pthread_mutex_unlock(&lock);
}

/* The legacy default stream is is_filtered_out while others are captured: it is not. */
bool captures_ask(CUstream stream)
{
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    return driver.cuStreamIsCapturing && driver.cuStreamIsCapturing(stream, &status) == CUDA_SUCCESS &&
           status != CU_STREAM_CAPTURE_STATUS_NONE;
}

void captures_atfork_child(void)
{
    pthread_mutex_init(&lock, NULL);
    captures_going_on = 0;
}

void captures_replace_driver(CUresult (*is_capturing)(CUstream stream, CUstreamCaptureStatus *status))
{
    driver.cuStreamIsCapturing = is_capturing;
}

/* --- streams of the program --- */

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

void own_streams_atfork_child(void)
{
    pthread_mutex_init(&own.lock, NULL);
    own.streams = (struct map){0}; /* another thread may have been changing it: leave it */
}
