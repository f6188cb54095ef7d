/* Ops of graph nodes from and to the parameter structs of the driver API. */
#ifndef SIMGPU_CUDA_GRAPH_PARAMS_H
#define SIMGPU_CUDA_GRAPH_PARAMS_H

#include <stdbool.h>

#include <cuda.h>

#include "core/op.h"

struct op graph_op_kernel(const CUDA_KERNEL_NODE_PARAMS *params);
struct op graph_op_copy(const CUDA_MEMCPY3D *params);
struct op graph_op_set(const CUDA_MEMSET_NODE_PARAMS *params);
struct op graph_op_host(const CUDA_HOST_NODE_PARAMS *params);

CUDA_KERNEL_NODE_PARAMS graph_params_kernel(const struct op *op);
CUDA_MEMSET_NODE_PARAMS graph_params_set(const struct op *op);
CUDA_HOST_NODE_PARAMS graph_params_host(const struct op *op);

/* The handle of a condition that has VALUE at each launch. */
CUgraphConditionalHandle graph_condition(unsigned value);

/* Of the kinds that cuGraphAddNode takes in one struct. False for those that are not simulated. */
bool graph_op(const CUgraphNodeParams *params, struct op *op);

#endif
