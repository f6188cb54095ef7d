#include "injected/collect/cupti_activity.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "injected/collect/activity_walk.h"
#include "injected/collect/cupti_library.h"
#include "wire/settings.h"

#define BUFFERS_MAX 1024u

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
    {TRACE_RUNTIME, CUPTI_ACTIVITY_KIND_RUNTIME},
    {TRACE_EVENT_TIMES, CUPTI_ACTIVITY_KIND_SYNCHRONIZATION}, /* switched on late (13.0), neither of the two … */
    {TRACE_EVENT_TIMES, CUPTI_ACTIVITY_KIND_CUDA_EVENT},      /* … tells all without the other */
    {TRACE_OVERHEAD, CUPTI_ACTIVITY_KIND_OVERHEAD},
};

/* Driver calls that CUDA's runtime makes of its own accord around the program's calls, at every launch or by the
 * hundred at start, and questions that libraries, our allocator among them, ask before whatever else they do: they are
 * not the program's, and would cost a record each. */
static const CUpti_CallbackId runtimes_own[] = {
    CUPTI_DRIVER_TRACE_CBID_cuKernelGetName,     CUPTI_DRIVER_TRACE_CBID_cuGetProcAddress,
    CUPTI_DRIVER_TRACE_CBID_cuGetProcAddress_v2, CUPTI_DRIVER_TRACE_CBID_cuCtxGetCurrent,
    CUPTI_DRIVER_TRACE_CBID_cuStreamIsCapturing, CUPTI_DRIVER_TRACE_CBID_cuStreamIsCapturing_ptsz,
};

static struct activity {
    const struct cupti *cupti;
    const struct activity_store *store;
    bool detached;
    pthread_mutex_t lock; /* of what follows; never held while CUPTI is called */
    struct buffer {
        uint8_t *data;
        size_t bytes;
        size_t walked; /* names are gathered up to here */
    } in_use[BUFFERS_MAX];
    unsigned slots; /* of in_use, that were ever used */
} activity = {.lock = PTHREAD_MUTEX_INITIALIZER};

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

/* CUPTI while it is there: the service thread looks for it before. */
static const struct cupti *running(void)
{
    const struct cupti *cupti = __atomic_load_n(&activity.cupti, __ATOMIC_ACQUIRE);
    return __atomic_load_n(&activity.detached, __ATOMIC_RELAXED) ? NULL : cupti;
}

/* Sets *WHO, and CUPTI's kind to what both together want. */
static void switch_jit(bool *who, bool value)
{
    const struct cupti *cupti = running();
    pthread_mutex_lock(&jit.lock);
    *who = value;
    bool on = jit.recorded || jit.wanted;
    if (cupti && on != jit.on) {
        jit.on = on;
        (on ? cupti->cuptiActivityEnable : cupti->cuptiActivityDisable)(CUPTI_ACTIVITY_KIND_JIT);
    }
    pthread_mutex_unlock(&jit.lock);
}

void cupti_activity_want_jit(bool wanted)
{
    switch_jit(&jit.wanted, wanted);
}

static void note_taken(uint8_t *data, size_t bytes)
{
    pthread_mutex_lock(&activity.lock);
    for (unsigned i = 0; i < BUFFERS_MAX; i++) {
        struct buffer *buffer = &activity.in_use[i];
        if (buffer->data)
            continue;
        buffer->bytes = bytes;
        buffer->walked = 0;
        __atomic_store_n(&buffer->data, data, __ATOMIC_RELEASE); /* looked at without the lock */
        if (i >= activity.slots)
            __atomic_store_n(&activity.slots, i + 1, __ATOMIC_RELAXED);
        break;
    }
    pthread_mutex_unlock(&activity.lock);
}

static void note_given_back(const uint8_t *data)
{
    pthread_mutex_lock(&activity.lock);
    for (unsigned i = 0; i < BUFFERS_MAX; i++)
        if (activity.in_use[i].data == data)
            __atomic_store_n(&activity.in_use[i].data, NULL, __ATOMIC_RELAXED);
    pthread_mutex_unlock(&activity.lock);
}

