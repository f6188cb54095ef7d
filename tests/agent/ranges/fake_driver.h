/*
 * A driver for the module `ranges` that makes events out of nothing and says what was asked of it. Threads have a
 * current context each, as with the real one.
 *
 * Stream 0xSCNN belongs to context 0xC000: fake_stream(). Streams 0, 1 and 2 belong to whatever is current.
 */
#ifndef TESTS_AGENT_RANGES_FAKE_DRIVER_H
#define TESTS_AGENT_RANGES_FAKE_DRIVER_H

#include <stdbool.h>

#include "agent/cupti/cupti_library.h"
#include "agent/ranges/device_ranges.h"

#define FAKE_CONTEXT_A ((CUcontext)0xa000)
#define FAKE_CONTEXT_B ((CUcontext)0xb000)

static inline CUstream fake_stream(CUcontext context, unsigned number)
{
    return (CUstream)((uintptr_t)context + 0x100 + number);
}

/* What it was asked, by all threads. */
extern struct fake_driver_asked {
    unsigned created, records, contexts, captures;
    unsigned wrong; /* an event that was made in, or recorded in a stream of, another context than its own */
} fake_driver_asked;

/* What it answers. */
extern struct fake_driver_says {
    CUresult create, record, capture;
    CUstream captured; /* is being captured */
} fake_driver_says;

extern const struct driver fake_driver;

/* Puts it in CUDA's place with the thread in CONTEXT (NULL: none); nothing was asked yet, and all goes well. */
void fake_driver_start(CUcontext context);
void fake_driver_enter(CUcontext context);
CUcontext fake_driver_current(void);

/* What an event is: whether it was made with timing, and in which context. */
bool fake_event_timing(CUevent event);
CUcontext fake_event_context(CUevent event);
/* Where it was recorded last. */
CUstream fake_event_stream(CUevent event);
/* The capture mode under which it was made. */
CUstreamCaptureMode fake_event_mode(CUevent event);

#endif
