/* The driver API: streams that wait for a value in memory, or write one. */
#include "core/api.h"
#include "core/stream.h"
#include "cuda/need.h"

static CUresult submit(CUstream stream, CUdeviceptr address, uint64_t value, unsigned bytes, unsigned flags, bool write)
{
    NEED(stream, CUDA_ERROR_INVALID_CONTEXT);
    NEED_VALUE(address && address % bytes == 0);
    const struct op op = {.type = CU_GRAPH_NODE_TYPE_BATCH_MEM_OP,
                          .value = {.address = (void *)(uintptr_t)address,
                                    .value = value,
                                    .bytes = bytes,
                                    .flags = flags & ~(unsigned)CU_STREAM_WAIT_VALUE_FLUSH,
                                    .write = write}};
    NEED_VALUE(write || op.value.flags <= CU_STREAM_WAIT_VALUE_NOR);
    return stream_submit(stream, &op, false);
}

#define VALUE_CALLS(bits)                                                                                   \
    DRIVER_STREAM_API(cuStreamWaitValue##bits##_v2)                                                         \
    {                                                                                                       \
        return submit(stream_resolve(p->stream, per_thread), p->addr, p->value, bits / 8, p->flags, false); \
    }                                                                                                       \
    DRIVER_STREAM_API(cuStreamWriteValue##bits##_v2)                                                        \
    {                                                                                                       \
        return submit(stream_resolve(p->stream, per_thread), p->addr, p->value, bits / 8, 0, true);         \
    }

VALUE_CALLS(32)
VALUE_CALLS(64)

static CUresult submit_one(CUstream stream, const CUstreamBatchMemOpParams *one)
{
    const struct CUstreamMemOpWaitValueParams_st *wait = &one->waitValue;
    const struct CUstreamMemOpWriteValueParams_st *write = &one->writeValue;
    switch ((int)one->operation) {
    case CU_STREAM_MEM_OP_WAIT_VALUE_32: return submit(stream, wait->address, wait->value, 4, wait->flags, false);
    case CU_STREAM_MEM_OP_WAIT_VALUE_64: return submit(stream, wait->address, wait->value64, 8, wait->flags, false);
    case CU_STREAM_MEM_OP_WRITE_VALUE_32: return submit(stream, write->address, write->value, 4, 0, true);
    case CU_STREAM_MEM_OP_WRITE_VALUE_64: return submit(stream, write->address, write->value64, 8, 0, true);
    case CU_STREAM_MEM_OP_BARRIER:
    case CU_STREAM_MEM_OP_FLUSH_REMOTE_WRITES: return CUDA_SUCCESS; /* all is in order here */
    default: return CUDA_ERROR_INVALID_VALUE;
    }
}

DRIVER_STREAM_API(cuStreamBatchMemOp_v2)
{
    NEED_VALUE(p->paramArray && p->count && p->count <= 256 && !p->flags);
    CUresult result = CUDA_SUCCESS;
    for (unsigned i = 0; i < p->count && result == CUDA_SUCCESS; i++)
        result = submit_one(stream_resolve(p->stream, per_thread), &p->paramArray[i]);
    return result;
}
