#include "injected/collect/cupti_ids.h"

#include <stdbool.h>

#include "injected/collect/cupti_library.h"

static const struct cupti *cupti_in_use;

/* The context of this thread's last call: threads seldom change theirs. */
static __thread struct {
    CUcontext context;
    uint32_t uid;
    uint32_t id, device;
} last;

static const struct cupti *in_use(void)
{
    return __atomic_load_n(&cupti_in_use, __ATOMIC_ACQUIRE);
}

void cupti_ids_init(const struct cupti *cupti)
{
    __atomic_store_n(&cupti_in_use, cupti, __ATOMIC_RELEASE);
}

void cupti_ids_leave(void)
{
    cupti_ids_init(NULL);
    last.context = NULL;
}

static void ask(const struct cupti *cupti, CUcontext context, uint32_t *id, uint32_t *device)
{
    if (cupti->cuptiGetContextId(context, id) != CUPTI_SUCCESS)
        *id = 0;
    if (cupti->cuptiGetDeviceId(context, device) != CUPTI_SUCCESS)
        *device = GPUTRACE_NO_DEVICE;
}

void cupti_ids_of_context(struct CUctx_st *context, uint32_t uid, struct gputrace_call *call)
{
    const struct cupti *cupti = in_use();
    call->context = context;
    call->context_id = 0;
    call->device = GPUTRACE_NO_DEVICE;
    if (!context || !cupti)
        return;
    if (uid == 0) {
        ask(cupti, context, &call->context_id, &call->device);
        return;
    }
    if (last.context != context || last.uid != uid) {
        last.context = context;
        last.uid = uid;
        ask(cupti, context, &last.id, &last.device);
    }
    call->context_id = last.id;
    call->device = last.device;
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

uint32_t cupti_stream_id_of_call(const struct gputrace_call *call, const struct CUstream_st *stream)
{
    if (call->result != 0 || !call->context)
        return GPUTRACE_NO_STREAM;
    return cupti_stream_id((uint64_t)(uintptr_t)call->context, (uint64_t)(uintptr_t)stream);
}
