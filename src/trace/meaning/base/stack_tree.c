/*
 * Joins all call stacks of a trace into one tree of frames, which the metadata holds; a stack is then the number of
 * its innermost frame. If the tree would become too large, stacks that few events have are cut.
 */
#include "trace/meaning/base/stack_tree.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/json_out.h"
#include "common/log.h"
#include "common/array.h"
#include "common/map.h"
#include "trace/meaning/base/stacks.h"

/* Bytes that all frames may take in the metadata, which readers hold whole. Of stacks beyond there are only the
 * innermost function and the line that they are known by, and beyond the second nothing; both are counted. */
#define STACKS_BYTES_WHOLE ((size_t)8 << 20)
#define STACKS_BYTES_MAX ((size_t)16 << 20)

struct gathering {
    struct conversion *conversion;
    struct process *process;
    struct json_out json;
    struct map known; /* hash of a frame and of what it is below -> its number */
    struct buffer text;
    ARRAY(struct stack_frame) flat; /* of the stack that is gathered */
};

/* What a reader needs to show a frame, and to know whose it is. */
static void put_tree_frame(struct gathering *gathering, uint32_t parent, const struct stack_frame *frame,
                           uint64_t number)
{
    struct json_out *json = &gathering->json;
    char key[24];
    snprintf(key, sizeof(key), "%llu", (unsigned long long)number);
    gathering->text.length = 0;
    frame_put_name(&gathering->text, frame);
    json_key_object(json, key);
    json_put_text_n(json, "name", gathering->text.data, gathering->text.length);
    if (frame->module)
        json_put_text(json, "category", frame->module);
    if (parent != 0)
        json_put_u64(json, "parent", parent);
    if (frame->file)
        json_put_text(json, "file", frame->file);
    if (frame->line > 0)
        json_put_u64(json, "line", frame->line);
    if (!frame->module && frame->address != 0)
        json_put_hex(json, "address", frame->address);
    else if (frame->module && frame->line == 0)
        json_put_hex(json, "offset", frame->offset);
    json_end(json);
}

static uint64_t hash_text(const char *text)
{
    return text ? hash_bytes(text, strlen(text)) : 0;
}

/* Frames that put_tree_frame() writes alike have one key. */
static uint64_t key_of(uint32_t parent, const struct stack_frame *frame)
{
    const uint64_t what[] = {
        parent,
        hash_text(frame->function),
        hash_text(frame->module),
        hash_text(frame->file),
        frame->line,
        !frame->module     ? frame->address
        : frame->line == 0 ? frame->offset
                           : 0,
    };
    return hash_bytes(what, sizeof(what));
}

/* The number of FRAME below PARENT (0: it is the outermost), new or not; 0 after error(). */
static uint32_t add_frame(struct gathering *gathering, uint32_t parent, const struct stack_frame *frame)
{
    bool is_new = false;
    uint64_t *number = map_put(&gathering->known, key_of(parent, frame), &is_new);
    if (!number) {
        error_no_memory("call stacks");
        return 0;
    }
    if (is_new) {
        *number = map_count(&gathering->known);
        put_tree_frame(gathering, parent, frame, *number);
    }
    return (uint32_t)*number;
}

/* Makes frames of the calls that the compiler put into others. Returns their number, or 0 after error(). */
static size_t flatten(struct gathering *gathering, const struct stack_frame *frames, size_t count)
{
    gathering->flat.count = 0;
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k <= frames[i].inlined_count; k++) {
            bool inlined = k < frames[i].inlined_count;
            struct stack_frame *added = array_push(&gathering->flat);
            if (!added) {
                error_no_memory("call stacks");
                return 0;
            }
            *added = inlined ? frames[i].inlined[k] : frames[i];
            added->module = frames[i].module;
            added->offset = frames[i].offset;
            added->inlined_count = 0;
        }
    return gathering->flat.count;
}

/* The number of a frame's place among those of the trace. Returns 0, or -1 after error(). */
static int intern_place(struct gathering *gathering, const struct stack_frame *frame, uint32_t *place)
{
    struct buffer *text = &gathering->text;
    text->length = 0;
    frame_put_place(text, frame);
    *place = intern(&gathering->conversion->stacks.places, text->data, text->length);
    return text->failure || *place == INTERN_NO_MEMORY ? error_no_memory("call stacks") : 0;
}