/* CUPTI asks, on the program's own thread. */
static void buffer_requested(uint8_t **buffer, size_t *size, size_t *records_max)
{
    *records_max = 0; /* as many as fit */
    *size = 0;
    *buffer = activity.store->take(size);
    if (*buffer)
        note_taken(*buffer, *size);
}

static void count_dropped(CUcontext context, uint32_t stream)
{
    size_t dropped = 0;
    if (activity.cupti->cuptiActivityGetNumDroppedRecords(context, stream, &dropped) == CUPTI_SUCCESS && dropped > 0)
        __atomic_add_fetch(&activity.store->header()->losses.cupti_dropped, dropped, __ATOMIC_RELAXED);
}

static void buffer_completed(CUcontext context, uint32_t stream, uint8_t *buffer, size_t size, size_t valid)
{
    (void)size;
    note_given_back(buffer);
    activity_walk_complete(activity.cupti, activity.store->header(), buffer, valid);
    activity.store->done(buffer, valid);
    count_dropped(context, stream);
}

/* Driver calls by cbid, so that calls nested in runtime calls are left out. CUPTI heeds this only before the first
 * context (13.0), so it is done once, and the reader leaves out what was called while recording was off. */
static void enable_driver_calls(const struct cupti *cupti)
{
    for (CUpti_CallbackId cbid = 1; cbid < CUPTI_DRIVER_TRACE_CBID_SIZE; cbid++)
        cupti->cuptiActivityEnableDriverApi(cbid, 1);
    for (size_t i = 0; i < sizeof(runtimes_own) / sizeof(runtimes_own[0]); i++)
        cupti->cuptiActivityEnableDriverApi(runtimes_own[i], 0);
}

/* What is told once, at the start or when a context is made, and needed whenever recording begins. */
static void enable_lasting(const struct cupti *cupti, uint64_t trace_bits)
{
    if ((trace_bits & ~(uint64_t)TRACE_NVTX) == 0)
        return; /* nothing of CUDA's is asked for */
    cupti->cuptiActivityEnable(CUPTI_ACTIVITY_KIND_DEVICE);
    cupti->cuptiActivityEnable(CUPTI_ACTIVITY_KIND_CONTEXT);
    if ((trace_bits & TRACE_EVENT_TIMES) && cupti->cuptiActivityEnableCudaEventDeviceTimestamps)
        cupti->cuptiActivityEnableCudaEventDeviceTimestamps(1); /* 1 us for each record of an event */
    if ((trace_bits & TRACE_DRIVER) && cupti->cuptiActivityEnableDriverApi)
        enable_driver_calls(cupti);
}

int cupti_activity_init(const struct cupti *cupti, const struct activity_store *store, uint64_t trace_bits, char *why,
                        size_t size)
{
    activity.store = store;
    activity_walk_init(store->header(), cupti->version);
    __atomic_store_n(&activity.cupti, cupti, __ATOMIC_RELEASE);
    uint8_t zeroed = 1;
    size_t zeroed_size = sizeof(zeroed);
    cupti->cuptiActivitySetAttribute(CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER, &zeroed_size, &zeroed);
    cupti->cuptiSetThreadIdType(CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM);
    CUptiResult result = cupti->cuptiActivityRegisterCallbacks(buffer_requested, buffer_completed);
    if (result != CUPTI_SUCCESS) {
        snprintf(why, size, "CUPTI takes no buffers: %s", cupti_words(cupti, result));
        return -1;
    }
    enable_lasting(cupti, trace_bits);
    switch_jit(&jit.recorded, false); /* it may be wanted by the registry already */
    return 0;
}

static void switch_kind(CUpti_ActivityKind kind, bool on)
{
    if (on)
        activity.cupti->cuptiActivityEnable(kind);
    else
        activity.cupti->cuptiActivityDisable(kind);
}

static void switch_event_times(bool on)
{
    switch_kind(CUPTI_ACTIVITY_KIND_SYNCHRONIZATION, on);
    switch_kind(CUPTI_ACTIVITY_KIND_CUDA_EVENT, on);
}

