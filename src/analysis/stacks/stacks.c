/*
 * There are two walks. The first goes by the places to which autograd_attribute() moved operations, and finds the
 * ranges around moved operations. The second goes by the calls themselves, and finds what was open around them, which
 * is the whole stack of operations that were not moved.
 */
#include "analysis/stacks/stacks.h"

#include "analysis/base/cost_sum.h"
#include "analysis/engine/trace_stacks.h"
#include "common/buffer.h"

void gpu_stacks_release(struct gpu_stacks *stacks)
{
    array_release(&stacks->nodes);
    map_release(&stacks->by_place);
    stacks->first = 0;
}

/* --- the tree --- */

#define NAME_BITS 32
#define KIND_BITS 4
#define DEVICE_BITS 28 /* of the key of a GPU, which has no parent */

uint32_t gpu_stacks_node(struct gpu_stacks *stacks, uint32_t parent, enum stack_kind kind, uint32_t name,
                         uint32_t process)
{
    struct gpu_stack_node outer = parent ? stacks->nodes.items[parent - 1] : (struct gpu_stack_node){0};
    bool leaf = kind == STACK_CALL || kind == STACK_KERNEL || kind == STACK_COPY;
    if (parent && (outer.kind == STACK_OTHERS || (outer.depth >= STACKS_DEPTH && !leaf)))
        return parent;
    uint64_t above = kind == STACK_GPU ? (uint64_t)process << DEVICE_BITS : (uint64_t)parent << NAME_BITS;
    uint64_t key = (above | name) << KIND_BITS | kind;
    uint64_t *known = map_get(&stacks->by_place, key);
    if (known)
        return (uint32_t)*known;
    if (parent && kind != STACK_OTHERS && stacks->nodes.count >= (stacks->most ? stacks->most : STACKS_NODES))
        return gpu_stacks_node(stacks, parent, STACK_OTHERS, EVENT_NO_TEXT, 0);
    uint64_t *place = map_put(&stacks->by_place, key, NULL);
    struct gpu_stack_node *node = place ? array_push(&stacks->nodes) : NULL;
    if (!node)
        return 0;
    *node = (struct gpu_stack_node){.parent = parent,
                                    .name = name,
                                    .process = process,
                                    .kind = (uint8_t)kind,
                                    .depth = (uint16_t)(parent ? outer.depth + 1 : 0)};
    *place = stacks->nodes.count;
    return (uint32_t)*place;
}

void gpu_stacks_link(struct gpu_stacks *stacks)
{
    struct gpu_stack_node *nodes = stacks->nodes.items;
    stacks->first = 0;
    for (size_t i = 0; i < stacks->nodes.count; i++)
        nodes[i].inner = nodes[i].next = 0;
    for (size_t i = stacks->nodes.count; i-- > 0;) {
        uint32_t *first = nodes[i].parent ? &nodes[nodes[i].parent - 1].inner : &stacks->first;
        nodes[i].next = *first;
        *first = (uint32_t)i + 1;
    }
}

uint32_t gpu_stacks_next(const struct gpu_stacks *stacks, uint32_t node)
{
    const struct gpu_stack_node *nodes = stacks->nodes.items;
    uint32_t next = nodes[node - 1].inner;
    for (; !next && node; node = nodes[node - 1].parent)
        next = nodes[node - 1].next;
    return next;
}

/* --- the stack of an operation --- */

/* An operation by its call, and the node below which the stack of its own thread is added. */
struct based_op {
    struct launched_op op; /* `thread` and `called` are those of the call */
    uint32_t base;
};

struct gathering {
    struct gpu_stacks *stacks;
    const struct trace *trace;
    struct sorter ops; /* struct based_op */
    struct map last;   /* launching thread and name -> the last call stack of such operations */
};

static enum stack_kind kind_of(const struct range *range)
{
    switch (range->category) {
    case CATEGORY_CPU_OP: return STACK_OPERATOR;
    case CATEGORY_PYTHON_FUNCTION: return STACK_PYTHON;
    default: return STACK_RANGE;
    }
}

