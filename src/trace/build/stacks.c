#include "trace/build/stacks.h"

#include "common/log.h"

void stacks_release(struct stacks *stacks)
{
    map_release(&stacks->by_number);
    array_release(&stacks->items);
    array_release(&stacks->mappings);
}

static struct recorded_stack *put(struct stacks *stacks, uint32_t number)
{
    uint64_t *index = map_put(&stacks->by_number, number, NULL);
    if (index && *index)
        return &stacks->items.items[*index - 1];
    struct recorded_stack *stack = index ? array_push(&stacks->items) : NULL;
    if (!stack) {
        error_no_memory("call stacks");
        return NULL;
    }
    *index = stacks->items.count;
    stack->number = number;
    if (number > stacks->highest)
        stacks->highest = number;
    return stack;
}

static int see_stack(struct stacks *stacks, const struct event *event)
{
    struct recorded_stack *stack = put(stacks, event->stack.number);
    if (!stack)
        return -1;
    stack->words = event->text;
    stack->count = event->text_length / (uint32_t)sizeof(uint64_t);
    return 0;
}

static int see_mapping(struct stacks *stacks, const struct event *event)
{
    struct recorded_mapping *mapping = array_push(&stacks->mappings);
    if (!mapping)
        return error_no_memory("the mappings of a process");
    *mapping = (struct recorded_mapping){event->text, event->text_length};
    return 0;
}

int stacks_see(struct stacks *stacks, const struct event *event)
{
    return event->type == EVENT_STACK ? see_stack(stacks, event) : see_mapping(stacks, event);
}

int stacks_want(struct stacks *stacks, uint32_t number)
{
    struct recorded_stack *stack = number ? put(stacks, number) : NULL;
    if (stack)
        stack->wanted = true;
    return stack || number == 0 ? 0 : -1;
}

struct recorded_stack *stacks_get(const struct stacks *stacks, uint32_t number)
{
    const uint64_t *index = number ? map_get(&stacks->by_number, number) : NULL;
    return index && *index ? &stacks->items.items[*index - 1] : NULL;
}
