/*
 * The tree of frames is read from "stackFrames", as in the trace-event format, or from two lists that earlier versions
 * of gputrace wrote: frames, and stacks that refer to them. Values of unexpected types or ranges are skipped.
 */
#include "analysis/engine/trace_stacks.h"

#include <cjson/cJSON.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/base/table.h"
#include "analysis/engine/trace_known.h"
#include "common/buffer.h"
#include "trace/frames.h"
#include "analysis/base/cost_sum.h"

static const char *text_of(const cJSON *object, const char *key)
{
    return cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(object, key));
}

/* A frame of gputrace's own lists. OBJECT owns its texts. */
static struct stack_frame frame_of(const cJSON *object)
{
    const cJSON *line = cJSON_GetObjectItemCaseSensitive(object, "line");
    return (struct stack_frame){
        .address = strtoull(text_of(object, "address") ?: "", NULL, 0),
        .function = text_of(object, "function"),
        .file = text_of(object, "file"),
        .line = cJSON_IsNumber(line) && line->valuedouble > 0 && line->valuedouble < UINT32_MAX
                    ? (uint32_t)line->valuedouble
                    : 0,
        .module = text_of(object, "module"),
        .offset = strtoull(text_of(object, "offset") ?: "", NULL, 0),
    };
}

/* Writes "main (/src/leak.cu:42)". If the file is not known, writes the text of frame_put_place(). */
static void write_words(struct buffer *out, const struct stack_frame *frame)
{
    if (!frame->file) {
        frame_put_place(out, frame);
        return;
    }
    frame_put_name(out, frame);
    buffer_format(out, frame->line > 0 ? " (%s:%u)" : " (%s)", frame->file, frame->line);
}

static const cJSON *first_of(const cJSON *list)
{
    return cJSON_IsArray(list) || cJSON_IsObject(list) ? list->child : NULL;
}

/* Writes the calls that the compiler inlined in a frame, then the frame: "inner (/src/a.cu:1) < outer
 * (/src/a.cu:9)". */
static void write_calls(struct buffer *out, const cJSON *object)
{
    const cJSON *inlined = first_of(cJSON_GetObjectItemCaseSensitive(object, "inlined"));
    for (; inlined; inlined = inlined->next) {
        struct stack_frame call = frame_of(inlined);
        write_words(out, &call);
        buffer_text(out, " < ");
    }
    struct stack_frame frame = frame_of(object);
    write_words(out, &frame);
}

/* Adds the text in BUFFER to trace.strings, and empties BUFFER. Returns 0, or -1: no memory. */
static int intern_buffer(struct trace *trace, struct buffer *buffer, uint32_t *number)
{
    *number = buffer->failure ? INTERN_NO_MEMORY : intern(&trace->strings, buffer->data, buffer->length);
    buffer->length = 0;
    return *number == INTERN_NO_MEMORY ? -1 : 0;
}

int trace_read_frame_list(struct trace *trace, const cJSON *frames, uint32_t *text)
{
    struct buffer words;
    buffer_init_memory(&words);
    for (const cJSON *frame = first_of(frames); frame; frame = frame->next) {
        buffer_text(&words, frame == first_of(frames) ? "" : " < ");
        write_calls(&words, frame);
    }
    int status = intern_buffer(trace, &words, text);
    buffer_release(&words);
    return status;
}

/* --- the tree --- */

static int set_texts(struct trace *trace, struct trace_frame *added, const struct stack_frame *frame)
{
    struct buffer text;
    buffer_init_memory(&text);
    write_words(&text, frame);
    int status = intern_buffer(trace, &text, &added->words);
    frame_put_place(&text, frame);
    status |= intern_buffer(trace, &text, &added->place);
    frame_put_name(&text, frame);
    status |= intern_buffer(trace, &text, &added->name);
    added->function = frame->function ? added->name : EVENT_NO_TEXT;
    added->file = added->module = EVENT_NO_TEXT;
    if (frame->file) {
        buffer_text(&text, frame->file);
        status |= intern_buffer(trace, &text, &added->file);
    }
    if (frame->module) {
        buffer_text(&text, frame->module);
        status |= intern_buffer(trace, &text, &added->module);
    }
    added->owner = (uint8_t)frame_owner(frame);
    buffer_release(&text);
    return status;
}