/* Returns the node of the range INNERMOST (NULL: none is open) below BASE, and adds nodes for the ranges around it.
 * Open ranges store their nodes, so the next operation adds nodes only for new ranges. Returns 0 without memory. */
static uint32_t node_of_open(struct gpu_stacks *stacks, struct range_walk *walk, struct range_open *innermost,
                             uint32_t base)
{
    struct range_open *chain[STACKS_DEPTH], *open = innermost;
    size_t count = 0;
    while (open && open->base != base && count < STACKS_DEPTH) {
        chain[count++] = open;
        open = open->outer ? &walk->open.items[open->outer - 1] : NULL;
    }
    uint32_t node = open && open->base == base ? open->node : base;
    while (count > 0 && node) {
        open = chain[--count];
        node = gpu_stacks_node(stacks, node, kind_of(&open->range), open->range.name, 0);
        open->node = node;
        open->base = base;
    }
    return node;
}

static uint32_t node_around(struct gpu_stacks *stacks, struct range_walk *walk, const struct launched_op *op,
                            uint32_t base)
{
    while (range_walk_open(walk, op->thread, op->called))
        ;
    return node_of_open(stacks, walk, range_walk_innermost(walk, op->thread, op->called), base);
}

/* Returns the process that launched an operation, or 0 if the trace has only one process. */
static uint32_t process_of(const struct trace *trace, const struct launched_op *op)
{
    if (trace->host_processes < 2)
        return 0;
    return op->launcher == LAUNCHED_NO_THREAD ? STACK_NO_PROCESS : trace->threads.items[op->launcher].process;
}

static int find_base(void *context, struct range_walk *walk, const struct launched_op *op)
{
    struct gathering *gathering = context;
    const struct trace *trace = gathering->trace;
    struct based_op based = {.op = *op};
    based.op.thread = op->launcher;
    based.op.called = op->launched;
    based.base = gpu_stacks_node(gathering->stacks, 0, STACK_GPU, trace->streams.items[op->stream].device,
                                 process_of(trace, op));
    if (based.base && op->thread != op->launcher)
        based.base = node_around(gathering->stacks, walk, op, based.base);
    return based.base ? sorter_add(&gathering->ops, &based) : -1;
}

/* Sets *STACK to the operation's call stack. Only some launches have one; if the operation has none, takes the stack of
 * the last operation with its name and thread that has one; 0: none. Returns 0, or -1: no memory. */
static int find_stack(struct gathering *gathering, const struct launched_op *op, uint32_t *stack)
{
    *stack = op->stack;
    if (gathering->trace->frames.count == 0 || op->captured != 0)
        return 0;
    uint64_t *last = map_put(&gathering->last, (uint64_t)op->launcher << 32 | op->name, NULL);
    if (!last)
        return -1;
    if (op->stack != 0)
        *last = op->stack;
    *stack = (uint32_t)*last;
    return 0;
}

/* Returns the node of the innermost frame of STACK below the operation's GPU. Frames within CUDA, and frames that start
 * the program, are left out. Returns 0 without memory. */
static uint32_t node_of_frames(struct gathering *gathering, const struct launched_op *op, uint32_t stack)
{
    const struct trace *trace = gathering->trace;
    const struct trace_frame *frames[STACKS_DEPTH];
    size_t count = trace_program_frames(trace, stack, frames, STACKS_DEPTH);
    uint32_t node = gpu_stacks_node(gathering->stacks, 0, STACK_GPU, trace->streams.items[op->stream].device,
                                    process_of(trace, op));
    if (stack >= GPU_OP_STACKS)
        return node ? gpu_stacks_node(gathering->stacks, node, STACK_FRAME, stack % GPU_OP_STACKS, 0) : 0;
    while (count-- > 0 && node)
        node = gpu_stacks_node(gathering->stacks, node, STACK_FRAME, frames[count]->place, 0);
    return node;
}

