/*
 * The profiler's slices "python_function" nest on their thread, and those around a call are its stack. They are sorted
 * as ranges, in bounded memory. Each stack is added to the trace's tree of frames once, however often a call has it.
 */
#include "analysis/engine/python_stacks.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/base/cost_sum.h"
#include "analysis/engine/trace.h"
#include "analysis/engine/trace_stacks.h"
#include "trace/frames.h"

struct python {
    struct trace *trace;
    struct dense_map tree; /* frame that called it and name -> number in trace.frames */
    struct sorter placed;  /* the operations that are launched, with their stacks */
};

/* Whether FILE is of a well-known package: Kineto leaves out the folders above it. */
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

/* Adds the frame of "train.py(42): step". A name of another form, such as
 * "<built-in method mm>" or "nn.Module: Linear_0", is that of a function of a library. */
static int add_frame(struct trace *trace, uint64_t parent, uint32_t name)
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

/* Returns the number of the stack at TIME on THREAD, which is that of its innermost frame; 0: there is none; -1: no
 * memory. */
static int64_t stack_at(struct python *python, struct range_walk *walk, uint32_t thread, int64_t time)
{
    struct trace *trace = python->trace;
    struct range_open *open;
    while ((open = range_walk_open(walk, thread, time))) {
        const uint64_t key[] = {open->outer ? walk->open.items[open->outer - 1].node : 0, open->range.name};
        uint32_t number = dense_map_number(&python->tree, key, sizeof(key));
        if (number == DENSE_MAP_NONE ||
            (number == trace->frames.count && add_frame(trace, key[0], open->range.name) < 0))
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

static int count(struct trace *trace, uint32_t name, int64_t stack, int64_t duration)
{
    const struct python_call key = {name, stack};
    struct python_sum *sum = stack ? dense_map_item(&trace->python_calls, &key, &trace->python_sums) : NULL;
    if (!sum)
        return stack ? -1 : 0;
    sum_add(&sum->ns, duration);
    sum->count++;
    return 0;
}

/* Sets the stack of an operation. One of the backward pass was moved to the operator that caused it, on another thread.
 */
static int place(void *context, struct range_walk *walk, const struct launched_op *op)
{
    struct python *python = context;
    struct launched_op placed = *op;
    int64_t stack = op->thread == LAUNCHED_NO_THREAD ? 0 : stack_at(python, walk, op->thread, op->called);
    if (stack < 0 || count(python->trace, op->name, stack, 0) < 0)
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
        if (stack > 0 && count(python->trace, call->name, stack, call->end - call->start) < 0)
            stack = -1;
    }
    int walked = host_calls_walk_end(&calls), ended = range_walk_end(&walk);
    return stack < 0 ? -1 : walked ? walked : ended;
}

int trace_place_python(struct trace *trace)
{
    struct python python = {.trace = trace};
    if (trace->python.count == 0 || !trace->wanted.launched_ops ||
        trace->frames.count > 0) /* the trace has other stacks */
        return 0;
    sorter_init(&python.placed, trace->space, sizeof(struct launched_op), launched_ops_order);
    int status = range_walk_ops(&trace->python, true, &trace->launched_ops, place, NULL, &python)
                     ?: sorter_ready(&python.placed) ?: place_calls(&python);
    sorter_release(&trace->launched_ops);
    trace->launched_ops = python.placed;
    dense_map_release(&python.tree);
    return status;
}
