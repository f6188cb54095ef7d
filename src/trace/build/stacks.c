#include "trace/build/stacks.h"

#include <stdlib.h>
#include <string.h>

#include "common/json_out.h"
#include "common/log.h"
#include "common/spool_records.h"
#include "trace/build/capture_intervals.h"
#include "trace/build/event_passes.h"
#include "trace/build/lookup.h"

void stacks_release(struct stacks *stacks)
{
    map_release(&stacks->by_number);
    array_release(&stacks->items);
    array_release(&stacks->mappings);
    file_vector_release(&stacks->calls);
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
    return stack;
}

int index_stack(struct process *process, const struct event *event)
{
    const struct spool_stack *record = event->record;
    struct recorded_stack *stack = put(process->stacks, record->stack);
    if (!stack)
        return -1;
    stack->words = event->text;
    stack->count = event->text_length / (uint32_t)sizeof(uint64_t);
    return 0;
}

int index_mapping(struct process *process, const struct event *event)
{
    struct recorded_mapping *mapping = array_push(&process->stacks->mappings);
    if (!mapping)
        return error_no_memory("the mappings of a process");
    *mapping = (struct recorded_mapping){event->text, event->text_length};
    return 0;
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

/* --- calls that launched or waited --- */

int index_call_stack(struct process *process, const struct event *event)
{
    const struct spool_call_stack *record = event->record;
    struct stacks *stacks = process->stacks;
    if (record->correlation == 0 || !capture_intervals_hold(process->capture_intervals, event->start))
        return 0;
    if (!ADD(file_vector_push, &stacks->calls, (struct call_stack){record->correlation, record->stack}))
        return error_no_memory("call stacks");
    return stacks_want(stacks, record->stack);
}

static int by_correlation(const void *left, const void *right)
{
    const struct call_stack *a = left, *b = right;
    return ORDER(a->correlation, b->correlation) ?: ORDER(a->stack, b->stack);
}

int order_call_stacks(struct process *process)
{
    return file_vector_sort(&process->stacks->calls, by_correlation) == 0 ? 0 : error_no_memory("call stacks");
}

uint32_t call_stack(const struct process *process, uint32_t correlation)
{
    const struct stacks *stacks = process->stacks;
    if (stacks->calls.count == 0 || correlation == 0)
        return 0;
    size_t place = COUNT_BEFORE(stacks->calls.count, i, stacks->calls.items[i].correlation < correlation);
    bool found = place < stacks->calls.count && stacks->calls.items[place].correlation == correlation;
    return found ? stacks->calls.items[place].stack : 0;
}

/* --- names --- */

/* Made when the first stack of the process needs it. */
static const struct mapping_text *mappings_of(struct process *process)
{
    struct mapping_text *maps = &process->mapping_text;
    if (maps->text)
        return maps;
    struct buffer *buffer = &process->mapping_lines;
    buffer_init_memory(buffer);
    for (size_t i = 0; i < process->stacks->mappings.count; i++) {
        const struct recorded_mapping *line = &process->stacks->mappings.items[i];
        buffer_bytes(buffer, line->text, line->length);
        buffer_char(buffer, '\n');
    }
    buffer_char(buffer, '\0');
    if (buffer_finish(buffer) != 0) {
        error_no_memory("the mappings of a process");
        return NULL;
    }
    *maps = (struct mapping_text){.pid = process->pid, .text = buffer->data, .length = buffer->length - 1};
    return maps;
}

/* Returns the addresses to the namer; there is one. */
static int name_frames(const struct frame_namer *namer, struct process *process, const char *words, uint32_t count,
                       struct stack_frame *frames)
{
    const struct mapping_text *maps = mappings_of(process);
    uint64_t *addresses = maps ? calloc(count, sizeof(*addresses)) : NULL;
    if (!addresses)
        return maps ? error_no_memory("call stacks") : -1;
    memcpy(addresses, words, count * sizeof(*addresses));
    int result = namer->name(namer->data, maps, addresses, count, frames);
    free(addresses);
    return result;
}

int stack_frames(struct conversion *conversion, struct process *process, uint32_t number, struct stack_frame **frames,
                 size_t *count)
{
    const struct recorded_stack *stack = stacks_get(process->stacks, number);
    *frames = NULL;
    *count = 0;
    if (!stack || stack->count == 0)
        return 0;
    *frames = calloc(stack->count, sizeof(**frames));
    if (!*frames)
        return error_no_memory("call stacks");
    *count = stack->count;
    for (uint32_t i = 0; i < stack->count; i++)
        memcpy(&(*frames)[i].address, stack->words + i * sizeof(uint64_t), sizeof(uint64_t));
    const struct frame_namer *namer = conversion->options->namer;
    return namer ? name_frames(namer, process, stack->words, stack->count, *frames) : 0;
}

/* --- the stack of a thread that crashed --- */

int index_crash_stack(struct process *process, const struct event *event)
{
    const struct spool_crash_stack *record = event->record;
    struct stacks *stacks = process->stacks;
    memcpy(stacks->crash_registers, record->registers, sizeof(stacks->crash_registers));
    stacks->crash = (struct stack_snapshot){.registers = stacks->crash_registers,
                                            .stack = record->stack,
                                            .bytes = event->text,
                                            .length = event->text_length};
    return 0;
}

int unwind_crash(struct conversion *conversion, struct process *process)
{
    const struct frame_namer *namer = conversion->options->namer;
    struct stacks *stacks = process->stacks;
    const struct mapping_text *maps = stacks->crash.bytes && namer && namer->unwind ? mappings_of(process) : NULL;
    if (!maps)
        return stacks->crash.bytes && namer && namer->unwind ? -1 : 0;
    size_t count = namer->unwind(namer->data, maps, &stacks->crash, stacks->crash_words, CRASH_FRAMES_MAX);
    struct recorded_stack *stack = count > 0 ? put(stacks, CRASH_STACK) : NULL;
    if (!stack)
        return count > 0 ? -1 : 0;
    stack->words = (const char *)stacks->crash_words;
    stack->count = (uint32_t)count;
    stack->wanted = true;
    return 0;
}

/* --- frames below the lines of plugins --- */

/* Only what is known. */
static void put_function(const struct stack_frame *frame, struct json_out *json)
{
    if (frame->function)
        json_put_text(json, "function", frame->function);
    if (frame->file)
        json_put_text(json, "file", frame->file);
    if (frame->line == 0)
        return;
    json_put_u64(json, "line", frame->line);
}

/* The calls that the compiler put into a frame's function, innermost first. */
static void put_inlined(const struct stack_frame *frame, struct json_out *json)
{
    json_key(json, "inlined");
    json_begin_array(json);
    for (size_t i = 0; i < frame->inlined_count; i++) {
        json_begin_object(json);
        put_function(&frame->inlined[i], json);
        json_end(json);
    }
    json_end(json);
}

void put_frame(const struct stack_frame *frame, struct json_out *json)
{
    json_begin_object(json);
    json_put_hex(json, "address", frame->address);
    put_function(frame, json);
    if (frame->module) {
        json_put_text(json, "module", frame->module);
        json_put_hex(json, "offset", frame->offset);
    }
    if (frame->inlined_count > 0)
        put_inlined(frame, json);
    json_end(json);
}
