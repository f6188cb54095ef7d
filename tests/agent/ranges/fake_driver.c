#include "tests/agent/ranges/fake_driver.h"

#include <pthread.h>
#include <string.h>

#include "tests/agent/cupti/fake_cupti.h"

#define EVENTS 4096

struct fake_driver_asked fake_driver_asked;
struct fake_driver_says fake_driver_says;

static struct fake_event {
    CUcontext context;
    CUstream stream;
    unsigned flags;
    CUstreamCaptureMode mode;
} events[EVENTS];

static pthread_mutex_t telling = PTHREAD_MUTEX_INITIALIZER; /* the fake CUPTI is for one thread */

static __thread CUcontext stack[4];
static __thread unsigned depth;
static __thread CUstreamCaptureMode mode;

static struct fake_event *of(CUevent event)
{
    return &events[(uintptr_t)event - 0xe0000];
}

static void count(unsigned *what)
{
    __atomic_add_fetch(what, 1, __ATOMIC_RELAXED);
}

CUcontext fake_driver_current(void)
{
    return stack[depth];
}

static CUcontext context_of(CUstream stream)
{
    bool given = (uintptr_t)stream > 2;
    return given ? (CUcontext)((uintptr_t)stream & ~(uintptr_t)0xfff) : fake_driver_current();
}

static CUresult get_current(CUcontext *context)
{
    count(&fake_driver_asked.contexts);
    *context = fake_driver_current();
    return CUDA_SUCCESS;
}

static CUresult push_current(CUcontext context)
{
    stack[++depth] = context;
    return CUDA_SUCCESS;
}

static CUresult pop_current(CUcontext *context)
{
    *context = stack[depth--];
    return CUDA_SUCCESS;
}

static CUresult create(CUevent *event, unsigned flags)
{
    if (fake_driver_says.create != CUDA_SUCCESS)
        return fake_driver_says.create;
    unsigned number = __atomic_fetch_add(&fake_driver_asked.created, 1, __ATOMIC_RELAXED);
    *event = (CUevent)(uintptr_t)(0xe0000 + number % EVENTS);
    *of(*event) = (struct fake_event){.context = fake_driver_current(), .flags = flags, .mode = mode};
    return CUDA_SUCCESS;
}

/* As CUPTI would tell of it. */
static CUresult record(CUevent event, CUstream stream)
{
    cuEventRecord_params params = {event, stream};
    count(&fake_driver_asked.records);
    if (of(event)->context != context_of(stream))
        count(&fake_driver_asked.wrong);
    of(event)->stream = stream;
    pthread_mutex_lock(&telling);
    fake_call(CUPTI_DRIVER_TRACE_CBID_cuEventRecord, &params, fake_driver_says.record);
    pthread_mutex_unlock(&telling);
    return fake_driver_says.record;
}

static CUresult get_context(CUstream stream, CUcontext *context)
{
    *context = context_of(stream);
    return *context ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
}

static CUresult is_capturing(CUstream stream, CUstreamCaptureStatus *status)
{
    count(&fake_driver_asked.captures);
    bool captured = fake_driver_says.captured && stream == fake_driver_says.captured;
    *status = captured ? CU_STREAM_CAPTURE_STATUS_ACTIVE : CU_STREAM_CAPTURE_STATUS_NONE;
    return fake_driver_says.capture;
}

static CUresult exchange_mode(CUstreamCaptureMode *wanted)
{
    CUstreamCaptureMode before = mode;
    mode = *wanted;
    *wanted = before;
    return CUDA_SUCCESS;
}

const struct driver fake_driver = {
    .cuCtxGetCurrent = get_current,
    .cuCtxPushCurrent_v2 = push_current,
    .cuCtxPopCurrent_v2 = pop_current,
    .cuEventCreate = create,
    .cuEventRecord = record,
    .cuStreamGetCtx = get_context,
    .cuStreamIsCapturing = is_capturing,
    .cuThreadExchangeStreamCaptureMode = exchange_mode,
};

void fake_driver_enter(CUcontext context)
{
    depth = 0;
    stack[0] = context;
    mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
}

void fake_driver_start(CUcontext context)
{
    driver_replace(&fake_driver);
    memset(&fake_driver_asked, 0, sizeof(fake_driver_asked));
    memset(&fake_driver_says, 0, sizeof(fake_driver_says));
    fake_driver_enter(context);
}

bool fake_event_timing(CUevent event)
{
    return !(of(event)->flags & CU_EVENT_DISABLE_TIMING);
}

CUcontext fake_event_context(CUevent event)
{
    return of(event)->context;
}

CUstream fake_event_stream(CUevent event)
{
    return of(event)->stream;
}

CUstreamCaptureMode fake_event_mode(CUevent event)
{
    return of(event)->mode;
}
