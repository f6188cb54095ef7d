#include "agent/spool/recorder.h"

#include <stdarg.h>
#include <stdio.h>

#include "common/clock.h"
#include "common/log.h"
#include "agent/spool/record_cuda.h"
#include "agent/spool/record_nvtx.h"
#include "agent/spool/record_nvtx_extensions.h"
#include "agent/spool/record_sync.h"
#include "agent/spool/record_text.h"
#include "agent/dispatch/registry.h"
#include "common/settings.h"

bool recorder_on;

static void record_pointer_name(void *data, const struct gputrace_pointer_name *name)
{
    (void)data;
    struct spool_pointer_name *record;
    if (!record_begin_text(record, SPOOL_RECORD_POINTER_NAME, name->since, name->text))
        return;
    record->pointer = (uint64_t)(uintptr_t)name->pointer;
    writer_commit(&record->head);
}

static void record_launch_name(void *data, const struct gputrace_launch_name *name)
{
    (void)data;
    struct spool_launch_name *record;
    struct gputrace_text kept = {name->text.bytes, record_text_kept(name->text.length)}; /* the pointer's is counted */
    if (!record_begin_text(record, SPOOL_RECORD_LAUNCH_NAME, clock_now(), kept))
        return;
    record->correlation = name->correlation;
    writer_commit(&record->head);
}

static void record_function_name(void *data, const struct gputrace_function_name *name)
{
    (void)data;
    struct spool_function_name *record;
    struct gputrace_text kept = {name->text.bytes, record_text_kept(name->text.length)}; /* the pointer's is counted */
    if (!record_begin_text(record, SPOOL_RECORD_FUNCTION_NAME, clock_now(), kept))
        return;
    record->function = (uint64_t)(uintptr_t)name->function;
    writer_commit(&record->head);
}

static void record_graph_node(void *data, const struct gputrace_graph_node *node)
{
    (void)data;
    struct spool_graph_node *record = writer_begin(SPOOL_RECORD_GRAPH_NODE, sizeof(*record), clock_now());
    if (!record)
        return;
    record->node = node->node;
    record->original = node->original;
    record->function = (uint64_t)(uintptr_t)node->function;
    record->correlation = node->correlation;
    writer_commit(&record->head);
}

static void record_conditional_launch(void *data, const struct gputrace_conditional_launch *launch)
{
    (void)data;
    struct spool_graph_launch *record = writer_begin(SPOOL_RECORD_GRAPH_LAUNCH, sizeof(*record), launch->start);
    if (!record)
        return;
    record->graph = launch->graph;
    record->correlation = launch->correlation;
    writer_commit(&record->head);
}

int recorder_subscribe_graph_nodes(void)
{
    return registry_function_name_register(record_function_name, NULL) |
           registry_graph_node_register(record_graph_node, NULL) |
           registry_conditional_launch_register(record_conditional_launch, NULL);
}

int recorder_subscribe(uint64_t trace_bits)
{
    int failed = registry_pointer_name_register(record_pointer_name, NULL);
    failed |= record_cuda_subscribe(trace_bits);
    if ((trace_bits & TRACE_SYNC) && !(trace_bits & TRACE_EVENT_TIMES)) /* else CUPTI does: activity_kinds.c */
        failed |= record_sync_subscribe();
    if (trace_bits & TRACE_KERNEL)
        failed |= registry_launch_name_register(record_launch_name, NULL);
    if (trace_bits & TRACE_NVTX)
        failed |= record_nvtx_subscribe() | record_nvtx_extensions_subscribe();
    return failed;
}

void recorder_switch(bool on, uint64_t time, const char *reason)
{
    __atomic_store_n(&recorder_on, on, __ATOMIC_RELAXED);
    struct spool_capture *record;
    if (!record_begin_text(record, SPOOL_RECORD_CAPTURE, time, text_of(reason)))
        return;
    record->head.flags = on;
    writer_commit(&record->head);
}

void recorder_seen(uint16_t what, struct gputrace_text text)
{
    struct spool_seen *record;
    if (!record_begin_text(record, SPOOL_RECORD_SEEN, clock_now(), text))
        return;
    record->head.flags = what;
    writer_commit(&record->head);
}

#define NOTE_BYTES 1024

static void put_note(uint16_t flags, const char *words)
{
    struct spool_note *record;
    if (!record_begin_text(record, SPOOL_RECORD_NOTE, clock_now(), text_of(words)))
        return;
    record->head.flags = flags;
    writer_commit(&record->head);
}

void recorder_note(uint16_t flags, const char *format, ...)
{
    char words[NOTE_BYTES];
    va_list args;
    va_start(args, format);
    vsnprintf(words, sizeof(words), format, args);
    va_end(args);
    put_note(flags, words);
}

void recorder_warn(const char *format, ...)
{
    char words[NOTE_BYTES];
    va_list args;
    va_start(args, format);
    vsnprintf(words, sizeof(words), format, args);
    va_end(args);
    put_note(warning("%s", words) ? SPOOL_NOTE_WARNED : SPOOL_NOTE_WARNING, words);
}
