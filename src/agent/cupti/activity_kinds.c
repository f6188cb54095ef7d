/*
 * Enables and disables the kinds of CUPTI's activity records. Most kinds follow the table of common/record_kinds.h; functions
 * below handle kinds with several users, with settings of their own or with rows per API function (calls of the runtime
 * and the driver).
 */
#include "agent/cupti/activity_kinds.h"

#include <pthread.h>
#include <stddef.h>
#include <string.h>

#include "agent/cupti/cupti_library.h"
#include "agent/dispatch/registry.h"
#include "agent/spool/recorder.h"
#include "common/cupti.h"

static const struct cupti *cupti_in_use; /* NULL before CUPTI is loaded and after it was detached */

/* Records of just-in-time compilation have two users: the trace, and the registry's kind `jit`. */
static struct {
    pthread_mutex_t lock;
    bool recorded, wanted;
    bool on;
} jit = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Records of CUDA events have two users: the trace, and device ranges, which need the GPU's times too. */
static struct {
    pthread_mutex_t lock; /* guards all members, and the switching of these kinds */
    bool wanted;
    bool recording;
} event_times = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void switch_kind(const struct cupti *cupti, CUpti_ActivityKind kind, bool on)
{
    if (on)
        cupti->cuptiActivityEnable(kind);
    else
        cupti->cuptiActivityDisable(kind);
}

/* --- just-in-time compilation --- */

