#include "injected/record/recorder.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "injected/record/spool_file.h"
#include "injected/record/writer.h"
#include "injected/registry/registry.h"
#include "wire/settings.h"

static bool recording;

/* Begins a record of STRUCTURE that ends with TEXT; sets its length and copies it. */
#define begin_with_text(record, type, time, message)                                                        \
    (((record) = begin_text((type), (time), sizeof(*(record)), sizeof((record)->text), &(message)))         \
         ? ((record)->length = cut((message).length),                                                       \
            (void)((record)->length ? memcpy((record)->text, (message).bytes, (record)->length) : NULL), 1) \
         : 0)

static uint32_t cut(uint32_t length)
{
    return length < WRITER_TEXT_MAX ? length : WRITER_TEXT_MAX;
}

static void *begin_text(enum spool_record_type type, uint64_t time, size_t size, size_t room, const struct text *text)
{
    if (text->length > WRITER_TEXT_MAX)
        __atomic_add_fetch(&spool_file_header()->losses.cut_texts, 1, __ATOMIC_RELAXED);
    return writer_begin(type, spool_record_bytes((uint32_t)size, (uint32_t)room, cut(text->length)), time);
}

static void record_memory(void *data, const struct memory_event *event)
{
    (void)data;
    struct spool_memory *record = writer_begin(SPOOL_RECORD_MEMORY, sizeof(*record), event->time);
    if (!record)
        return;
    record->address = event->address;
    record->size = event->size;
    record->pool = event->pool;
    record->device = event->device;
    record->context = event->context;
    record->stream = event->stream;
    record->correlation = event->correlation;
    record->thread = writer_thread();
    record->result = event->result;
    record->operation = (uint16_t)event->operation;
    record->kind = (uint16_t)event->kind;
    writer_commit(&record->head);
}

static void record_context(void *data, const struct context_event *event)
{
    (void)data;
    struct spool_context *record = writer_begin(SPOOL_RECORD_CONTEXT, sizeof(*record), event->time);
    if (!record)
        return;
    record->head.flags = event->destroyed ? SPOOL_DESTROYED : SPOOL_CREATED;
    record->handle = event->handle;
    record->context = event->context;
    record->device = event->device;
    writer_commit(&record->head);
}

static void record_stream(void *data, const struct stream_event *event)
{
    (void)data;
    struct spool_stream *record = writer_begin(SPOOL_RECORD_STREAM, sizeof(*record), event->time);
    if (!record)
        return;
    record->head.flags = event->destroyed ? SPOOL_DESTROYED : SPOOL_CREATED;
    record->handle = event->handle;
    record->context = event->context;
    record->stream = event->stream;
    record->stream_flags = event->stream_flags;
    record->priority = event->priority;
    writer_commit(&record->head);
}

static void record_nvtx(void *data, const struct nvtx_event *event)
{
    (void)data;
    if (!__atomic_load_n(&recording, __ATOMIC_RELAXED))
        return;
    struct text message = event->string ? (struct text){0} : event->message;
    struct spool_nvtx_event *record;
    if (!begin_with_text(record, SPOOL_RECORD_NVTX_EVENT, event->time, message))
        return;
    record->head.flags = (uint16_t)event->what;
    record->range = event->range;
    record->payload = event->payload;
    record->domain = event->domain;
    record->category = event->category;
    record->color = event->color;
    record->color_type = event->color_type;
    record->payload_type = event->payload_type;
    record->string = event->string;
    writer_commit(&record->head);
}

static void record_domain(const struct nvtx_name_event *event)
{
    struct spool_nvtx_domain *record;
    if (!begin_with_text(record, SPOOL_RECORD_NVTX_DOMAIN, clock_now(), event->text))
        return;
    record->domain = event->domain;
    writer_commit(&record->head);
}

static void record_string(const struct nvtx_name_event *event)
{
    struct spool_nvtx_string *record;
    if (!begin_with_text(record, SPOOL_RECORD_NVTX_STRING, clock_now(), event->text))
        return;
    record->domain = event->domain;
    record->string = event->number;
    writer_commit(&record->head);
}

static void record_category(const struct nvtx_name_event *event)
{
    struct spool_nvtx_category *record;
    if (!begin_with_text(record, SPOOL_RECORD_NVTX_CATEGORY, clock_now(), event->text))
        return;
    record->domain = event->domain;
    record->category = event->number;
    writer_commit(&record->head);
}

static void record_thread(const struct nvtx_name_event *event)
{
    struct spool_thread_name *record;
    if (!begin_with_text(record, SPOOL_RECORD_THREAD_NAME, clock_now(), event->text))
        return;
    record->head.flags = SPOOL_THREAD_NAME_NVTX;
    record->thread = event->number;
    writer_commit(&record->head);
}

static void record_object(const struct nvtx_name_event *event)
{
    struct spool_nvtx_name *record;
    if (!begin_with_text(record, SPOOL_RECORD_NVTX_NAME, clock_now(), event->text))
        return;
    record->object = event->object;
    record->what = event->what;
    record->stream = event->stream;
    writer_commit(&record->head);
}

static void record_nvtx_name(void *data, const struct nvtx_name_event *event)
{
    (void)data;
    static void (*const record[])(const struct nvtx_name_event *) = {
        [NVTX_NAMED_DOMAIN] = record_domain,     [NVTX_NAMED_STRING] = record_string,
        [NVTX_NAMED_CATEGORY] = record_category, [NVTX_NAMED_THREAD] = record_thread,
        [NVTX_NAMED_OBJECT] = record_object,
    };
    record[event->named](event);
}

static void record_pointer_name(void *data, const struct pointer_name_event *event)
{
    (void)data;
    struct spool_pointer_name *record;
    if (!begin_with_text(record, SPOOL_RECORD_POINTER_NAME, clock_now(), event->text))
        return;
    record->pointer = (uint64_t)(uintptr_t)event->pointer;
    writer_commit(&record->head);
}

int recorder_subscribe(uint64_t trace_bits)
{
    int failed = registry_pointer_name_register(record_pointer_name, NULL);
    if (trace_bits & TRACE_MEMORY)
        failed |= registry_memory_register(record_memory, NULL);
    if (trace_bits & (TRACE_STREAM | TRACE_MEMORY))
        failed |= registry_context_register(record_context, NULL);
    if (trace_bits & TRACE_STREAM)
        failed |= registry_stream_register(record_stream, NULL);
    if (trace_bits & TRACE_NVTX)
        failed |= registry_nvtx_register(record_nvtx, NULL) | registry_nvtx_name_register(record_nvtx_name, NULL);
    return failed;
}

void recorder_switch(bool on, const char *reason)
{
    __atomic_store_n(&recording, on, __ATOMIC_RELAXED);
    struct text text = {reason, (uint32_t)strlen(reason)};
    struct spool_capture *record;
    if (!begin_with_text(record, SPOOL_RECORD_CAPTURE, clock_now(), text))
        return;
    record->head.flags = on;
    writer_commit(&record->head);
}

void recorder_note(uint16_t flags, const char *format, ...)
{
    char words[1024];
    va_list args;
    va_start(args, format);
    int length = vsnprintf(words, sizeof(words), format, args);
    va_end(args);
    struct text text = {words, (uint32_t)(length < 0 ? 0 : length)};
    if (text.length >= sizeof(words))
        text.length = sizeof(words) - 1;
    struct spool_note *record;
    if (!begin_with_text(record, SPOOL_RECORD_NOTE, clock_now(), text))
        return;
    record->head.flags = flags;
    writer_commit(&record->head);
}
