/* What else is put into streams: functions of the host, waits for and writes of values in memory, semaphores. */
#include "agent/cupti/driver_calls.h"

static void tell_host_function(const struct driver_return *returned)
{
    const cuLaunchHostFunc_params *p = returned->params;
    registry_host_function_publish(
        &(struct gputrace_host_function){.call = returned->call, .stream = driver_call_stream(returned, p->hStream)});
}

static void tell_callback(const struct driver_return *returned)
{
    const cuStreamAddCallback_params *p = returned->params;
    registry_host_function_publish(
        &(struct gputrace_host_function){.call = returned->call, .stream = driver_call_stream(returned, p->hStream)});
}

static void tell_values(const struct driver_return *returned, CUstream stream, uint32_t waits, uint32_t writes)
{
    registry_stream_value_publish(&(struct gputrace_stream_value){
        .call = returned->call,
        .stream = driver_call_stream(returned, stream),
        .waits = waits,
        .writes = writes,
    });
}

/* Values of 32 and of 64 bits, first and second version: the stream comes first in all of them. */
static void tell_wait(const struct driver_return *returned)
{
    const cuStreamWaitValue32_v2_params *p = returned->params;
    tell_values(returned, p->stream, 1, 0);
}

static void tell_write(const struct driver_return *returned)
{
    const cuStreamWriteValue32_v2_params *p = returned->params;
    tell_values(returned, p->stream, 0, 1);
}

/* How many of each; of a batch that failed the array is not looked at. */
static void tell_batch(const struct driver_return *returned)
{
    const cuStreamBatchMemOp_v2_params *p = returned->params;
    uint32_t waits = 0, writes = 0;
    for (unsigned i = 0; driver_call_done(returned) && i < p->count; i++) {
        CUstreamBatchMemOpType operation = p->paramArray[i].operation;
        waits += operation == CU_STREAM_MEM_OP_WAIT_VALUE_32 || operation == CU_STREAM_MEM_OP_WAIT_VALUE_64;
        writes += operation == CU_STREAM_MEM_OP_WRITE_VALUE_32 || operation == CU_STREAM_MEM_OP_WRITE_VALUE_64;
    }
    tell_values(returned, p->stream, waits, writes);
}

static void tell_semaphores_signalled(const struct driver_return *returned)
{
    const cuSignalExternalSemaphoresAsync_params *p = returned->params;
    tell_values(returned, p->stream, 0, p->numExtSems);
}

static void tell_semaphores_waited_for(const struct driver_return *returned)
{
    const cuWaitExternalSemaphoresAsync_params *p = returned->params;
    tell_values(returned, p->stream, p->numExtSems, 0);
}

#define VALUE REGISTRY_BIT(stream_value)

static const struct driver_call rows[] = {
    DRIVER_CALL_PTSZ(cuLaunchHostFunc, REGISTRY_BIT(host_function), tell_host_function, NULL),
    DRIVER_CALL_PTSZ(cuStreamAddCallback, REGISTRY_BIT(host_function), tell_callback, NULL),
    DRIVER_CALL_PTSZ(cuStreamWaitValue32, VALUE, tell_wait, NULL),
    DRIVER_CALL_PTSZ(cuStreamWaitValue64, VALUE, tell_wait, NULL),
    DRIVER_CALL_PTSZ(cuStreamWaitValue32_v2, VALUE, tell_wait, NULL),
    DRIVER_CALL_PTSZ(cuStreamWaitValue64_v2, VALUE, tell_wait, NULL),
    DRIVER_CALL_PTSZ(cuStreamWriteValue32, VALUE, tell_write, NULL),
    DRIVER_CALL_PTSZ(cuStreamWriteValue64, VALUE, tell_write, NULL),
    DRIVER_CALL_PTSZ(cuStreamWriteValue32_v2, VALUE, tell_write, NULL),
    DRIVER_CALL_PTSZ(cuStreamWriteValue64_v2, VALUE, tell_write, NULL),
    DRIVER_CALL_PTSZ(cuStreamBatchMemOp, VALUE, tell_batch, NULL),
    DRIVER_CALL_PTSZ(cuStreamBatchMemOp_v2, VALUE, tell_batch, NULL),
    DRIVER_CALL_PTSZ(cuSignalExternalSemaphoresAsync, VALUE, tell_semaphores_signalled, NULL),
    DRIVER_CALL_PTSZ(cuWaitExternalSemaphoresAsync, VALUE, tell_semaphores_waited_for, NULL),
};

const struct driver_calls queue_calls = DRIVER_CALLS(rows);
