/* Call stacks of a trace: finding them, and cells that name them as people do. */
#include "analysis/trace.h"

#include "common/buffer.h"
#include "analysis/table.h"

const struct trace_stack *trace_stack_of(const struct trace *trace, int64_t number)
{
    const uint64_t *index = number == EVENT_NONE ? NULL : map_get(&trace->stack_of_number, (uint64_t)number);
    const struct trace_stack *stack = index && *index ? &trace->stacks.items[*index - 1] : NULL;
    return stack && stack->count > 0 ? stack : NULL;
}

/* How many frames of the code that reported the call may come before CUDA's own. */
#define FRAMES_ABOVE_CUDA 8

/* The innermost frame of the program: the first after those of CUDA, and of what reported the call. */
static size_t first_of_program(const struct trace *trace, const struct trace_stack *stack)
{
    size_t first = 0;
    while (first < stack->count && first < FRAMES_ABOVE_CUDA && !trace_frame_of(trace, stack, first)->is_cuda)
        first++;
    if (first == stack->count || !trace_frame_of(trace, stack, first)->is_cuda)
        return 0;
    while (first < stack->count && trace_frame_of(trace, stack, first)->is_cuda)
        first++;
    return first < stack->count ? first : 0;
}

struct cell trace_place_cell(const struct trace *trace, struct table *table, int64_t number)
{
    const struct trace_stack *stack = trace_stack_of(trace, number);
    if (!stack)
        return (struct cell){0};
    return trace_text_cell(trace, table, trace_frame_of(trace, stack, first_of_program(trace, stack))->place);
}

struct cell trace_stack_cell(const struct trace *trace, struct table *table, int64_t number)
{
    const struct trace_stack *stack = trace_stack_of(trace, number);
    struct buffer words;
    if (!stack)
        return (struct cell){0};
    buffer_init_memory(&words);
    for (size_t i = 0; i < stack->count; i++) {
        buffer_text(&words, i > 0 ? " < " : "");
        buffer_text(&words, interned(&trace->strings, trace_frame_of(trace, stack, i)->words));
    }
    return table_sink(table, &words);
}
