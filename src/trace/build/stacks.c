#include "trace/build/stacks.h"

#include <stdlib.h>
#include <string.h>

#include "common/json_out.h"
#include "common/log.h"
#include "common/spool_records.h"
#include "trace/build/event_passes.h"

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

/*
 * Call stacks: named, and those that events refer to made ready for the metadata, each once and its frames once.
 *
 * A stack has one number in the whole trace: its own, after all numbers of the processes before.
 */

/* Bytes that all of them may take in the metadata, which readers hold whole; what is beyond is left out and counted. */
#define STACKS_BYTES_MAX ((size_t)8 << 20)

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

int stack_innermost(struct conversion *conversion, struct process *process, const struct recorded_stack *stack,
                    struct stack_frame *frame)
{
    const struct frame_namer *namer = conversion->options->namer;
    *frame = (struct stack_frame){0};
    if (stack->count == 0)
        return 0;
    memcpy(&frame->address, stack->words, sizeof(frame->address));
    return namer ? name_frames(namer, process, stack->words, 1, frame) : 0;
}

/* --- for the metadata --- */

/* The first frame has the address of a call, the others lie behind theirs: one address may stand for two places. */
#define FIRST_FRAME (UINT64_C(1) << 63)

struct gathering {
    struct conversion *conversion;
    struct process *process;
    struct json_out frames, stacks;
    struct map known; /* addresses of the process -> number + 1 of the frame */
    uint64_t frame_count;
};

static int gather_frame(struct gathering *gathering, const struct stack_frame *frame, bool first)
{
    bool is_new = false;
    uint64_t *number = map_put(&gathering->known, first ? frame->address | FIRST_FRAME : frame->address, &is_new);
    if (!number)
        return error_no_memory("call stacks");
    if (is_new) {
        *number = ++gathering->frame_count;
        put_frame(frame, &gathering->frames);
    }
    json_u64(&gathering->stacks, *number - 1);
    return 0;
}

static int gather_stack(struct gathering *gathering, struct recorded_stack *stack)
{
    struct stack_frame *frames;
    size_t count;
    int result = stack_frames(gathering->conversion, gathering->process, stack->number, &frames, &count);
    struct json_out *json = &gathering->stacks;
    json_begin_object(json);
    json_put_u64(json, "stack", stack_in_trace(gathering->process, stack->number));
    json_put_u64(json, "pid", gathering->process->pid);
    json_key(json, "frames");
    json_begin_array(json);
    for (size_t i = 0; i < count && result == 0; i++)
        result = gather_frame(gathering, &frames[i], i == 0);
    json_end(json);
    json_end(json);
    free(frames);
    stack->written = true;
    return result;
}

static int gather_process(struct gathering *gathering)
{
    struct process *process = gathering->process;
    int result = 0;
    for (size_t i = 0; i < process->stacks->items.count && result == 0; i++) {
        struct recorded_stack *stack = &process->stacks->items.items[i];
        if (!stack->wanted)
            continue;
        bool fits = gathering->frames.buffer->length + gathering->stacks.buffer->length < STACKS_BYTES_MAX;
        if (fits && stack->count > 0)
            result = gather_stack(gathering, stack);
        else
            process->losses.left_out_stacks++;
    }
    map_release(&gathering->known);
    return result;
}

int gather_stacks(struct conversion *conversion)
{
    struct gathering gathering = {.conversion = conversion};
    uint32_t offset = 0;
    int result = 0;
    buffer_init_memory(&conversion->stacks.frames);
    buffer_init_memory(&conversion->stacks.stacks);
    json_out_init(&gathering.frames, &conversion->stacks.frames, false);
    json_out_init(&gathering.stacks, &conversion->stacks.stacks, false);
    json_begin_array(&gathering.frames);
    json_begin_array(&gathering.stacks);
    for (size_t i = 0; i < conversion->processes.count && result == 0; i++) {
        gathering.process = conversion_process(conversion, i);
        gathering.process->stack_offset = offset;
        offset += gathering.process->stacks->highest;
        result = gather_process(&gathering);
    }
    json_end(&gathering.frames);
    json_end(&gathering.stacks);
    if (result == 0 &&
        (buffer_finish(&conversion->stacks.frames) != 0 || buffer_finish(&conversion->stacks.stacks) != 0))
        result = error_no_memory("call stacks");
    return result;
}

void write_stacks(const struct conversion *conversion, struct json_out *json)
{
    json_key(json, "frames");
    json_raw(json, conversion->stacks.frames.data, conversion->stacks.frames.length);
    json_key(json, "stacks");
    json_raw(json, conversion->stacks.stacks.data, conversion->stacks.stacks.length);
}

/*
 * Frames of call stacks in the metadata.
 */

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
