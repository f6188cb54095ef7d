/* What gputrace's metadata tells of call stacks: frames once each, and stacks that are lists of them. */
#include <string.h>

#include <cjson/cJSON.h>

#include "common/sink.h"
#include "analysis/frame.h"
#include "analysis/table.h"
#include "analysis/trace.h"

/* Frames at most that others, who told us of the call, have put above CUDA's own. */
#define FRAMES_ABOVE_CUDA 8

static int take_words(struct trace *trace, const cJSON *frame, void (*put)(struct sink *, const cJSON *),
                      uint32_t *text)
{
    struct sink words;
    sink_init_memory(&words);
    put(&words, frame);
    sink_char(&words, '\0');
    int status = -1;
    if (sink_finish(&words) == 0) {
        *text = intern(&trace->strings, words.data, words.length - 1);
        status = *text == INTERN_NO_MEMORY ? -1 : 0;
    }
    sink_release(&words);
    return status;
}

static int take_frame(struct trace *trace, const cJSON *frame)
{
    struct trace_frame *added = array_push(&trace->frames);
    if (!added)
        return -1;
    added->is_cuda = frame_is_cuda(frame);
    if (take_words(trace, frame, frame_put_calls, &added->words) < 0)
        return -1;
    return take_words(trace, frame, frame_put_place, &added->place);
}

static int take_stack(struct trace *trace, const cJSON *stack)
{
    const cJSON *number = cJSON_GetObjectItemCaseSensitive(stack, "stack");
    const cJSON *frames = cJSON_GetObjectItemCaseSensitive(stack, "frames");
    if (!cJSON_IsNumber(number) || number->valueint < 0 || !cJSON_IsArray(frames))
        return 0;
    uint64_t *index = map_put(&trace->stack_of_number, (uint64_t)number->valueint, NULL);
    struct trace_stack *added = index ? array_push(&trace->stacks) : NULL;
    if (!added)
        return -1;
    *index = trace->stacks.count;
    added->first = trace->stack_frames.count;
    for (const cJSON *frame = frames->child; frame; frame = frame->next) {
        if (!cJSON_IsNumber(frame) || frame->valueint < 0 || (size_t)frame->valueint >= trace->frames.count)
            continue;
        uint32_t *place = array_push(&trace->stack_frames);
        if (!place)
            return -1;
        *place = (uint32_t)frame->valueint;
        added->count++;
    }
    return 0;
}

int trace_stacks(struct trace *trace, const cJSON *frames, const cJSON *stacks)
{
    for (const cJSON *frame = cJSON_IsArray(frames) ? frames->child : NULL; frame; frame = frame->next)
        if (take_frame(trace, frame) < 0)
            return -1;
    for (const cJSON *stack = cJSON_IsArray(stacks) ? stacks->child : NULL; stack; stack = stack->next)
        if (take_stack(trace, stack) < 0)
            return -1;
    return 0;
}

static const struct trace_stack *stack_of(const struct trace *trace, int64_t number)
{
    const uint64_t *index = number == EVENT_NONE ? NULL : map_get(&trace->stack_of_number, (uint64_t)number);
    return index && *index ? &trace->stacks.items[*index - 1] : NULL;
}

static const struct trace_frame *frame_of(const struct trace *trace, const struct trace_stack *stack, size_t i)
{
    return &trace->frames.items[trace->stack_frames.items[stack->first + i]];
}

/* The innermost frame that is the program's: the first after those of CUDA, and of who told us of the call. */
static size_t first_of_program(const struct trace *trace, const struct trace_stack *stack)
{
    size_t first = 0;
    while (first < stack->count && first < FRAMES_ABOVE_CUDA && !frame_of(trace, stack, first)->is_cuda)
        first++;
    if (first == stack->count || !frame_of(trace, stack, first)->is_cuda)
        return 0;
    while (first < stack->count && frame_of(trace, stack, first)->is_cuda)
        first++;
    return first < stack->count ? first : 0;
}

struct cell trace_place_cell(const struct trace *trace, struct table *table, int64_t number)
{
    const struct trace_stack *stack = stack_of(trace, number);
    if (!stack || stack->count == 0)
        return (struct cell){0};
    return trace_text_cell(trace, table, frame_of(trace, stack, first_of_program(trace, stack))->place);
}

struct cell trace_stack_cell(const struct trace *trace, struct table *table, int64_t number)
{
    const struct trace_stack *stack = stack_of(trace, number);
    struct sink words;
    if (!stack || stack->count == 0)
        return (struct cell){0};
    sink_init_memory(&words);
    for (size_t i = 0; i < stack->count; i++) {
        sink_text(&words, i > 0 ? " < " : "");
        sink_text(&words, interned(&trace->strings, frame_of(trace, stack, i)->words));
    }
    sink_char(&words, '\0');
    struct cell cell = {0};
    if (sink_finish(&words) == 0)
        cell = table_text(table, words.data);
    else
        table->no_memory = true;
    sink_release(&words);
    return cell;
}