static int add_op(void *context, struct range_walk *walk, const struct launched_op *op)
{
    struct gathering *gathering = context;
    struct gpu_stacks *stacks = gathering->stacks;
    uint32_t node = ((const struct based_op *)op)->base, stack = 0;
    bool by_frames = stacks->by_frames && gathering->trace->python.count == 0; /* host_frames has them */
    if (by_frames && find_stack(gathering, op, &stack) < 0)
        return -1;
    if (stack != 0)
        node = node_of_frames(gathering, op, stack);
    else if (op->thread != LAUNCHED_NO_THREAD)
        node = node_around(stacks, walk, op, node);
    if (node)
        node = gpu_stacks_node(stacks, node, STACK_CALL, op->call, 0);
    /* Below the launch of a graph stand the ranges in which the operation was captured. */
    const struct captured *captured = &gathering->trace->captured;
    const struct captured_path *path = op->captured != 0 ? captured_path(captured, op->captured) : NULL;
    for (uint32_t i = 0; path && i < path->count && node; i++)
        node = gpu_stacks_node(stacks, node, STACK_RANGE, captured->names.items[path->first + i], 0);
    if (node)
        node = gpu_stacks_node(stacks, node, op->kernel ? STACK_KERNEL : STACK_COPY, op->name, 0);
    if (!node)
        return -1;
    sum_add(&stacks->nodes.items[node - 1].ns, op->duration);
    stacks->nodes.items[node - 1].count++;
    return 0;
}

int gpu_stacks_gather(struct gpu_stacks *stacks, const struct trace *trace)
{
    struct gathering gathering = {.stacks = stacks, .trace = trace};
    sorter_init(&gathering.ops, trace->space, sizeof(struct based_op), launched_ops_order);
    int status = range_walk_ops(&trace->ranges, false, &trace->launched_ops, find_base, NULL, &gathering);
    status = status ?: sorter_ready(&gathering.ops);
    status = status ?: range_walk_ops(&trace->host_frames, false, &gathering.ops, add_op, NULL, &gathering);
    sorter_release(&gathering.ops);
    map_release(&gathering.last);
    gpu_stacks_link(stacks);
    return status;
}

/* --- names --- */

static void put_gpu(struct buffer *buffer, const struct trace *trace, const struct gpu_stack_node *node)
{
    const struct trace_device *device = &trace->devices.items[node->name];
    int64_t id = trace_device_id(trace, node->name);
    buffer_text(buffer, "GPU");
    if (id != FIELD_ABSENT)
        buffer_format(buffer, " %lld", (long long)id);
    if (device->name != EVENT_NO_TEXT)
        buffer_format(buffer, " (%s)", trace_text(trace, device->name));
    if (trace->host_processes < 2 || node->process == STACK_NO_PROCESS)
        return;
    const struct trace_process *process = &trace->processes.items[node->process];
    event_id pid = *(const event_id *)dense_map_row(&trace->process_ids, node->process);
    buffer_text(buffer, ", ");
    buffer_text(buffer, process->name != EVENT_NO_TEXT ? trace_text(trace, process->name) : "process");
    if (!event_id_is_text(pid))
        buffer_format(buffer, " (%lld)", (long long)event_id_value(pid));
}

void gpu_stacks_put_name(struct buffer *buffer, const struct trace *trace, const struct gpu_stack_node *node)
{
    const char *text = trace_text(trace, node->kind == STACK_GPU ? EVENT_NO_TEXT : node->name);
    if (node->kind == STACK_GPU)
        put_gpu(buffer, trace, node);
    else if (node->kind == STACK_OTHERS)
        buffer_text(buffer, "(others)");
    else if (node->kind == STACK_CALL && node->name == EVENT_NO_TEXT)
        buffer_text(buffer, "(call not recorded)");
    else
        buffer_text(buffer, *text ? text : "(unnamed)");
}
