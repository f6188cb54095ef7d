/* The driver API: contexts. */
#include "core/api.h"
#include "core/callbacks.h"
#include "core/capture.h"
#include "core/clock.h"
#include "core/pool.h"
#include "core/records.h"
#include "cuda/need.h"

static CUresult context_make(CUcontext *out, unsigned flags, CUdevice ordinal)
{
    NEED_VALUE(out);
    NEED_DEVICE(device, ordinal);
    *out = context_create(device, flags, false);
    context_push(*out);
    return CUDA_SUCCESS;
}

DRIVER_API(cuCtxCreate_v2)
{
    return context_make(p->pctx, p->flags, p->dev);
}

DRIVER_API(cuCtxCreate_v4)
{
    return context_make(p->pctx, p->flags, p->dev);
}

DRIVER_API(cuCtxDestroy_v2)
{
    NEED(p->ctx && !p->ctx->destroyed, CUDA_ERROR_INVALID_CONTEXT);
    context_destroy(p->ctx);
    if (context_current() == p->ctx)
        context_pop();
    return CUDA_SUCCESS;
}

DRIVER_API(cuCtxPushCurrent_v2)
{
    NEED(p->ctx, CUDA_ERROR_INVALID_CONTEXT);
    context_push(p->ctx);
    return CUDA_SUCCESS;
}

DRIVER_API(cuCtxPopCurrent_v2)
{
    CUcontext context = context_pop();
    if (p->pctx)
        *p->pctx = context;
    return context ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
}

DRIVER_API(cuCtxSetCurrent)
{
    context_set_current(p->ctx);
    return CUDA_SUCCESS;
}

DRIVER_ANSWER(cuCtxGetCurrent, NEED_NOTHING, pctx, context_current())
DRIVER_ANSWER(cuCtxGetDevice, NEED_CONTEXT(context), device, context->device->ordinal)
DRIVER_ANSWER(cuCtxGetFlags, NEED_CONTEXT(context), flags, context->flags)

DRIVER_API(cuCtxGetId)
{
    CUcontext context = p->ctx ? p->ctx : context_current();
    NEED(context, CUDA_ERROR_INVALID_CONTEXT);
    NEED_VALUE(p->ctxId);
    *p->ctxId = context->id;
    return CUDA_SUCCESS;
}

static CUresult context_synchronize(CUcontext context)
{
    NEED(context && !context->destroyed, CUDA_ERROR_INVALID_CONTEXT);
    NEED(capture_refuse_context(context) == CUDA_SUCCESS, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    uint64_t start = clock_now();
    context_wait(context);
    pool_settle(context->device);
    records_synchronization(CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_CONTEXT_SYNCHRONIZE, start, context, NULL, NULL,
                            CUDA_SUCCESS);
    const CUpti_SynchronizeData data = {.context = context};
    callbacks_call(CUPTI_CB_DOMAIN_SYNCHRONIZE, CUPTI_CBID_SYNCHRONIZE_CONTEXT_SYNCHRONIZED, &data);
    return CUDA_SUCCESS;
}

DRIVER_API_0(cuCtxSynchronize)
{
    return context_synchronize(context_current());
}

DRIVER_API(cuCtxSynchronize_v2)
{
    return context_synchronize(p->ctx ? p->ctx : context_current());
}

DRIVER_API(cuCtxGetStreamPriorityRange)
{
    if (p->leastPriority)
        *p->leastPriority = 0;
    if (p->greatestPriority)
        *p->greatestPriority = -5;
    return CUDA_SUCCESS;
}

DRIVER_API(cuCtxEnablePeerAccess)
{
    NEED_CONTEXT(context);
    NEED(p->peerContext && p->peerContext->device != context->device, CUDA_ERROR_INVALID_DEVICE);
    bool *enabled = &context->device->peers[p->peerContext->device->ordinal];
    NEED(!*enabled, CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED);
    *enabled = true;
    return CUDA_SUCCESS;
}

DRIVER_API(cuCtxDisablePeerAccess)
{
    NEED_CONTEXT(context);
    NEED(p->peerContext, CUDA_ERROR_INVALID_CONTEXT);
    bool *enabled = &context->device->peers[p->peerContext->device->ordinal];
    NEED(*enabled, CUDA_ERROR_PEER_ACCESS_NOT_ENABLED);
    *enabled = false;
    return CUDA_SUCCESS;
}
