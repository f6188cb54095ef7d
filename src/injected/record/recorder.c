#include "injected/record/recorder.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/clock.h"
#include "injected/record/record_cuda.h"
#include "injected/record/record_nvtx.h"
#include "injected/record/record_nvtx_extensions.h"
#include "injected/record/record_text.h"
#include "injected/registry/registry.h"
#include "wire/settings.h"

static bool recording;

bool recorder_is_on(void)
{
    return __atomic_load_n(&recording, __ATOMIC_RELAXED);
}

static void record_pointer_name(void *data, const struct gputrace_pointer_name *name)
{
    (void)data;
    struct spool_pointer_name *record;
    if (!record_begin_text(record, SPOOL_RECORD_POINTER_NAME, clock_now(), name->text))
        return;
    record->pointer = (uint64_t)(uintptr_t)name->pointer;
    writer_commit(&record->head);
}

int recorder_subscribe(uint64_t trace_bits)
{
    int failed = registry_pointer_name_register(record_pointer_name, NULL);
    failed |= record_cuda_subscribe(trace_bits);
    if (trace_bits & TRACE_NVTX)
        failed |= record_nvtx_subscribe() | record_nvtx_extensions_subscribe();
    return failed;
}

void recorder_switch(bool on, uint64_t time, const char *reason)
{
    __atomic_store_n(&recording, on, __ATOMIC_RELAXED);
    struct spool_capture *record;
    if (!record_begin_text(record, SPOOL_RECORD_CAPTURE, time, record_text_of(reason)))
        return;
    record->head.flags = on;
    writer_commit(&record->head);
}

void recorder_note(uint16_t flags, const char *format, ...)
{
    char words[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(words, sizeof(words), format, args);
    va_end(args);
    struct spool_note *record;
    if (!record_begin_text(record, SPOOL_RECORD_NOTE, clock_now(), record_text_of(words)))
        return;
    record->head.flags = flags;
    writer_commit(&record->head);
}
