#include "injected/collect/activity_kinds.h"

#include <pthread.h>
#include <stddef.h>
#include <string.h>

#include "injected/collect/cupti_library.h"
#include "wire/api_classes.h"
#include "wire/settings.h"

/* Kinds by what the user asked for. GRAPH is not here: it chooses how kernels are recorded. SYNC is not: either kind of
 * it makes every launch 0.1 us longer (13.0), so that the recorder hears of waits by their calls
 * (record/record_sync.c), but where the GPU is asked for the times of events. */
static const struct {
    uint64_t bits;
    CUpti_ActivityKind kind;
} kinds[] = {
    {TRACE_KERNEL, CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL},
    {TRACE_MEMCPY, CUPTI_ACTIVITY_KIND_MEMCPY},
    {TRACE_MEMCPY, CUPTI_ACTIVITY_KIND_MEMCPY2},
    {TRACE_MEMSET, CUPTI_ACTIVITY_KIND_MEMSET},
    {TRACE_EVENT_TIMES, CUPTI_ACTIVITY_KIND_SYNCHRONIZATION}, /* switched on late (13.0), neither of the two … */
    {TRACE_EVENT_TIMES, CUPTI_ACTIVITY_KIND_CUDA_EVENT},      /* … tells all without the other */
    {TRACE_OVERHEAD, CUPTI_ACTIVITY_KIND_OVERHEAD},
};

static const struct cupti *cupti_in_use; /* NULL: not there yet, or no longer */

/* Records of just-in-time compilation have two who want them: the trace, and the registry's kind `jit`. */
static struct {
    pthread_mutex_t lock;
    bool recorded, wanted;
    bool on;
} jit = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Records of CUDA events have two who want them: the trace, and device ranges, which need the GPU's times too. */
static struct {
    pthread_mutex_t lock; /* of all here, and of what is switched by them */
    bool wanted;
    bool recording;
} event_times = {.lock = PTHREAD_MUTEX_INITIALIZER};

static const struct cupti *in_use(void)
{
    return __atomic_load_n(&cupti_in_use, __ATOMIC_ACQUIRE);
}

static void switch_kind(const struct cupti *cupti, CUpti_ActivityKind kind, bool on)
{
    if (on)
        cupti->cuptiActivityEnable(kind);
    else
        cupti->cuptiActivityDisable(kind);
}

/* --- just-in-time compilation --- */

/* Sets *WHO, and CUPTI's kind to what both together want. */
static void switch_jit(bool *who, bool value)
{
    const struct cupti *cupti = in_use();
    pthread_mutex_lock(&jit.lock);
    *who = value;
    bool on = jit.recorded || jit.wanted;
    if (cupti && on != jit.on) {
        jit.on = on;
        switch_kind(cupti, CUPTI_ACTIVITY_KIND_JIT, on);
    }
    pthread_mutex_unlock(&jit.lock);
}

void activity_kinds_want_jit(bool wanted)
{
    switch_jit(&jit.wanted, wanted);
}

/* --- API calls --- */

/* Driver calls that the CUDA runtime makes by itself around the program's calls, at every launch or by the hundred at start.
 * They are not the program's: --trace=api-all leaves them out too. */
static const CUpti_CallbackId runtimes_own[] = {
    CUPTI_DRIVER_TRACE_CBID_cuKernelGetName,     CUPTI_DRIVER_TRACE_CBID_cuGetProcAddress,
    CUPTI_DRIVER_TRACE_CBID_cuGetProcAddress_v2, CUPTI_DRIVER_TRACE_CBID_cuCtxGetCurrent,
    CUPTI_DRIVER_TRACE_CBID_cuStreamIsCapturing, CUPTI_DRIVER_TRACE_CBID_cuStreamIsCapturing_ptsz,
};

static bool is_runtimes_own(CUpti_CallbackId cbid)
{
    for (size_t i = 0; i < sizeof(runtimes_own) / sizeof(runtimes_own[0]); i++)
        if (runtimes_own[i] == cbid)
            return true;
    return false;
}

static void switch_runtime_calls(const struct cupti *cupti, bool queries, bool on)
{
    if (!cupti->cuptiActivityEnableRuntimeApi) { /* an older CUPTI: the reader leaves out the queries */
        switch_kind(cupti, CUPTI_ACTIVITY_KIND_RUNTIME, on);
        return;
    }
    for (CUpti_CallbackId cbid = 1; cbid < CUPTI_RUNTIME_TRACE_CBID_SIZE; cbid++)
        if (queries || !api_runtime_is_query(cbid))
            cupti->cuptiActivityEnableRuntimeApi(cbid, on);
}

