/*
 * Starts and ends device ranges: records a cached CUDA event in the program's stream and writes a record with its
 * correlation id. If the GPU's times are not available, the user gets a message why, once for each cause.
 *
 * CUDA events are cached for each thread and context, because creating one takes longer than recording it. Events go
 * with their context.
 */
#include "agent/ranges/device_ranges.h"

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "agent/cupti/activity_kinds.h"
#include "agent/cupti/cupti_library.h"
#include "agent/cupti/driver_calls.h"
#include "agent/dispatch/registry.h"
#include "agent/spool/recorder.h"
#include "common/threads.h"

/* --- current context --- */

struct CUctx_st *current_context(void)
{
    const struct driver *driver = driver_functions();
    struct tracing_suppressed suppressed;
    CUcontext context = NULL;
    if (!driver || !tracing_suppress(&suppressed))
        return NULL;
    if (driver->cuCtxGetCurrent(&context) != CUDA_SUCCESS)
        context = NULL;
    tracing_resume(&suppressed);
    return context;
}

void current_context_find(struct gputrace_call *call)
{
    CUcontext context = current_context();
    if (context)
        cupti_ids_of_context(context, call);
}

/*      refusal     words for the user */
#define REFUSALS(X)                                                                                             \
    X(CAPTURED, "its stream, or one that it would wait for, is being captured into a graph")                    \
    X(NO_CONTEXT, "no CUDA context is current on its thread, or CUDA has had an error")                         \
    X(NO_EVENT, "CUDA gives no event to mark it with")                                                          \
    X(NOT_RECORDED, "CUDA does not take an event into its stream")                                              \
    X(TOO_OLD, "this CUPTI does not report when the GPU reached it; CUPTI of CUDA 12.8 is the first that does") \
    X(UNSEEN, "CUPTI did not report the event that marks it")

enum refusal {
    ACCEPTED = 0,
#define REFUSAL(name, words) REFUSED_##name,
    REFUSALS(REFUSAL)
#undef REFUSAL
        REFUSAL_COUNT
};

static struct {
    uint64_t last; /* number of the last range */
    bool times_on; /* CUPTI records events with the GPU's times */
    bool reported[REFUSAL_COUNT];
} ranges;

/* Records why a range was refused, once for each cause; the message is printed at the end of the run. */
static void publish(enum refusal refusal, const char *what)
{
    static const char *const words[REFUSAL_COUNT] = {
#define REFUSAL(name, text) [REFUSED_##name] = (text),
        REFUSALS(REFUSAL)
#undef REFUSAL
    };
    if (__atomic_exchange_n(&ranges.reported[refusal], true, __ATOMIC_RELAXED))
        return;
    recorder_note(SPOOL_NOTE_WARNING, "%s of a device range is not recorded: %s", what, words[refusal]);
}

static enum activity_times switch_on(void)
{
    if (__atomic_load_n(&ranges.times_on, __ATOMIC_RELAXED))
        return ACTIVITY_TIMES_ON;
    enum activity_times times = activity_kinds_want_event_times();
    if (times != ACTIVITY_TIMES_ON)
        return times;
    callback_switches_need(CALLBACKS_EVENT_WATCH, true);
    __atomic_store_n(&ranges.times_on, true, __ATOMIC_RELAXED);
    return times;
}

/* Records a marker in STREAM, and sets *CORRELATION to the id of CUPTI's record of it. */
static enum refusal put_marker(const struct driver *driver, CUstream stream, uint32_t *correlation)
{
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    CUcontext context = NULL;
    CUresult result = driver->cuStreamIsCapturing(stream, &status);
    if (result == CUDA_ERROR_STREAM_CAPTURE_IMPLICIT || status != CU_STREAM_CAPTURE_STATUS_NONE)
        return REFUSED_CAPTURED;
    if (result != CUDA_SUCCESS || driver->cuStreamGetCtx(stream, &context) != CUDA_SUCCESS || !context)
        return REFUSED_NO_CONTEXT;
    const struct gputrace_cached_event *event = event_cache_get(context, false);
    if (!event)
        return REFUSED_NO_EVENT;
    event_watch_begin();
    result = driver->cuEventRecord(event->event, stream);
    *correlation = event_watch_end(); /* id of CUPTI's record of the event */
    event_cache_return(event);        /* the recorded marker stays in the stream */
    if (result != CUDA_SUCCESS)
        return REFUSED_NOT_RECORDED;
    return *correlation ? ACCEPTED : REFUSED_UNSEEN;
}

/* Records the start of a new range (RANGE 0) or the end of RANGE. Returns its number, or 0. The reader counts markers
 * without the GPU's time. */