/* Whether TEXT is a number, which is stored in NUMBER. Other tools may use any text as the number of a stack. */
static bool is_number(const char *text, uint64_t *number)
{
    char *end;
    *number = strtoull(text, &end, 10);
    return *text >= '0' && *text <= '9' && *end == '\0';
}

struct trace_frame *trace_add_frame(struct trace *trace, const struct stack_frame *frame)
{
    struct trace_frame *added = array_push(&trace->frames);
    return added && set_texts(trace, added, frame) == 0 ? added : NULL;
}

static uint32_t parent_of(const struct trace *trace, const cJSON *member)
{
    const cJSON *parent = cJSON_GetObjectItemCaseSensitive(member, "parent");
    uint64_t number = 0;
    bool known = cJSON_IsNumber(parent) && parent->valuedouble >= 0 && parent->valuedouble < UINT32_MAX;
    if (known)
        number = (uint64_t)parent->valuedouble;
    else if (!cJSON_IsString(parent) || !is_number(parent->valuestring, &number))
        return 0;
    const uint64_t *index = map_get(&trace->stack_of_number, number);
    return index ? (uint32_t)*index : 0;
}

int trace_read_frames(struct trace *trace, const cJSON *frames)
{
    uint64_t number;
    if (!trace->wanted.stacks || !cJSON_IsObject(frames))
        return 0;
    for (const cJSON *member = frames->child; member; member = member->next) {
        /* The name of a frame in "stackFrames" is only a function if it differs from the name of a frame without
         * function. */
        struct stack_frame frame = frame_of(member), unnamed;
        frame.function = NULL;
        frame.module = text_of(member, "category");
        unnamed = frame;
        struct buffer name;
        buffer_init_memory(&name);
        frame_put_name(&name, &unnamed);
        buffer_char(&name, '\0');
        const char *function = text_of(member, "name");
        if (function && (name.failure || strcmp(function, name.data) != 0))
            frame.function = function;
        buffer_release(&name);
        if (!is_number(member->string, &number))
            continue;
        uint64_t *index = map_put(&trace->stack_of_number, number, NULL);
        if (!index || !trace_add_frame(trace, &frame))
            return -1;
        *index = trace->frames.count;
    }
    for (const cJSON *member = frames->child; member; member = member->next)
        if (is_number(member->string, &number)) {
            const uint64_t *index = map_get(&trace->stack_of_number, number);
            trace->frames.items[*index - 1].parent = parent_of(trace, member);
        }
    return 0;
}

/* --- the two lists --- */

/* The frames of the list, while read_stack() builds the tree from the stacks. */
struct reading {
    ARRAY(struct trace_frame) frames;
    struct map known; /* parent's index + 1 in the tree, and index in `frames` -> index + 1 in the tree */
};

static int read_stack(struct trace *trace, struct reading *reading, const cJSON *stack)
{
    const cJSON *number = cJSON_GetObjectItemCaseSensitive(stack, "stack"),
                *frames = cJSON_GetObjectItemCaseSensitive(stack, "frames");
    uint64_t parent = 0;
    if (!cJSON_IsNumber(number) || number->valueint < 0 || !cJSON_IsArray(frames))
        return 0;
    for (int i = cJSON_GetArraySize(frames) < TRACE_STACK_FRAMES ? cJSON_GetArraySize(frames) : TRACE_STACK_FRAMES;
         i-- > 0;) {
        const cJSON *frame = cJSON_GetArrayItem(frames, i);
        if (!cJSON_IsNumber(frame) || frame->valueint < 0 || (size_t)frame->valueint >= reading->frames.count)
            continue;
        uint64_t *index = map_put(&reading->known, parent << 32 | (uint32_t)frame->valueint, NULL);
        struct trace_frame *added = index && *index == 0 ? array_push(&trace->frames) : NULL;
        if (!index || (*index == 0 && !added))
            return -1;
        if (added) {
            *added = reading->frames.items[frame->valueint];
            added->parent = (uint32_t)parent;
            *index = trace->frames.count;
        }
        parent = *index;
    }
    uint64_t *place = parent ? map_put(&trace->stack_of_number, (uint64_t)number->valueint, NULL) : NULL;
    if (place)
        *place = parent;
    return place || !parent ? 0 : -1;
}

