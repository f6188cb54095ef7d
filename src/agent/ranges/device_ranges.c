/*
 * Starts and ends device ranges: records a CUDA event of the cache in the program's stream and writes a record with
 * its correlation id. Where the GPU's times cannot be had, the user reads why, once for each cause.
 */
#include "agent/ranges/device_ranges.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "agent/cupti/activity_kinds.h"
#include "agent/cupti/callback_switches.h"
#include "agent/cupti/cupti_ids.h"
#include "agent/cupti/cupti_library.h"
#include "agent/dispatch/registry.h"
#include "agent/spool/recorder.h"

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
    uint64_t last; /* range */
    bool times_on; /* CUPTI records events with the GPU's times */
    bool reported[REFUSAL_COUNT];
} ranges;

/* Records why a range was refused, once for each cause; the user reads it at the end of the run. */
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

/* Puts a marker into STREAM. */
static enum refusal put_marker(const struct driver *driver, CUstream stream, uint32_t *correlation)
{
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    CUcontext context = NULL;
    CUresult result = driver->cuStreamIsCapturing(stream, &status);
    if (result == CUDA_ERROR_STREAM_CAPTURE_IMPLICIT || status != CU_STREAM_CAPTURE_STATUS_NONE)
        return REFUSED_CAPTURED;
    if (result != CUDA_SUCCESS || driver->cuStreamGetCtx(stream, &context) != CUDA_SUCCESS || !context)
        return REFUSED_NO_CONTEXT;
    const struct gputrace_cached_event *event = event_cache_take(context, false);
    if (!event)
        return REFUSED_NO_EVENT;
    event_watch_begin();
    result = driver->cuEventRecord(event->event, stream);
    *correlation = event_watch_end(); /* that CUPTI's record of it has */
    event_cache_give_back(event);     /* the records stay in the stream */
    if (result != CUDA_SUCCESS)
        return REFUSED_NOT_RECORDED;
    return *correlation ? ACCEPTED : REFUSED_UNSEEN;
}

/* One end of RANGE (0: of a new one). Returns its number, or 0. What is recorded without the GPU's time is counted by
 * the reader. */
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