static uint64_t put(uint64_t range, uint16_t what, const char *message, CUstream stream)
{
    const char *words = what == SPOOL_DEVICE_RANGE_START ? "the start" : "the end";
    enum activity_times times = recorder_is_on() && !tracing_is_suppressed() ? switch_on() : ACTIVITY_TIMES_NO_CUPTI;
    const struct driver *driver = times != ACTIVITY_TIMES_NO_CUPTI ? driver_functions() : NULL;
    struct tracing_suppressed suppressed;
    uint32_t correlation = 0;
    if (!driver || !tracing_suppress(&suppressed))
        return 0;
    enum refusal refusal = times == ACTIVITY_TIMES_TOO_OLD ? REFUSED_TOO_OLD : put_marker(driver, stream, &correlation);
    tracing_resume(&suppressed);
    if (refusal != ACCEPTED)
        publish(refusal, words);
    if (refusal != ACCEPTED && refusal != REFUSED_TOO_OLD && refusal != REFUSED_UNSEEN)
        return 0;
    if (range == 0)
        range = __atomic_add_fetch(&ranges.last, 1, __ATOMIC_RELAXED);
    record_write_text(SPOOL_RECORD_DEVICE_RANGE, device_range, suppressed.began, text_of(message), .head.flags = what,
                      .range = range, .correlation = correlation);
    return range;
}

uint64_t device_range_start(const char *message, struct CUstream_st *stream)
{
    return put(0, SPOOL_DEVICE_RANGE_START, message, stream);
}

void device_range_end(uint64_t range, struct CUstream_st *stream)
{
    if (range != 0)
        put(range, SPOOL_DEVICE_RANGE_END, NULL, stream);
}

void device_ranges_atfork_child(void)
{
    __atomic_store_n(&ranges.times_on, false, __ATOMIC_RELAXED);
}

/* --- the cache of CUDA events --- */

struct cached_event {
    struct gputrace_cached_event given; /* must be first: event_cache_return() casts it to the event */
    struct event_cache *home;
    struct cached_event *next; /* next event kept in the cache */
    bool timing;
    bool out;
};

struct event_cache {
    struct event_cache *next;           /* in the list of all caches */
    struct event_cache *next_of_thread; /* in the list of one thread */
    struct CUctx_st *context;
    uint32_t generation; /* fork generation: a forked child ignores the parent's */
    uint32_t references;
    bool owned;                   /* a living thread uses the cache; guarded by the list's lock */
    pthread_mutex_t lock;         /* guards the members below, and `out` of the cache's events */
    struct cached_event *kept[2]; /* events not in use: without timing, with timing */
    bool gone;                    /* the context was destroyed */
};

static struct {
    pthread_mutex_t lock;
    struct event_cache *first; /* list of all caches whose context exists */
    uint32_t generation;
} caches = {.lock = PTHREAD_MUTEX_INITIALIZER};

static __thread struct event_cache *mine;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static struct thread_key at_thread_end;

/* --- caches --- */

static void release(struct event_cache *cache)
{
    if (__atomic_sub_fetch(&cache->references, 1, __ATOMIC_ACQ_REL) != 0)
        return;
    pthread_mutex_destroy(&cache->lock);
    free(cache);
}

static void thread_ended(void *unused)
{
    (void)unused;
    while (mine && !fork_unannounced()) {
        struct event_cache *cache = mine;
        mine = cache->next_of_thread;
        pthread_mutex_lock(&caches.lock);
        cache->owned = false;
        pthread_mutex_unlock(&caches.lock);
        release(cache);
    }
}

/* Frees the kept events of a cache whose context is destroyed. */
static void empty(struct event_cache *cache)
{
    pthread_mutex_lock(&cache->lock);
    __atomic_store_n(&cache->gone, true, __ATOMIC_RELAXED); /* also read without the lock */
    struct cached_event *kept[] = {cache->kept[0], cache->kept[1]};
    cache->kept[0] = cache->kept[1] = NULL;
    pthread_mutex_unlock(&cache->lock);
    for (unsigned timing = 0; timing < 2; timing++) {
        for (struct cached_event *event = kept[timing], *next; event; event = next) {
            next = event->next;
            free(event);
        }
    }
}

static void context_goes(void *unused, const struct gputrace_context_deletion *context)
{
    (void)unused;
    struct event_cache *gone = NULL;
    pthread_mutex_lock(&caches.lock);
    for (struct event_cache **at = &caches.first; *at;) {
        struct event_cache *cache = *at;
        if (cache->context != context->call.context) {
            at = &cache->next;
            continue;
        }
        *at = cache->next;
        cache->next = gone;
        gone = cache;
    }
    pthread_mutex_unlock(&caches.lock);
    while (gone) {
        struct event_cache *cache = gone;
        gone = cache->next;
        empty(cache);
        release(cache);
    }
}

static void prepare(void)
{
    registry_context_deletion_register(context_goes, NULL);
}