int trace_read_stacks(struct trace *trace, const cJSON *frames, const cJSON *stacks)
{
    struct reading reading = {0};
    if (!trace->wanted.stacks || !cJSON_IsArray(frames) || !cJSON_IsArray(stacks))
        return 0;
    struct buffer words;
    int status = 0;
    buffer_init_memory(&words);
    for (const cJSON *member = first_of(frames); member && status == 0; member = member->next) {
        const cJSON *inlined = first_of(cJSON_GetObjectItemCaseSensitive(member, "inlined"));
        struct stack_frame frame = frame_of(member), inner = inlined ? frame_of(inlined) : frame;
        struct trace_frame *added = array_push(&reading.frames);
        status = added ? set_texts(trace, added, &inner) : -1;
        if (status != 0)
            break;
        added->owner = (uint8_t)frame_owner(&frame);
        write_calls(&words, member);
        status = intern_buffer(trace, &words, &added->words);
    }
    buffer_release(&words);
    for (const cJSON *stack = first_of(stacks); stack && status == 0; stack = stack->next)
        status = read_stack(trace, &reading, stack);
    array_release(&reading.frames);
    map_release(&reading.known);
    return status;
}

/* --- stacks and their cells --- */

size_t trace_stack(const struct trace *trace, int64_t number, const struct trace_frame **frames, size_t most)
{
    const uint64_t *index = number == FIELD_ABSENT ? NULL : map_get(&trace->stack_of_number, (uint64_t)number);
    size_t count = 0;
    for (uint64_t next = index ? *index : 0; next && count < most; next = trace->frames.items[next - 1].parent)
        frames[count++] = &trace->frames.items[next - 1];
    return count;
}

static enum frame_owner owner_of(const void *data, size_t i)
{
    return (enum frame_owner)((const struct trace_frame *const *)data)[i]->owner;
}

const struct trace_frame *trace_stack_place(const struct trace *trace, int64_t number)
{
    const struct trace_frame *frames[TRACE_STACK_FRAMES];
    size_t count = trace_stack(trace, number, frames, TRACE_STACK_FRAMES);
    return count > 0 ? frames[frames_place(owner_of, frames, count)] : NULL;
}

int trace_add_stack_operator(struct trace *trace, const struct event_fields *event)
{
    uint32_t in_operator = trace->wanted.stacks ? event_launch(event)->in_operator : EVENT_NO_TEXT;
    if (in_operator == EVENT_NO_TEXT || event->stack == FIELD_ABSENT)
        return 0;
    bool is_new = false;
    uint64_t text = (uint64_t)in_operator + 1;
    uint64_t *known = map_put(&trace->stack_operators, (uint64_t)event->stack, &is_new);
    if (known)
        *known = is_new || *known == text ? text : 0;
    return known ? 0 : -1;
}

uint32_t trace_stack_operator(const struct trace *trace, int64_t number)
{
    const uint64_t *text = number == FIELD_ABSENT ? NULL : map_get(&trace->stack_operators, (uint64_t)number);
    return text && *text ? (uint32_t)(*text - 1) : EVENT_NO_TEXT;
}

struct cell trace_place_cell(const struct trace *trace, struct table *table, int64_t number)
{
    const struct trace_frame *place = trace_stack_place(trace, number);
    return place ? trace_text_cell(trace, table, place->place) : (struct cell){0};
}

static struct cell words_of(const struct trace *trace, struct table *table, const struct trace_frame **frames,
                            size_t count)
{
    struct buffer words;
    if (count == 0)
        return (struct cell){0};
    buffer_init_memory(&words);
    for (size_t i = 0; i < count; i++) {
        buffer_text(&words, i > 0 ? " < " : "");
        buffer_text(&words, interned(&trace->strings, frames[i]->words));
    }
    return table_text_from_buffer(table, &words);
}

