/*
 * Remembers recorded stacks, mappings and functions of Python by number, ties stacks to calls, and asks the
 * frame_namer for the names of a stack's frames.
 */
#include "trace/meaning/base/stacks.h"

#include <stdlib.h>
#include <string.h>

#include "common/json_out.h"
#include "common/log.h"
#include "common/array.h"
#include "common/map.h"
#include "common/spool_records.h"
#include "trace/meaning/base/capture_intervals.h"
#include "trace/meaning/base/event_functions.h"

static struct recorded_stack *put(struct stacks *stacks, uint32_t number)
{
    struct recorded_stack *stack = PUT_ITEM(&stacks->items, &stacks->by_number, number);
    if (stack)
        stack->number = number;
    else
        error_no_memory("call stacks");
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
    const struct recorded_mapping mapping = {event->text, event->text_length};
    return ADD(array_push, &process->stacks->mappings, mapping) ? 0 : error_no_memory("the mappings of a process");
}

/* A number that was used before is not believed. */
int index_python_frame(struct process *process, const struct event *event)
{
    const struct spool_python_frame *record = event->record;
    struct stacks *stacks = process->stacks;
    uint64_t *index = map_put(&stacks->python_frames, record->number, NULL);
    struct recorded_python_frame *frame = index && !*index ? array_push(&stacks->python_items) : NULL;
    if (!frame)
        return index && *index ? 0 : error_no_memory("functions of Python");
    *index = stacks->python_items.count;
    *frame = (struct recorded_python_frame){event->text, event->text_length, record->line};
    return 0;
}

int stacks_use(struct stacks *stacks, uint32_t number, uint32_t events)
{
    struct recorded_stack *stack = number ? put(stacks, number) : NULL;
    if (stack)
        stack->uses = events < UINT32_MAX - stack->uses ? stack->uses + events : UINT32_MAX;
    return stack || number == 0 ? 0 : -1;
}

struct recorded_stack *stacks_get(const struct stacks *stacks, uint32_t number)
{
    return number ? FIND_ITEM(&stacks->items, &stacks->by_number, number) : NULL;
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
    return stacks_use(stacks, record->stack, 1);
}

ORDER_BY(by_correlation, struct call_stack, correlation, stack)

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

/* Returns the words to the namer; there is one. It finds nothing at those of Python. */
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

/* NULL: WORD is an address, or nothing is known of the function. */
static const struct recorded_python_frame *python_frame(const struct stacks *stacks, uint64_t word)
{
    uint64_t number = word & ~(SPOOL_STACK_PYTHON << 48);
    bool is_python = word >> 48 == SPOOL_STACK_PYTHON;
    return is_python ? FIND_ITEM(&stacks->python_items, &stacks->python_frames, number) : NULL;
}

/* Space for texts, which is zero. */
struct text_space {
    char *next;
    size_t left;
};

/* More than the texts of all stacks of the agent need. */
#define STACK_TEXT_MAX ((size_t)1 << 20)

/* Copies LENGTH bytes and a NUL, for which there is space. Returns the copy; NULL: it would be empty. */
static const char *copy_text(struct text_space *space, const char *text, size_t length)
{
    char *copy = memcpy(space->next, text, length);
    space->next += length + 1;
    space->left -= length + 1;
    return length > 0 ? copy : NULL;
}

/* Names those frames that are functions of Python, as far as there is space for their texts. */
static void name_python_frames(const struct stacks *stacks, struct stack_frame *frames, size_t count,
                               struct text_space *space)
{
    for (size_t i = 0; i < count; i++) {
        if (!frame_is_python(&frames[i]))
            continue;
        const struct recorded_python_frame *known = python_frame(stacks, frames[i].address);
        frames[i] = (struct stack_frame){.address = frames[i].address, .module = FRAME_PYTHON};
        if (!known || space->left < known->length + 2u)
            continue;
        const char *end = memchr(known->text, '\0', known->length);
        size_t function = end ? (size_t)(end - known->text) : known->length, file = function + (end != NULL);
        frames[i].function = copy_text(space, known->text, function);
        frames[i].file = copy_text(space, known->text + file, known->length - file);
        frames[i].line = known->line;
    }
}

/* Frames with their addresses alone, and SPACE for the texts of Python's functions behind them. NULL: no memory. */
static struct stack_frame *make_frames(const struct stacks *stacks, const struct recorded_stack *stack,
                                       struct text_space *space)
{
    size_t texts = 0;
    for (uint32_t i = 0; i < stack->count; i++) {
        uint64_t word;
        memcpy(&word, stack->words + i * sizeof(word), sizeof(word));
        const struct recorded_python_frame *known = python_frame(stacks, word);
        texts += known ? known->length + 2u : 0;
    }
    space->left = texts < STACK_TEXT_MAX ? texts : STACK_TEXT_MAX;
    struct stack_frame *frames = calloc(1, stack->count * sizeof(*frames) + space->left);
    for (uint32_t i = 0; i < stack->count && frames; i++)
        memcpy(&frames[i].address, stack->words + i * sizeof(uint64_t), sizeof(uint64_t));
    space->next = frames ? (char *)(frames + stack->count) : NULL;
    return frames;
}

int stack_frames(struct conversion *conversion, struct process *process, uint32_t number, struct stack_frame **frames,
                 size_t *count)
{
    const struct recorded_stack *stack = stacks_get(process->stacks, number);
    struct text_space space;
    *frames = NULL;
    *count = 0;
    if (!stack || stack->count == 0)
        return 0;
    *frames = make_frames(process->stacks, stack, &space);
    if (!*frames)
        return error_no_memory("call stacks");
    *count = stack->count;
    const struct frame_namer *namer = conversion->options->namer;
    int result = namer ? name_frames(namer, process, stack->words, stack->count, *frames) : 0;
    name_python_frames(process->stacks, *frames, *count, &space);
    return result;
}

int stack_innermost(struct conversion *conversion, struct process *process, const struct recorded_stack *stack,
                    struct stack_frame *frame)
{
    const struct frame_namer *namer = conversion->options->namer;
    *frame = (struct stack_frame){0};
    if (stack->count == 0)
        return 0;
    memcpy(&frame->address, stack->words, sizeof(frame->address));
    if (!frame_is_python(frame))
        return namer ? name_frames(namer, process, stack->words, 1, frame) : 0;
    const struct recorded_python_frame *known = python_frame(process->stacks, frame->address);
    frame->module = FRAME_PYTHON;
    frame->function = known && memchr(known->text, '\0', known->length) ? known->text : NULL;
    frame->line = known ? known->line : 0;
    return 0;
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
    stack->uses = 1;
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
    if (frame->line > 0)
        json_put_u64(json, "line", frame->line);
}

void put_frame(const struct stack_frame *frame, struct json_out *json)
{
    json_begin_object(json);
    if (!frame_is_python(frame))
        json_put_hex(json, "address", frame->address);
    put_function(frame, json);
    if (frame->module)
        json_put_text(json, "module", frame->module);
    if (frame->module && !frame_is_python(frame))
        json_put_hex(json, "offset", frame->offset);
    if (frame->inlined_count > 0) { /* the calls that the compiler put into the frame's function, innermost first */
        json_key_array(json, "inlined");
        for (size_t i = 0; i < frame->inlined_count; i++) {
            json_begin_object(json);
            put_function(&frame->inlined[i], json);
            json_end(json);
        }
        json_end(json);
    }
    json_end(json);
}