enum activity_times cupti_activity_want_event_times(void)
{
    const struct cupti *cupti = running();
    if (!cupti)
        return ACTIVITY_TIMES_NO_CUPTI;
    if (!cupti->cuptiActivityEnableCudaEventDeviceTimestamps)
        return ACTIVITY_TIMES_TOO_OLD;
    pthread_mutex_lock(&event_times.lock);
    if (!event_times.wanted)
        cupti->cuptiActivityEnableCudaEventDeviceTimestamps(1);
    if (!event_times.wanted && event_times.recording)
        switch_event_times(true);
    event_times.wanted = true;
    pthread_mutex_unlock(&event_times.lock);
    return ACTIVITY_TIMES_ON;
}

/* After the kinds that the trace wants, of which that of events may be one. */
static void switch_wanted_event_times(bool on)
{
    pthread_mutex_lock(&event_times.lock);
    event_times.recording = on;
    if (event_times.wanted)
        switch_event_times(on);
    pthread_mutex_unlock(&event_times.lock);
}

void cupti_activity_switch(uint64_t trace_bits, bool graph_nodes, bool on)
{
    const struct cupti *cupti = running();
    if (!cupti)
        return;
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
        if (kinds[i].bits & trace_bits)
            switch_kind(kinds[i].kind, on);
    if (trace_bits & TRACE_COMPILE)
        switch_jit(&jit.recorded, on);
    if ((trace_bits & TRACE_GRAPH) && !graph_nodes)
        switch_kind(CUPTI_ACTIVITY_KIND_GRAPH_TRACE, on);
    if ((trace_bits & TRACE_DRIVER) && !cupti->cuptiActivityEnableDriverApi) /* an older CUPTI: all of them or none */
        switch_kind(CUPTI_ACTIVITY_KIND_DRIVER, on);
    switch_wanted_event_times(on);
}

void cupti_activity_flush(void)
{
    const struct cupti *cupti = running();
    if (!cupti)
        return;
    cupti->cuptiActivityFlushAll(0);
    count_dropped(NULL, 0); /* where there was no room for a buffer none is completed that would tell */
}

static unsigned gather(struct buffer *buffer, bool names_alone)
{
    const struct spool_header *header = activity.store->header();
    if (!names_alone)
        return activity_walk_in_use(header, buffer->data, buffer->bytes, &buffer->walked);
    activity_walk_names(header, buffer->data, buffer->bytes, &buffer->walked);
    return 0;
}

static unsigned gather_all(bool names_alone)
{
    unsigned untimed = 0, slots = __atomic_load_n(&activity.slots, __ATOMIC_RELAXED);
    if (!running())
        return 0;
    for (unsigned i = 0; i < slots; i++) {
        struct buffer *buffer = &activity.in_use[i];
        if (!__atomic_load_n(&buffer->data, __ATOMIC_RELAXED))
            continue;
        pthread_mutex_lock(&activity.lock); /* so that it cannot be given back and unmapped while it is read */
        if (buffer->data)
            untimed += gather(buffer, names_alone);
        pthread_mutex_unlock(&activity.lock);
    }
    return untimed;
}

unsigned cupti_activity_gather(void)
{
    return gather_all(false);
}

void cupti_activity_gather_names(void)
{
    gather_all(true);
}

bool cupti_activity_dying(unsigned i, void (*tell)(const char *name))
{
    if (!running() || i >= __atomic_load_n(&activity.slots, __ATOMIC_RELAXED))
        return false;
    const struct buffer *buffer = &activity.in_use[i];
    const uint8_t *data = __atomic_load_n(&buffer->data, __ATOMIC_ACQUIRE);
    if (data)
        activity_walk_dying(activity.store->header(), data, buffer->bytes, buffer->walked, tell);
    return true;
}

void cupti_activity_detached(void)
{
    __atomic_store_n(&activity.detached, true, __ATOMIC_RELAXED);
}

void cupti_activity_leave(void)
{
    memset(&activity, 0, sizeof(activity));
    pthread_mutex_init(&activity.lock, NULL);
    memset(&jit, 0, sizeof(jit));
    pthread_mutex_init(&jit.lock, NULL);
    memset(&event_times, 0, sizeof(event_times));
    pthread_mutex_init(&event_times.lock, NULL);
    activity_walk_leave();
}