struct cell trace_stack_cell(const struct trace *trace, struct table *table, int64_t number)
{
    const struct trace_frame *frames[TRACE_STACK_FRAMES];
    return words_of(trace, table, frames, trace_stack(trace, number, frames, TRACE_STACK_FRAMES));
}

#define STUB_FRAMES 4 /* the most frames that nvcc generates around a launch */

size_t trace_program_frames(const struct trace *trace, int64_t number, const struct trace_frame **frames, size_t most)
{
    const struct trace_frame *all[TRACE_STACK_FRAMES];
    size_t count = trace_stack(trace, number, all, TRACE_STACK_FRAMES), kept = 0;
    size_t end = count;
    while (end > 0 && (all[end - 1]->owner == FRAME_LIBRARY || all[end - 1]->owner == FRAME_PYTHON_LIBRARY))
        end--;
    size_t first = frames_begin(owner_of, all, count);
    for (size_t i = first; i < first + STUB_FRAMES && i + 2 < end; i++)
        if (all[i]->owner == FRAME_STUB)
            first = i + 2; /* skip the stub, and the frame with the kernel's name behind it */
    for (size_t i = first; i < (end > 0 ? end : count) && kept < most; i++)
        frames[kept++] = all[i];
    return kept;
}

#define LIBRARY_CALLERS 3 /* the most frames that are shown if none is of the program */

struct cell trace_callers_cell(const struct trace *trace, struct table *table, int64_t number)
{
    const struct trace_frame *frames[TRACE_STACK_FRAMES], *shown[TRACE_STACK_FRAMES];
    size_t count = trace_stack(trace, number, frames, TRACE_STACK_FRAMES), kept = 0, end = 0;
    size_t first = count > 0 ? frames_place(owner_of, frames, count) : 0;
    for (size_t i = first; i < count; i++)
        if (frames[i]->owner > FRAME_PYTHON_LIBRARY)
            end = i + 1;
    if (end == 0)
        return words_of(trace, table, frames + first,
                        count - first < LIBRARY_CALLERS ? count - first : LIBRARY_CALLERS);
    for (size_t i = first; i < end; i++)
        if (i == first || frames[i]->owner > FRAME_PYTHON_LIBRARY)
            shown[kept++] = frames[i];
    return words_of(trace, table, shown, kept);
}

/* --- stacks of torch.profiler(with_stack=True): slices "python_function" nest on their thread, and the slices around a
 * call are its stack. Each stack is added to the tree once --- */

struct python {
    struct trace *trace;
    struct dense_map tree; /* calling frame and name -> index in trace.frames */
    struct sorter placed;  /* the launched_ops with their stacks */
};

/* Whether FILE is of a well-known package. Kineto leaves out the folders above packages. */
static bool is_of_package(const char *file)
{
    static const char *const starts[] = {
        "torch/",     "torchvision/",       "torchaudio/",      "transformers/", "accelerate/",   "deepspeed/",
        "lightning/", "pytorch_lightning/", "triton/",          "numpy/",        "contextlib.py", "threading.py",
        "runpy.py",   "functools.py",       "multiprocessing/", "asyncio/",      "concurrent/",   "importlib/",
        "ipykernel",  "IPython/",           "queue.py",         "selectors.py",
    };
    for (size_t i = 0; i < sizeof(starts) / sizeof(*starts); i++)
        if (strncmp(file, starts[i], strlen(starts[i])) == 0)
            return true;
    return false;
}

/* Adds the frame of a name such as "train.py(42): step". Names of other forms, such as "<built-in method mm>" or
 * "nn.Module: Linear_0", are taken for functions of a library. */