/* Returns a cache for CONTEXT that no other thread uses, or NULL if there is no memory. */
static struct event_cache *own(struct CUctx_st *context)
{
    pthread_once(&once, prepare);
    pthread_mutex_lock(&caches.lock);
    struct event_cache *cache = caches.first;
    while (cache && (cache->context != context || cache->owned))
        cache = cache->next;
    if (!cache && (cache = calloc(1, sizeof(*cache)))) {
        cache->context = context;
        cache->generation = caches.generation;
        cache->references = 1; /* the list's reference */
        pthread_mutex_init(&cache->lock, NULL);
        cache->next = caches.first;
        caches.first = cache;
    }
    if (cache) {
        cache->owned = true;
        __atomic_add_fetch(&cache->references, 1, __ATOMIC_RELAXED);
    }
    pthread_mutex_unlock(&caches.lock);
    if (!cache)
        return NULL;
    cache->next_of_thread = mine;
    mine = cache;
    thread_key_set(&at_thread_end, thread_ended);
    return cache;
}

/* Returns this thread's cache for CONTEXT, which is created or taken over if there is none, or NULL without memory.
 * Forgets caches whose context is gone. */
static struct event_cache *cache_of_thread(struct CUctx_st *context)
{
    for (struct event_cache **at = &mine; *at;) {
        struct event_cache *cache = *at;
        if (__atomic_load_n(&cache->gone, __ATOMIC_RELAXED)) {
            *at = cache->next_of_thread;
            release(cache);
        } else if (cache->context == context) {
            return cache;
        } else {
            at = &cache->next_of_thread;
        }
    }
    return own(context);
}

/* --- CUDA --- */

/* Creates an event in CONTEXT. The capture mode is relaxed meanwhile, so that no capture breaks. */
static CUevent create(CUcontext context, bool timing)
{
    const struct driver *driver = driver_functions();
    struct tracing_suppressed suppressed;
    CUcontext current = NULL, popped;
    CUevent event = NULL;
    if (!driver || !tracing_suppress(&suppressed))
        return NULL;
    bool is_current = driver->cuCtxGetCurrent(&current) == CUDA_SUCCESS && current == context;
    if (is_current || driver->cuCtxPushCurrent_v2(context) == CUDA_SUCCESS) {
        CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
        bool relaxed = driver->cuThreadExchangeStreamCaptureMode(&mode) == CUDA_SUCCESS;
        if (driver->cuEventCreate(&event, timing ? CU_EVENT_DEFAULT : CU_EVENT_DISABLE_TIMING) != CUDA_SUCCESS)
            event = NULL;
        if (relaxed)
            driver->cuThreadExchangeStreamCaptureMode(&mode);
        if (!is_current)
            driver->cuCtxPopCurrent_v2(&popped);
    }
    tracing_resume(&suppressed);
    return event;
}

/* --- events --- */

static struct cached_event *make_event(struct event_cache *cache, bool timing)
{
    struct cached_event *event = malloc(sizeof(*event));
    CUevent made = event ? create(cache->context, timing) : NULL;
    if (!made) {
        free(event);
        return NULL;
    }
    *event = (struct cached_event){.given = {made}, .home = cache, .timing = timing, .out = true};
    return event;
}

const struct gputrace_cached_event *event_cache_get(struct CUctx_st *context, bool timing)
{
    if (fork_unannounced())
        return NULL;
    if (!context)
        context = current_context();
    struct event_cache *cache = context ? cache_of_thread(context) : NULL;
    if (!cache)
        return NULL;
    pthread_mutex_lock(&cache->lock);
    struct cached_event *event = cache->kept[timing];
    if (event) {
        cache->kept[timing] = event->next;
        event->out = true;
    }
    pthread_mutex_unlock(&cache->lock);
    if (!event)
        event = make_event(cache, timing);
    if (!event)
        return NULL;
    __atomic_add_fetch(&cache->references, 1, __ATOMIC_RELAXED);
    return &event->given;
}

void event_cache_return(const struct gputrace_cached_event *given)
{
    struct cached_event *event = (struct cached_event *)(uintptr_t)given;
    if (!event || fork_unannounced() ||
        event->home->generation != __atomic_load_n(&caches.generation, __ATOMIC_RELAXED))
        return;
    struct event_cache *cache = event->home;
    pthread_mutex_lock(&cache->lock);
    bool was_out = event->out, keep = !cache->gone;
    event->out = false;
    if (was_out && keep) {
        event->next = cache->kept[event->timing];
        cache->kept[event->timing] = event;
    }
    pthread_mutex_unlock(&cache->lock);
    if (!was_out)
        return;
    if (!keep)
        free(event);
    release(cache);
}

void event_cache_atfork_child(void)
{
    pthread_mutex_init(&caches.lock, NULL);
    caches.first = NULL;
    mine = NULL;
    caches.generation++;
}
