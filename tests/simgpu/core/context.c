#include "core/context.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "core/api.h"
#include "core/callbacks.h"
#include "core/records.h"
#include "core/sim.h"
#include "core/stream.h"
#include "core/work.h"

enum { STACK_MOST = 64 };

static _Thread_local struct {
    CUcontext contexts[STACK_MOST];
    int count;
} stack;

static atomic_uint contexts_made;
static struct list contexts; /* all that ever were; under the simulator's lock */

CUcontext context_create(struct device *device, unsigned flags, bool primary)
{
    CUcontext context = calloc(1, sizeof(*context));
    if (!context)
        abort();
    sim_lock();
    list_add(&contexts, context);
    sim_unlock();
    api_first_context();
    context->id = atomic_fetch_add(&contexts_made, 1) + 1;
    context->device = device;
    context->flags = flags;
    context->primary = primary;
    context->limits[CU_LIMIT_STACK_SIZE] = 1024;
    context->limits[CU_LIMIT_PRINTF_FIFO_SIZE] = 1 << 20;
    context->limits[CU_LIMIT_MALLOC_HEAP_SIZE] = 8 << 20;
    stream_create_null(context);
    records_context(context);
    callbacks_resource(CUPTI_CBID_RESOURCE_CONTEXT_CREATED, context, NULL, NULL);
    return context;
}

void context_destroy(CUcontext context)
{
    callbacks_resource(CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING, context, NULL, NULL);
    context_wait(context);
    context->destroyed = true;
    sim_lock();
    struct list streams = {0};
    list_copy(&streams, &context->streams);
    sim_unlock();
    for (size_t i = 0; i < streams.count; i++)
        stream_destroy(streams.items[i]);
    list_release(&streams);
    list_release(&context->streams);
}

CUcontext context_current(void)
{
    return stack.count ? stack.contexts[stack.count - 1] : NULL;
}

void context_set_current(CUcontext context)
{
    if (!context && stack.count)
        stack.count--;
    else if (context && stack.count)
        stack.contexts[stack.count - 1] = context;
    else if (context)
        stack.contexts[stack.count++] = context;
}

void context_push(CUcontext context)
{
    if (stack.count < STACK_MOST)
        stack.contexts[stack.count++] = context;
}

CUcontext context_pop(void)
{
    return stack.count ? stack.contexts[--stack.count] : NULL;
}

void context_wait(CUcontext context)
{
    struct list tails = {0};
    sim_lock();
    for (size_t i = 0; i < context->streams.count; i++) {
        CUstream stream = context->streams.items[i];
        if (stream->tail)
            list_add(&tails, work_hold(stream->tail));
    }
    for (size_t i = 0; i < tails.count; i++) {
        work_wait(tails.items[i]);
        work_drop(tails.items[i]);
    }
    sim_unlock();
    list_release(&tails);
}