/* Of the frames that called the backward pass, the place is a line that calls it. */
static int note_backward(struct gathering *gathering)
{
    const struct stack_frame *frames = gathering->flat.items;
    struct backward_line *line = &gathering->process->stacks->backward;
    size_t count = gathering->flat.count, outer = 0;
    uint32_t place;
    while (outer < count && !frame_is_backward(&frames[outer]))
        outer++;
    if (outer == count || ++outer == count)
        return 0;
    const struct stack_frame *caller = &frames[outer + stack_frames_place(frames + outer, count - outer)];
    if (frame_owner(caller) <= FRAME_PYTHON_LIBRARY)
        return 0;
    if (intern_place(gathering, caller, &place) != 0)
        return -1;
    line->differs |= line->known && line->place != place;
    line->known = true;
    line->place = place;
    return 0;
}

static int gather_stack(struct gathering *gathering, struct recorded_stack *stack)
{
    bool whole = gathering->json.buffer->length < STACKS_BYTES_WHOLE;
    struct stack_frame *frames;
    size_t count, place = 0;
    uint32_t leaf = 0;
    int result = stack_frames(gathering->conversion, gathering->process, stack->number, &frames, &count);
    count = result == 0 ? flatten(gathering, frames, count) : 0;
    result = count > 0 ? 0 : -1;
    if (result == 0)
        place = stack_frames_place(gathering->flat.items, count);
    for (size_t i = count; i-- > 0 && result == 0;) {
        if (!whole && i != place && i != 0)
            continue;
        leaf = add_frame(gathering, leaf, &gathering->flat.items[i]);
        result = leaf != 0 ? 0 : -1;
    }
    if (result == 0) {
        stack->owner = (uint8_t)frame_owner(&gathering->flat.items[place]);
        result = intern_place(gathering, &gathering->flat.items[place], &stack->place);
    }
    result = result ?: note_backward(gathering);
    stack->leaf = result == 0 ? leaf : 0;
    gathering->process->losses.cut_stacks += !whole && count > 2;
    free(frames);
    return result;
}

static int by_uses(const void *left, const void *right)
{
    const struct recorded_stack *a = *(struct recorded_stack *const *)left, *b = *(struct recorded_stack *const *)right;
    return ORDER(b->uses, a->uses) ?: ORDER(a, b);
}

/* Those that most events have come first: they are whole where not all can be. */
static int gather_process(struct gathering *gathering)
{
    struct process *process = gathering->process;
    int result = unwind_crash(gathering->conversion, process);
    struct recorded_stack *items = process->stacks->items.items;
    size_t count = process->stacks->items.count;
    struct recorded_stack **order = result == 0 ? calloc(count + 1, sizeof(*order)) : NULL;
    if (!order)
        return result == 0 ? error_no_memory("call stacks") : result;
    for (size_t i = 0; i < count; i++)
        order[i] = &items[i];
    qsort(order, count, sizeof(*order), by_uses);
    for (size_t i = 0; i < count && order[i]->uses > 0 && result == 0; i++) {
        if (order[i]->count > 0 && gathering->json.buffer->length < STACKS_BYTES_MAX)
            result = gather_stack(gathering, order[i]);
        else
            process->losses.left_out_stacks++;
    }
    free(order);
    return result;
}

int gather_stacks(struct conversion *conversion)
{
    struct gathering gathering = {.conversion = conversion};
    struct buffer *frames = &conversion->stacks.frames;
    int result = 0;
    buffer_init_memory(frames);
    buffer_init_memory(&gathering.text);
    json_out_init(&gathering.json, frames, false);
    json_begin_object(&gathering.json);
    for (size_t i = 0; i < conversion->processes.count && result == 0; i++) {
        gathering.process = conversion_process(conversion, i);
        result = gather_process(&gathering);
    }
    json_end(&gathering.json);
    conversion->stacks.any = map_count(&gathering.known) > 0;
    map_release(&gathering.known);
    buffer_release(&gathering.text);
    array_release(&gathering.flat);
    return result == 0 && buffer_finish(frames) != 0 ? error_no_memory("call stacks") : result;
}

void write_stacks(struct conversion *conversion)
{
    const struct buffer *frames = &conversion->stacks.frames;
    if (conversion->stacks.any)
        conversion->sink.format->metadata(&conversion->sink, "stackFrames", frames->data, frames->length);
}

void args_line(struct args *args, const struct process *process, enum arg_key key, uint32_t place)
{
    args_words(args, key, interned(&process->conversion->stacks.places, place));
}

static void add_stack(struct args *args, const struct process *process, uint32_t number, enum arg_key of_place)
{
    const struct recorded_stack *stack = stacks_get(process->stacks, number);
    if (!stack || stack->leaf == 0)
        return;
    args_u64(args, ARG_STACK, stack->leaf);
    args_line(args, process, of_place, stack->place);
}

void args_stack(struct args *args, const struct process *process, uint32_t number)
{
    add_stack(args, process, number, ARG_CALLED_AT);
}

void args_stack_of_capture(struct args *args, const struct process *process, uint32_t number)
{
    add_stack(args, process, number, ARG_CAPTURED_AT);
}