/* Sets *USER, and enables or disables CUPTI's kind if that changes whether any user wants it. */
static void switch_jit(bool *user, bool value)
{
    const struct cupti *cupti = __atomic_load_n(&cupti_in_use, __ATOMIC_ACQUIRE);
    pthread_mutex_lock(&jit.lock);
    *user = value;
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

/* --- unified memory --- */

/* CUPTI needs the counters' configuration before the kind is enabled, and enables the kind only once CUDA is
 * initialised. It returns that error when the kind is enabled, not when the counters are configured (13.0). So the
 * creation of the first context tries again. */
static struct {
    pthread_mutex_t lock;
    bool recording, on, unsupported;
} unified_memory = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Enables or disables the kind as recording needs. The caller holds the lock. */
static void switch_unified_memory(const struct cupti *cupti)
{
    if (unified_memory.recording == unified_memory.on || unified_memory.unsupported)
        return;
    if (!unified_memory.recording) {
        switch_kind(cupti, CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER, false);
        unified_memory.on = false;
        return;
    }
    CUpti_ActivityUnifiedMemoryCounterConfig configs[CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_COUNT - 1];
    const unsigned count = sizeof(configs) / sizeof(*configs);
    for (unsigned i = 0; i < count; i++)
        configs[i] = (CUpti_ActivityUnifiedMemoryCounterConfig){
            .scope = CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_SCOPE_PROCESS_SINGLE_DEVICE,
            .kind = (CUpti_ActivityUnifiedMemoryCounterKind)(i + 1),
            .enable = 1,
        };
    CUptiResult result = cupti->cuptiActivityConfigureUnifiedMemoryCounter
                             ? cupti->cuptiActivityConfigureUnifiedMemoryCounter(configs, count)
                             : CUPTI_ERROR_NOT_SUPPORTED;
    if (result == CUPTI_SUCCESS)
        result = cupti->cuptiActivityEnable(CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER);
    unified_memory.on = result == CUPTI_SUCCESS;
    if (!unified_memory.on && result != CUPTI_ERROR_NOT_INITIALIZED && result != CUPTI_ERROR_NOT_READY) {
        unified_memory.unsupported = true;
        recorder_warn("unified memory is not recorded: %s", cupti_words(cupti, result));
    }
}

static void context_made(void *data, const struct gputrace_context_creation *context)
{
    const struct cupti *cupti = __atomic_load_n(&cupti_in_use, __ATOMIC_ACQUIRE);
    (void)data;
    (void)context;
    pthread_mutex_lock(&unified_memory.lock);
    if (cupti)
        switch_unified_memory(cupti);
    pthread_mutex_unlock(&unified_memory.lock);
}

/* --- API calls --- */

/* Driver calls that the CUDA runtime makes by itself around the program's calls, at every launch or by the hundred at
 * start. They are not the program's: --trace=api-all leaves them out too. */
static const CUpti_CallbackId runtimes_own[] = {
    CUPTI_DRIVER_TRACE_CBID_cuKernelGetName,     CUPTI_DRIVER_TRACE_CBID_cuGetProcAddress,
    CUPTI_DRIVER_TRACE_CBID_cuGetProcAddress_v2, CUPTI_DRIVER_TRACE_CBID_cuCtxGetCurrent,
    CUPTI_DRIVER_TRACE_CBID_cuStreamIsCapturing, CUPTI_DRIVER_TRACE_CBID_cuStreamIsCapturing_ptsz,
};

/* Functions that launch kernels. Callbacks of the driver's functions are switched while the program runs
 * (driver_calls.h). */
static const CUpti_CallbackId runtime_launches[] = {
    CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000,
    CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_ptsz_v7000,
    CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernelExC_v11060,
    CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernelExC_ptsz_v11060,
    CUPTI_RUNTIME_TRACE_CBID_cudaLaunchCooperativeKernel_v9000,
    CUPTI_RUNTIME_TRACE_CBID_cudaLaunchCooperativeKernel_ptsz_v9000,
    CUPTI_RUNTIME_TRACE_CBID_cudaLaunchCooperativeKernelMultiDevice_v9000,
    CUPTI_RUNTIME_TRACE_CBID_cudaLaunch_v3020,
    CUPTI_RUNTIME_TRACE_CBID_cudaLaunch_ptsz_v7000,
    CUPTI_RUNTIME_TRACE_CBID_cudaGraphLaunch_v10000,
    CUPTI_RUNTIME_TRACE_CBID_cudaGraphLaunch_ptsz_v10000,
};
static const CUpti_CallbackId driver_launches[] = {
    CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel,
    CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel_ptsz,
    CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx,
    CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx_ptsz,
    CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel,
    CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel_ptsz,
    CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernelMultiDevice,
    CUPTI_DRIVER_TRACE_CBID_cuLaunch,
    CUPTI_DRIVER_TRACE_CBID_cuLaunchGrid,
    CUPTI_DRIVER_TRACE_CBID_cuLaunchGridAsync,
    CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch,
    CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch_ptsz,
};

/*
 * Functions are enabled one by one, never as a whole kind, and never disabled again:
 *
 *     - With the whole kind on, a call that is left out still costs 130 ns or more, and the driver's kind records every
 *       call that the runtime makes inside its own.
 *     - CUPTI 13.0 heeds a function only if it is on when the first context is made.
 *     - When callbacks or records of a function are switched while a thread is inside of it, and the function was not
 *       recorded throughout, CUPTI can believe that the thread never leaves it: all later calls and kernels of that
 *       thread then carry the correlation id of that one call (13.0; seen with threads that launch, wait and allocate,
 *       in half of the runs). So launches are recorded whenever kernels or compilation are, because the callbacks of
 *       launches are switched. The reader leaves out calls that the user did not ask for.
 *     - Disabling saves only a part: a launch that was on and is off again still takes 0.35 to 0.46 us longer.
 */

/* How many numbers of functions beyond our headers' are enabled: a newer CUPTI may know them, and refuses those that it
 * does not know. */
#define NEWER_FUNCTIONS 128

static void enable_runtime_calls(const struct cupti *cupti, uint64_t trace_bits)
{
    if (!cupti->cuptiActivityEnableRuntimeApi)
        return;
    if (trace_bits & (TRACE_KERNEL | TRACE_COMPILE))
        for (size_t i = 0; i < sizeof(runtime_launches) / sizeof(runtime_launches[0]); i++)
            cupti->cuptiActivityEnableRuntimeApi(runtime_launches[i], 1);
    if (trace_bits & TRACE_RUNTIME)
        for (CUpti_CallbackId cbid = 1; cbid < CUPTI_RUNTIME_TRACE_CBID_SIZE + NEWER_FUNCTIONS; cbid++)
            if (api_class_recorded(api_runtime_class(cbid), trace_bits))
                cupti->cuptiActivityEnableRuntimeApi(cbid, 1);
}

static void enable_driver_calls(const struct cupti *cupti, uint64_t trace_bits)
{
    if (!cupti->cuptiActivityEnableDriverApi)
        return;
    if (trace_bits & (TRACE_KERNEL | TRACE_COMPILE))
        for (size_t i = 0; i < sizeof(driver_launches) / sizeof(driver_launches[0]); i++)
            cupti->cuptiActivityEnableDriverApi(driver_launches[i], 1);
    for (CUpti_CallbackId cbid = 1; cbid < CUPTI_DRIVER_TRACE_CBID_SIZE + NEWER_FUNCTIONS; cbid++) {
        bool on = (trace_bits & TRACE_DRIVER) && api_class_recorded(api_driver_class(cbid), trace_bits);
        for (size_t i = 0; on && i < sizeof(runtimes_own) / sizeof(runtimes_own[0]); i++)
            on = runtimes_own[i] != cbid;
        if (on)
            cupti->cuptiActivityEnableDriverApi(cbid, 1);
    }
}

/* --- from the start --- */

void activity_kinds_init(const struct cupti *cupti, uint64_t trace_bits)
{
    __atomic_store_n(&cupti_in_use, cupti, __ATOMIC_RELEASE);
    for (size_t i = 0; i < CUPTI_KIND_COUNT; i++)
        if (cupti_kinds[i].on == CUPTI_KIND_AT_START && (cupti_kinds[i].groups & trace_bits))
            switch_kind(cupti, cupti_kinds[i].number, true);
    if ((trace_bits & TRACE_EVENT_TIMES) && cupti->cuptiActivityEnableCudaEventDeviceTimestamps)
        cupti->cuptiActivityEnableCudaEventDeviceTimestamps(1); /* costs 1 us for each record of an event */
    enable_runtime_calls(cupti, trace_bits);
    enable_driver_calls(cupti, trace_bits);
    if (trace_bits & TRACE_UNIFIED_MEMORY)
        registry_context_creation_register(context_made, NULL);
    switch_jit(&jit.recorded, false); /* the registry may want these records already */
}

/* --- while recording is on --- */

static void switch_event_times(const struct cupti *cupti, bool on)
{
    switch_kind(cupti, CUPTI_ACTIVITY_KIND_SYNCHRONIZATION, on);
    switch_kind(cupti, CUPTI_ACTIVITY_KIND_CUDA_EVENT, on);
}

enum activity_times activity_kinds_want_event_times(void)
{
    const struct cupti *cupti = __atomic_load_n(&cupti_in_use, __ATOMIC_ACQUIRE);
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

/* Whether KIND follows its row of the table without special handling. */
static bool is_switched(const struct cupti *cupti, uint32_t kind, bool graph_nodes)
{
    switch (kind) {
    case CUPTI_ACTIVITY_KIND_RUNTIME: return !cupti->cuptiActivityEnableRuntimeApi; /* older CUPTIs switch all calls */
    case CUPTI_ACTIVITY_KIND_DRIVER: return !cupti->cuptiActivityEnableDriverApi;   /* older CUPTIs switch all calls */
    case CUPTI_ACTIVITY_KIND_GRAPH_TRACE: return !graph_nodes;
    case CUPTI_ACTIVITY_KIND_JIT: return false;                    /* it has two users: switch_jit() */
    case CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER: return false; /* switch_unified_memory() configures it first */
    default: return true;
    }
}

void activity_kinds_switch(uint64_t trace_bits, bool graph_nodes, bool on)
{
    const struct cupti *cupti = __atomic_load_n(&cupti_in_use, __ATOMIC_ACQUIRE);
    if (!cupti)
        return;
    for (size_t i = 0; i < CUPTI_KIND_COUNT; i++) {
        const struct cupti_kind *kind = &cupti_kinds[i];
        if (kind->on == CUPTI_KIND_RECORDING && (kind->groups & trace_bits) &&
            is_switched(cupti, kind->number, graph_nodes))
            switch_kind(cupti, kind->number, on);
    }
    if (trace_bits & TRACE_COMPILE)
        switch_jit(&jit.recorded, on);
    if (trace_bits & TRACE_UNIFIED_MEMORY) {
        pthread_mutex_lock(&unified_memory.lock);
        unified_memory.recording = on;
        switch_unified_memory(cupti);
        pthread_mutex_unlock(&unified_memory.lock);
    }
    /* Comes after the kinds for the trace, because the kind for events may be one of them and was disabled above. */
    pthread_mutex_lock(&event_times.lock);
    event_times.recording = on;
    if (event_times.wanted)
        switch_event_times(cupti, on);
    pthread_mutex_unlock(&event_times.lock);
}

void activity_kinds_detached(void)
{
    __atomic_store_n(&cupti_in_use, NULL, __ATOMIC_RELEASE);
}

void activity_kinds_atfork_child(void)
{
    activity_kinds_detached();
    memset(&jit, 0, sizeof(jit));
    pthread_mutex_init(&jit.lock, NULL);
    memset(&event_times, 0, sizeof(event_times));
    pthread_mutex_init(&event_times.lock, NULL);
    memset(&unified_memory, 0, sizeof(unified_memory));
    pthread_mutex_init(&unified_memory.lock, NULL);
}