static void switch_driver_calls(const struct cupti *cupti, bool queries, bool on)
{
    if (!cupti->cuptiActivityEnableDriverApi) {
        switch_kind(cupti, CUPTI_ACTIVITY_KIND_DRIVER, on);
        return;
    }
    for (CUpti_CallbackId cbid = 1; cbid < CUPTI_DRIVER_TRACE_CBID_SIZE; cbid++)
        if ((queries || !api_driver_is_query(cbid)) && !is_runtimes_own(cbid))
            cupti->cuptiActivityEnableDriverApi(cbid, on);
}

/*
 * Functions are switched one by one, never as a whole kind. With the whole kind on, a call that is left out still costs 130 ns
 * and more, and the driver's kind records every call that the runtime makes inside its own. CUPTI 13.0 heeds a function only
 * if it was on when the first context was made; from then on it can be switched at any time.
 */
static void switch_calls(const struct cupti *cupti, uint64_t trace_bits, bool on)
{
    bool queries = trace_bits & TRACE_API_ALL;
    if (trace_bits & TRACE_RUNTIME)
        switch_runtime_calls(cupti, queries, on);
    if (trace_bits & TRACE_DRIVER)
        switch_driver_calls(cupti, queries, on);
}

/* --- from the start --- */

/* What is told once, at the start or when a context is made, and needed whenever recording begins. */
static void enable_lasting(const struct cupti *cupti, uint64_t trace_bits)
{
    if ((trace_bits & ~(uint64_t)TRACE_NVTX) == 0)
        return; /* nothing of CUDA's is asked for */
    cupti->cuptiActivityEnable(CUPTI_ACTIVITY_KIND_DEVICE);
    cupti->cuptiActivityEnable(CUPTI_ACTIVITY_KIND_CONTEXT);
    if ((trace_bits & TRACE_EVENT_TIMES) && cupti->cuptiActivityEnableCudaEventDeviceTimestamps)
        cupti->cuptiActivityEnableCudaEventDeviceTimestamps(1); /* 1 us for each record of an event */
    switch_calls(cupti, trace_bits, true);
}

void activity_kinds_init(const struct cupti *cupti, uint64_t trace_bits)
{
    __atomic_store_n(&cupti_in_use, cupti, __ATOMIC_RELEASE);
    enable_lasting(cupti, trace_bits);
    switch_jit(&jit.recorded, false); /* it may be wanted by the registry already */
}

/* --- while recording is on --- */

static void switch_event_times(const struct cupti *cupti, bool on)
{
    switch_kind(cupti, CUPTI_ACTIVITY_KIND_SYNCHRONIZATION, on);
    switch_kind(cupti, CUPTI_ACTIVITY_KIND_CUDA_EVENT, on);
}

enum activity_times activity_kinds_want_event_times(void)
{
    const struct cupti *cupti = in_use();
    if (!cupti)
        return ACTIVITY_TIMES_NO_CUPTI;
    if (!cupti->cuptiActivityEnableCudaEventDeviceTimestamps)
        return ACTIVITY_TIMES_TOO_OLD;
    pthread_mutex_lock(&event_times.lock);
    if (!event_times.wanted)
        cupti->cuptiActivityEnableCudaEventDeviceTimestamps(1);
    if (!event_times.wanted && event_times.recording)
        switch_event_times(cupti, true);
    event_times.wanted = true;
    pthread_mutex_unlock(&event_times.lock);
    return ACTIVITY_TIMES_ON;
}

/* After the kinds that the trace wants, of which that of events may be one. */
static void switch_wanted_event_times(const struct cupti *cupti, bool on)
{
    pthread_mutex_lock(&event_times.lock);
    event_times.recording = on;
    if (event_times.wanted)
        switch_event_times(cupti, on);
    pthread_mutex_unlock(&event_times.lock);
}

void activity_kinds_switch(uint64_t trace_bits, bool graph_nodes, bool on)
{
    const struct cupti *cupti = in_use();
    if (!cupti)
        return;
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
        if (kinds[i].bits & trace_bits)
            switch_kind(cupti, kinds[i].kind, on);
    if (trace_bits & TRACE_COMPILE)
        switch_jit(&jit.recorded, on);
    if ((trace_bits & TRACE_GRAPH) && !graph_nodes)
        switch_kind(cupti, CUPTI_ACTIVITY_KIND_GRAPH_TRACE, on);
    switch_calls(cupti, trace_bits, on);
    switch_wanted_event_times(cupti, on);
}

void activity_kinds_detached(void)
{
    __atomic_store_n(&cupti_in_use, NULL, __ATOMIC_RELEASE);
}

void activity_kinds_leave(void)
{
    activity_kinds_detached();
    memset(&jit, 0, sizeof(jit));
    pthread_mutex_init(&jit.lock, NULL);
    memset(&event_times, 0, sizeof(event_times));
    pthread_mutex_init(&event_times.lock, NULL);
}
