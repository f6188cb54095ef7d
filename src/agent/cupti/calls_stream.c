/* Streams: made, destroyed. */
#include "agent/cupti/cupti_ids.h"
#include "agent/cupti/driver_calls.h"
#include "agent/cupti/own_streams.h"

static void tell_creation(const struct driver_return *returned, CUstream *out, unsigned flags, int priority)
{
    CUstream stream = driver_call_done(returned) ? *out : NULL;
    if (stream)
        own_streams_add(stream);
    uint64_t context = driver_call_integer(returned->call.context);
    registry_stream_creation_publish(&(struct gputrace_stream_creation){
        .call = returned->call,
        .stream = stream,
        .stream_id = stream ? cupti_stream_id(context, driver_call_integer(stream)) : GPUTRACE_NO_STREAM,
        .flags = flags,
        .priority = priority,
    });
}

static void tell_plain(const struct driver_return *returned)
{
    const cuStreamCreate_params *p = returned->params;
    tell_creation(returned, p->phStream, p->Flags, 0);
}

static void tell_with_priority(const struct driver_return *returned)
{
    const cuStreamCreateWithPriority_params *p = returned->params;
    tell_creation(returned, p->phStream, p->flags, p->priority);
}

static void tell_of_green_context(const struct driver_return *returned)
{
    const cuGreenCtxStreamCreate_params *p = returned->params;
    tell_creation(returned, p->phStream, p->flags, p->priority);
}

/* A deletion is told when it starts, by a resource callback, while the stream still has its number. Here remains one
 * that failed before; CUPTI is not asked about a handle that may be none. */
static void tell_deletion(const struct driver_return *returned)
{
    const cuStreamDestroy_v2_params *p = returned->params;
    if (!returned->told)
        registry_stream_deletion_publish(&(struct gputrace_stream_deletion){
            .call = returned->call, .stream = p->hStream, .stream_id = GPUTRACE_NO_STREAM});
}

/* Who wants deletions has to know which streams there are. */
#define CREATION (REGISTRY_BIT(stream_creation) | REGISTRY_BIT(stream_deletion))

static const struct driver_call rows[] = {
    DRIVER_CALL(cuStreamCreate, CREATION, tell_plain, NULL),
    DRIVER_CALL(cuStreamCreateWithPriority, CREATION, tell_with_priority, NULL),
    DRIVER_CALL(cuGreenCtxStreamCreate, CREATION, tell_of_green_context, NULL),
    DRIVER_CALL(cuStreamDestroy, REGISTRY_BIT(stream_deletion), tell_deletion, NULL),
    DRIVER_CALL(cuStreamDestroy_v2, REGISTRY_BIT(stream_deletion), tell_deletion, NULL),
};

const struct driver_calls stream_calls = DRIVER_CALLS(rows);
