#include "cuda/graph_params.h"

#include "core/copy.h"
#include "core/function.h"
#include "core/graph.h"
#include "core/memory.h"

struct op graph_op_kernel(const CUDA_KERNEL_NODE_PARAMS *params)
{
    CUfunction function = params->func ? params->func : (CUfunction)(void *)params->kern;
    return (struct op){.type = CU_GRAPH_NODE_TYPE_KERNEL,
                       .kernel = {.function = function_of(function),
                                  .grid = {params->gridDimX, params->gridDimY, params->gridDimZ},
                                  .block = {params->blockDimX, params->blockDimY, params->blockDimZ},
                                  .shared = params->sharedMemBytes,
                                  .arguments = params->kernelParams,
                                  .extra = params->extra}};
}

CUDA_KERNEL_NODE_PARAMS graph_params_kernel(const struct op *op)
{
    const struct op_kernel *kernel = &op->kernel;
    return (CUDA_KERNEL_NODE_PARAMS){.func = (CUfunction)(uintptr_t)kernel->function,
                                     .gridDimX = kernel->grid[0],
                                     .gridDimY = kernel->grid[1],
                                     .gridDimZ = kernel->grid[2],
                                     .blockDimX = kernel->block[0],
                                     .blockDimY = kernel->block[1],
                                     .blockDimZ = kernel->block[2],
                                     .sharedMemBytes = kernel->shared,
                                     .kernelParams = kernel->arguments,
                                     .extra = kernel->extra};
}

struct op graph_op_copy(const CUDA_MEMCPY3D *params)
{
    struct op op = {.type = CU_GRAPH_NODE_TYPE_MEMCPY, .copy = copy_box(params)};
    op.copy.async = true;
    return op;
}

struct op graph_op_set(const CUDA_MEMSET_NODE_PARAMS *params)
{
    struct op op = {.type = CU_GRAPH_NODE_TYPE_MEMSET,
                    .set = {.to = memory_place((const void *)(uintptr_t)params->dst),
                            .width = params->width,
                            .height = params->height,
                            .element = params->elementSize,
                            .value = params->value,
                            .async = true}};
    op.set.to.pitch = params->pitch;
    return op;
}

CUDA_MEMSET_NODE_PARAMS graph_params_set(const struct op *op)
{
    return (CUDA_MEMSET_NODE_PARAMS){.dst = (uintptr_t)op->set.to.address,
                                     .pitch = op->set.to.pitch,
                                     .value = op->set.value,
                                     .elementSize = op->set.element,
                                     .width = op->set.width,
                                     .height = op->set.height};
}

struct op graph_op_host(const CUDA_HOST_NODE_PARAMS *params)
{
    return (struct op){.type = CU_GRAPH_NODE_TYPE_HOST, .host = {.function = params->fn, .data = params->userData}};
}

CUDA_HOST_NODE_PARAMS graph_params_host(const struct op *op)
{
    return (CUDA_HOST_NODE_PARAMS){.fn = op->host.function, .userData = op->host.data};
}

static struct op graph_op_any_set(const CUDA_MEMSET_NODE_PARAMS_v2 *set)
{
    const CUDA_MEMSET_NODE_PARAMS params = {.dst = set->dst,
                                            .pitch = set->pitch,
                                            .value = set->value,
                                            .elementSize = set->elementSize,
                                            .width = set->width,
                                            .height = set->height};
    return graph_op_set(&params);
}

/* A handle is what its condition is at each launch; the upper half only tells it from 0. */
CUgraphConditionalHandle graph_condition(unsigned value)
{
    return (CUgraphConditionalHandle)1 << 32 | value;
}

static unsigned graph_condition_value(CUgraphConditionalHandle handle)
{
    return (unsigned)handle;
}

bool graph_op(const CUgraphNodeParams *params, struct op *op)
{
    *op = (struct op){.type = params->type};
    switch ((int)params->type) {
    case CU_GRAPH_NODE_TYPE_KERNEL: {
        const CUDA_KERNEL_NODE_PARAMS_v3 *k = &params->kernel;
        const CUDA_KERNEL_NODE_PARAMS kernel = {k->func,         k->gridDimX,  k->gridDimY,  k->gridDimZ,
                                                k->blockDimX,    k->blockDimY, k->blockDimZ, k->sharedMemBytes,
                                                k->kernelParams, k->extra,     k->kern,      k->ctx};
        *op = graph_op_kernel(&kernel);
        return true;
    }
    case CU_GRAPH_NODE_TYPE_MEMCPY: *op = graph_op_copy(&params->memcpy.copyParams); return true;
    case CU_GRAPH_NODE_TYPE_MEMSET: *op = graph_op_any_set(&params->memset); return true;
    case CU_GRAPH_NODE_TYPE_HOST:
        op->host = (struct op_host){.function = params->host.fn, .data = params->host.userData};
        return true;
    case CU_GRAPH_NODE_TYPE_CONDITIONAL:
        op->conditional = (struct op_conditional){.type = params->conditional.type,
                                                  .value = graph_condition_value(params->conditional.handle),
                                                  .size = params->conditional.size};
        return params->conditional.size > 0;
    case CU_GRAPH_NODE_TYPE_GRAPH: op->graph = graph_clone(params->graph.graph); return true;
    case CU_GRAPH_NODE_TYPE_EVENT_RECORD: op->event = params->eventRecord.event; return true;
    case CU_GRAPH_NODE_TYPE_WAIT_EVENT: op->event = params->eventWait.event; return true;
    case CU_GRAPH_NODE_TYPE_MEM_FREE: op->memory = params->free.dptr; return true;
    case CU_GRAPH_NODE_TYPE_EMPTY: return true;
    default: return false;
    }
}
