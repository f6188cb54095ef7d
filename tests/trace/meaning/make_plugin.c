#include "tests/trace/meaning/make_plugin.h"

#include <stdio.h>
#include <string.h>

#include <cupti_activity.h>

#define SPACE(structure) sizeof(((struct structure *)0)->text)

static struct spool_phase *put_phase(struct make_spool *spool, struct make_phase phase, uint16_t flags)
{
    size_t length = phase.function ? strlen(phase.function) : 0;
    struct spool_phase *record =
        make_own(spool, SPOOL_RECORD_PHASE, phase.time, sizeof(*record), SPACE(spool_phase), phase.function, length);
    record->head.flags = flags;
    record->phase = phase.phase;
    record->trigger = phase.trigger;
    record->thread = phase.thread;
    record->correlation = phase.correlation;
    record->length = (uint32_t)length;
    return record;
}

void make_phase_start(struct make_spool *spool, struct make_phase phase)
{
    put_phase(spool, phase, SPOOL_PHASE_STARTED);
}

void make_phase_end(struct make_spool *spool, struct make_phase phase)
{
    struct spool_phase *record = put_phase(spool, phase, SPOOL_PHASE_ENDED);
    record->ending = phase.ending;
    record->result = phase.result;
}

void make_jit(struct make_spool *spool, struct make_jit jit)
{
    CUpti_ActivityJit2 record = {
        .kind = CUPTI_ACTIVITY_KIND_JIT,
        .jitEntryType = (CUpti_ActivityJitEntryType)jit.entry,
        .jitOperationType = (CUpti_ActivityJitOperationType)jit.operation,
        .start = jit.start ? MAKE_SPOOL_START + jit.start : 0,
        .end = jit.end ? MAKE_SPOOL_START + jit.end : 0,
        .correlationId = jit.correlation,
        .jitOperationCorrelationId = jit.group,
        .cacheSize = jit.cache_bytes,
        .processId = make_spool_header(spool)->pid,
        .threadId = jit.thread,
    };
    make_cupti(spool, record.kind, &record, sizeof(record));
}

void make_plugin(struct make_spool *spool, uint32_t plugin, const char *name)
{
    struct spool_plugin *record =
        make_own(spool, SPOOL_RECORD_PLUGIN, 0, sizeof(*record), SPACE(spool_plugin), name, strlen(name));
    record->plugin = plugin;
    record->length = (uint32_t)strlen(name);
}

void make_plugin_time(struct make_spool *spool, uint64_t time, uint32_t plugin, uint64_t calls, uint64_t ns)
{
    struct spool_plugin_time *record = make_own(spool, SPOOL_RECORD_PLUGIN_TIME, time, sizeof(*record), 0, NULL, 0);
    record->plugin = plugin;
    record->calls = calls;
    record->ns = ns;
}

void make_plugin_window(struct make_spool *spool, uint64_t start, uint64_t end)
{
    struct spool_plugin_window *record =
        make_own(spool, SPOOL_RECORD_PLUGIN_WINDOW, start, sizeof(*record), 0, NULL, 0);
    record->end = MAKE_SPOOL_START + end;
}

void make_plugin_event(struct make_spool *spool, struct make_plugin_event event)
{
    char text[512];
    int length = snprintf(text, sizeof(text), "%s%s", event.name, event.detail ? event.detail : "");
    struct spool_plugin_event *record = make_own(spool, SPOOL_RECORD_PLUGIN_EVENT, event.time, sizeof(*record),
                                                 SPACE(spool_plugin_event), text, (size_t)length);
    record->head.flags = event.what;
    record->end = event.end ? MAKE_SPOOL_START + event.end : 0;
    record->value = event.value;
    record->plugin = event.plugin;
    record->thread = event.thread;
    record->name_length = (uint32_t)strlen(event.name);
    record->length = (uint32_t)length;
}

void make_plugin_line(struct make_spool *spool, uint64_t time, uint32_t plugin, uint32_t stack, const char *text)
{
    struct spool_plugin_line *record =
        make_own(spool, SPOOL_RECORD_PLUGIN_LINE, time, sizeof(*record), SPACE(spool_plugin_line), text, strlen(text));
    record->plugin = plugin;
    record->stack = stack;
    record->length = (uint32_t)strlen(text);
}

void make_stack(struct make_spool *spool, uint32_t stack, const uint64_t *addresses, size_t count)
{
    struct spool_stack *record = make_own(spool, SPOOL_RECORD_STACK, 0, sizeof(*record), SPACE(spool_stack), addresses,
                                          count * sizeof(*addresses));
    record->stack = stack;
    record->length = (uint32_t)(count * sizeof(*addresses));
}

void make_python_frame(struct make_spool *spool, uint64_t number, uint32_t line, const char *function, const char *file)
{
    static char text[1 << 14];
    size_t length = (size_t)snprintf(text, sizeof(text), "%s%c%s", function, '\0', file);
    struct spool_python_frame *record =
        make_own(spool, SPOOL_RECORD_PYTHON_FRAME, 0, sizeof(*record), SPACE(spool_python_frame), text, length);
    record->number = number;
    record->line = line;
    record->length = (uint32_t)length;
}

void make_mapping(struct make_spool *spool, const char *line)
{
    struct spool_mapping *record =
        make_own(spool, SPOOL_RECORD_MAPPING, 0, sizeof(*record), SPACE(spool_mapping), line, strlen(line));
    record->length = (uint32_t)strlen(line);
}