static int add_python_frame(struct trace *trace, uint64_t parent, uint32_t name)
{
    char *file = strdup(trace_text(trace, name)), *colon = file ? strstr(file, "): ") : NULL, *open = colon;
    struct stack_frame frame = {.function = file};
    while (open && open > file && *open != '(')
        open--;
    if (open && open > file && *file != '<') {
        *open = *colon = '\0';
        frame.function = colon + strlen("): ");
        frame.file = file;
        frame.module = FRAME_PYTHON;
        frame.line = (uint32_t)strtoul(open + 1, NULL, 10);
    }
    struct trace_frame *added = file ? trace_add_frame(trace, &frame) : NULL;
    if (added && (!frame.file || is_of_package(frame.file)))
        added->owner = FRAME_PYTHON_LIBRARY;
    if (added)
        added->parent = (uint32_t)parent;
    free(file);
    return added ? 0 : -1;
}

/* Returns the number of the stack at TIME on THREAD, which is the number of its innermost frame. Returns 0 if there is
 * none, or -1: no memory. */
static int64_t stack_at(struct python *python, struct range_walk *walk, uint32_t thread, int64_t time)
{
    struct trace *trace = python->trace;
    struct range_open *open;
    while ((open = range_walk_open(walk, thread, time))) {
        const uint64_t key[] = {open->outer ? walk->open.items[open->outer - 1].node : 0, open->range.name};
        uint32_t number = dense_map_number(&python->tree, key, sizeof(key));
        if (number == DENSE_MAP_NONE ||
            (number == trace->frames.count && add_python_frame(trace, key[0], open->range.name) < 0))
            return -1;
        open->node = number + 1;
    }
    open = range_walk_innermost(walk, thread, time);
    int64_t stack = open && open->node < GPU_OP_STACKS ? open->node : 0;
    uint64_t *index = stack ? map_put(&trace->stack_of_number, (uint64_t)stack, NULL) : NULL;
    if (index)
        *index = (uint64_t)stack;
    return index || !stack ? stack : -1;
}

static int count_call(struct trace *trace, uint32_t name, int64_t stack, int64_t duration)
{
    const struct python_call key = {name, stack};
    struct python_sum *sum = stack ? dense_map_item(&trace->python_calls, &key, &trace->python_sums) : NULL;
    if (!sum)
        return stack ? -1 : 0;
    sum_add(&sum->ns, duration);
    sum->count++;
    return 0;
}

/* Sets the stack of an operation. An operation of the backward pass receives the line of the forward operator, because
 * autograd moved it to that operator's thread. */
static int place_op(void *context, struct range_walk *walk, const struct launched_op *op)
{
    struct python *python = context;
    struct launched_op placed = *op;
    int64_t stack = op->thread == LAUNCHED_NO_THREAD ? 0 : stack_at(python, walk, op->thread, op->called);
    if (stack < 0 || count_call(python->trace, op->name, stack, 0) < 0)
        return -1;
    placed.stack = (uint32_t)stack;
    if (stack > 0 && op->thread != op->launcher)
        placed.stack = trace_stack_place(python->trace, stack)->place | GPU_OP_FORWARD;
    return sorter_add(&python->placed, &placed);
}

static int place_calls(struct python *python)
{
    struct host_calls_walk calls;
    struct range_walk walk;
    const struct host_call *call;
    int64_t stack = 0;
    range_walk_begin(&walk, &python->trace->python, true);
    host_calls_walk_begin(&calls, &python->trace->host_calls);
    while (stack >= 0 && (call = host_calls_next(&calls))) {
        stack = stack_at(python, &walk, call->thread, call->start);
        if (stack > 0 && count_call(python->trace, call->name, stack, call->end - call->start) < 0)
            stack = -1;
    }
    int walked = host_calls_walk_end(&calls), ended = range_walk_end(&walk);
    return stack < 0 ? -1 : walked ? walked : ended;
}

int trace_place_python(struct trace *trace)
{
    struct python python = {.trace = trace};
    if (trace->python.count == 0 || !trace->wanted.launched_ops ||
        trace->frames.count > 0) /* the trace has recorded stacks */
        return 0;
    sorter_init(&python.placed, trace->space, sizeof(struct launched_op), launched_ops_order);
    int status = range_walk_ops(&trace->python, true, &trace->launched_ops, place_op, NULL, &python)
                     ?: sorter_ready(&python.placed) ?: place_calls(&python);
    sorter_release(&trace->launched_ops);
    trace->launched_ops = python.placed;
    dense_map_release(&python.tree);
    return status;
}
