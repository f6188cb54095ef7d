/*
 * Remembers recorded stacks, mappings and functions of Python by number, ties stacks to calls, and asks the
 * frame_namer for the names of a stack's frames. Joins all call stacks of a trace into one tree of frames, which the
 * metadata holds; if the tree would become too large, stacks that few events have are cut.
 */
#include "trace/meaning/base/stacks.h"

#include <stdio.h>

#include "common/json_out.h"
#include "common/log.h"
#include "trace/meaning/base/times.h"

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

/* A second record with the same number is ignored: it comes from damage. */
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

/* Returns the process's mappings as text, built at the first call. Returns NULL after error(). */
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

/* Lets NAMER, which is not NULL, name the addresses in WORDS. It leaves the words of Python's functions unnamed. */
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

/* Returns NULL if WORD is an address, or if the record of Python's function is missing. */
static const struct recorded_python_frame *python_frame(const struct stacks *stacks, uint64_t word)
{
    uint64_t number = word & ~(SPOOL_STACK_PYTHON << 48);
    bool is_python = word >> 48 == SPOOL_STACK_PYTHON;
    return is_python ? FIND_ITEM(&stacks->python_items, &stacks->python_frames, number) : NULL;
}

/* Zeroed space for texts. */
struct text_space {
    char *next;
    size_t left;
};

/* All stacks of the agent need less for their texts. */
#define STACK_TEXT_MAX ((size_t)1 << 20)

/* Copies LENGTH bytes and a NUL into SPACE, which must be large enough. Returns the copy, or NULL if LENGTH is 0. */
static const char *copy_text(struct text_space *space, const char *text, size_t length)
{
    char *copy = memcpy(space->next, text, length);
    space->next += length + 1;
    space->left -= length + 1;
    return length > 0 ? copy : NULL;
}

/* Names those frames that are functions of Python while SPACE has room for their texts. */
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

/* Returns frames that have addresses alone, with SPACE for the texts of Python's functions behind them in one block.
 * Returns NULL without memory. */
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
    stacks->crash = (struct stack_snapshot){.machine = record->machine,
                                            .registers = stacks->crash_registers,
                                            .stack = record->stack,
                                            .bytes = event->text,
                                            .length = event->text_length};
    return 0;
}

/* Unwinds the stack of the thread that crashed and adds it as stack CRASH_STACK. Returns 0, or -1 after error(). */
static int unwind_crash(struct conversion *conversion, struct process *process)
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

/* --- the tree of all stacks that events refer to --- */

/* Bounds of the JSON of all frames in the metadata, which readers hold in memory. Beyond the first, a stack is cut to
 * its innermost function and the line that it is known by; beyond the second, it is left out. Both are counted. */
#define STACKS_BYTES_WHOLE ((size_t)8 << 20)
#define STACKS_BYTES_MAX ((size_t)16 << 20)

struct gathering {
    struct conversion *conversion;
    struct process *process;
    struct json_out json;
    struct map known; /* hash of a frame and its caller's number -> the frame's number */
    struct buffer text;
    ARRAY(struct stack_frame) flat; /* the stack at hand, inlined calls included */
};

/* Writes a frame as JSON: what readers need to show it and to know whose code it is. */
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

/* Returns the number of FRAME below PARENT (0: it is outermost), creating it if it is new. Returns 0 after error(). */
static uint32_t add_frame(struct gathering *gathering, uint32_t parent, const struct stack_frame *frame)
{
    bool is_new = false;
    /* The key has all that put_tree_frame() writes: frames with the same JSON are one. */
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
    uint64_t *number = map_put(&gathering->known, hash_bytes(what, sizeof(what)), &is_new);
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

/* Fills FLAT from FRAMES: calls that the compiler inlined become frames. Returns their number, or 0 after error(). */
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

/* Sets PLACE to the number of the frame's place in conversion.stacks.places. Returns 0, or -1 after error(). */
static int intern_place(struct gathering *gathering, const struct stack_frame *frame, uint32_t *place)
{
    struct buffer *text = &gathering->text;
    text->length = 0;
    frame_put_place(text, frame);
    *place = intern(&gathering->conversion->stacks.places, text->data, text->length);
    return text->failure || *place == INTERN_NO_MEMORY ? error_no_memory("call stacks") : 0;
}

/* If the stack has a frame of PyTorch's backward(), records the program's line that called it. */
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

/* Stacks that most events refer to come first: they stay whole if not all can. */
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

void args_stack(struct args *args, const struct process *process, uint32_t number, enum arg_key of_place)
{
    const struct recorded_stack *stack = stacks_get(process->stacks, number);
    if (!stack || stack->leaf == 0)
        return;
    args_u64(args, ARG_STACK, stack->leaf);
    args_line(args, process, of_place, stack->place);
}
