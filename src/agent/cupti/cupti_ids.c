/*
 * Asks CUPTI for the numbers of contexts, devices and streams, and remembers the answers for each thread. A counter of
 * destroyed streams says when a remembered stream may be another one.
 */
#include "agent/cupti/cupti_ids.h"

#include <pthread.h>
#include <stdbool.h>

#include "agent/cupti/cupti_library.h"
#include "common/map.h"

static const struct cupti *cupti_in_use;
static uint32_t streams_round = 1; /* of streams: one that was asked for in another is forgotten */

static const struct cupti *in_use(void)
{
    return __atomic_load_n(&cupti_in_use, __ATOMIC_ACQUIRE);
}

void cupti_ids_init(const struct cupti *cupti)
{
    cupti_ids_forget_streams();
    __atomic_store_n(&cupti_in_use, cupti, __ATOMIC_RELEASE);
}

static void ask(CUcontext context, uint32_t *id, uint32_t *device)
{
    const struct cupti *cupti = in_use();
    if (!context || !cupti || cupti->cuptiGetContextId(context, id) != CUPTI_SUCCESS)
        *id = 0;
    if (!context || !cupti || cupti->cuptiGetDeviceId(context, device) != CUPTI_SUCCESS)
        *device = GPUTRACE_NO_DEVICE;
}

void cupti_ids_of_context(struct CUctx_st *context, struct gputrace_call *call)
{
    call->context = context;
    ask(context, &call->context_id, &call->device);
}

void cupti_ids_learn(struct cupti_ids *mine, struct CUctx_st *context, uint32_t uid)
{
    mine->context = context;
    mine->uid = uid;
    ask(context, &mine->id, &mine->device);
}

uint32_t cupti_stream_id(uint64_t context, uint64_t stream)
{
    const struct cupti *cupti = in_use();
    uint32_t id = GPUTRACE_NO_STREAM;
    if (!cupti)
        return GPUTRACE_NO_STREAM;
    bool per_thread = stream == (uintptr_t)CU_STREAM_PER_THREAD;
    CUstream handle = stream <= (uintptr_t)CU_STREAM_PER_THREAD ? NULL : (CUstream)(uintptr_t)stream;
    if (cupti->cuptiGetStreamIdEx((CUcontext)(uintptr_t)context, handle, per_thread, &id) != CUPTI_SUCCESS)
        return GPUTRACE_NO_STREAM;
    return id;
}

/* --- what was asked before --- */

void cupti_ids_forget_streams(void)
{
    __atomic_add_fetch(&streams_round, 1, __ATOMIC_RELEASE);
}

/* The round is read before CUPTI is asked: if the stream goes meanwhile, what CUPTI said is not believed again. A call
 * within the call, made by a client, may have left another context here. */
uint32_t cupti_ids_of_stream(struct cupti_ids *mine, const struct gputrace_call *call, const struct CUstream_st *stream)
{
    uint64_t handle = (uint64_t)(uintptr_t)stream, context = (uint64_t)(uintptr_t)call->context;
    if (mine->context != call->context || mine->uid == 0)
        return cupti_stream_id(context, handle);
    /* Handles are addresses of things that are larger than 64 bytes, or small numbers. */
    unsigned place = (unsigned)(handle ^ handle >> 6 ^ handle >> 9) % CUPTI_IDS_STREAMS;
    __typeof__(mine->streams[0]) *known = &mine->streams[place];
    uint32_t round = __atomic_load_n(&streams_round, __ATOMIC_ACQUIRE);
    if (known->stream == handle && known->uid == mine->uid && known->round == round)
        return known->id;
    known->stream = handle;
    known->round = round;
    known->id = cupti_stream_id(context, handle);
    known->uid = known->id == GPUTRACE_NO_STREAM ? 0 : mine->uid;
    return known->id;
}

/* --- streams of the program --- */

static struct {
    pthread_mutex_t lock;
    struct map streams; /* handle -> nothing */
} own = {.lock = PTHREAD_MUTEX_INITIALIZER};

void own_streams_add(const struct CUstream_st *stream)
{
    pthread_mutex_lock(&own.lock);
    map_put(&own.streams, (uint64_t)(uintptr_t)stream, NULL); /* without memory only its own call reports its end */
    pthread_mutex_unlock(&own.lock);
}

bool own_streams_remove(const struct CUstream_st *stream)
{
    pthread_mutex_lock(&own.lock);
    bool was = map_remove(&own.streams, (uint64_t)(uintptr_t)stream);
    pthread_mutex_unlock(&own.lock);
    return was;
}

void cupti_ids_atfork_child(void)
{
    cupti_ids_init(NULL);
    pthread_mutex_init(&own.lock, NULL);
    own.streams = (struct map){0}; /* another thread may have been changing it: leave it */
}
