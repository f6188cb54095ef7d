#include "analysis/memory_uses.h"

#include <string.h>

#include "analysis/heap.h"

#define COUNTER_PREFIX "Memory in use: "

/* Counters need not come in order of time. */
static void level(struct memory_use *use, int64_t bytes, int64_t time)
{
    if (!use->counted || bytes > use->peak || (bytes == use->peak && time < use->peak_at)) {
        use->peak = bytes;
        use->peak_at = time;
    }
    if (!use->counted || time >= use->end_at) {
        use->end = bytes;
        use->end_at = time;
    }
    use->counted = true;
}

const char *memory_counted_kind(const char *name)
{
    if (strncmp(name, COUNTER_PREFIX, strlen(COUNTER_PREFIX)) == 0)
        return name + strlen(COUNTER_PREFIX);
    return strcmp(name, "Pool reserved") == 0 || strcmp(name, "Pool used") == 0 ? name : NULL;
}

static int counter(struct memory_uses *uses, const struct trace *trace, const struct trace_event *event)
{
    if (event->name == EVENT_NO_TEXT || event->bytes == EVENT_NONE)
        return 0;
    if (!memory_counted_kind(interned(&trace->strings, event->name)))
        return 0;
    struct memory_key key = {MEMORY_COUNTER, event->name, EVENT_NONE, event->process};
    struct memory_use *use = groups_item(&uses->groups, &key, &uses->items);
    if (use)
        level(use, event->bytes, event->start);
    return use ? 0 : -1;
}

static void step(struct memory_use *use, bool allocation, bool failed)
{
    use->stepped = true;
    use->allocations += allocation && !failed;
    use->releases += !allocation && !failed;
    use->failures += failed;
}

/* CUDA may have refused the release, or done it. */
static void fault(struct memory_use *use, const char *what)
{
    use->stepped = true;
    if (strcmp(what, "double free") == 0)
        use->doubles++;
    else
        use->unknown++;
}

static int instant(struct memory_uses *uses, const struct trace *trace, const struct trace_event *event)
{
    struct memory_key key = {MEMORY_INSTANT, event->memory_kind, event->device, event->process};
    struct memory_use *use = groups_item(&uses->groups, &key, &uses->items);
    const char *name = event->name == EVENT_NO_TEXT ? "" : interned(&trace->strings, event->name);
    if (!use)
        return -1;
    bool failed = event->return_value != EVENT_NONE && event->return_value != 0;
    bool allocation = strncmp(name, "Allocat", strlen("Allocat")) == 0;
    if (event->fault != EVENT_NO_TEXT)
        fault(use, interned(&trace->strings, event->fault));
    else
        step(use, allocation, failed);
    /* A size that is not told is not known either: so it was before faults were told. */
    use->unknown += event->fault == EVENT_NO_TEXT && !allocation && !failed && event->bytes == EVENT_NONE;
    return 0;
}

/* What it keeps from CUDA. Of the host it does not tell. */
static int pytorch_reserved(struct memory_uses *uses, const struct trace_event *event)
{
    if (event->total_reserved == EVENT_NONE || event->device_type == HEAP_PYTORCH_CPU)
        return 0;
    struct memory_key key = {MEMORY_PYTORCH_RESERVED, (uint64_t)event->device_type, event->device, event->process};
    struct memory_use *use = groups_item(&uses->groups, &key, &uses->items);
    if (use)
        level(use, event->total_reserved, event->start);
    return use ? 0 : -1;
}

static int pytorch(struct memory_uses *uses, const struct trace *trace, const struct trace_event *event)
{
    if (!heap_is_pytorch(&trace->strings, event))
        return 0;
    struct memory_key key = {MEMORY_PYTORCH, (uint64_t)event->device_type, event->device, event->process};
    struct memory_use *use = groups_item(&uses->groups, &key, &uses->items);
    if (!use)
        return -1;
    bool failed = event->address == EVENT_NONE;     /* out of memory: there is none */
    step(use, failed || event->bytes >= 0, failed); /* a release has its bytes negative */
    if (event->total_allocated != EVENT_NONE)
        level(use, event->total_allocated, event->start);
    return pytorch_reserved(uses, event);
}

int memory_uses_event(struct memory_uses *uses, const struct trace *trace, const struct trace_event *event)
{
    if (event->phase == 'C')
        return counter(uses, trace, event);
    if (event->phase != 'i' && event->phase != 'I')
        return 0;
    if (event->category == EVENT_MEMORY)
        return instant(uses, trace, event);
    return event->category == EVENT_CPU_INSTANT ? pytorch(uses, trace, event) : 0;
}

void memory_uses_release(struct memory_uses *uses)
{
    array_release(&uses->items);
    groups_release(&uses->groups);
}
