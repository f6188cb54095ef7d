/* Instants, ours and PyTorch's, to what they tell of the heap. */
#include <stdlib.h>
#include <string.h>

#include "analysis/heap.h"

#define PYTORCH_MEMORY "[memory]"
#define PYTORCH_FAILURE "[OutOfMemory]"

/* --- gputrace's instants --- */

static int fail(struct heap *heap, const struct trace_event *event, const struct heap_failure *told)
{
    struct heap_failure *failure = array_push(&heap->failures);
    if (!failure)
        return -1;
    *failure = *told;
    failure->time = event->start;
    failure->bytes = event->bytes;
    failure->process = event->process;
    failure->device = event->device < 0 ? EVENT_NONE : event->device;
    return 0;
}

static bool starts_with(const struct heap *heap, uint32_t text, const char *start)
{
    return text != EVENT_NO_TEXT && strncmp(interned(heap->strings, text), start, strlen(start)) == 0;
}

static bool is_size(int64_t bytes)
{
    return bytes >= 0 && bytes <= HEAP_SIZE_MAX;
}

static int own_event(struct heap *heap, const struct trace_event *event)
{
    bool failed = event->return_value != EVENT_NONE && event->return_value != 0;
    bool allocation = starts_with(heap, event->name, "Allocat");
    struct heap_group_id id = {.source = HEAP_OF_GPUTRACE,
                               .process = event->process,
                               .device = event->device < 0 ? EVENT_NONE : event->device,
                               .kind = event->memory_kind,
                               .size = event->bytes,
                               .stack = event->stack};
    if (allocation && failed)
        return fail(heap, event,
                    &(struct heap_failure){.source = id.source,
                                           .kind = id.kind,
                                           .held = event->held,
                                           .held_by_kind = event->held_by_kind,
                                           .result = event->return_value,
                                           .stack = event->stack});
    struct heap_space *space = heap_space_at(heap, HEAP_OF_GPUTRACE, event->process, event->start);
    if (!space)
        return -1;
    if (failed || event->address == EVENT_NONE)
        return 0;
    if (allocation)
        return is_size(event->bytes) ? heap_allocate(heap, space, &id, (uint64_t)event->address, event->start) : 0;
    heap_give_back(heap, space, (uint64_t)event->address, event->start);
    return 0;
}

/* --- PyTorch's --- */

static int pytorch_event(struct heap *heap, const struct trace_event *event)
{
    if (starts_with(heap, event->name, PYTORCH_FAILURE))
        return fail(heap, event,
                    &(struct heap_failure){.source = HEAP_OF_PYTORCH,
                                           .kind = (uint64_t)event->device_type,
                                           .held = event->total_allocated,
                                           .held_by_kind = EVENT_NO_TEXT,
                                           .result = EVENT_NONE,
                                           .stack = EVENT_NONE});
    if (event->address == EVENT_NONE || event->bytes == EVENT_NONE)
        return 0;
    struct heap_step *step = array_push(&heap->steps);
    if (!step)
        return -1;
    *step = (struct heap_step){.time = event->start,
                               .bytes = event->bytes,
                               .device = event->device < 0 ? EVENT_NONE : event->device,
                               .type = event->device_type,
                               .address = (uint64_t)event->address,
                               .process = event->process,
                               .order = heap->steps.count};
    return 0;
}

static int by_time(const void *a, const void *b)
{
    const struct heap_step *left = a, *right = b;
    if (left->time != right->time)
        return left->time < right->time ? -1 : 1;
    return left->order < right->order ? -1 : left->order > right->order;
}

static int apply_step(struct heap *heap, const struct heap_step *step)
{
    struct heap_space *space = heap_space_at(heap, HEAP_OF_PYTORCH, step->process, step->time);
    struct heap_group_id id = {.source = HEAP_OF_PYTORCH,
                               .process = step->process,
                               .device = step->device,
                               .kind = (uint64_t)step->type,
                               .size = step->bytes,
                               .stack = EVENT_NONE};
    if (!space)
        return -1;
    if (step->bytes > 0)
        return is_size(step->bytes) ? heap_allocate(heap, space, &id, step->address, step->time) : 0;
    heap_give_back(heap, space, step->address, step->time);
    return 0;
}

bool heap_is_pytorch(const struct interner *strings, const struct trace_event *event)
{
    if (event->category != EVENT_CPU_INSTANT || event->name == EVENT_NO_TEXT)
        return false;
    const char *name = interned(strings, event->name);
    return strcmp(name, PYTORCH_MEMORY) == 0 || strcmp(name, PYTORCH_FAILURE) == 0;
}

/* --- */

int heap_event(struct heap *heap, const struct trace_event *event)
{
    if (event->category == EVENT_MEMORY)
        return own_event(heap, event);
    return heap_is_pytorch(heap->strings, event) ? pytorch_event(heap, event) : 0;
}

static int by_failure(const void *a, const void *b)
{
    const struct heap_failure *left = a, *right = b;
    return left->time < right->time ? -1 : left->time > right->time;
}

int heap_finish(struct heap *heap)
{
    if (heap->failures.count > 1)
        qsort(heap->failures.items, heap->failures.count, sizeof(*heap->failures.items), by_failure);
    if (heap->steps.count > 1)
        qsort(heap->steps.items, heap->steps.count, sizeof(*heap->steps.items), by_time);
    for (size_t i = 0; i < heap->steps.count; i++)
        if (apply_step(heap, &heap->steps.items[i]) < 0)
            return -1;
    array_release(&heap->steps);
    return heap_pass_all(heap);
}
